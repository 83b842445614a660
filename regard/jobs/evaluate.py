"""Score a translator on pairs, and keep the scores in its run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from regard.decode import Search
from regard.evaluation import METRICS, Evaluation, SentenceResult, evaluate
from regard.formats import Pair
from regard.metrics import Metric
from regard.run import Run, write_text
from regard.tasks.translate import Translator

COLUMNS = ("source", "reference", "translation", "bleu", "chrf")


def score_run(
    run: Run,
    translator: Translator,
    pairs: Sequence[Pair],
    name: str,
    search: Search | None = None,
    metrics: Mapping[str, Metric] = METRICS,
    files: Sequence[str] = (),
) -> Evaluation:
    """Translate and score, and write scores/<name>.json and scores/<name>.sentences.tsv.

    `files` are those that the pairs were read from.
    """
    evaluation = evaluate_translator(translator, pairs, search, metrics)
    run.write_json(run.scores(name), as_dict(evaluation) | {"files": list(files)})
    rows = ["\t".join(COLUMNS), *map(_format_row, evaluation.sentences)]
    write_text(run.sentence_scores(name), "\n".join(rows) + "\n")
    return evaluation


def evaluate_translator(
    translator: Translator, pairs: Sequence[Pair], search: Search | None = None, metrics: Mapping[str, Metric] = METRICS
) -> Evaluation:
    """Translate and score, and leave no trace."""
    return evaluate(lambda texts: translator.translate(texts, search), pairs, translator.teacher_force, metrics)


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Scores as metric -> {value, low, high, signature}, and what they are to be read beside."""
    baselines = {
        "copied_source": evaluation.baselines.copied_source.as_dict(),
        "shuffled_translations": evaluation.baselines.shuffled_translations.as_dict(),
        "length_ratio": evaluation.baselines.length_ratio,
    }
    return {
        "scores": {key: score.as_dict() for key, score in evaluation.scores.items()},
        "loss": evaluation.loss,
        "pads_counted": asdict(evaluation.pads_counted) if evaluation.pads_counted else None,
        "baselines": baselines,
        "sentences": len(evaluation.sentences),
    }


def _format_row(sentence: SentenceResult) -> str:
    texts = (sentence.source, sentence.reference, sentence.translation)
    return "\t".join([*map(_escape_cell, texts), f"{sentence.bleu:.2f}", f"{sentence.chrf:.2f}"])


def _escape_cell(text: str) -> str:
    """A text that cannot break its row."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
