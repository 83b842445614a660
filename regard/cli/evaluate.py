"""regard evaluate"""

import json
from pathlib import Path

import typer

from regard.cli.options import ALPHA, BEAM, DEVICE, MEASUREMENT, OUTPUT, RUN, argument, flag, option


def evaluate(
    run: Path = RUN,
    files: list[str] = argument("FILES", "Pairs to score on: two aligned text files, or one .tsv."),
    beam: int = BEAM,
    alpha: float = ALPHA,
    lowercase: bool = flag(MEASUREMENT, "Also report BLEU of lowercased text.", "--lowercase"),
    tokenize: str | None = option(
        MEASUREMENT,
        "NAME",
        "Also report BLEU with another tokenization: none (the text is tokenized already), intl, char or zh.",
    ),
    as_json: bool = flag(OUTPUT, "Print the value, interval and signature of each metric as JSON.", "--json"),
    device: str = DEVICE,
) -> None:
    """Score a run on a test set: BLEU, chrF, TER, ROUGE-L and accuracy with signature and 95% interval.

    Examples:
      regard evaluate runs/mine test.en test.fr
      regard evaluate runs/mine test.tsv --beam 1 --json
      regard evaluate runs/mine test.en test.zh --tokenize zh

    Read more: docs/explanation/scores.md and `regard compare --help`.
    """
    from regard.api.scoring import evaluate as evaluate_run
    from regard.display.console import is_verbose, terminal_width
    from regard.display.layout import wrap
    from regard.display.views.scores import format_evaluation

    result = evaluate_run(run, *files, beam=beam, alpha=alpha, lowercase=lowercase, tokenize=tokenize, device=device)
    evaluation, num_sentences = result.evaluation, len(result.evaluation.sentences)
    if as_json and result.num_contaminated:  # which the text says itself
        warning = (
            f"! {result.num_contaminated:,} of {num_sentences:,} sources also occur in the text that this run was "
            f"trained on: their scores measure what the model has memorized"
        )
        typer.echo("\n".join(wrap(warning, terminal_width(), "", "  ")), err=True)
    if as_json:
        print(json.dumps({key: score.as_dict() for key, score in evaluation.scores.items()}, indent=1))
        return
    print("\n".join(format_evaluation(result, terminal_width(), is_verbose())))
