"""An index folder: the one place that knows the name of every file in it.

    index.json                       what the index is made of, and of how many documents and passages
    checksums.json                   SHA-256 of every other file, verified when the index is changed
    documents/{ids,titles,texts}.*   the documents, as UTF-8 with offsets
    documents/order                  the documents, sorted by id (int32)
    passages/starts, spans           where the passages of each document begin (int64); their characters (int32, pairs)
    passages/vectors                 a vector for each passage, in float32 or int8
    passages/scales                  of int8: what 1 stands for, by dimension (float32)
    passages/hnsw.usearch            a graph for approximate search, if it was asked for
    bm25/                            the inverted index

The folder is never changed in place: a new one is prepared beside it, and the two are exchanged.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard import files
from regard.atomic import acquire_lock, sha256, write_text
from regard.errors import BusyError, SearchIndexError
from regard.exchange import contains_current, is_occupied, recover
from regard.files import Count, Finite
from regard.retrieval.lexical.analyzer import AnalyzerSettings

INDEX_FORMAT = 1  # raised by every incompatible change to the files of an index; other formats are refused
REMEDY = "Restore it from a copy, or index the documents again with --overwrite."
CHECKSUM_CHARS = 12  # of a checksum that people read


@dataclass(frozen=True)
class EncoderIdentity:
    """What made the vectors: those of other weights cannot be compared with them."""

    name: str
    run: str
    """Its folder, where it was when the index was made."""
    checksum: str
    """SHA-256 of the weights."""

    def describe(self) -> str:
        return f"{self.name} (weights {self.checksum[:CHECKSUM_CHARS]})"


@dataclass(frozen=True)
class HnswFacts:
    """How well the graph finds what exact search finds."""

    recall: Finite
    """Of the first ten documents, from 0 to 1."""
    sample: Count
    """Passages that were taken as queries."""


@dataclass(frozen=True)
class Manifest:
    """index.json."""

    format: int
    regard: str
    encoder: EncoderIdentity
    analyzer: AnalyzerSettings
    precision: str
    max_passages: Count
    """Of a document; 0 for all."""
    dim: Count
    num_documents: Count
    num_passages: Count
    num_empty: Count
    """Documents without any text."""
    hnsw: HnswFacts | None = None


@dataclass(frozen=True)
class IndexFolder:
    """An index on disk."""

    path: Path

    @property
    def manifest(self) -> Path:
        return self.path / "index.json"

    @property
    def checksums(self) -> Path:
        return self.path / "checksums.json"

    @property
    def lock_file(self) -> Path:
        return self.path / ".lock"

    @property
    def documents(self) -> Path:
        return self.path / "documents"

    @property
    def passages(self) -> Path:
        return self.path / "passages"

    @property
    def bm25(self) -> Path:
        return self.path / "bm25"

    @property
    def hnsw(self) -> Path:
        return self.passages / "hnsw.usearch"

    def paths(self) -> list[Path]:
        """The files and folders of an index; anything else in its folder is the user's."""
        return [self.manifest, self.checksums, self.documents, self.passages, self.bm25]

    def read_manifest(self) -> Manifest:
        """What the index is; an index that is missing or damaged, or of another format, is refused."""
        if not self.path.exists():
            recover(self.path)  # a process may have been killed while it replaced the index
        if not self.manifest.exists():
            raise SearchIndexError(f"{self.path}: no search index. Make one with `regard index RUN FILES --out …`.")
        number = self._read_json(self.manifest, dict[str, Any]).get("format")
        if number != INDEX_FORMAT:
            raise SearchIndexError(
                f"{self.path}: has index format {number!r:.40}, but this version reads format {INDEX_FORMAT}: index "
                f"the documents again with --overwrite."
            )
        manifest: Manifest = self._read_json(self.manifest, Manifest)
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """The last files of a new index."""
        checksums = {path.relative_to(self.path).as_posix(): sha256(path) for path in self._data_files()}
        for path, value in ((self.checksums, checksums), (self.manifest, asdict(manifest))):
            write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    def verify(self, *paths: Path) -> None:
        """Refuse files that are not as they were written; all of the index if none are named."""
        checksums = self._read_json(self.checksums, dict[str, str])
        for path in paths or self._data_files():
            try:
                checksum = sha256(path)
            except OSError as error:
                raise SearchIndexError(f"{path}: cannot be read ({error.strerror or error}). {REMEDY}") from None
            if checksums.get(path.relative_to(self.path).as_posix()) != checksum:
                raise SearchIndexError(f"{path}: damaged: its checksum is not the one it was written with. {REMEDY}")

    def _data_files(self) -> list[Path]:
        return sorted(path for folder in (self.documents, self.passages, self.bm25) for path in folder.rglob("*"))

    def _read_json(self, path: Path, shape: Any) -> Any:
        try:
            return files.read_json(path, shape)
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or error
            raise SearchIndexError(f"{path}: damaged ({problem}). {REMEDY}") from None


def is_index(folder: Path) -> bool:
    """Whether a folder holds a search index, of whichever format, and even if it is damaged."""
    index = IndexFolder(folder)
    try:
        return {"format", "encoder", "analyzer"} <= files.read_json(index.manifest, dict[str, Any]).keys()
    except (OSError, ValueError):
        return all(path.exists() for path in index.paths())


def require_free(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something else, or an index that is not to be overwritten."""
    is_busy = recover(folder)
    if contains_current(folder):
        raise SearchIndexError(f"{folder}: is the current folder. Choose a folder of its own with --out.")
    if is_occupied(folder) and not is_index(folder):
        raise SearchIndexError(f"{folder}: already exists and is not a search index. Choose another folder with --out.")
    if is_occupied(folder) and not overwrite:
        raise SearchIndexError(
            f"{folder}: already holds a search index. Add to it with `regard index {folder} --add …`, replace it with "
            f"--overwrite, or choose another folder with --out."
        )
    if is_busy:
        raise BusyError(f"{folder}: another process is writing an index there. Wait until it ends.")


@contextlib.contextmanager
def lock_index(folder: IndexFolder) -> Iterator[None]:
    """Exclusive use of an index that is changed: of two processes, one would undo what the other has added.

    The lock is linked into the new folder, so that it holds for both. A folder without an index needs none, and gets
    none: a file in it would make it look as if another process had written there.
    """
    if not is_index(folder.path):
        yield
        return
    try:
        descriptor = acquire_lock(folder.lock_file)
    except BlockingIOError:
        raise BusyError(f"{folder.path}: another process is changing this index. Wait until it ends.") from None
    except OSError as error:
        raise SearchIndexError(f"{folder.lock_file}: cannot be locked ({error.strerror or error}).") from None
    try:
        yield
    finally:
        os.close(descriptor)
