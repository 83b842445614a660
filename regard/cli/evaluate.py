"""regard evaluate"""

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.run import Run


def evaluate(
    run: Path = typer.Argument(..., help="Run folder."),
    files: list[str] = typer.Argument(..., help="Pairs to score on: two aligned text files, or one .tsv."),
    beam: int = typer.Option(5, help="Beginnings kept at each step; 1 is greedy."),
    alpha: float = typer.Option(1.0, help="Length penalty: scores are log-probability / length^alpha."),
    lowercase: bool = typer.Option(False, "--lowercase", help="Also score text without case, as some papers do."),
    tokenize: str | None = typer.Option(None, help="Also score other tokens: none (as they stand), intl, char, zh."),
    as_json: bool = typer.Option(False, "--json", help="Print metric → {value, low, high, signature}."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Score a run on a test set: BLEU, chrF, TER, ROUGE-L and accuracy with signature and 95 % interval."""
    from regard.decode import BeamSearch
    from regard.evaluation import METRICS
    from regard.formats import files as formats
    from regard.formats import read_pairs
    from regard.jobs.contamination import load_trained_sources
    from regard.jobs.evaluate import score_run
    from regard.jobs.load import configure_cpu, load
    from regard.metrics import make_bleu_metric
    from regard.run import open_run

    metrics = dict(METRICS)
    if lowercase or tokenize:
        metrics["bleu_as_in_papers"] = make_bleu_metric(lowercase, tokenize or "13a")
    configure_cpu(0)
    data = open_run(run).load_config().data
    pairs = list(read_pairs(files, data.source, data.target))
    translator = load(run, device)
    test_files = [str(Path(file).resolve()) for file in files]
    name = _unused_name(open_run(run), formats.strip_gzip_suffix(Path(files[0])).stem, test_files)
    evaluation = score_run(open_run(run), translator, pairs, name, BeamSearch(beam, alpha), metrics, test_files)
    training_sources = load_trained_sources(run)
    if num_contaminated := sum(pair.source in training_sources for pair in pairs):
        text = f"! {num_contaminated:,} of {len(pairs):,} sources stand in the text that this run was trained on"
        typer.echo(f"{text}: scores on them say what it remembers", err=True)
    if as_json:
        print(json.dumps({key: score.as_dict() for key, score in evaluation.scores.items()}, indent=1))
        return
    for score in evaluation.scores.values():
        print(score)
    base = evaluation.baselines
    print(f"{len(pairs):,} sentences; loss {evaluation.loss:.3f} nats per piece; length ratio {base.length_ratio:.2f}")
    print(f"for comparison: the source copied {base.copied_source}")
    print(f"translations of other sentences   {base.shuffled_translations}")
    print(f"sentence by sentence: {open_run(run).sentence_scores(name)}")


def _unused_name(run: "Run", stem: str, test_files: list[str]) -> str:
    """What scores of these files are called: by their own name, unless scores of others have it already."""
    names = (f"{stem}-{number}" if number > 1 else stem for number in itertools.count(1))
    return next(name for name in names if _is_name_free(run, run.scores(name), test_files))


def _is_name_free(run: "Run", path: Path, test_files: list[str]) -> bool:
    return not path.exists() or run.read_json(path).get("files") == test_files
