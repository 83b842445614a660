"""regard evaluate"""

import json
from pathlib import Path

import typer

from regard.cli.options import (
    ADVANCED,
    ALPHA,
    BEAM,
    DEVICE,
    MEASUREMENT,
    OUTPUT,
    RUN,
    SPLIT_SENTENCES,
    argument,
    flag,
    option,
)

TOKENIZE = option(
    MEASUREMENT,
    "NAME",
    "Also report BLEU with another of sacreBLEU's tokenizations: none (the text is tokenized already), intl, char, "
    "zh, ja-mecab, ko-mecab, or flores200:FILE with a local SentencePiece model.",
)
TASK = option(
    MEASUREMENT,
    "NAME",
    "What the run was trained for; embed for an imported encoder. Chosen by the run if unset. senses, of any run: "
    "whether a word has the same sense in two sentences.",
)
FIT = option(
    MEASUREMENT,
    "FILE",
    "Pairs on which --task senses chooses its thresholds; a train.jsonl beside FILES if unset.",
)
QUANTIZE = option(ADVANCED, "KIND", "Precision of the translations: none (float32), int8, or auto.", default="none")
ENGINE = option(
    ADVANCED,
    "NAME",
    "What translates: torch, ctranslate2, or auto. Signatures name another than torch.",
    default="torch",
)
SHORTLIST = option(ADVANCED, "KIND", "Choose among the tokens of the run's shortlist: on, off, or auto.", default="off")


def evaluate(
    run: Path = RUN,
    files: list[str] = argument(
        "FILES", "What to score on, like the training files: two aligned text files, a .tsv, or texts with labels."
    ),
    beam: int = BEAM,
    alpha: float = ALPHA,
    split_sentences: str = SPLIT_SENTENCES,
    lowercase: bool = flag(MEASUREMENT, "Also report BLEU of lowercased text.", "--lowercase"),
    tokenize: str | None = TOKENIZE,
    task: str | None = TASK,
    fit: Path | None = FIT,
    as_json: bool = flag(OUTPUT, "Print the value, interval and signature of each metric as JSON.", "--json"),
    quantize: str = QUANTIZE,
    engine: str = ENGINE,
    shortlist: str = SHORTLIST,
    device: str = DEVICE,
) -> None:
    """Score a run on a test set, with signature and 95% interval: BLEU, chrF, TER, ROUGE-L and accuracy.

    Of a run that predicts labels: accuracy, F1 and more, beside cheap opponents, and its most confident mistakes. Of an
    encoder: Spearman's correlation with similarities, or how many texts find their positive. Of a summarizer: ROUGE.

    Examples:
      regard evaluate runs/mine test.en test.fr --beam 1 --json
      regard evaluate runs/minilm sts-test.csv --task embed
      regard evaluate runs/reviews test.csv
      regard evaluate runs/minilm mcl_wic/dev.jsonl --task senses

    Read more: docs/explanation/scores.md and `regard compare --help`.
    """
    from regard.api.scoring import evaluate as evaluate_run
    from regard.display.console import is_verbose, terminal_width
    from regard.display.layout import wrap
    from regard.display.views.tasks.training import format_file_evaluation

    result = evaluate_run(
        run,
        *files,
        beam=beam,
        alpha=alpha,
        lowercase=lowercase,
        tokenize=tokenize,
        split_sentences=split_sentences,
        task=task,
        fit=fit,
        device=device,
        quantize=quantize,
        engine=engine,
        shortlist=shortlist,
    )
    contamination, values = result.describe_contamination(), result.as_dict()
    if as_json and contamination:  # which the text says itself
        typer.echo("\n".join(wrap(f"! {contamination}", terminal_width(), "", "  ")), err=True)
    if as_json:
        print(json.dumps(values, indent=1))
        return
    print("\n".join(format_file_evaluation(result, terminal_width(), is_verbose())))
