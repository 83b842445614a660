"""Who works on which trial: a table beside Optuna's, in which a trial is taken by one statement or not at all.

Optuna reads a waiting trial and then marks it; between the two another worker may read it too, and on SQLite nothing
forbids that. Here a single UPDATE takes a trial, and says by the number of rows it changed whether it was ours.

A worker that was killed leaves its trials taken. They are free again once its process is known to be gone (the same
machine), or once its pulse has not changed for a while (another one): no clock is compared with any other. A worker
that somebody has paused (Ctrl-Z) has no pulse either, but keeps its trials: it goes on when it is let.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine, Table

PULSE_SECONDS = 5.0
SILENT_SECONDS = 120.0
WAITING, TAKEN, DONE = "waiting", "taken", "done"


def here() -> str:
    """This machine, and this view of its processes: a container may share the name and not the numbers."""
    parts = [socket.gethostname()]
    boot, processes = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    parts += [boot.read_text(encoding="ascii").strip()] if boot.is_file() else []
    parts += [str(processes.readlink())] if processes.exists() else []
    return "/".join(parts)


def _stat(pid: int) -> tuple[str, str]:
    """In what state a process is, and when it began; both empty where nobody says, or where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return ("", "") if fields[0] in "ZX" else (fields[0], fields[19])
    except (OSError, IndexError):
        return "", ""


def new_owner() -> str:
    return "|".join((here(), str(os.getpid()), _stat(os.getpid())[1], uuid.uuid4().hex[:8]))


def is_gone(owner: str) -> bool:
    """Whether the owner is known to have ended: only of its own machine can anybody say so."""
    place, pid, born, _ = owner.split("|")
    if place != here() or os.name == "nt":  # where asking by a signal would end it
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _stat(int(pid))[1] != born  # a later process of the same number is not taken for it


def is_paused(owner: str) -> bool:
    """Whether the owner is known to stand still, by Ctrl-Z or a debugger."""
    place, pid, born, _ = owner.split("|")
    state, began = _stat(int(pid))
    return place == here() and began == born and state in ("T", "t")


@dataclass
class Claims:
    """The trials of one study, and who has them."""

    engine: "Engine"
    study: str
    owner: str = field(default_factory=new_owner)
    silent_seconds: float = SILENT_SECONDS
    _pulses: dict[int, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        self.table, self.points = _tables()
        for table in (self.table, self.points):
            try:
                table.create(self.engine, checkfirst=True)
            except SQLAlchemyError:  # another worker has just made it
                table.create(self.engine, checkfirst=True)

    def plan(self, count: int) -> None:
        """Make sure that trials 1 … count are there, once each, whoever else does the same."""
        from sqlalchemy.exc import IntegrityError

        known = {row.number for row in self.rows()}
        for number in range(1, count + 1):
            if number in known:
                continue
            with self.engine.begin() as connection:
                try:
                    row = {"study": self.study, "number": number, "state": WAITING, "owner": "", "pulse": 0}
                    connection.execute(self.table.insert().values(row))
                except IntegrityError:
                    connection.rollback()  # somebody was faster

    def rows(self) -> list[Any]:
        """Every trial in order: number, state, owner, pulse."""
        ours = self.table.select().where(self.table.c.study == self.study).order_by(self.table.c.number)
        with self.engine.connect() as connection:
            return list(connection.execute(ours))

    def take(self, last: int | None = None) -> int | None:
        """The first trial up to `last` that is free or whose worker is gone, now ours; None if none is at the moment.

        There may be more in the table: of a study that was to have more trials, or that somebody else has made larger.
        """
        for row in self.rows()[:last]:
            if (row.state == WAITING or (row.state == TAKEN and self._silent(row))) and self._take(row):
                return int(row.number)
        return None

    def beat(self, number: int) -> bool:
        """Show that we are alive; False if the trial is no longer ours."""
        return self._change(number, pulse=self.table.c.pulse + 1)

    def finish(self, number: int) -> bool:
        """Say that a trial of ours is done; False if it is no longer ours."""
        return self._change(number, state=DONE)

    def release(self, number: int) -> None:
        """Leave a trial of ours to whoever comes next."""
        self._change(number, state=WAITING, owner="")

    def open(self, last: int | None = None) -> bool:
        """Whether a trial up to `last` is not done yet, ours or not."""
        return any(row.state != DONE for row in self.rows()[:last])

    def reserve(self, number: int, point: str) -> bool:
        """Keep a combination for a trial of ours, alone; False if another trial has it."""
        from sqlalchemy.exc import IntegrityError

        row = {"study": self.study, "point": sha256(point.encode()).hexdigest(), "number": number}
        with self.engine.begin() as connection:
            try:
                connection.execute(self.points.insert().values(row))
            except IntegrityError:
                connection.rollback()
                return False
        return True

    def forget(self, number: int) -> None:
        """Let go of what was kept for a trial that came to nothing."""
        ours = (self.points.c.study == self.study) & (self.points.c.number == number)
        with self.engine.begin() as connection:
            connection.execute(self.points.delete().where(ours))

    @contextmanager
    def held(self, number: int) -> Iterator[threading.Event]:
        """Keep the pulse of a trial of ours going; the event is set if it was taken from us.

        A storage that does not answer has taken nothing: the next beat asks again.
        """
        from sqlalchemy.exc import SQLAlchemyError

        lost, end = threading.Event(), threading.Event()

        def beat() -> None:
            while not end.wait(PULSE_SECONDS) and not lost.is_set():
                with suppress(SQLAlchemyError):
                    if not self.beat(number):
                        lost.set()

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            end.set()
            thread.join()

    def _take(self, row: Any) -> bool:
        """One statement: whoever changes the row as it was seen has the trial."""
        t = self.table.c
        seen = (t.study == self.study) & (t.number == row.number) & (t.state == row.state) & (t.owner == row.owner)
        change = self.table.update().where(seen & (t.pulse == row.pulse))
        with self.engine.begin() as connection:
            changed = connection.execute(change.values(state=TAKEN, owner=self.owner, pulse=row.pulse + 1))
            return bool(changed.rowcount == 1)

    def _change(self, number: int, **values: Any) -> bool:
        t = self.table.c
        ours = (t.study == self.study) & (t.number == number) & (t.owner == self.owner) & (t.state == TAKEN)
        with self.engine.begin() as connection:
            return bool(connection.execute(self.table.update().where(ours).values(**values)).rowcount == 1)

    def _silent(self, row: Any) -> bool:
        """Whether the worker that has this trial is gone, or has shown no pulse for as long as we have looked."""
        if is_gone(row.owner):
            return True
        pulse, since = self._pulses.get(row.number, (-1, 0.0))
        if pulse != row.pulse or is_paused(row.owner):
            self._pulses[row.number] = (row.pulse, time.monotonic())
            return False
        return time.monotonic() - since > self.silent_seconds


def _tables() -> "tuple[Table, Table]":
    """Who has which trial, and which combination is kept for which."""
    from sqlalchemy import Column, Integer, MetaData, String, Table

    claims = Table(
        "regard_claims",
        MetaData(),
        Column("study", String(200), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("state", String(16), nullable=False),
        Column("owner", String(400), nullable=False),
        Column("pulse", Integer, nullable=False),
    )
    points = Table(
        "regard_points",
        MetaData(),
        Column("study", String(200), primary_key=True),
        Column("point", String(64), primary_key=True),
        Column("number", Integer, nullable=False),
    )
    return claims, points
