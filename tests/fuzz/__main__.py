"""python -m tests.fuzz: run the cases, print what failed and a table by target."""

import argparse
import shlex
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import cases, runner, seeds

SHOWN = 2500


def main() -> int:
    options = _options()
    seeds.preload()
    with tempfile.TemporaryDirectory(prefix="regard-fuzz-") as folder:
        valid = options.seeds or Path(folder) / "seeds"
        if not (valid / "study").exists():
            begin = time.monotonic()
            seeds.build(valid)
            print(f"seeds made in {time.monotonic() - begin:.0f} s", flush=True)
        seeds.load_modules(valid)
        return _report(options, valid, Path(folder) / "cases")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of cases to run again, with their output")
    parser.add_argument("--target", help="cases of one target only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=Path, help="folder to keep the seeds in")
    parser.add_argument("--keep", action="store_true", help="keep the folders of failures")
    return parser.parse_args()


def _report(options: argparse.Namespace, valid: Path, root: Path) -> int:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    slowest: dict[str, float] = defaultdict(float)
    largest: dict[str, int] = defaultdict(int)
    failures, begin = 0, time.monotonic()
    for verdict in runner.run_all(_cases(options, valid, root), options.jobs):
        case = verdict.case
        counts[case.target]["fault" if verdict.fault else f"exit {verdict.code}"] += 1
        slowest[case.target] = max(slowest[case.target], verdict.seconds)
        largest[case.target] = max(largest[case.target], verdict.growth)
        if verdict.fault or options.only is not None:
            failures += bool(verdict.fault)
            _show(options, verdict)
        if not (verdict.fault and options.keep):
            runner.remove(case.folder)
    for target, outcomes in sorted(counts.items()):
        parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        print(
            f"{target:10} {sum(outcomes.values()):5} cases: {parts}; at most {slowest[target]:.1f} s, "
            f"{largest[target] / 1e9:.2f} GB"
        )
    total = sum(sum(outcomes.values()) for outcomes in counts.values())
    print(f"{total} cases in {time.monotonic() - begin:.0f} s, seed {options.seed}: {failures} faults")
    return int(failures > 0)


def _cases(options: argparse.Namespace, valid: Path, root: Path) -> Iterator[runner.Case]:
    numbers = options.only if options.only is not None else range(options.first, options.first + options.count)
    for number in numbers:
        if options.target in (None, cases.TARGETS[number % len(cases.TARGETS)][0]):
            yield cases.make(number, options.seed, valid, root)


def _show(options: argparse.Namespace, verdict: runner.Verdict) -> None:
    case = verdict.case
    print(f"\n{case.number} {case.target}: {verdict.fault or f'exit {verdict.code}'} ({verdict.seconds:.1f} s)")
    print(f"  input:   {case.damage!a}")
    print(f"  command: regard {shlex.join(case.argv)!a}")
    print(f"  again:   python -m tests.fuzz --seed {options.seed} --only {case.number}")
    print(
        "  | " + verdict.output[-SHOWN:].encode("ascii", "backslashreplace").decode().replace("\n", "\n  | "),
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
