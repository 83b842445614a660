"""The server answers this machine, by GET, with three pages of one run, and ends with the training."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import regard
from regard.api.training import watched
from regard.errors import ConfigError, RegardError
from regard.jobs.live.server import LiveServer, serve
from regard.jobs.live.snapshot import LiveRun
from regard.jobs.train.fit import train_run
from regard.run import LatestCheckpoint, Run


@pytest.fixture
def server(watched_run: Run) -> Iterator[LiveServer]:
    with serve(LiveRun(watched_run.folder)) as started:
        yield started


def ask(server: LiveServer, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path, headers={"Host": f"127.0.0.1:{server.server_port}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}


def test_page_state_and_report_are_served(server: LiveServer, watched_run: Run):
    status, body, headers = ask(server)
    assert status == 200 and b"<h1>run</h1>" in body and headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["content-security-policy"] and "frame-ancestors 'none'" in str(headers)
    assert headers["x-content-type-options"] == "nosniff" and headers["cross-origin-resource-policy"] == "same-origin"
    assert json.loads(ask(server, "/state.json?x")[1])["step"] == 7
    assert ask(server, "/report.html")[1] == watched_run.report.read_bytes()
    watched_run.write_latest(LatestCheckpoint(7, finished=False))
    assert ask(server, "/report.html")[0] == 404


OTHER_PATHS = ("/config.toml", "/../config.toml", "/%2e%2e/x", "//etc/passwd", "/weights/", "/report.html/..", "*")


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_no_other_file_is_served(server: LiveServer, path: str):
    status, body, _ = ask(server, path)
    assert status == 404 and body == b"There is no such page.\n"


def test_a_report_that_is_a_link_is_not_served(server: LiveServer, watched_run: Run, tmp_path: Path):
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    watched_run.report.unlink()
    watched_run.report.symlink_to(tmp_path / "secret")
    assert ask(server, "/report.html")[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "127.0.0.1.evil:{port}"]
)
def test_another_name_of_this_machine_is_refused(server: LiveServer, host: str):
    for path in ("/", "/state.json", "/report.html"):
        assert ask(server, path, Host=host.format(port=server.server_port))[0] == 403
    assert ask(server, "/", Host=f"LOCALHOST:{server.server_port}")[0] == 200


def test_a_request_without_or_with_two_hosts_is_refused(server: LiveServer):
    host = f"Host: 127.0.0.1:{server.server_port}\r\n"
    for hosts in ("", host + host, host + "Host: evil\r\n"):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\n{hosts}\r\n".encode())
            assert connection.recv(100).split()[1] in (b"403", b"400")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_nothing_but_get(server: LiveServer, method: str):
    assert ask(server, "/state.json", method)[0] == 501


def test_only_this_machine_is_listened_to(server: LiveServer):
    assert server.server_address[0] == "127.0.0.1"


def test_a_port_in_use_is_refused_in_a_sentence(server: LiveServer, watched_run: Run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match=r"--port \d+: the port cannot be used \(.*\); choose another one"):
            LiveServer(LiveRun(watched_run.folder), taken.getsockname()[1])


def test_broken_requests_print_nothing_and_end_nothing(server: LiveServer, capfd: pytest.CaptureFixture[str]):
    for raw in (
        b"\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /state.json HTTP/1.0\r\n",
        b"G" * 70_000,
    ):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.server_port)) as connection:
            connection.sendall(raw)
    assert ask(server)[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_training_is_served_while_it_goes_on_and_the_server_ends_with_it(tiny: Callable, tmp_path: Path):
    states = []
    with watched(tmp_path / "run") as server:
        states.append(json.loads(server.state())["state"])
        for number, event in enumerate(train_run(tmp_path / "run", tiny("train.steps=3"), False, lambda: False)):
            if isinstance(event, regard.TrainingProgress) and number:
                server._made_at = -10.0
                states.append(json.loads(server.state())["state"])
    assert (states[0] == "preparing" and set(states[1:]) <= {"preparing", "training"} and "training" in states) or len(
        states
    ) > 2
    with pytest.raises(OSError):
        ask(server)


def test_a_watch_of_another_process_ends_when_the_run_is_finished(watched_run: Run):
    watched_run.write_latest(LatestCheckpoint(7, finished=False))
    with regard.watch(watched_run.folder) as server:
        thread = threading.Thread(target=server.wait_for_end)
        thread.start()
        time.sleep(0.1)
        assert thread.is_alive()
        watched_run.write_latest(LatestCheckpoint(7, finished=True))
        thread.join(timeout=20)
        assert not thread.is_alive()


def test_what_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(RegardError):
        regard.watch(tmp_path)


def test_the_page_shows_curves_examples_and_attention(server: LiveServer, watched_run: Run, browser, said: list[str]):
    hostile = "<script>document.title='hacked'</script>\u2028\u202e" + "x" * 4000
    line = json.loads(watched_run.previews.read_text(encoding="utf-8").splitlines()[-1])
    line["samples"][0] |= {"prediction": hostile}
    line["step"] = 9
    with watched_run.previews.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda one: None if one.url.startswith((server.address, "data:")) else said.append(one.url))
    page.goto(server.address)
    page.wait_for_selector("body[data-ready]")
    assert page.title() == "step 7 · run" and page.locator("#status").inner_text().startswith("Finished · step 7 of 7")
    assert page.locator(".curve:visible").count() == 4 and page.locator("#samples > li").count() == 5
    assert hostile[:20] in page.locator("#samples .translation dd").first.inner_text()
    assert page.locator("#attention tbody tr").count() == len(line["attention"]["rows"])
    page.locator("#frame").focus()
    page.keyboard.press("Home")
    assert page.locator("#frame-step").inner_text() == "3"
    page.locator(".curve").first.focus()
    page.keyboard.press("ArrowLeft")
    assert (
        "step 7" in page.locator(".curve .values").first.inner_text()
        or "step 6" in page.locator(".curve .values").first.inner_text()
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#report-link").click()
    assert page.locator("h1").count() == 1 and "Translations" in page.inner_text("nav")
    context.close()
    assert said == []
