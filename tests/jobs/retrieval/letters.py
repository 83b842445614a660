"""Documents of letters and dogs, which the tiny encoder knows, with queries and judgments."""

import json
import random
from pathlib import Path

LETTERS = [chr(code) for code in range(ord("b"), ord("z") + 1)]
N, Q = 29, 13


def write_documents(path: Path, first: int = 0, count: int = N, seed: int = 3) -> Path:
    rng = random.Random(seed)
    rows = []
    for n in range(first, first + count):
        text = " ".join(rng.choices(LETTERS, k=rng.choice((3, 7, 37))))
        rows.append({"id": f"d{n}", "title": rng.choice(["", "the dog"]), "text": text})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_queries(folder: Path) -> tuple[Path, Path]:
    """queries.tsv and qrels.txt: every query is a part of a document, which is the relevant one."""
    rng = random.Random(5)
    rows = [json.loads(line) for line in (folder / "docs.jsonl").read_text(encoding="utf-8").split("\n") if line]
    chosen = rng.sample(rows, Q)
    queries = [f"q{n}\t{' '.join(row['text'].split()[:5])}\n" for n, row in enumerate(chosen)]
    judgments = [f"q{n} 0 {row['id']} 2\nq{n} 0 {chosen[n - 1]['id']} 0\n" for n, row in enumerate(chosen)]
    (folder / "queries.tsv").write_text("".join(queries), encoding="utf-8")
    (folder / "qrels.txt").write_text("".join(judgments), encoding="utf-8")
    return folder / "queries.tsv", folder / "qrels.txt"
