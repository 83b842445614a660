"""Claims: which worker runs which trial, in a table beside Optuna's.

Optuna reads a waiting trial and then marks it. Between the two, another worker may read it too, and SQLite does not
prevent that. Here a single UPDATE claims a trial, and its row count shows whether the claim succeeded.

A worker that was killed leaves its trials claimed. They become free once its process is known to have ended (on the
same machine), or once its heartbeat has not changed for a grace period (on another one). Clocks of different machines
are never compared. A suspended worker (Ctrl-Z) sends no heartbeat either, but keeps its trials until it continues.
"""

import json
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

from regard.tuning.space import Params, params_key

if TYPE_CHECKING:
    from sqlalchemy import Engine, Table

HEARTBEAT_SECONDS = 5.0
GRACE_PERIOD_SECONDS = 120.0
WAITING, CLAIMED, FINISHED = "waiting", "claimed", "finished"


def get_host_id() -> str:
    """This machine and its process namespace: containers may share a hostname without sharing process ids."""
    parts = [socket.gethostname()]
    boot, processes = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    parts += [boot.read_text(encoding="ascii").strip()] if boot.is_file() else []
    parts += [str(processes.readlink())] if processes.exists() else []
    return "/".join(parts)


def _read_process_stat(pid: int) -> tuple[str, str]:
    """State and start time of a process; both empty if it has ended or if the system does not provide them."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return ("", "") if fields[0] in "ZX" else (fields[0], fields[19])
    except (OSError, IndexError):
        return "", ""


def new_owner() -> str:
    return "|".join((get_host_id(), str(os.getpid()), _read_process_stat(os.getpid())[1], uuid.uuid4().hex[:8]))


def is_dead(owner: str) -> bool:
    """Whether the owner is known to have ended; that can be known on its own machine only."""
    host, pid, start_time, _ = owner.split("|")
    if host != get_host_id() or os.name == "nt":  # on Windows, signal 0 would terminate the process
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _read_process_stat(int(pid))[1] != start_time  # the id may have been reused by a later process


def is_paused(owner: str) -> bool:
    """Whether the owner is known to be stopped, by Ctrl-Z or a debugger."""
    host, pid, start_time, _ = owner.split("|")
    state, process_start_time = _read_process_stat(int(pid))
    return host == get_host_id() and process_start_time == start_time and state in ("T", "t")


@dataclass
class TrialClaims:
    """The trials of one study and their owners."""

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
            except SQLAlchemyError:  # another worker has just created it
                table.create(self.engine, checkfirst=True)

    def add_trials(self, count: int) -> None:
        """Insert the missing ones of trials 1 … count; safe if other workers do the same."""
        known_numbers = {row.number for row in self.rows()}
        for number in range(1, count + 1):
            if number not in known_numbers:
                row = {"study": self.study, "number": number, "state": WAITING, "owner": "", "heartbeat": 0}
                self._insert(self.claims_table, row)

    def rows(self) -> list[Any]:
        """Every trial in order: number, state, owner, heartbeat."""
        own_rows = (
            self.claims_table.select()
            .where(self.claims_table.c.study == self.study)
            .order_by(self.claims_table.c.number)
        )
        with self.engine.connect() as connection:
            return list(connection.execute(own_rows))

    def claim(self, last_number: int | None = None) -> int | None:
        """Claim the first trial up to `last_number` that is waiting or whose worker is gone; None if there is none.

        The table may hold more trials, of a study that was larger before or that another worker has enlarged.
        """
        for row in self.rows()[:last_number]:
            if (row.state == WAITING or (row.state == CLAIMED and self._is_stale(row))) and self._claim(row):
                return int(row.number)
        return None

    def send_heartbeat(self, number: int) -> bool:
        """Show that this worker is alive; False if the claim is lost."""
        return self._update(number, heartbeat=self.claims_table.c.heartbeat + 1)

    def finish(self, number: int) -> bool:
        """Mark a claimed trial as finished; False if the claim is lost."""
        return self._update(number, state=FINISHED)

    def release(self, number: int) -> None:
        """Return a claimed trial to the waiting ones."""
        self._update(number, state=WAITING, owner="")

    def has_unfinished(self, last_number: int | None = None) -> bool:
        """Whether any trial up to `last_number` is not finished."""
        return any(row.state != FINISHED for row in self.rows()[:last_number])

    def reserve_params(self, number: int, params: Params) -> bool:
        """Reserve a combination for one trial; False if another trial has it."""
        digest = sha256(json.dumps(params_key(params)).encode()).hexdigest()
        return self._insert(self.params_table, {"study": self.study, "params": digest, "number": number})

    def release_params(self, number: int) -> None:
        """Drop the reservations of a trial."""
        own_params = (self.params_table.c.study == self.study) & (self.params_table.c.number == number)
        with self.engine.begin() as connection:
            connection.execute(self.params_table.delete().where(own_params))

    @contextmanager
    def keep_alive(self, number: int) -> Iterator[threading.Event]:
        """Send heartbeats for a claimed trial in the background; the event is set if the claim is lost.

        A storage that does not answer does not lose the claim: the next heartbeat tries again.
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
        """One statement: the worker that updates the row as it was read has the trial."""
        columns = self.claims_table.c
        unchanged = (
            (columns.study == self.study)
            & (columns.number == row.number)
            & (columns.state == row.state)
            & (columns.owner == row.owner)
            & (columns.heartbeat == row.heartbeat)
        )
        return self._execute_update(unchanged, state=CLAIMED, owner=self.owner, heartbeat=row.heartbeat + 1)

    def _update(self, number: int, **values: Any) -> bool:
        columns = self.claims_table.c
        own_claim = (
            (columns.study == self.study)
            & (columns.number == number)
            & (columns.owner == self.owner)
            & (columns.state == CLAIMED)
        )
        return self._execute_update(own_claim, **values)

    def _execute_update(self, condition: Any, **values: Any) -> bool:
        """Whether exactly one row was changed."""
        with self.engine.begin() as connection:
            return bool(connection.execute(self.claims_table.update().where(condition).values(**values)).rowcount == 1)

    def _insert(self, table: "Table", row: dict[str, Any]) -> bool:
        """Insert a row; False if another worker has inserted its key."""
        from sqlalchemy.exc import IntegrityError

        with self.engine.begin() as connection:
            try:
                connection.execute(table.insert().values(row))
            except IntegrityError:
                connection.rollback()
                return False
        return True

    def _is_stale(self, row: Any) -> bool:
        """Whether the owner has ended, or has sent no heartbeat during the grace period."""
        if is_dead(row.owner):
            return True
        heartbeat, since = self._heartbeats.get(row.number, (-1, 0.0))
        if heartbeat != row.heartbeat or is_paused(row.owner):
            self._heartbeats[row.number] = (row.heartbeat, time.monotonic())
            return False
        return time.monotonic() - since > self.grace_period_seconds


def _build_tables() -> "tuple[Table, Table]":
    """The owner of each trial, and the combination that is reserved for it."""
    from sqlalchemy import Column, Integer, MetaData, String, Table

    claims = Table(
        "regard_trial_claims",
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
