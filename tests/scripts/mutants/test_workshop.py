from pathlib import Path

import pytest

from scripts.mutants.report import Count, Result, markdown, shortfalls
from scripts.mutants.sampling import draw
from scripts.mutants.trial import judge
from scripts.mutants.workshop import Workshop

ROOM = "metrics/labels"
SUM = """STEP = 3


def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


def unseen(x):
    return x + 1
"""
TESTS = """import pytest

from regard.metrics.labels import sum


@pytest.fixture(scope="module")
def six():
    return sum.doubled(3)


@pytest.fixture(scope="module")
def nine():
    return sum.tripled(3)


def test_another_uses_the_fixture(six):
    assert six


def test_six(six):
    assert six == 6


def test_step():
    assert sum.STEP == 3


def test_another_uses_nine(nine):
    assert nine


@pytest.mark.parametrize("name", ["nine"])
def test_nine(name, request):
    assert request.getfixturevalue(name) == 9
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    workshop = Workshop(tmp_path)
    for folder in (f"regard/{ROOM}", f"tests/{ROOM}"):
        (workshop.tree / folder).mkdir(parents=True)
        (workshop.tree / folder / "__init__.py").touch()
    for folder in ("regard", "regard/metrics", "tests/metrics"):
        (workshop.tree / folder / "__init__.py").touch()
    (workshop.tree / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow']\n")
    (workshop.tree / "tests" / "conftest.py").touch()
    (workshop.tree / "regard" / ROOM / "sum.py").write_text(SUM)
    (workshop.tree / "tests" / ROOM / "test_sum.py").write_text(TESTS)
    return workshop


def test_seen_faults_are_killed_and_others_survive(workshop: Workshop):
    results = workshop.try_room(ROOM, 100, "7")
    survivors = {result.before for result in results if not result.killed}
    assert survivors == {"return x + 1"}
    assert {result.by.split("::")[-1] for result in results if result.before == "return x * 2"} == {"test_six"}
    assert {result.by.split("::")[-1] for result in results if result.before == "STEP = 3"} == {"test_step"}
    assert {result.by.split("::")[-1] for result in results if result.before == "return x * 3"} == {"test_nine[nine]"}
    assert (workshop.tree / "regard" / ROOM / "sum.py").read_text() == SUM
    # What is known is not tried again; after a test was added, survivors are.
    (workshop.kept / "trial.jsonl").unlink()
    assert workshop.try_room(ROOM, 100, "7") == results
    assert not (workshop.kept / "trial.jsonl").exists()
    with (workshop.tree / "tests" / ROOM / "test_sum.py").open("a") as file:
        file.write("\n\ndef test_unseen():\n    assert sum.unseen(3) == 4\n")
    assert all(result.killed for result in workshop.try_room(ROOM, 100, "7", only_survivors=True))
    assert (workshop.kept / "trial.jsonl").read_text().count("\n") == 1


def test_a_test_that_fails_without_the_fault_kills_nothing(workshop: Workshop):
    # It passes where coverage is measured and fails in the child of a trial, as one that a busy machine breaks would.
    chance = f"""

def test_chance():
    seen = pathlib.Path({str(workshop.kept / "measured")!r})
    sum.doubled(1), sum.tripled(1), sum.unseen(1), sum.STEP
    assert not seen.exists()


def teardown_module():
    pathlib.Path({str(workshop.kept / "measured")!r}).touch()
"""
    path = workshop.tree / "tests" / ROOM / "test_sum.py"
    path.write_text("import pathlib\n\n" + TESTS + chance)
    results = workshop.try_room(ROOM, 100, "7")
    assert {result.before for result in results if not result.killed} == {"return x + 1"}
    assert "test_chance" not in {result.by.split("::")[-1] for result in results}


def test_a_limit_that_is_passed_without_the_fault_kills_nothing():
    assert judge(["t"], lambda _: "timeout", lambda _: "timeout").startswith("survived")
    assert judge(["t"], lambda _: "timeout", lambda _: "survived") == "timeout"


def test_two_runs_do_not_share_a_tree(workshop: Workshop):
    held = workshop.lock()
    with pytest.raises(SystemExit, match="in use by another"):
        Workshop(workshop.kept).lock()
    held.close()
    Workshop(workshop.kept).lock().close()


def test_a_seed_decides_what_is_drawn(workshop: Workshop):
    drawn = [tuple(draw(workshop.tree, ROOM, 3, str(seed))) for seed in range(8)]
    assert drawn == [tuple(draw(workshop.tree, ROOM, 3, str(seed))) for seed in range(8)]
    assert len(set(drawn)) > 1
    assert all(len({fault.lines for fault in faults}) == 3 for faults in drawn)


def test_equivalent_ones_do_not_count():
    assert Count("decode", faults=40, killed=32, timeouts=1, equivalent=4).share == pytest.approx(32 / 36)
    results = [
        Result("decode", "a.py", 3, "x < 1", "x <= 1", "killed", "test_a"),
        Result("decode", "a.py", 4, "y", "z", "timeout", ""),
        Result("data", "b.py", 5, "u", "v", "survived", ""),
    ]
    text = markdown(results, ["today"])
    assert "| decode | 2 | 2 | 1 | 0 | 0 | 100% |" in text
    assert "| **all** | 3 | 2 | 1 | 1 | 0 | 67% |" in text
    assert "`b.py:5`" in text and "a.py" not in text


def test_what_is_not_enough_is_said():
    enough = Count("decode", faults=40, killed=32, timeouts=0, equivalent=0)
    assert not shortfalls([enough, Count("all", 40, 36, 0, 4)])
    assert shortfalls([Count("data", 40, 31, 0, 0), Count("all", 40, 35, 0, 0)]) == [
        "data: 78% killed, not 80%",
        "all: 88% killed, not 90%",
    ]
    assert shortfalls([enough, Count("all", 40, 35, 0, 5)]) == ["5 of 40 are said to be equivalent, more than 10%"]
