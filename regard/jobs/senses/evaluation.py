"""Same sense or not, by the cosine of contextual vectors in each layer, beside static vectors and the majority."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.baselines import OpponentResult, compare_sums
from regard.baselines.word2vec import Word2Vec
from regard.data.store import Texts
from regard.errors import ConfigError
from regard.files import resolve
from regard.formats.files import strip_gzip_suffix
from regard.formats.word_pairs import WordPair, read_word_pairs
from regard.hardware import configure_cpu
from regard.inspection.word_states import STATIC, FloatArray, WordReader
from regard.jobs.evaluate import unused_name
from regard.jobs.senses.open_reader import open_word_reader
from regard.jobs.senses.thresholds import FittedThresholds, choose_threshold, cosines_of
from regard.jobs.tasks.file_evaluation import TaskFileEvaluation
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.metrics import Score
from regard.metrics.intervals import ratio_score
from regard.progress import stage
from regard.report import Table
from regard.run import Run, open_run

Answers = NDArray[np.bool_]
"""Of each pair: whether an answer is right, or what it is."""
FIT_NAME = "train.jsonl"
MAX_FIT_PAIRS = 2000
"""Pairs that a threshold is chosen on, spread over their file: one number for each layer needs no more."""
MAX_MISTAKES = 20
STATIC_VECTORS = "static vectors"
COLUMNS = ("word", "sentence 1", "sentence 2", "same sense", "cosine", "predicted")


@dataclass(frozen=True)
class SensesTask:
    """What the pairs of a file are called; no run is trained for it."""

    name: str = "senses"
    example: str = "pair"
    unit: str = "pair"
    file_example: str = "pair"
    main_score: str = "accuracy"

    def tabulate_mistakes(self, evaluation: "SensesEvaluation") -> Table:
        """The pairs that are farthest on the wrong side of the threshold."""
        distances = np.abs(evaluation.cosines - evaluation.threshold) * ~evaluation.is_right
        order = [i for i in np.argsort(-distances, kind="stable")[:MAX_MISTAKES].tolist() if distances[i]]
        return Table.from_rows(
            {
                "sentences": f"{pair.first.sentence} | {pair.second.sentence}",
                "word": f"{pair.first.word}, {pair.second.word}",
                "same sense": str(pair.same_sense).lower(),
                "cosine": float(evaluation.cosines[i]),
            }
            for i, pair in ((i, evaluation.pairs[i]) for i in order)
        )


@dataclass(frozen=True)
class SensesEvaluation:
    """The scores of a model on pairs, by layer; the first score is that of the layer that was chosen beforehand."""

    scores: dict[str, Score]
    opponents: tuple[OpponentResult, ...]
    pairs: Sequence[WordPair]
    cosines: FloatArray
    threshold: float
    is_right: Answers
    loss: None = None


def evaluate_senses(
    folder: Path, files: Sequence[str], fit_file: Path | None = None, device: str = "auto"
) -> TaskFileEvaluation:
    """Judge the pairs of a file with thresholds that were chosen on another, and write the scores into the run."""
    configure_cpu(0)
    if len(files) != 1:
        raise ConfigError(f"--task senses takes one file of pairs (.jsonl), not {len(files)}")
    run, path = open_run(folder), Path(files[0])
    pairs = read_word_pairs(path)
    fit_file = _find_fit_file(run, path, fit_file)
    fit_pairs = _read_fit_pairs(fit_file, path) if fit_file else []
    reader = open_word_reader(folder, device)
    if fit_pairs:
        thresholds = _fit(reader, fit_pairs, fit_file)
        run.write_json(run.senses, thresholds.as_dict())
    else:
        thresholds = run.read_json(run.senses, FittedThresholds)
    evaluation = _evaluate(run, reader, pairs, fit_pairs, thresholds)
    test_files = [str(resolve(path))]
    name = unused_name(run, strip_gzip_suffix(path).stem, tuple(test_files))
    predicted = evaluation.cosines >= evaluation.threshold
    rows = [
        [
            pair.first.word,
            pair.first.sentence,
            pair.second.sentence,
            *map(str, (pair.same_sense, f"{cosine:.6f}", same)),
        ]
        for pair, cosine, same in zip(pairs, evaluation.cosines.tolist(), predicted.tolist(), strict=True)
    ]
    write_label_scores(run, name, evaluation, rows, COLUMNS, test_files, {"thresholds": thresholds.as_dict()})
    return TaskFileEvaluation(evaluation, SensesTask(), len(pairs), run.example_scores(name), 0)


def _find_fit_file(run: Run, path: Path, fit_file: Path | None) -> Path | None:
    """The pairs that thresholds are chosen on; None where the run has some from earlier."""
    beside = path.parent / FIT_NAME
    if fit_file is None and beside.exists() and resolve(beside) != resolve(path):
        return beside
    if fit_file is None and not run.senses.exists():
        raise ConfigError(
            f"{path}: there is no {FIT_NAME} beside it, and {run.folder} has no thresholds yet; name a file of pairs "
            f"that they are chosen on with --fit"
        )
    return fit_file


def _read_fit_pairs(fit_file: Path, path: Path) -> list[WordPair]:
    if resolve(fit_file) == resolve(path):
        raise ConfigError(f"{path}: a threshold that is chosen on the pairs that it is judged on proves nothing")
    pairs = read_word_pairs(fit_file)
    return pairs[:: -(-len(pairs) // MAX_FIT_PAIRS)]


def _fit(reader: WordReader, pairs: Sequence[WordPair], file: Path | None) -> FittedThresholds:
    same = [pair.same_sense for pair in pairs]
    cosines = _measure(reader, pairs)
    layers = {name: choose_threshold(values, same) for name, values in cosines.items()}
    return FittedThresholds(layers, (str(resolve(file)),) if file else (), len(pairs))


def _measure(reader: WordReader, pairs: Sequence[WordPair]) -> dict[str, FloatArray]:
    """The cosines of all pairs in each layer."""
    vectors = reader.embed([word for pair in pairs for word in (pair.first, pair.second)])
    return {name: cosines_of(rows[::2], rows[1::2]) for name, rows in vectors.items()}


def _evaluate(
    run: Run,
    reader: WordReader,
    pairs: Sequence[WordPair],
    fit_pairs: Sequence[WordPair],
    thresholds: FittedThresholds,
) -> SensesEvaluation:
    cosines, same = _measure(reader, pairs), np.array([pair.same_sense for pair in pairs])
    if thresholds.layers.keys() != cosines.keys():
        raise ConfigError(f"{run.senses}: has thresholds of other layers; choose new ones with --fit FILE")
    is_right = {name: (values >= thresholds.layers[name].value) == same for name, values in cosines.items()}
    contextual = [name for name in cosines if name != STATIC]
    best = max(contextual, key=lambda name: thresholds.layers[name].accuracy)
    reading = "left-to-right" if reader.is_causal else "both-directions"
    signature = f"pairs:{len(pairs)}|cosine:raw|word:mean-of-tokens|{reading}|fit:{thresholds.num_pairs}"
    scores = {"accuracy": _score(f"accuracy, {best}", is_right[best], f"{signature}|layer:chosen-where-fitted")}
    scores |= {name: _score(f"accuracy, {name}", is_right[name], signature) for name in contextual if name != best}
    others: dict[str, Answers | str] = {STATIC_VECTORS: is_right[STATIC], **_judge_cheaply(run, pairs, fit_pairs, same)}
    ones, reasons = np.ones(len(pairs)), {}
    opponents = []
    for name, right in others.items():
        if isinstance(right, str):
            reasons[name] = right
            continue
        test = compare_sums(ones, 100 * is_right[best].astype(float), {name: 100 * right.astype(float)})[name]
        opponents.append(OpponentResult(name, {"accuracy": _score("accuracy", right, signature)}, {"accuracy": test}))
    opponents += [OpponentResult(name, {}, reason=reason) for name, reason in reasons.items()]
    threshold = thresholds.layers[best].value
    return SensesEvaluation(scores, tuple(opponents), pairs, cosines[best], threshold, is_right[best])


def _judge_cheaply(
    run: Run, pairs: Sequence[WordPair], fit_pairs: Sequence[WordPair], same: Answers
) -> Mapping[str, "Answers | str"]:
    """Which pairs need no context to be right: with the more frequent answer, and with vectors of word forms."""
    if not fit_pairs:
        reason = "not computed: needs the pairs that thresholds are chosen on; give them with --fit"
        return {"more frequent answer": reason, Word2Vec.name: reason}
    labels = [pair.same_sense for pair in fit_pairs]
    majority = 2 * sum(labels) >= len(labels)
    judged: dict[str, Answers | str] = {"more frequent answer": same == majority}
    try:
        with stage("training word2vec"):
            model = Word2Vec(list(_list_texts(run, [*fit_pairs, *pairs])))
    except ConfigError as error:
        return judged | {Word2Vec.name: str(error)}
    fitted, new = (
        cosines_of(*(model.embed([getattr(pair, side).word for pair in group]) for side in ("first", "second")))
        for group in (fit_pairs, pairs)
    )
    return judged | {Word2Vec.name: (new >= choose_threshold(fitted, labels).value) == same}


def _list_texts(run: Run, pairs: Sequence[WordPair]) -> dict[str, None]:
    """The sentences of the pairs, each once, and the text that the run was trained on, if it has stored it."""
    sentences = (side.sentence for pair in pairs for side in (pair.first, pair.second))
    stored: Sequence[str] = Texts(run.store, "train.source") if run.texts_manifest.exists() else ()
    return dict.fromkeys([*sentences, *stored])


def _score(name: str, is_right: Answers, signature: str) -> Score:
    return ratio_score(name, is_right.astype(float).tolist(), np.ones(len(is_right)).tolist(), signature)
