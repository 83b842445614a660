"""How fast a corpus is prepared, and how much memory its trainer takes, from a hundred thousand pairs to ten million.

    PYTHONPATH=. python benchmarks/preparation.py SCRATCH [--pairs 100000 10000000] [--write]

Memory is anonymous memory (RssAnon): what is mapped from files the system takes back whenever it likes.
"""

import argparse
import shutil
from pathlib import Path

from environment import described, write

from tests.jobs.train.test_memory import peaks

STEPS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = ["| pairs | pairs/s prepared | peak MB preparing | peak MB of the first 100 steps |", "|---|---|---|---|"]
    for pairs in given.pairs:
        folder = given.scratch / f"{pairs}"
        found = peaks(folder, pairs, STEPS)
        shutil.rmtree(folder)
        speed = f"{pairs / found['seconds']:,.0f}"
        rows.append(f"| {pairs:,} | {speed} | {found['before']:,.0f} | {found['training']:,.0f} |")
        print("\n".join(rows) if len(rows) == 3 else rows[-1], flush=True)
    if given.write:
        write("preparation", [*described(), "- generated pairs of some 11 words", "", *rows])


if __name__ == "__main__":
    main()
