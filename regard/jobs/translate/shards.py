"""A file that several processes translate, on one machine or on several that share a folder.

Its lines are cut into shards at the same places for any number of processes. Process r of n translates the shards r,
r + n, r + 2n … and writes each to a file in a folder beside the output:

    out.fr.shards/job.json   what is translated, and how: processes of another translation are refused
    out.fr.shards/000000.json … the rows of each shard, which appear under this name once they are complete

So a process that starts again goes on after its last shard, and the number of processes may be another one then.
Process 0 joins the shards. All processes read the whole input, so it knows how many there are, and waits for the last.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from regard.atomic import sha256, write_text
from regard.errors import ConfigError, RunError, WriteError
from regard.files import parse_json, read_bytes
from regard.formats.files import open_binary
from regard.hardware import count_cores, pick_device
from regard.jobs.translate.stream import full_chunks
from regard.jobs.translate.text import CHUNK_LINES
from regard.jobs.translate.worker_pool import RuntimeOptions
from regard.progress import report_note, stage
from regard.run import Run

FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.02, 1.0
Content = TypeVar("Content")
Issue = tuple[int, str, str]
"""The number of a line, the kind of an issue and its message."""


@dataclass(frozen=True)
class ProcessRank:
    """Which of how many processes this one is, and of how many on this machine."""

    rank: int
    world_size: int
    local_rank: int = 0
    local_world_size: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world_size or self.local_rank < 0 or self.local_world_size < 1:
            raise ConfigError(
                f"RANK={self.rank}, WORLD_SIZE={self.world_size}: expected a rank from 0 to WORLD_SIZE - 1, "
                f"as torchrun sets it"
            )

    def runtime(self, options: RuntimeOptions) -> RuntimeOptions:
        """The same for this process: a GPU of its own, or its part of the cores, each with one thread."""
        device = pick_device(options.device, self.local_rank)
        workers = options.workers
        if not workers and device.type == "cpu":
            workers = max(1, count_cores() // self.local_world_size)
        return replace(options, device=str(device), workers=workers, threads=1)


def find_rank() -> ProcessRank | None:
    """From the variables that torchrun sets for each process; None without them."""
    if "WORLD_SIZE" not in os.environ:
        return None
    names = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    values = {name: os.environ.get(name, default) for name, default in names.items()}
    if wrong := [f"{name}={value}" for name, value in values.items() if not (value.isascii() and value.isdecimal())]:
        raise ConfigError(f"{wrong[0]}: expected a number, as torchrun sets it; unset WORLD_SIZE for one process")
    return ProcessRank(*map(int, values.values()))


@dataclass(frozen=True)
class Shard:
    """The rows that are written for the lines of a shard, and what their translations have probably lost."""

    job: str
    """The checksum of the job, by which a shard of another translation is recognized."""
    num_lines: int
    rows: list[str]
    issues: list[Issue]


class ShardFolder:
    """The finished shards of one translation, beside its output."""

    def __init__(self, out: Path, job: Mapping[str, str]):
        self.path = out.with_name(f"{out.name}.shards")
        self._job = dict(sorted(job.items()))
        self._checksum = hashlib.sha256(repr(self._job).encode()).hexdigest()

    def open(self) -> None:
        """Create the folder, or refuse one of another translation."""
        manifest = self.path / "job.json"
        self.path.mkdir(parents=True, exist_ok=True)
        if not manifest.exists():
            with contextlib.suppress(WriteError):  # where another process writes the same at the same time
                write_text(manifest, _to_json(self._job))
        job, existing = self._job, self._read(manifest, dict[str, str])
        if differing := sorted(name for name in job.keys() | existing.keys() if job.get(name) != existing.get(name)):
            raise RunError(
                f"{self.path}: holds shards of another translation, with other {', '.join(differing)}. Start that one "
                f"again to complete it, choose another --out, or remove the folder."
            )

    def write(self, number: int, num_lines: int, rows: list[str], issues: list[Issue]) -> None:
        write_text(self._shard_path(number), _to_json(asdict(Shard(self._checksum, num_lines, rows, issues))))

    def read(self, number: int, num_lines: int) -> Shard:
        """A finished shard, which has as many lines as this one of the input."""
        path = self._shard_path(number)
        shard = self._read(path, Shard)
        if shard.job != self._checksum or shard.num_lines != num_lines:
            raise RunError(f"{path}: is of another translation. Remove {self.path} and start again.")
        return shard

    def is_complete(self, number: int, num_lines: int) -> bool:
        """Whether a shard is finished; a damaged one is translated again."""
        try:
            return self._shard_path(number).exists() and bool(self.read(number, num_lines))
        except RunError as error:
            report_note(f"translated again: {error}")
            return False

    def wait(self, numbers: Iterable[int]) -> None:
        """Return when all of these shards are there."""
        missing, seconds = self._missing(numbers), FIRST_WAIT_SECONDS
        with stage("waiting for the shards of other processes", len(missing)) as current:
            while missing:
                time.sleep(seconds)
                seconds = min(2 * seconds, MAX_WAIT_SECONDS)
                still_missing = self._missing(missing)
                current.advance(len(missing) - len(still_missing))
                missing = still_missing

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _missing(self, numbers: Iterable[int]) -> list[int]:
        names = (
            {path.name for path in self.path.iterdir()} if self.path.is_dir() else set()
        )  # listed, since a lookup may be cached
        return [number for number in numbers if self._shard_path(number).name not in names]

    def _shard_path(self, number: int) -> Path:
        return self.path / f"{number:06}.json"

    def _read(self, path: Path, shape: type[Content]) -> Content:
        try:
            return parse_json(read_bytes(path), shape)
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or error
            raise RunError(f"{path}: missing or damaged ({problem}). Remove {self.path} and start again.") from None


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def describe_job(run: Run, file: Path, options: Mapping[str, str]) -> dict[str, str]:
    """What the shards of a translation depend on: the input, the run, the options."""
    with open_binary(file) as content:
        digest = hashlib.sha256()
        while block := content.read(1 << 20):
            digest.update(block)
    weights = sha256(run.verify(run.best_weights()))
    return {"input": digest.hexdigest(), "weights": weights, "settings": sha256(run.config), **options}


def translate_own_shards(
    folder: ShardFolder,
    process: ProcessRank,
    lines: Iterable[str],
    translate: Callable[[list[str], int], Iterator[tuple[list[str], list[Issue]]]],
) -> list[int]:
    """Translate the shards of this process that are not finished; returns the number of lines of all shards.

    `translate` gives rows and issues of each of these lines, the first of which has this number.
    """
    folder.open()
    sizes: list[int] = []
    for number, chunk in enumerate(full_chunks(lines, CHUNK_LINES)):
        first = 1 + number * CHUNK_LINES
        sizes.append(len(chunk))
        if number % process.world_size != process.rank or folder.is_complete(number, len(chunk)):
            continue
        rows: list[str] = []
        issues: list[Issue] = []
        for line_rows, line_issues in translate(chunk, first):
            rows += line_rows
            issues += line_issues
        folder.write(number, len(chunk), rows, issues)
    if process.rank == 0 and len(sizes) < process.world_size:
        report_note(
            f"{sum(sizes):,} lines are {len(sizes)} {'shard' if len(sizes) == 1 else 'shards'} of up to "
            f"{CHUNK_LINES:,}, so {process.world_size - len(sizes)} of {process.world_size} processes had nothing to do"
        )
    return sizes


def join_shards(folder: ShardFolder, sizes: Sequence[int]) -> Iterator[Shard]:
    """The shards in order, once all are there."""
    folder.wait(range(len(sizes)))
    return (folder.read(number, size) for number, size in enumerate(sizes))
