"""Evaluate a run on a test set; write and read its scores.

A run has two files for each set: scores/<set>.json with the scores of the corpus, the loss and the baselines, and
scores/<set>.sentences.tsv with a row for each sentence.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.decode import BeamSearch, Search
from regard.errors import RunError
from regard.evaluation import METRICS, Baselines, Evaluation, PadInclusiveScores, SentenceResult, evaluate
from regard.files import Count, check_shape, resolve
from regard.formats import Pair, read_pairs, tsv
from regard.formats.files import strip_gzip_suffix
from regard.hardware import configure_cpu
from regard.jobs.contamination import describe_contamination, load_trained_sources
from regard.jobs.load import load
from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.translate.engine_choice import EXACT, OpenedEngine, open_chosen
from regard.jobs.translate.pipeline import build_pipeline
from regard.jobs.translate.text import translate_texts
from regard.jobs.translate.worker_pool import RuntimeOptions, TranslationBackend
from regard.metrics import Metric, Score, make_bleu_metric
from regard.progress import track
from regard.run import Run, open_run, write_text
from regard.tasks.translate.translator import Translator

if TYPE_CHECKING:
    from regard.report import Table

COLUMNS = ("source", "reference", "translation", "bleu", "chrf")


@dataclass(frozen=True)
class SavedScores:
    """scores/<set>.json of a run."""

    scores: dict[str, Score]
    loss: float | None
    pads_counted: PadInclusiveScores | None
    baselines: Baselines
    num_sentences: Count
    files: tuple[str, ...] = ()
    """The files that the pairs were read from; empty for the sets that the run itself holds."""


@dataclass(frozen=True)
class SetScores:
    """What scores/<set>.json has for every task."""

    scores: dict[str, Score]
    files: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class FileEvaluation:
    """A run evaluated on the pairs of files."""

    evaluation: Evaluation
    sentence_scores: Path
    """Where the scores of each sentence were written."""
    num_contaminated: int
    """Sources that also occur in the text that the run was trained on, compared after `normalize_source`."""

    def describe_contamination(self) -> str:
        """How many of the sources were trained on, in one sentence; empty if none were."""
        return describe_contamination(self.num_contaminated, len(self.evaluation.sentences))

    @property
    def scores(self) -> dict[str, Score]:
        """The scores by the name of their metric: bleu, chrf, ter, rouge, accuracy."""
        return self.evaluation.scores

    def as_dict(self) -> dict[str, Any]:
        """Metric -> value, interval and signature."""
        return {key: score.as_dict() for key, score in self.scores.items()}

    def __str__(self) -> str:
        return "\n".join(map(str, self.scores.values()))

    def __repr__(self) -> str:
        return f"<FileEvaluation on {len(self.evaluation.sentences):,} sentences: {self.scores['bleu']}>"

    def _repr_html_(self) -> str:
        sentences = f"{len(self.evaluation.sentences):,} sentences."
        if contamination := self.describe_contamination():
            sentences += f" {contamination}."
        from regard.report import Paragraph, TableView, render_fragment

        return render_fragment([TableView(tabulate_evaluation(self.evaluation)), Paragraph(sentences)])


def tabulate_evaluation(evaluation: Evaluation) -> "Table":
    """Every score with its interval and signature, and BLEU of two baselines without a translator."""
    baselines = evaluation.baselines
    named_scores = [(score.name, score) for score in evaluation.scores.values()]
    named_scores += [
        ("BLEU, source copied", baselines.copied_source),
        ("BLEU, other sentences' translations", baselines.shuffled_translations),
    ]
    return tabulate_scores(dict(named_scores))


def tabulate_scores(scores: Mapping[str, Score]) -> "Table":
    """One row for each score."""
    from regard.report import Table  # with all that draws, which training does not need

    return Table.from_rows(
        {"metric": name, "score": s.value, "95% CI low": s.low, "95% CI high": s.high, "signature": s.signature}
        for name, s in scores.items()
    )


def select_metrics(lowercase: bool = False, tokenize: str | None = None) -> Mapping[str, Metric]:
    """All metrics, and BLEU once more without case or with another tokenization, as some papers report it."""
    if not (lowercase or tokenize):
        return METRICS
    return {**METRICS, "bleu_variant": make_bleu_metric(lowercase, tokenize)}


def evaluate_files(
    folder: Path,
    files: Sequence[str],
    search: Search,
    metrics: Mapping[str, Metric] = METRICS,
    split_sentences: str = "auto",
    runtime: RuntimeOptions = EXACT,
) -> FileEvaluation:
    """Translate and score the pairs of files, and write the scores into the run under the name of the first file.

    Another engine than that of `EXACT` is named in the signature of every score of its translations.
    """
    configure_cpu(0)
    run = open_run(folder)
    data = run.load_config().data
    pairs = list(track(read_pairs(files, data.source, data.target, data.max_line_bytes), "reading pairs"))
    test_files = [str(resolve(file)) for file in files]
    name = unused_name(run, strip_gzip_suffix(Path(files[0])).stem, tuple(test_files))
    with open_chosen(folder, runtime, search) as opened:
        backend = opened.backend
        translator = backend if isinstance(backend, Translator) else load(folder, runtime.device)
        evaluation = evaluate_translator(run, translator, pairs, search, metrics, split_sentences, backend=opened)
    write_scores(run, name, evaluation, test_files)
    trained_sources = load_trained_sources(folder)
    num_contaminated = sum(pair.source in trained_sources for pair in pairs)
    return FileEvaluation(evaluation, run.sentence_scores(name), num_contaminated)


def unused_name(run: Run, stem: str, files: tuple[str, ...]) -> str:
    """The name of a set: that of its file, with a number if the scores of other files already have it."""
    names = (f"{stem}-{number}" if number > 1 else stem for number in itertools.count(1))
    return next(name for name in names if not run.scores(name).exists() or _scored_files(run, name) == files)


def scored_sets(run: Run) -> list[str]:
    """The names of the sets that a run was evaluated on."""
    return sorted(path.stem for path in run.scores("").parent.glob("*.json"))


def _scored_files(run: Run, name: str) -> tuple[str, ...] | None:
    """The files whose scores a set has; None where they cannot be read, so that the set gets another name."""
    try:
        return read_set_scores(run, name).files
    except RunError:
        return None


def score_run(
    run: Run,
    translator: Translator,
    pairs: Sequence[Pair],
    name: str,
    search: Search | None = None,
    metrics: Mapping[str, Metric] = METRICS,
    files: Sequence[str] = (),
    split_sentences: str = "auto",
) -> Evaluation:
    """Translate and score, and write the scores of the set `name` into the run.

    `files` are those that the pairs were read from.
    """
    evaluation = evaluate_translator(run, translator, pairs, search, metrics, split_sentences)
    write_scores(run, name, evaluation, files)
    return evaluation


def evaluate_translator(
    run: Run,
    translator: Translator,
    pairs: Sequence[Pair],
    search: Search | None = None,
    metrics: Mapping[str, Metric] = METRICS,
    split_sentences: str = "auto",
    language: str | None = None,
    backend: OpenedEngine | None = None,
) -> Evaluation:
    """Translate and score; nothing is written. Texts are translated as `regard translate` does it, line by line.

    `language` is the code of the target language; the run's own if unset. `backend` is another engine for the
    translations; loss and accuracy are always the translator's.
    """
    pipeline = build_pipeline(run, translator.tokenizers, split_sentences=split_sentences).without_quality()
    engine: TranslationBackend = translator if backend is None else backend.backend

    def translate(texts: Sequence[str]) -> list[str]:
        return [candidates[0].text for candidates in translate_texts(engine, texts, search or BeamSearch(), pipeline)]

    language = run.load_config().data.target if language is None else language
    evaluation = evaluate(translate, pairs, translator.teacher_force, metrics, language)
    return _sign(evaluation, metrics, "" if backend is None else backend.choice.signature)


def _sign(evaluation: Evaluation, metrics: Mapping[str, Metric], engine: str) -> Evaluation:
    """The evaluation with the engine in the signature of every score of its translations."""
    if not engine:
        return evaluation
    signed = {
        name: replace(evaluation.scores[name], signature=f"{evaluation.scores[name].signature}, {engine}")
        for name in metrics
    }
    return replace(evaluation, scores=evaluation.scores | signed)


def write_scores(run: Run, name: str, evaluation: Evaluation, files: Sequence[str] = ()) -> None:
    """Write scores/<name>.json and scores/<name>.sentences.tsv."""
    baselines = evaluation.baselines
    table = {
        "scores": {key: _score_to_json(score) for key, score in evaluation.scores.items()},
        "loss": evaluation.loss,
        "pads_counted": asdict(evaluation.pads_counted) if evaluation.pads_counted else None,
        "baselines": {
            "copied_source": _score_to_json(baselines.copied_source),
            "shuffled_translations": _score_to_json(baselines.shuffled_translations),
            "length_ratio": baselines.length_ratio,
        },
        "sentences": len(evaluation.sentences),
        "files": list(files),
    }
    run.write_json(run.scores(name), table)
    rows = [tsv.format_row(COLUMNS), *map(_format_row, evaluation.sentences)]
    write_text(run.sentence_scores(name), "\n".join(rows) + "\n")


def read_set_scores(run: Run, name: str) -> SetScores:
    """The scores of a set, as any task wrote them."""
    table = run.read_json(run.scores(name))
    try:
        return check_shape({key: table[key] for key in ("scores", "files") if key in table}, SetScores)
    except ValueError as error:
        raise RunError(f"{run.scores(name)}: not the scores of a set ({error}); evaluate the run again") from None


def read_scores(run: Run, name: str) -> SavedScores:
    """The scores of a set, as `write_scores` wrote them."""
    table = dict(run.read_json(run.scores(name)))
    try:
        return check_shape({**table, "num_sentences": table.pop("sentences", None)}, SavedScores)
    except ValueError as error:
        raise RunError(f"{run.scores(name)}: not the scores of a set ({error}); evaluate the run again") from None


def read_sentences(run: Run, name: str) -> list[SentenceResult]:
    """The sentences of a set with their scores, as `write_scores` wrote them."""
    rows = read_rows(run.sentence_scores(name), COLUMNS, num_numbers=2)
    return [SentenceResult(row[0], row[1], row[2], float(row[3]), float(row[4])) for row in rows]


def _score_to_json(score: Score) -> dict[str, Any]:
    return {"name": score.name, **score.as_dict()}


def _format_row(sentence: SentenceResult) -> str:
    texts = (sentence.source, sentence.reference, sentence.translation)
    return tsv.format_row([*texts, f"{sentence.bleu:.2f}", f"{sentence.chrf:.2f}"])
