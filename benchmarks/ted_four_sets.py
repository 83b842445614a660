"""A lecture's four combinations of layers, heads, width and dropout, at a quarter of their width, on TED talks.

    python benchmarks/ted_four_sets.py FOLDER --corpus ted_en_fr --part a       6,000 pairs, all sets for equal epochs
    python benchmarks/ted_four_sets.py FOLDER --corpus ted_en_fr --part b       all pairs, all sets for equal minutes
    python benchmarks/ted_four_sets.py FOLDER --corpus ted_en_fr --part c       the fourth set in the lecture's recipe
    python benchmarks/ted_four_sets.py FOLDER --corpus ted_en_fr --part c-all   the same on all pairs
    python benchmarks/ted_four_sets.py FOLDER --corpus ted_en_fr --write        charts and tables of what is finished

Every part is a study in FOLDER, so the work can be stopped or killed at any time: call it again and it goes on. Test is
translated once for each set, when its training has ended, and chooses nothing. Tables are printed, charts drawn into
FOLDER/images; --write makes results/ted_four_sets-PART.md and charts in docs/images of every part that is there. No
sentence of the corpus is in them.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from environment import described, write

from regard import config as settings
from regard.api.terminal import interruptible
from regard.cli.train import EXIT_INTERRUPTED
from regard.config import Config
from regard.display.study import show_study
from regard.formats import read_pairs
from regard.jobs.evaluate import read_scores
from regard.run import Run, write_text
from regard.training import log
from regard.tuning import open_study
from regard.tuning import study as studies
from regard.tuning.analysis.curves import find_turning_point
from regard.tuning.analysis.evidence import analyze_study
from regard.tuning.analysis.findings import describe_study
from regard.tuning.folder import is_study_folder
from regard.tuning.measure import RunSummary, find_best_validation
from regard.tuning.pages.study import StudyPage, write_study_page
from regard.tuning.results import TrialResult
from regard.tuning.study import Study, short_name
from regard.tuning.worker import StudyWorker, run_trials

ROOT = Path(__file__).parent.parent
EXAMPLE, IMAGES = ROOT / "examples" / "ted_four_sets.toml", ROOT / "docs" / "images"
PARTS = {
    "a": "The four sets on {pairs} pairs, {epochs:g} epochs each",
    "b": "The four sets on all pairs, {minutes:g} minutes each",
    "c": "The fourth set in the lecture's recipe on {pairs} pairs, {epochs:g} epochs",
    "c-all": "The fourth set in the lecture's recipe on all pairs, {minutes:g} minutes",
}
LECTURE: dict[str, Any] = {
    "model.norm": "post",
    "train.schedule": "constant",
    "train.learning_rate": 1e-4,
    "train.warmup": 0,
    "train.weight_decay": 0.0,  # with which AdamW is Adam
    "train.label_smoothing": 0.0,
    "train.guided_alignment": 0.0,
    "train.average_checkpoints": 1,
}
CHARTS = {"loss": "loss", "accuracy": "accuracy", "score": "bleu"}
"""Charts of the page, and the names of their images."""
VARIED = ("model.layers", "model.heads", "model.dim", "model.dropout")


def study_of(part: str, given: argparse.Namespace) -> Study:
    """The study of a part, as `regard tune examples/ted_four_sets.toml` with options would make it."""
    whole = part in ("b", "c-all")
    files = {name: [str(given.corpus / f"{name}.{side}") for side in ("en", "fr")] for name in ("train", "dev", "test")}
    if not whole:
        files["train"] = [str(path) for path in fewer(given.folder, files["train"], given.pairs)]
    study = studies.load(EXAMPLE)
    sets = {name: point for name, point in study.sets.items() if name.startswith("quarter")}
    if part.startswith("c"):
        sets = {"quarter 4 as taught": sets["quarter 4"] | LECTURE}
    asked = settings.override(Config(), given.set).model_dump(mode="json", exclude_unset=True)
    flat = settings.flatten(asked)
    sets = {name: {key: flat.get(key, value) for key, value in point.items()} for name, point in sets.items()}
    base: dict[str, Any] = {"data": files | {"source": "en", "target": "fr"}, "train": {"patience": 0}}
    if part.startswith("c"):
        base["train"]["metric"] = "loss"  # BLEU of a model that collapses is noise, and would choose any checkpoint
    for name, value in flat.items():
        settings.set_nested(base, name, value)
    each = {"minutes": given.minutes_each} if whole else {"epochs": given.epochs}
    fields = {"sampler": "sets", "metric": study.metric, "sets": sets, "each": each, "base": base}
    return studies.build({"name": f"ted-{part}", **fields})


def fewer(folder: Path, files: Sequence[str], count: int) -> list[Path]:
    """A sample of pairs, spread evenly over the corpus, so that every talk has its share."""
    paths = [folder / f"train-{count}.{side}" for side in ("en", "fr")]
    if not all(path.exists() for path in paths):
        pairs = list(read_pairs(files, "en", "fr"))
        count = min(count, len(pairs))
        chosen = [pairs[n * len(pairs) // count] for n in range(count)]
        for path, side in zip(paths, ("source", "target"), strict=True):
            write_text(path, "".join(f"{getattr(pair, side)}\n" for pair in chosen))
    return paths


def train(part: str, given: argparse.Namespace) -> None:
    """Begin a part, or go on with it; it ends with its own page in its folder."""
    bench = open_study.create_study(study_of(part, given), given.folder / part)
    with interruptible() as should_stop:
        finished = show_study(run_trials(bench, should_stop), bench.study_folder, bench.peek)
    if not finished:
        raise SystemExit(EXIT_INTERRUPTED)
    print(write_study_page(bench, all_tests=True, pads_counted=True))
    bench.close()


def result_lines(part: str, bench: StudyWorker, images: Path) -> Iterator[str]:
    """A part in Markdown; its charts go into a folder."""
    seen, courses = analyze_study(bench.study, bench.results())
    each = bench.study.each
    pairs = Path(bench.study.base.data.train[0]).stem.rpartition("-")[2]
    title = PARTS[part].format(pairs=pairs, epochs=each.epochs or 0, minutes=each.minutes or 0)
    yield from (f"## {title}", "", *quality(seen.results), "")
    turns = {number: find_turning_point(curve) for number, curve in seen.loss_curves.items()}
    yield from (*honesty(seen.results), "", *overfits(seen.results, turns, seen.unit), "")
    yield from (f"- {text}" for text in describe_study(seen))
    yield from ("", *signatures(seen.results), "")
    images.mkdir(parents=True, exist_ok=True)
    for chart in StudyPage(bench, seen, courses, all_tests=True, pads_counted=True).charts():
        if chart.name in CHARTS:
            (images / f"ted-{part}-{CHARTS[chart.name]}.png").write_bytes(chart.to_png())


def quality(results: Sequence[TrialResult]) -> Iterator[str]:
    """What each set is, what it cost and how well it translates."""
    head = ("set", *map(short_name, VARIED), "parameters", "epochs", "minutes", "dev BLEU", "test BLEU")
    rows = []
    for result, one in measured(results):
        cost = (f"{one.parameters:,}", f"{one.epochs:.1f}", f"{one.minutes:.1f}")
        scores = (_score(one.scores.get("bleu")), _score(_test(result).get("bleu")))
        rows.append((result.name, *(str(result.params[name]) for name in VARIED), *cost, *scores))
    yield from grid(head, rows)


def honesty(results: Sequence[TrialResult]) -> Iterator[str]:
    """Accuracy and loss over real tokens, what padding would make of them, and whether the source matters."""
    head = ("set", "accuracy %", "pads counted", "loss", "pads counted", "unigram line", "other sources cost", "works")
    rows = []
    for result, one in measured(results):
        loose = one.pads_counted or {}
        run = Run(result.folders[0])
        look = find_best_validation(run, log.read_validations(run.log))  # the one that `shuffled_input_loss` is of
        cost = (
            look.shuffled_input_loss - look.loss if look is not None and look.shuffled_input_loss is not None else None
        )
        figures = (one.value("accuracy"), loose.get("accuracy"), one.loss, loose.get("loss"), one.unigram_loss, cost)
        digits = (1, 1, 3, 3, 3, 3)
        cells = ["" if f is None else f"{f:.{d}f}" for f, d in zip(figures, digits, strict=True)]
        rows.append((result.name, *cells, "collapsed" if one.collapse_reason else "yes"))
    yield from grid(head, rows)
    loose = next((one.pads_counted for _, one in measured(results) if one.pads_counted), None)
    if loose is not None:
        positions, pad_percent = loose["positions"], loose["pad_percent"]
        yield f"\nPads counted: {positions:.0f} positions for each sentence, {pad_percent:.1f} % of them pads."


def overfits(results: Sequence[TrialResult], turns: dict[int, Any], unit: str) -> Iterator[str]:
    """Where dev loss was lowest, and how far it rose from there while training loss fell."""
    rows = []
    for result, _ in measured(results):
        turn = turns.get(result.number)
        rows.append((result.name, f"{turn[0]:.1f} {unit}" if turn else "never", f"{turn[1]:+.3f}" if turn else ""))
    yield from grid(("set", "dev loss turns at", "and rises by"), rows)


def signatures(results: Sequence[TrialResult]) -> Iterator[str]:
    """How the scores were made: each signature once."""
    scores = [one.scores["bleu"] for _, one in measured(results) if "bleu" in one.scores]
    yield from sorted({f"BLEU: `{score['signature']}`" for score in scores})


def measured(results: Sequence[TrialResult]) -> list[tuple[TrialResult, RunSummary]]:
    return [(result, result.first_summary) for result in results if result.first_summary is not None]


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def _score(score: Any) -> str:
    return f"{score['value']:.2f} ± {(score['high'] - score['low']) / 2:.2f}" if score else ""


def _test(result: TrialResult) -> dict[str, Any]:
    scores = read_scores(Run(result.folders[0]), "test").scores
    return {name: score.as_dict() for name, score in scores.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", type=Path, required=True, help="with train, dev and test .en and .fr")
    parser.add_argument("--part", choices=tuple(PARTS), action="append", default=[])
    parser.add_argument("--pairs", type=int, default=6000)
    parser.add_argument("--epochs", type=float, default=25)
    parser.add_argument("--minutes-each", type=float, default=30)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting for every set")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for part in given.part:
        train(part, given)
    for part in PARTS:
        if is_study_folder(given.folder / part):
            bench = open_study.load_study(given.folder / part)
            lines = [*described(), "", *result_lines(part, bench, IMAGES if given.write else given.folder / "images")]
            bench.close()
            print("\n".join(lines))
            if given.write:
                write(f"ted_four_sets-{part}", lines)


if __name__ == "__main__":
    main()
