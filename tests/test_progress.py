"""Progress reaches the listener, and nothing else."""

import pytest

from regard.progress import Stage, report_note, report_progress_to, stage, track


class Listener:
    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def start_stage(self, description: str, total: int | None) -> Stage:
        self.events.append(("start", description, total))
        return _Stage(self.events, description)

    def show_note(self, text: str) -> None:
        self.events.append(("note", text))


class _Stage:
    def __init__(self, events: list[tuple[object, ...]], description: str):
        self.events, self.description = events, description

    def advance(self, count: int = 1) -> None:
        self.events.append(("advance", self.description, count))

    def finish(self) -> None:
        self.events.append(("finish", self.description))


def test_items_are_counted_after_they_were_used():
    listener = Listener()
    with report_progress_to(listener):
        for item in track(["a", "b"], "reading"):
            listener.events.append(("use", item))
    assert listener.events == [
        ("start", "reading", 2),
        ("use", "a"),
        ("advance", "reading", 1),
        ("use", "b"),
        ("advance", "reading", 1),
        ("finish", "reading"),
    ]


def test_a_stage_ends_even_if_its_work_fails():
    listener = Listener()
    with report_progress_to(listener), pytest.raises(ValueError, match="broken"), stage("scoring", 7) as current:
        current.advance(5)
        raise ValueError("broken")
    assert listener.events == [("start", "scoring", 7), ("advance", "scoring", 5), ("finish", "scoring")]


def test_a_note_reaches_the_listener():
    listener = Listener()
    with report_progress_to(listener):
        report_note("the machine is busy")
    assert listener.events == [("note", "the machine is busy")]


def test_outside_the_block_nothing_listens():
    listener = Listener()
    with report_progress_to(listener):
        pass
    report_note("the machine is busy")
    assert list(track(iter("abc"), "reading")) == ["a", "b", "c"]
    assert listener.events == []


def test_a_stream_has_no_total_unless_it_is_given():
    listener = Listener()
    with report_progress_to(listener):
        assert list(track(iter("ab"), "reading")) == ["a", "b"]
        assert list(track(iter("ab"), "reading", total=2)) == ["a", "b"]
    assert [event for event in listener.events if event[0] == "start"] == [
        ("start", "reading", None),
        ("start", "reading", 2),
    ]
