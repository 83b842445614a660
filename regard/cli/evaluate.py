"""regard evaluate"""

import json
from pathlib import Path

import typer


def evaluate(
    run: Path = typer.Argument(..., help="Run folder."),
    files: list[str] = typer.Argument(..., help="Pairs to score on: two aligned text files, or one .tsv."),
    beam: int = typer.Option(5, help="Beam width; 1 is greedy search."),
    alpha: float = typer.Option(1.0, help="Length penalty: scores are log-probability / length^alpha."),
    lowercase: bool = typer.Option(False, "--lowercase", help="Also report BLEU of lowercased text."),
    tokenize: str | None = typer.Option(
        None, help="Also report BLEU with another tokenization: none (the text is tokenized already), intl, char, zh."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print metric → {value, low, high, signature}."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Score a run on a test set: BLEU, chrF, TER, ROUGE-L and accuracy with signature and 95% interval."""
    from regard.api.scoring import evaluate as evaluate_run

    result = evaluate_run(run, *files, beam=beam, alpha=alpha, lowercase=lowercase, tokenize=tokenize, device=device)
    evaluation, num_sentences = result.evaluation, len(result.evaluation.sentences)
    if result.num_contaminated:
        typer.echo(
            f"! {result.num_contaminated:,} of {num_sentences:,} sources also occur in the text that this run was "
            f"trained on: their scores measure what the model has memorized",
            err=True,
        )
    if as_json:
        print(json.dumps({key: score.as_dict() for key, score in evaluation.scores.items()}, indent=1))
        return
    for score in evaluation.scores.values():
        print(score)
    base = evaluation.baselines
    print(
        f"{num_sentences:,} sentences; loss {evaluation.loss:.3f} nats per token; length ratio {base.length_ratio:.2f}"
    )
    print(f"for comparison: the source copied {base.copied_source}")
    print(f"translations of other sentences   {base.shuffled_translations}")
    print(f"per-sentence scores: {result.sentence_scores}")
