"""How often intervals hold the truth and tests are significant, by simulation, where the truth is known.

    python benchmarks/calibration.py [--write]

The sentences are simulated (`tests/metrics/simulation.py`, `tests/tuning/null_studies.py`); the code is that which
scores, compares and tunes. Takes about ten minutes of one core.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from environment import described, write
from sacrebleu.metrics.bleu import BLEU

sys.path.insert(0, str(Path(__file__).parents[1]))

from regard.metrics.significance import PAIRED_TESTS
from regard.metrics.statistical_tests import permutation_test, spearman_test, welch_t_test
from tests.metrics.simulation import coverage, equal_systems, populations
from tests.tuning import null_studies

SENTENCES = (10, 20, 50, 200)


def coverages(repeats: int = 4000) -> Iterator[str]:
    yield "| 95% interval of | " + " | ".join(f"n = {n}" for n in SENTENCES) + " |"
    yield "|---|" + "---|" * len(SENTENCES)
    for population in populations():
        cells = (f"{coverage(population, n, repeats):.1%}" for n in SENTENCES)
        yield f"| {population.name} | {' | '.join(cells)} |"


def paired_sizes(repeats: int = 2000) -> Iterator[str]:
    yield "| p < 0.05 for two equal systems | n = 20 | n = 50 | n = 200 |"
    yield "|---|---|---|---|"
    rows: dict[str, list[str]] = {"paired bootstrap": [], "approximate randomization": [], "sacreBLEU's bootstrap": []}
    for n in (20, 50, 200):
        rng, metric = np.random.default_rng(n), BLEU(force=True)
        draws = {kind: test.draw(n, 12345)[:2000] for kind, test in PAIRED_TESTS.items()}
        hits = dict.fromkeys(rows, 0)
        for _ in range(repeats):
            first, other = equal_systems(rng, 2, n)
            bootstrap, randomization = (
                PAIRED_TESTS[kind].p_values(metric, first, other, draws[kind]) for kind in ("bs", "ar")
            )
            for name, p in zip(rows, (bootstrap.p, randomization.p, bootstrap.sacrebleu_p), strict=True):
                hits[name] += p < 0.05
        for name, count in hits.items():
            rows[name].append(f"{count / repeats:.1%}")
    yield from (f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())


def sample_sizes(repeats: int = 4000) -> Iterator[str]:
    rng = np.random.default_rng(3)

    def labelled(labels: int, count: int) -> bool:
        return permutation_test([[(n % labels, float(rng.normal())) for n in range(count)]]).significant

    tests: dict[str, Callable[[], bool]] = {
        "Welch's t, three seeds each": lambda: (
            welch_t_test(rng.normal(size=3).tolist(), rng.normal(size=3).tolist()) < 0.05
        ),
        "Welch's t, three seeds each, one four times as variable": lambda: (
            welch_t_test(rng.normal(size=3).tolist(), (4 * rng.normal(size=3)).tolist()) < 0.05
        ),
        "permutation test, 2 values, 8 trials": lambda: labelled(2, 8),
        "permutation test, 4 values, 24 trials": lambda: labelled(4, 24),
        "rank correlation, 8 trials": lambda: (
            spearman_test(rng.normal(size=8).tolist(), rng.normal(size=8).tolist()).significant
        ),
        "rank correlation, 24 trials": lambda: (
            spearman_test(rng.normal(size=24).tolist(), rng.normal(size=24).tolist()).significant
        ),
    }
    yield "| test, nothing to find | p < 0.05 |"
    yield "|---|---|"
    for name, is_significant in tests.items():
        yield f"| {name} | {sum(is_significant() for _ in range(repeats)) / repeats:.1%} |"


def studies(num_studies: int = 2000) -> Iterator[str]:
    yield "| studies of equal settings that claim anything | one seed | three seeds |"
    yield "|---|---|---|"
    for design, name in enumerate(("four sets", "a grid of eight", "sixteen random points")):
        rates = (null_studies.false_label_rate(seeds, num_studies // 2, design) for seeds in (1, 3))
        yield f"| {name} | {' | '.join(f'{rate:.1%}' for rate in rates)} |"
    rates = (null_studies.false_label_rate(seeds, num_studies) for seeds in (1, 3))
    yield f"| all three, {num_studies:,} studies | {' | '.join(f'{rate:.1%}' for rate in rates)} |"
    yield ""
    yield "| one of eight trials is worse, on 1,000 sentences | one seed | three seeds |"
    yield "|---|---|---|"
    for gap in (1.5, 3.0):
        rates = (null_studies.found_rate(seeds, 300, gap) for seeds in (1, 3))
        yield f"| by {gap:g} BLEU: found | {' | '.join(f'{rate:.0%}' for rate in rates)} |"


def main() -> None:
    lines = [*described(), ""]
    for part in (coverages, paired_sizes, sample_sizes, studies):
        for line in (*part(), ""):
            print(line, flush=True)
            lines.append(line)
    if "--write" in sys.argv:
        write("calibration", lines[:-1])


if __name__ == "__main__":
    main()
