"""Search at scale: time of a query and memory, by exact search in float32 and int8, by the graph, and by BM25.

    PYTHONPATH=. python benchmarks/search.py SCRATCH [--documents 1000000] [--graph-documents 30000] [--write]

Documents are generated: 20 words of a vocabulary with Zipf's frequencies, and a vector of 384 numbers in one of a
thousand clusters. Queries are noisy vectors of other draws from the same clusters. Every index is built and searched in
a process of its own, one at a time; memory is anonymous memory (RssAnon), since the system takes back what is mapped
from files whenever it likes. Times are CPU time: other work on the machine does not count, but slows caches down. The
graph takes long to build, and may be measured with fewer documents.
"""

import argparse
import functools
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from environment import described, write

from regard.formats.retrieval import SearchDocument
from regard.retrieval.build import IndexOptions, create_index
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.index import SearchIndex, open_search_index
from regard.retrieval.index_folder import EncoderIdentity

DIM, CLUSTERS, NOISE = 384, 1000, 0.7
VOCABULARY, WORDS = 50_000, 20
SINGLE, BATCH, DEPTH = 50, 200, 10
KINDS = ("float32", "int8", "hnsw")
COLUMNS = ("CPU s to build", "MB of memory, building", "MB on disk", "ms a query", "ms, 200 together", "MB, searching")


@functools.cache
def draw_centers() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((CLUSTERS, DIM))


def draw_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Vectors of length 1 around common centers."""
    rows = draw_centers()[rng.integers(CLUSTERS, size=count)] + NOISE * rng.standard_normal((count, DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def draw_texts(rng: np.random.Generator, count: int) -> list[str]:
    words = np.minimum(rng.zipf(1.2, (count, WORDS)), VOCABULARY)
    return [" ".join(f"w{word}" for word in row) for row in words]


def generate(count: int) -> Iterator[SearchDocument]:
    for begin in range(0, count, 1000):
        rng = np.random.default_rng([1, begin])
        for n, text in enumerate(draw_texts(rng, min(1000, count - begin)), start=begin):
            yield SearchDocument(f"d{n}", str(n), text)


def embed(texts: Sequence[str]) -> np.ndarray:
    """The vectors of documents, which have their numbers as titles."""
    return draw_vectors(np.random.default_rng([2, int(texts[0].partition(" ")[0])]), len(texts))


class PeakMemory(threading.Thread):
    """The largest anonymous memory of this process, in MB, while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.02):
            self.peak = max(self.peak, anonymous_memory())

    def end(self) -> float:
        self.ended.set()
        self.join()
        return max(self.peak, anonymous_memory())


def anonymous_memory() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").split("\n")
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def build(folder: Path, kind: str, count: int) -> dict[str, float]:
    options = IndexOptions(
        language="en", stemmer="none", precision="int8" if kind == "int8" else "float32", hnsw=kind == "hnsw"
    )
    encoder = Encoder(EncoderIdentity("generated", "", ""), embed, lambda text: [(0, len(text))])
    memory, begin = PeakMemory(), time.process_time()
    memory.start()
    create_index(folder, generate(count), encoder, options)
    seconds = time.process_time() - begin
    size = sum(path.stat().st_size for path in (folder / "passages").iterdir()) / 2**20
    return dict(zip(COLUMNS[:3], (seconds, memory.end(), size), strict=True))


def search(folder: Path, kind: str) -> dict[str, object]:
    memory = PeakMemory()
    memory.start()
    index = open_search_index(folder)
    method = index.hnsw if kind == "hnsw" else index.exact
    queries = draw_vectors(np.random.default_rng(3), BATCH)
    method.search(queries[:1], DEPTH)  # the first one reads the file
    alone = milliseconds(lambda: [method.search(query[None], DEPTH) for query in queries[:SINGLE]]) / SINGLE
    together = milliseconds(lambda: method.search(queries, DEPTH)) / BATCH
    bm25 = time_bm25(index)
    values = dict(zip(COLUMNS[3:], (alone, together, memory.end()), strict=True))
    found = {
        name: [ranking.documents.tolist() for ranking in one.search(queries, DEPTH)]
        for name, one in (("documents", method), ("exact", index.exact))
    }
    return {**values, "BM25": bm25, **found}


def time_bm25(index: SearchIndex) -> float:
    """Milliseconds of a query of five words."""
    queries = [text.split()[:5] for text in draw_texts(np.random.default_rng(4), SINGLE)]
    ranks = index.documents.tie_ranks
    return milliseconds(lambda: [index.bm25.search(terms, DEPTH, ranks) for terms in queries]) / SINGLE


def milliseconds(work) -> float:
    begin = time.process_time()
    work()
    return 1000 * (time.process_time() - begin)


def measure(scratch: Path, kind: str, count: int) -> dict:
    """Build and search in processes of their own."""
    folder = scratch / kind
    results = {}
    for step in ("build", "search"):
        command = [sys.executable, __file__, str(folder), "--documents", str(count), "--step", step, "--kind", kind]
        results |= json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shutil.rmtree(folder)
    return results


def table(scratch: Path, counts: Mapping[str, int]) -> Iterator[str]:
    headings = ["search", "documents", *COLUMNS, "recall@10"]
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    exact: dict[int, list[list[int]]] = {}
    bm25 = 0.0
    for kind, count in counts.items():
        if kind == "hnsw" and find_spec("usearch") is None:
            yield f"| hnsw | usearch is not installed |{' |' * (len(headings) - 2)}"
            continue
        result = measure(scratch, kind, count)
        pairs = zip(exact.setdefault(count, result["exact"]), result["documents"], strict=True)
        recall = np.mean([len({*a} & {*b}) / DEPTH for a, b in pairs])
        cells = [f"{result[name]:,.2f}" if name.startswith("ms") else f"{result[name]:,.0f}" for name in COLUMNS]
        yield f"| {kind} | {count:,} | {' | '.join(cells)} | {recall:.3f} |"
        bm25 = result["BM25"] if kind == "float32" else bm25
    yield ""
    yield f"BM25, five words, {counts['float32']:,} documents: {bm25:.2f} ms a query."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--graph-documents", type=int, help="for the graph; as many as --documents if unset")
    parser.add_argument("--note", help="a condition that the results mention")
    parser.add_argument("--step", choices=("build", "search"), help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.step:
        step = build(given.scratch, given.kind, given.documents) if given.step == "build" else None
        print(json.dumps(step or search(given.scratch, given.kind)))
        return
    given.scratch.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys(KINDS, given.documents) | {"hnsw": given.graph_documents or given.documents}
    conditions = [f"- vectors of {DIM} numbers, one for each document", *([f"- {given.note}"] if given.note else [])]
    rows = [*described(), *conditions, "", *table(given.scratch, counts)]
    print("\n".join(rows))
    if given.write:
        write("search", rows)


if __name__ == "__main__":
    main()
