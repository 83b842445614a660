"""Scores with their uncertainty: what `train` and `evaluate` print about a test set."""

from collections.abc import Sequence

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.display.numbers import format_score, pluralize
from regard.evaluation import Evaluation
from regard.jobs.evaluate import FileEvaluation
from regard.metrics import Score

COLUMNS = (
    Column("metric", wraps=True),
    Column("score", right=True),
    Column("±", right=True),
    Column("95% interval"),
    Column("better"),
)
LOWER_IS_BETTER = ("TER",)


def format_evaluation(result: FileEvaluation, width: int, verbose: bool = False) -> list[str]:
    """The scores of a run on files: BLEU in a sentence, all scores in a table, how they were measured."""
    evaluation = result.evaluation
    lines = [*wrap(_describe_answer(result), width), "", *format_scores(evaluation, width, verbose)]
    loss = f"loss {evaluation.loss:.3f} nats per token; " if evaluation.loss is not None else ""
    facts = [
        f"{loss}length ratio {evaluation.baselines.length_ratio:.2f} (characters of translation per character of "
        f"reference)",
        f"per-sentence scores: {result.sentence_scores}",
    ]
    return [*lines, *wrap_all(facts, width, "", "  ")]


def format_scores(evaluation: Evaluation, width: int, verbose: bool = False) -> list[str]:
    """The table of scores, with BLEU of two baselines, and signatures: that of BLEU, or all if `verbose`."""
    baselines = evaluation.baselines
    rows = [_make_row(score.name, score) for score in evaluation.scores.values()]
    rows.append([*_make_row("BLEU, source copied", baselines.copied_source)[:-1], ""])
    rows.append([*_make_row("BLEU, other sentences' translations", baselines.shuffled_translations)[:-1], ""])
    shown = [score for key, score in evaluation.scores.items() if verbose or key.startswith("bleu")]
    tokenization = evaluation.tokenization.describe()
    sentence = wrap_all([tokenization], width, "", "  ") if tokenization else []
    return [*format_table(COLUMNS, rows, width), "", *sentence, *format_signatures(shown, width)]


def format_signatures(scores: Sequence[Score], width: int) -> list[str]:
    """How scores were computed."""
    return wrap_all([f"{score.name} signature: {score.signature}" for score in scores], width, "", "  ")


def format_p_values(p_bootstrap: float, p_randomized: float) -> str:
    """The p-values of two paired tests, in parentheses after a blank."""
    bootstrap, randomized = (bind(f"p = {p:.4f}") for p in (p_bootstrap, p_randomized))
    return f" (paired bootstrap {bootstrap}, approximate randomization {randomized})"


def describe_baseline(evaluation: Evaluation) -> str:
    """What a system without a translator scores, in parentheses."""
    return f"(copying the source scores {evaluation.baselines.copied_source.value:.1f})"


def is_above_chance(evaluation: Evaluation) -> bool:
    """Whether BLEU is better than that of the translations of other sentences."""
    return evaluation.baselines.is_below(evaluation.scores["bleu"])


def _describe_answer(result: FileEvaluation) -> str:
    evaluation = result.evaluation
    bleu, count = evaluation.scores["bleu"], len(evaluation.sentences)
    sentences = pluralize(count, "sentence")
    answer = f"{bind(format_score(bleu))} on {sentences} {describe_baseline(evaluation)}."
    if not is_above_chance(evaluation):
        chance = evaluation.baselines.shuffled_translations.value
        answer = (
            f"Does not translate: {bind(format_score(bleu))} on {sentences} is no better than the translations "
            f"of other sentences ({chance:.1f})."
        )
    contamination = result.describe_contamination()
    return f"{answer} {contamination}." if contamination else answer


def _make_row(name: str, score: Score) -> list[str]:
    better = "lower" if score.name in LOWER_IS_BETTER else "higher"
    value, _, margin = score.format_margin(2).partition(" ± ")
    return [name, value, margin, score.format_interval(), better]
