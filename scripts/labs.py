"""Whether the verdicts of labs can be relied on: three disjoint sets of seeds, and what is found without the mechanism.

    python -m scripts.labs [LAB …] [--pictures FOLDER]

Prints for each lab the verdict of each set, the smallest margin (half-widths of the interval between its nearer end and
the number at which a verdict turns; 1 and more is safe), the verdict of `broken` or `control`, and the CPU seconds of
one run. Exits with 1 if sets disagree, a margin is below 1, a counterpart does not turn the verdict or is undecided, or
a run takes more than 20 seconds.
"""

import argparse
from pathlib import Path

import torch

from regard.labs.catalog import all_labs, find_lab
from regard.labs.lab import Lab, load_lab
from regard.labs.verdict import Verdict

FIRST_SEEDS = (1, 101, 201)
MAX_SECONDS = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="names or files; all if none is given")
    parser.add_argument("--pictures", type=Path, help="folder for a PNG of each lab")
    options = parser.parse_args()
    torch.set_num_threads(1)
    faults = 0
    for name in options.labs or [lab.name for lab in all_labs()]:
        lab = load_lab(find_lab(name))
        problems = check(lab, options.pictures)
        faults += bool(problems)
    print(f"{faults} of {len(options.labs) or len(list(all_labs()))} labs cannot be relied on")
    return int(faults > 0)


def check(lab: Lab, pictures: Path | None) -> list[str]:
    """What is wrong with a lab; prints a line of it."""
    results = [lab.run(first_seed) for first_seed in FIRST_SEEDS]
    verdicts = [result.finding.verdict for result in results]
    margin = min(result.finding.margin for result in results)
    counterpart = lab.run_counterpart().verdict
    seconds = max(result.cpu_seconds for result in results)
    problems = [
        *(["sets of seeds disagree"] if len(set(verdicts)) > 1 else []),
        *([f"margin {margin:.2f}"] if margin < 1 else []),
        *(["its counterpart does not turn the verdict"] if counterpart in (verdicts[0], Verdict.UNDECIDED) else []),
        *([f"{seconds:.0f} s"] if seconds > MAX_SECONDS else []),
    ]
    found = " | ".join(dict.fromkeys(verdicts))
    print(f"{lab.header.name}: {found}; margin {margin:.1f}; counterpart: {counterpart}; {seconds:.1f} s", flush=True)
    print(f"    {results[0].sentence}")
    for problem in problems:
        print(f"    ! {problem}", flush=True)
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        chart = results[0].picture().chart(results[0].finding.headline)
        (pictures / f"{lab.header.name}.png").write_bytes(chart.to_png())
        print(results[0].picture().text(100))
    return problems


if __name__ == "__main__":
    raise SystemExit(main())
