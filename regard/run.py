"""A run folder: the one place that knows the name of every file in it, and how to write one safely.

    config.toml  tokenizer.model  log.jsonl  versions.json  checksums.json  doctor.json
    tokenizer.pieces.json         the ids of pieces, where they are not the tokeniser's own (imported models)
    weights/<step>.safetensors    the last few checkpoints, and the best one
    resume/<step>.safetensors     what a checkpoint needs besides its weights to go on bit for bit
    resume/<step>.json
    latest.json                   the checkpoint to resume from
    best.json                     the weights to translate with
    average.safetensors           the mean of the last checkpoints
    start.safetensors             the weights that a fine-tuned run began with
    store/                        the corpus, memory-mapped
    report.html  charts/          what people look at
    heads.jsonl                   measures of heads through training, if train.head_stats_every asks for them
    pruning.json                  which heads were cut out, and what that cost
    scores/<set>.json  scores/<set>.sentences.tsv
    ctranslate2/<kind>/           the model for another engine, made from the best weights when it is wanted

Every file is written aside and renamed. A checkpoint counts only once latest.json names it, so a kill at any moment
leaves the one before it whole.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard import config as settings
from regard.config import Config
from regard.errors import BusyError, RunError, WriteError

TEMPORARY_SUFFIX, STAGING_SUFFIX = ".aside", ".making"


@dataclass(frozen=True)
class Run:
    """A training run on disk."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    @property
    def lock_file(self) -> Path:
        return self.folder / ".lock"

    @property
    def versions(self) -> Path:
        return self.folder / "versions.json"

    @property
    def checksums(self) -> Path:
        return self.folder / "checksums.json"

    @property
    def latest(self) -> Path:
        return self.folder / "latest.json"

    @property
    def best(self) -> Path:
        return self.folder / "best.json"

    @property
    def average_weights(self) -> Path:
        return self.folder / "average.safetensors"

    @property
    def initial_weights(self) -> Path:
        return self.folder / "start.safetensors"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def texts_manifest(self) -> Path:
        return self.store / "texts.json"

    @property
    def tokens_manifest(self) -> Path:
        return self.store / "pieces.json"

    @property
    def doctor(self) -> Path:
        return self.folder / "doctor.json"

    @property
    def pruning(self) -> Path:
        """What was cut out of the model, and what that cost."""
        return self.folder / "pruning.json"

    @property
    def head_history(self) -> Path:
        """Measures of heads through training, a line each time they were taken."""
        return self.folder / "heads.jsonl"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def charts(self) -> Path:
        return self.folder / "charts"

    def tokenizer(self, side: str = "") -> Path:
        """The tokeniser of both sides, or of one ('source', 'target') where they differ."""
        return self.folder / (f"tokenizer.{side}.model" if side else "tokenizer.model")

    def vocab(self, side: str = "") -> Path:
        """Which id each piece has, where a tokeniser does not say so itself; of both sides or of one."""
        return self.folder / (f"tokenizer.{side}.pieces.json" if side else "tokenizer.pieces.json")

    @property
    def wordpiece(self) -> Path:
        """The tokeniser of an encoder."""
        return self.folder / "tokenizer.json"

    def tokenizer_files(self) -> list[Path]:
        """Everything that cuts text into pieces and is there."""
        files = [name(side) for name in (self.tokenizer, self.vocab) for side in ("", "source", "target")]
        return [path for path in (*files, self.wordpiece) if path.exists()]

    def weights(self, step: int) -> Path:
        return self.folder / "weights" / f"{step:08d}.safetensors"

    def resume_tensors(self, step: int) -> Path:
        return self.folder / "resume" / f"{step:08d}.safetensors"

    def resume_state(self, step: int) -> Path:
        return self.folder / "resume" / f"{step:08d}.json"

    def scores(self, name: str) -> Path:
        return self.folder / "scores" / f"{name}.json"

    def sentence_scores(self, name: str) -> Path:
        return self.folder / "scores" / f"{name}.sentences.tsv"

    def ctranslate2_model(self, kind: str) -> Path:
        return self.folder / "ctranslate2" / kind

    def existing_paths(self) -> list[Path]:
        """All that a run consists of and that is there; what else lies in its folder is somebody's."""
        files = [self.config, self.log, self.versions, self.checksums, self.latest, self.best, self.average_weights]
        files += [
            self.lock_file,
            self.initial_weights,
            self.doctor,
            self.report,
            self.pruning,
            self.head_history,
            *self.tokenizer_files(),
        ]
        folders = [
            self.store,
            self.charts,
            *(self.folder / name for name in ("weights", "resume", "scores", "ctranslate2")),
        ]
        return [path for path in files + folders if path.exists()]

    def saved_steps(self) -> list[int]:
        """The checkpoints whose weights are on disk, oldest first."""
        return sorted(int(path.stem) for path in (self.folder / "weights").glob("[0-9]*.safetensors"))

    def finished(self) -> bool:
        """Whether training has come to its end."""
        return self.latest.exists() and bool(self.read_json(self.latest).get("finished"))

    def load_config(self) -> Config:
        """The settings this run was made with."""
        return settings.load(self.config)

    def read_json(self, path: Path) -> Any:
        """A JSON file of the run; damage is named, not thrown."""
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{path}: missing. {self._remedy()}") from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise RunError(f"{path}: damaged ({error}). {self._remedy()}") from None

    def write_json(self, path: Path, value: Any) -> None:
        write_text(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")

    def record_checksums(self, *paths: Path) -> None:
        """Remember the checksums of files, so that damage is noticed when they are read."""
        checksums = self.read_json(self.checksums) if self.checksums.exists() else {}
        checksums = {name: value for name, value in checksums.items() if (self.folder / name).exists()}
        checksums.update({self._relative_name(path): sha256(path) for path in paths})
        self.write_json(self.checksums, checksums)

    def has_checksum(self, path: Path) -> bool:
        """Whether a file was written to its end: a kill may come between the file and its checksum."""
        return path.exists() and self.checksums.exists() and self._relative_name(path) in self.read_json(self.checksums)

    def verify(self, path: Path) -> Path:
        """The path, if the file is there and as it was written."""
        if not path.exists():
            raise RunError(f"{path}: missing. {self._remedy()}")
        checksums = self.read_json(self.checksums)
        if checksums.get(self._relative_name(path)) != sha256(path):
            raise RunError(f"{path}: damaged: its checksum is not the one it was written with. {self._remedy()}")
        return path

    def remove_temporary_files(self) -> None:
        """Remove what a killed process left half written."""
        for path in self.folder.rglob(f"*{TEMPORARY_SUFFIX}"):
            path.unlink(missing_ok=True)

    def _relative_name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _remedy(self) -> str:
        return f"Restore it from a copy, or train again with --overwrite --out {self.folder}."


def require_free(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something else, or a run that nobody said to replace."""
    occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if not occupied and folder.resolve() == Path.cwd():
        raise RunError(f"{folder}: is the current folder. Choose a folder of its own with --out.")
    if occupied and not is_run(folder):
        raise RunError(f"{folder}: already exists and is not a run. Choose another folder with --out.")
    if occupied and not overwrite:
        raise RunError(
            f"{folder}: already holds a run. Continue it with --resume {folder}, replace it with --overwrite, "
            f"or choose another folder with --out."
        )
    if occupied:
        with lock(Run(folder)):  # or somebody is training there at this moment
            pass


def is_run(folder: Path) -> bool:
    """Whether a folder was made here: a config.toml alone may be anybody's."""
    run = Run(folder)
    try:
        return run.config.exists() and "regard" in json.loads(run.versions.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def stage(folder: Path, config: Config) -> Run:
    """A run in the making, beside the folder it is meant for: until it is ready, nothing there is touched."""
    target = folder.resolve()
    run = Run(target.with_name(target.name + STAGING_SUFFIX))
    try:
        shutil.rmtree(run.folder, ignore_errors=True)  # what a kill left of an earlier try
        run.folder.mkdir(parents=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written ({error.strerror}). Choose another with --out.") from None
    write_text(run.config, settings.dump(config, only_explicit=True))  # the rest is chosen once the data is known
    return run


def commit(staged_run: Run, folder: Path) -> Run:
    """Put a run that is ready into its place. Of an old run only what a run is made of is removed."""
    committed_run = Run(folder)
    if not folder.exists() or not any(folder.iterdir()):
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged_run.folder.replace(folder)
        return committed_run
    for path in committed_run.existing_paths():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in sorted(staged_run.folder.iterdir(), key=lambda path: path != staged_run.config):
        path.replace(folder / path.name)
    staged_run.folder.rmdir()
    return committed_run


def discard(staged_run: Run) -> None:
    """Leave no trace of a run that came to nothing."""
    shutil.rmtree(staged_run.folder, ignore_errors=True)


def open_run(folder: Path) -> Run:
    """An existing run."""
    run = Run(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run. Train one with `regard train … --out {folder}`.")
    if not run.config.exists():
        raise RunError(f"{folder}: not a run folder (it has no {run.config.name}).")
    return run


@contextlib.contextmanager
def lock(run: Run) -> Iterator[None]:
    """The run for this process alone: two that train in one folder would spoil each other's checkpoints.

    The system lets go of it when the process ends, however it ends. Where locks do not exist nothing is held.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with run.lock_file.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(
                f"{run.folder}: another process is training there. Wait until it ends, or choose another with --out."
            ) from None
        except OSError:  # a file system without locks
            pass
        yield


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path whose file replaces `path` only if the block succeeds."""
    if not path.name:
        raise WriteError(f"{path}: is a folder; give the name of a file to write")
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise WriteError(
            f"{path}: could not be written ({error.strerror or error}); what was there before is untouched"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file aside and rename it."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
