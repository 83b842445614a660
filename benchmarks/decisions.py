"""Does attention show which words matter?  Classifiers of SST-2, their decisions on its test set, by five measures.

    python benchmarks/decisions.py TEST.tsv RUN RUN RUN [--sentences 872]

The runs are trained by `regard train train.tsv --task classify --steps 1000 --set train.seed=N`. Writes
results/decisions.md.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from environment import described, write

from regard.formats.labeled import ColumnNames, LabeledText, read_labeled_texts
from regard.jobs.look.decisions import MeasuredTexts, measure_texts
from regard.jobs.tasks.registry import get_task

POSITIVE = """
    good great best better fun funny charming moving beautiful wonderful excellent enjoyable entertaining smart clever
    warm touching powerful fresh brilliant delightful engaging fascinating compelling love solid hilarious sweet rich
    original superb stunning refreshing gripping witty thoughtful impressive memorable heartwarming gorgeous
"""
NEGATIVE = """
    bad worst worse dull boring mess awful terrible stupid silly lacks lacking fails failure tedious predictable weak
    poor flat empty bland tired contrived pointless annoying slow shallow ugly cheap lame clumsy disappointing
    disappointment waste painful pretentious unfunny forgettable ridiculous mediocre
"""
SENTIMENT_WORDS = [*POSITIVE.split(), *NEGATIVE.split()]


def measure(folder: Path, examples: list[LabeledText]) -> tuple[MeasuredTexts, float]:
    """What the decisions of a run rest on, and their accuracy."""
    classifier = get_task("classify").load_predictor(folder, "cpu")
    texts = [example.text for example in examples]
    predicted = [one.labels for one in classifier.classify(texts)]
    accuracy = sum(a == b.labels for a, b in zip(predicted, examples, strict=True)) / len(texts)
    return measure_texts(classifier, texts, "test", SENTIMENT_WORDS), accuracy


def report(results: dict[str, tuple[MeasuredTexts, float]]) -> Iterator[str]:
    runs = list(results)
    yield f"| | {' | '.join(runs)} |"
    yield f"|---|{'---|' * len(runs)}"
    yield f"| accuracy | {' | '.join(f'{accuracy:.1%}' for _, accuracy in results.values())} |"
    first = next(iter(results.values()))[0]
    for pair in first.agreements:
        scores = [measured.agreements[pair] for measured, _ in results.values()]
        cells = [f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]" for score in scores]
        yield f"| rank correlation of {scores[0].name} | {' | '.join(cells)} |"
    for number in range(len(first.listed.shares)):
        shares = [measured.listed.shares[number] for measured, _ in results.values()]
        name = shares[0].measure.name
        cells = [f"{s.share:.1%} ({s.uniform_share:.1%} if uniform)" for s in shares]
        yield f"| {name}: share of listed words | {' | '.join(cells)} |"
        cells = [f"{s.lift.value:.2f} [{s.lift.low:.2f}, {s.lift.high:.2f}]" for s in shares]
        yield f"| {name}: listed words, times the average | {' | '.join(cells)} |"
        cells = [f"{s.random_lift:.2f} ({s.random_interval[0]:.2f} to {s.random_interval[1]:.2f})" for s in shares]
        yield f"| {name}: random words, times the average | {' | '.join(cells)} |"
        yield f"| {name}: p | {' | '.join(f'{s.p_value:.3f}' for s in shares)} |"
    for name in ("cost", "cost_difference"):
        costs = [getattr(measured.listed, name) for measured, _ in results.values()]
        cells = [f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]" for score in costs]
        yield f"| {costs[0].name} (nats) | {' | '.join(cells)} |"
    yield ""
    listed = first.listed
    yield f"{listed.num_occurrences} occurrences of {len(listed.words)} listed words in {listed.num_texts} texts."
    for run, (measured, _) in results.items():
        yield ""
        yield f"{run}:"
        yield ""
        yield from (
            f"- {line}; {entry.containing:.0f}% of the texts have one"
            for line, entry in zip(measured.describe_keywords(), measured.rank_keywords(), strict=True)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--sentences", type=int, default=872)
    options = parser.parse_args()
    examples = list(read_labeled_texts([options.data], ColumnNames()))[: options.sentences]
    results = {folder.name: measure(folder, examples) for folder in options.runs}
    write("decisions", [*described(), f"- {len(examples)} texts of {Path(options.data).name}", "", *report(results)])


if __name__ == "__main__":
    main()
