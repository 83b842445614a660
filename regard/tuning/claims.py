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

HEARTBEAT_SECONDS = 5.0
GRACE_PERIOD_SECONDS = 120.0
WAITING, CLAIMED, FINISHED = "waiting", "claimed", "finished"


def get_host_id() -> str:
    """This machine, and this view of its processes: a container may share the name and not the numbers."""
    parts = [socket.gethostname()]
    boot, processes = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    parts += [boot.read_text(encoding="ascii").strip()] if boot.is_file() else []
    parts += [str(processes.readlink())] if processes.exists() else []
    return "/".join(parts)


def _read_process_stat(pid: int) -> tuple[str, str]:
    """In what state a process is, and when it began; both empty where nobody says, or where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return ("", "") if fields[0] in "ZX" else (fields[0], fields[19])
    except (OSError, IndexError):
        return "", ""


def new_owner() -> str:
    return "|".join((get_host_id(), str(os.getpid()), _read_process_stat(os.getpid())[1], uuid.uuid4().hex[:8]))


def is_dead(owner: str) -> bool:
    """Whether the owner is known to have ended: only of its own machine can anybody say so."""
    host, pid, start_time, _ = owner.split("|")
    if host != get_host_id() or os.name == "nt":  # where asking by a signal would end it
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _read_process_stat(int(pid))[1] != start_time  # a later process of the same number is not taken for it


def is_paused(owner: str) -> bool:
    """Whether the owner is known to stand still, by Ctrl-Z or a debugger."""
    host, pid, start_time, _ = owner.split("|")
    state, process_start_time = _read_process_stat(int(pid))
    return host == get_host_id() and process_start_time == start_time and state in ("T", "t")


@dataclass
class TrialClaims:
    """The trials of one study, and who has them."""

    engine: "Engine"
    study: str
    owner: str = field(default_factory=new_owner)
    grace_period_seconds: float = GRACE_PERIOD_SECONDS
    _heartbeats: dict[int, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        self.claims_table, self.params_table = _build_tables()
        for table in (self.claims_table, self.params_table):
            try:
                table.create(self.engine, checkfirst=True)
            except SQLAlchemyError:  # another worker has just made it
                table.create(self.engine, checkfirst=True)

    def add_trials(self, count: int) -> None:
        """Make sure that trials 1 … count are there, once each, whoever else does the same."""
        from sqlalchemy.exc import IntegrityError

        known_numbers = {row.number for row in self.rows()}
        for number in range(1, count + 1):
            if number in known_numbers:
                continue
            with self.engine.begin() as connection:
                try:
                    row = {"study": self.study, "number": number, "state": WAITING, "owner": "", "heartbeat": 0}
                    connection.execute(self.claims_table.insert().values(row))
                except IntegrityError:
                    connection.rollback()  # somebody was faster

    def rows(self) -> list[Any]:
        """Every trial in order: number, state, owner, pulse."""
        own_rows = (
            self.claims_table.select()
            .where(self.claims_table.c.study == self.study)
            .order_by(self.claims_table.c.number)
        )
        with self.engine.connect() as connection:
            return list(connection.execute(own_rows))

    def claim(self, last_number: int | None = None) -> int | None:
        """The first trial up to `last` that is free or whose worker is gone, now ours; None if none is at the moment.

        There may be more in the table: of a study that was to have more trials, or that somebody else has made larger.
        """
        for row in self.rows()[:last_number]:
            if (row.state == WAITING or (row.state == CLAIMED and self._is_stale(row))) and self._claim(row):
                return int(row.number)
        return None

    def send_heartbeat(self, number: int) -> bool:
        """Show that we are alive; False if the trial is no longer ours."""
        return self._update(number, heartbeat=self.claims_table.c.heartbeat + 1)

    def finish(self, number: int) -> bool:
        """Say that a trial of ours is done; False if it is no longer ours."""
        return self._update(number, state=FINISHED)

    def release(self, number: int) -> None:
        """Leave a trial of ours to whoever comes next."""
        self._update(number, state=WAITING, owner="")

    def has_unfinished(self, last_number: int | None = None) -> bool:
        """Whether a trial up to `last` is not done yet, ours or not."""
        return any(row.state != FINISHED for row in self.rows()[:last_number])

    def reserve_params(self, number: int, params: str) -> bool:
        """Keep a combination for a trial of ours, alone; False if another trial has it."""
        from sqlalchemy.exc import IntegrityError

        row = {"study": self.study, "params": sha256(params.encode()).hexdigest(), "number": number}
        with self.engine.begin() as connection:
            try:
                connection.execute(self.params_table.insert().values(row))
            except IntegrityError:
                connection.rollback()
                return False
        return True

    def release_params(self, number: int) -> None:
        """Let go of what was kept for a trial that came to nothing."""
        own_params = (self.params_table.c.study == self.study) & (self.params_table.c.number == number)
        with self.engine.begin() as connection:
            connection.execute(self.params_table.delete().where(own_params))

    @contextmanager
    def keep_alive(self, number: int) -> Iterator[threading.Event]:
        """Keep the pulse of a trial of ours going; the event is set if it was taken from us.

        A storage that does not answer has taken nothing: the next beat asks again.
        """
        from sqlalchemy.exc import SQLAlchemyError

        claim_lost, stop_event = threading.Event(), threading.Event()

        def send_heartbeats() -> None:
            while not stop_event.wait(HEARTBEAT_SECONDS) and not claim_lost.is_set():
                with suppress(SQLAlchemyError):
                    if not self.send_heartbeat(number):
                        claim_lost.set()

        thread = threading.Thread(target=send_heartbeats, daemon=True)
        thread.start()
        try:
            yield claim_lost
        finally:
            stop_event.set()
            thread.join()

    def _claim(self, row: Any) -> bool:
        """One statement: whoever changes the row as it was seen has the trial."""
        columns = self.claims_table.c
        unchanged = (
            (columns.study == self.study)
            & (columns.number == row.number)
            & (columns.state == row.state)
            & (columns.owner == row.owner)
        )
        change = self.claims_table.update().where(unchanged & (columns.heartbeat == row.heartbeat))
        with self.engine.begin() as connection:
            update_result = connection.execute(change.values(state=CLAIMED, owner=self.owner, heartbeat=row.heartbeat + 1))
            return bool(update_result.rowcount == 1)

    def _update(self, number: int, **values: Any) -> bool:
        columns = self.claims_table.c
        own_claim = (
            (columns.study == self.study)
            & (columns.number == number)
            & (columns.owner == self.owner)
            & (columns.state == CLAIMED)
        )
        with self.engine.begin() as connection:
            return bool(connection.execute(self.claims_table.update().where(own_claim).values(**values)).rowcount == 1)

    def _is_stale(self, row: Any) -> bool:
        """Whether the worker that has this trial is gone, or has shown no pulse for as long as we have looked."""
        if is_dead(row.owner):
            return True
        heartbeat, since = self._heartbeats.get(row.number, (-1, 0.0))
        if heartbeat != row.heartbeat or is_paused(row.owner):
            self._heartbeats[row.number] = (row.heartbeat, time.monotonic())
            return False
        return time.monotonic() - since > self.grace_period_seconds


def _build_tables() -> "tuple[Table, Table]":
    """Who has which trial, and which combination is kept for which."""
    from sqlalchemy import Column, Integer, MetaData, String, Table

    claims = Table(
        "regard_claims",
        MetaData(),
        Column("study", String(200), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("state", String(16), nullable=False),
        Column("owner", String(400), nullable=False),
        Column("heartbeat", Integer, nullable=False),
    )
    params = Table(
        "regard_params",
        MetaData(),
        Column("study", String(200), primary_key=True),
        Column("params", String(64), primary_key=True),
        Column("number", Integer, nullable=False),
    )
    return claims, params
