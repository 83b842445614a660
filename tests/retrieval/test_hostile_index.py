"""An index that others have made, with checksums that fit: damage is said in a sentence, and nothing changes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.formats.retrieval import SearchDocument
from regard.retrieval.build import Additions, IndexOptions, change_index, create_index
from regard.retrieval.index import open_search_index
from regard.retrieval.index_folder import IndexFolder
from tests.retrieval.toy import D, documents, embed, encoder, read_tree

N = 11
SPARSE = 1 << 36
"""Bytes of a file that takes no space, and more memory than there is."""
Change = Callable[[Path], object]


def edit(name: str, dtype: type, change: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda idx: (idx / name).write_bytes(change(np.fromfile(idx / name, dtype)).astype(dtype).tobytes())


def put(name: str, position: int, value: float, dtype: type) -> Change:
    def change(values: np.ndarray) -> np.ndarray:
        values[position] = value
        return values

    return edit(name, dtype, change)


def change_dim(dim: int) -> Change:
    """Vectors of another length, with a manifest that agrees."""

    def change(idx: Path) -> None:
        manifest = json.loads((idx / "index.json").read_text())
        dtype = np.dtype(manifest["precision"])
        (idx / "passages" / "vectors").write_bytes(np.ones((manifest["num_passages"], dim), dtype).tobytes())
        if manifest["precision"] == "int8":
            (idx / "passages" / "scales").write_bytes(np.ones(dim, np.float32).tobytes())
        (idx / "index.json").write_text(json.dumps({**manifest, "dim": dim}))

    return change


def swell(name: str) -> Change:
    """64 GB of zeros."""

    def change(idx: Path) -> None:
        with (idx / name).open("wb") as file:
            file.truncate(SPARSE)

    return change


def swell_terms(idx: Path) -> None:
    (idx / "bm25" / "terms.text").write_bytes(b"")
    swell("bm25/terms.offsets")(idx)


def link_out(idx: Path) -> None:
    (idx / "documents" / "order").unlink()
    (idx / "documents" / "order").symlink_to("/dev/zero")


FLOAT, INT8 = "float32", "int8"
HOSTILE: dict[str, tuple[str, Change]] = {
    "a vector that is not finite": (FLOAT, put("passages/vectors", 3, np.nan, np.float32)),
    "a scale that is not finite": (INT8, put("passages/scales", 2, np.nan, np.float32)),
    "scales that overflow": (INT8, edit("passages/scales", np.float32, lambda s: s * 0 + 3e38)),
    "negative scales": (INT8, edit("passages/scales", np.float32, np.negative)),
    "shorter vectors": (FLOAT, change_dim(D - 8)),
    "longer vectors in int8": (INT8, change_dim(D + 4)),
    "vectors of nothing": (FLOAT, change_dim(0)),
    "postings beyond the documents": (FLOAT, edit("bm25/postings.documents", np.int32, lambda d: d + N)),
    "negative postings": (FLOAT, edit("bm25/postings.documents", np.int32, lambda d: d - N)),
    "postings that do not ascend": (FLOAT, edit("bm25/postings.documents", np.int32, lambda d: d * 0)),
    "counts of nothing": (FLOAT, edit("bm25/postings.counts", np.int32, lambda c: c * 0)),
    "huge titles": (FLOAT, swell("documents/titles.offsets")),
    "huge terms": (FLOAT, swell_terms),
    "a device": (FLOAT, link_out),
    "terms that are not UTF-8": (FLOAT, edit("bm25/terms.text", np.uint8, lambda t: t | 128)),
}  # fmt: skip
QUERY = ["wing wings winging heat heats heating"]
NEW = [SearchDocument("new", "", "heat of a wing")]
COMMANDS: dict[str, Callable[[Path], object]] = {
    "search": lambda idx: open_search_index(idx).search(QUERY, embed(QUERY), 3),
    "add": lambda idx: change_index(idx, Additions(lambda: iter(NEW), encoder())),
    "delete": lambda idx: change_index(idx, deleted=["d1"]),
}
COPIED = {("shorter vectors", "delete"), ("longer vectors in int8", "delete")}
"""What needs no encoder and so cannot know better: the vectors are as long as the manifest has them."""


def reseal(idx: Path) -> None:
    """Checksums that fit; those of huge files cannot be computed, and are left as they were."""
    folder = IndexFolder(idx)
    sizes = [path.stat().st_size for path in idx.rglob("*") if path.is_file()]
    if max(sizes) < SPARSE and not (folder.documents / "order").is_symlink():
        folder.write_manifest(folder.read_manifest())


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes")
    docs = [SearchDocument(one.id, "", one.text) for one in documents(N)]  # no titles: an empty file
    for precision in (FLOAT, INT8):
        create_index(folder / precision, docs, encoder(), IndexOptions(language="en", precision=precision))
    return folder


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_index_is_refused_and_left_as_it_is(kind: str, command: str, indexes: Path, tmp_path: Path):
    precision, change = HOSTILE[kind]
    idx = tmp_path / "idx"
    shutil.copytree(indexes / precision, idx)
    change(idx)
    reseal(idx)
    before = {path: path.stat().st_ino for path in idx.rglob("*") if path.name != ".lock"}
    if (kind, command) in COPIED:
        COMMANDS[command](idx)
        return
    with pytest.raises(RegardError, match=r"damaged|cannot be read") as error:
        COMMANDS[command](idx)
    assert "\n" not in str(error.value) and "--overwrite" in str(error.value)
    assert {path: path.stat().st_ino for path in idx.rglob("*") if path.name != ".lock"} == before


def test_without_damage_all_of_them_succeed(indexes: Path, tmp_path: Path):
    for precision in (FLOAT, INT8):
        shutil.copytree(indexes / precision, tmp_path / precision)
        reseal(tmp_path / precision)
        assert read_tree(tmp_path / precision) == read_tree(indexes / precision)
        for command in COMMANDS.values():
            command(tmp_path / precision)
