"""A web server on this machine alone that shows one run while it is trained: a page, its state, and the report."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from regard.errors import ConfigError
from regard.files import read_bytes
from regard.jobs.live.snapshot import LiveRun
from regard.report.pages.live import LIVE_POLICY_HEADER, render_live_page

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""What the machine may be called in a request. Another name is that of a page that was made to point here."""
STATE_SECONDS = 1.0
"""For which a state is kept: several windows cost no more than one."""
REQUEST_SECONDS, POLL_SECONDS = 10.0, 0.5
RECENT_SECONDS = 10.0
"""Since the last request, within which a page is being looked at."""
LAST_STATE_SECONDS = 4.0
"""For which the server waits at the end, until the page has asked for the last state."""
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class LiveServer(ThreadingHTTPServer):
    """Serves one run, to this machine, by GET."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, live_run: LiveRun, port: int = 0):
        self.live_run = live_run
        self._lock = threading.Lock()
        self._state, self._made_at = b"", -STATE_SECONDS
        self.last_request = 0.0
        self.served_end = False
        """Whether a page has been given a state that is final."""
        try:
            super().__init__((HOST, port), LiveHandler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(
                f"--port {port}: the port cannot be used ({reason}); choose another one, or leave it out"
            ) from None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def state(self) -> bytes:
        """The state as JSON, at most a second old."""
        with self._lock:
            self.last_request = time.monotonic()
            if time.monotonic() - self._made_at > STATE_SECONDS:
                snapshot = self.live_run.snapshot()
                self._state, self._made_at = json.dumps(snapshot, ensure_ascii=False).encode(), time.monotonic()
                self.served_end = snapshot["state"] in ("finished", "stopped")
            return self._state

    def wait_for_end(self) -> None:
        """Wait until the training has ended, and a page that is open knows it; for ever if it had ended before."""
        had_finished = self.live_run.has_finished()
        while had_finished or not self.live_run.has_finished():
            time.sleep(POLL_SECONDS)
        self.wait_for_last_state()

    def wait_for_last_state(self) -> None:
        """Wait until a page that is open knows that training has ended."""
        self.served_end, self._made_at = False, -STATE_SECONDS
        deadline = time.monotonic() + LAST_STATE_SECONDS
        while time.monotonic() < deadline and not self.served_end:
            if time.monotonic() - self.last_request > RECENT_SECONDS:
                return
            time.sleep(0.05)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off concerns no one."""


class LiveHandler(BaseHTTPRequestHandler):
    """Answers GET for three addresses, and nothing else."""

    server: LiveServer
    timeout = REQUEST_SECONDS
    server_version, sys_version = "Regard", ""

    def do_GET(self) -> None:
        if not self._is_local():
            self._answer(HTTPStatus.FORBIDDEN, b"This server answers to 127.0.0.1 and localhost only.\n", "text/plain")
            return
        path = self.path.partition("?")[0]
        if path == "/":
            self._answer(HTTPStatus.OK, render_live_page(self.server.live_run.run.folder.name).encode(), "text/html")
        elif path == "/state.json":
            self._answer(HTTPStatus.OK, self.server.state(), "application/json")
        elif path == "/report.html" and (report := self._read_report()) is not None:
            self._answer(HTTPStatus.OK, report, "text/html")
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"There is no such page.\n", "text/plain")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: the terminal shows the training."""

    def _is_local(self) -> bool:
        """Whether the request names this machine: a name that was made to point here is refused (DNS rebinding)."""
        hosts = self.headers.get_all("Host") or []
        port = self.server.server_port
        return len(hosts) == 1 and hosts[0].lower() in {f"{name}:{port}" for name in NAMES}

    def _read_report(self) -> bytes | None:
        """The report of a finished run, which is a file of its folder and no link out of it."""
        run = self.server.live_run.run
        if not self.server.live_run.has_finished() or run.report.is_symlink():
            return None
        try:
            return read_bytes(run.report)
        except OSError:
            return None

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if kind == "text/html" and self.path.partition("?")[0] == "/":
            self.send_header("Content-Security-Policy", LIVE_POLICY_HEADER)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve(live_run: LiveRun, port: int = 0) -> Iterator[LiveServer]:
    """A server in a thread of its own, which ends with the block."""
    server = LiveServer(live_run, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
