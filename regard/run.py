"""A run folder: the one place that knows the name of every file in it, and how to write one safely.

    config.toml  tokenizer.model  log.jsonl  checksums.json  doctor.json
    versions.json                 the format of the folder, and the versions of the software that wrote it
    tokenizer.vocab.json          the ids of tokens, where they are not the tokenizer's own (imported models)
    weights/<step>.safetensors    the last few checkpoints, and the best one
    resume/<step>.*               what a checkpoint needs besides its weights to resume bit for bit
    latest.json  best.json        the checkpoint to resume from, and the weights to translate with
    average.safetensors           the mean of the last checkpoints; initial.safetensors: what a run began from
    store/                        the corpus, memory-mapped
    report.html  charts/          how training went, for people
    heads.jsonl  previews.jsonl   statistics of attention heads, if train.head_stats_every asks for them; dev examples
    tensorboard/                  event files of training curves, if train.track asks for them
    text_statistics.json          lengths, characters and sentences of the training text
    pruning.json                  which heads were pruned, and what that cost
    senses.json  scores/<set>.json  scores/<set>.sentences.tsv
    shortlist.safetensors         the target tokens that can translate each source token
    shortlist.json                what they change, measured on dev
    ctranslate2/<kind>/           the model for CTranslate2, converted from the best weights on first use

Files are written atomically. A checkpoint counts only once latest.json names it: a kill leaves the previous one intact.
"""

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, overload

import regard
from regard import atomic, files
from regard import config as settings
from regard.atomic import atomic_write as atomic_write
from regard.atomic import sha256
from regard.atomic import write_text as write_text
from regard.checkpoint_records import BestWeights as BestWeights
from regard.checkpoint_records import LatestCheckpoint as LatestCheckpoint
from regard.config import Config
from regard.errors import BusyError, RunError
from regard.exchange import recover

BEST_WEIGHTS = re.compile(r"(weights/\d{1,20}|average|initial)\.safetensors")
STEP = re.compile(r"[0-9]{8,16}")  # the name of a checkpoint
RUN_FORMAT = 2  # raised by every incompatible change to the files of a run; other formats are refused
Record = TypeVar("Record")
PACKAGES = ("torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")


@dataclass(frozen=True)
class Run:
    """A training run on disk."""

    folder: Path

    def __fspath__(self) -> str:
        return str(self.folder)

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
        return self.folder / "initial.safetensors"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def texts_manifest(self) -> Path:
        return self.store / "texts.json"

    @property
    def tokens_manifest(self) -> Path:
        return self.store / "tokens.json"

    @property
    def opponents(self) -> Path:
        """What cheap opponents predict for dev and test."""
        return self.store / "opponents.json"

    @property
    def doctor(self) -> Path:
        return self.folder / "doctor.json"

    @property
    def labels(self) -> Path:
        """The labels or tags that the training data has."""
        return self.folder / "labels.json"

    @property
    def senses(self) -> Path:
        """Cosines from which on a word has the same sense, of each layer."""
        return self.folder / "senses.json"

    @property
    def calibration(self) -> Path:
        """The temperature and the thresholds that were fitted on dev."""
        return self.folder / "calibration.json"

    @property
    def text_statistics(self) -> Path:
        return self.folder / "text_statistics.json"

    @property
    def shortlist(self) -> Path:
        """The target tokens that can translate each source token."""
        return self.folder / "shortlist.safetensors"

    @property
    def shortlist_record(self) -> Path:
        """How the shortlist was made, and what it changes."""
        return self.folder / "shortlist.json"

    @property
    def pruning(self) -> Path:
        return self.folder / "pruning.json"

    @property
    def head_history(self) -> Path:
        return self.folder / "heads.jsonl"

    @property
    def previews(self) -> Path:
        return self.folder / "previews.jsonl"

    @property
    def tensorboard(self) -> Path:
        return self.folder / "tensorboard"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def charts(self) -> Path:
        return self.folder / "charts"

    def tokenizer(self, side: str = "") -> Path:
        """The tokenizer of both sides, or of one ('source', 'target') where they differ."""
        return self.folder / (f"tokenizer.{side}.model" if side else "tokenizer.model")

    def vocab(self, side: str = "") -> Path:
        """The id of each token, where the tokenizer's own ids do not apply; of both sides or of one."""
        return self.folder / (f"tokenizer.{side}.vocab.json" if side else "tokenizer.vocab.json")

    @property
    def tokenizer_json(self) -> Path:
        """The tokenizer of an imported encoder or language model."""
        return self.folder / "tokenizer.json"

    def tokenizer_files(self) -> list[Path]:
        """All files of tokenizers that exist."""
        return [path for path in self._tokenizer_paths() if path.exists()]

    def _tokenizer_paths(self) -> list[Path]:
        files = [name(side) for name in (self.tokenizer, self.vocab) for side in ("", "source", "target")]
        return [*files, self.tokenizer_json]

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

    def example_scores(self, name: str) -> Path:
        """A row for each example of a set, of the tasks that do not translate."""
        return self.folder / "scores" / f"{name}.examples.tsv"

    def confusion(self, name: str) -> Path:
        return self.folder / "scores" / f"{name}.confusion.csv"

    def ctranslate2_model(self, kind: str) -> Path:
        return self.folder / "ctranslate2" / kind

    def paths(self) -> list[Path]:
        """The files and folders of a run, whether they exist or not; anything else in its folder is the user's."""
        files = [self.config, self.log, self.versions, self.checksums, self.latest, self.best, self.average_weights]
        files += [self.lock_file, self.initial_weights, self.doctor, self.report, self.pruning, self.head_history]
        files += [self.text_statistics, self.labels, self.calibration, self.previews]
        files += [self.shortlist, self.shortlist_record]
        folders = [self.folder / name for name in ("weights", "resume", "scores", "ctranslate2")]
        return [*files, *self._tokenizer_paths(), *folders, self.store, self.charts, self.tensorboard]

    def require_no_links(self) -> None:
        """Refuse a run with links in place of its files or folders: what they lead to would be written or deleted."""
        for path in self.paths():
            if path.is_symlink():
                raise RunError(f"{path}: is a link, and is not followed. Put the file or folder itself in its place.")

    def saved_steps(self) -> list[int]:
        """The checkpoints whose weights are on disk, oldest first."""
        paths = (self.folder / "weights").glob("[0-9]*.safetensors")
        return sorted(int(path.stem) for path in paths if STEP.fullmatch(path.stem))

    def finished(self) -> bool:
        """Whether training has ended."""
        return self.latest.exists() and self.read_latest().finished

    def read_latest(self) -> LatestCheckpoint:
        return self.read_json(self.latest, LatestCheckpoint)

    def write_latest(self, latest: LatestCheckpoint) -> None:
        self.write_json(self.latest, asdict(latest))

    def read_best(self) -> BestWeights:
        return self.read_json(self.best, BestWeights)

    def write_best(self, best: BestWeights) -> None:
        self.write_json(self.best, asdict(best))

    def best_weights(self) -> Path:
        """The file of the weights to translate with."""
        name = self.read_best().weights
        if not BEST_WEIGHTS.fullmatch(name):
            raise RunError(f"{self.best}: damaged: {name!a:.80} is not a weight file of the run. {self._remedy()}")
        return self.folder / name

    def load_config(self) -> Config:
        """The settings this run was trained with."""
        return settings.load(self.config)

    @overload
    def read_json(self, path: Path, shape: type[Record]) -> Record: ...
    @overload
    def read_json(self, path: Path, shape: Any = dict[str, Any]) -> Any: ...
    def read_json(self, path: Path, shape: Any = dict[str, Any]) -> Any:
        """A JSON file of the run, of this shape; a missing or damaged one is a RunError that names it."""
        try:
            return files.read_json(path, shape)
        except FileNotFoundError:
            raise RunError(f"{path}: missing. {self._remedy()}") from None
        except OSError as error:
            raise RunError(f"{path}: damaged ({error.strerror or error}). {self._remedy()}") from None
        except ValueError as error:
            raise RunError(f"{path}: damaged ({error}). {self._remedy()}") from None

    def read_bytes(self, path: Path) -> bytes:
        """The content of a file whose checksum is verified."""
        try:
            return files.read_bytes(self.verify(path))
        except OSError as error:
            raise RunError(f"{path}: damaged ({error.strerror or error}). {self._remedy()}") from None

    def write_json(self, path: Path, value: Any) -> None:
        try:
            text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
        except ValueError:
            raise RunError(
                f"{path}: not written, since a number is not finite: the weights overflow. Train a new run with a "
                f"lower train.learning_rate, or restore the weights from a copy."
            ) from None
        write_text(path, f"{text}\n")

    def record_checksums(self, *paths: Path) -> None:
        """Record the checksums of files, so that damage is detected when they are read."""
        checksums = self._read_checksums() if self.checksums.exists() else {}
        checksums = {name: value for name, value in checksums.items() if (self.folder / name).exists()}
        checksums.update({self._relative_name(path): sha256(path) for path in paths})
        self.write_json(self.checksums, checksums)

    def discard(self, path: Path) -> None:
        """Remove a file and its checksum, in this order: a checksum without a file says nothing."""
        path.unlink(missing_ok=True)
        if self.checksums.exists() and self._relative_name(path) in self._read_checksums():
            self.record_checksums()

    def has_checksum(self, path: Path) -> bool:
        """Whether a file was written completely: a kill may come between the file and its checksum."""
        return path.exists() and self.checksums.exists() and self._relative_name(path) in self._read_checksums()

    def verify(self, path: Path) -> Path:
        """The path, if the file exists and is as it was written."""
        if not path.exists():
            raise RunError(f"{path}: missing. {self._remedy()}")
        try:
            checksum = sha256(path)
        except OSError as error:
            raise RunError(f"{path}: damaged ({error.strerror or error}). {self._remedy()}") from None
        if self._read_checksums().get(self._relative_name(path)) != checksum:
            raise RunError(f"{path}: damaged: its checksum is not the one it was written with. {self._remedy()}")
        return path

    def remove_temporary_files(self) -> None:
        """Remove the incomplete files of a killed process."""
        for folder, _, _ in os.walk(self.folder):
            atomic.remove_temporary_files(Path(folder))

    def _relative_name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _read_checksums(self) -> dict[str, str]:
        return self.read_json(self.checksums, dict[str, str])

    def _remedy(self) -> str:
        return f"Restore it from a copy, or train again with --overwrite --out {self.folder}."


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, of whichever format: a config.toml alone may belong to any program."""
    run = Run(folder)
    try:
        return run.config.exists() and "regard" in files.read_json(run.versions, dict[str, Any])
    except (OSError, ValueError):
        return False


def write_versions(run: Run, launch: str = "") -> None:
    """versions.json: the format of the folder, the versions of the software, and the torchrun launch if any."""
    software = {"regard": regard.__version__, "python": sys.version.split()[0], "platform": platform.platform()}
    software |= {name: version(name) for name in PACKAGES}
    run.write_json(run.versions, {"format": RUN_FORMAT, **software} | ({"launch": launch} if launch else {}))


def open_run(folder: Path) -> Run:
    """An existing run of the format that this version reads."""
    run = Run(folder)
    if not folder.exists():
        recover(folder)  # a process may have been killed while it replaced the run
    if not folder.exists():
        raise RunError(f"{folder}: no such run. Train one with `regard train … --out {folder}`.")
    if not run.config.exists():
        raise RunError(f"{folder}: not a run folder (it has no {run.config.name}).")
    versions = run.read_json(run.versions) if run.versions.exists() else {}
    if versions.get("format") != RUN_FORMAT:
        raise RunError(
            f"{folder}: has run format {versions.get('format', 'none')}, but Regard {regard.__version__} reads format "
            f"{RUN_FORMAT}: train again with --overwrite, or use the version that wrote it "
            f"(Regard {versions.get('regard', 'unknown')})."
        )
    return run


@contextlib.contextmanager
def lock(run: Run) -> Iterator[None]:
    """Exclusive use of a run: two processes that train in one folder would overwrite each other's checkpoints.

    The system releases the lock when the process ends, however it ends. Without file locks, nothing is locked. The lock
    moves with its folder: while a run is replaced, both the old one and the new one are locked.
    """
    try:
        descriptor = atomic.acquire_lock(run.lock_file)
    except BlockingIOError:
        raise BusyError(
            f"{run.folder}: another process is training there. Wait until it ends, or choose another with --out."
        ) from None
    except OSError as error:
        raise RunError(f"{run.lock_file}: cannot be locked ({error.strerror or error}).") from None
    try:
        yield
    finally:
        os.close(descriptor)
