"""Search by an encoder that was tuned on the documents' own titles, beside the encoder that it was tuned from.

    PYTHONPATH=. python benchmarks/own_encoder.py FOLDER --data CORPORA --encoder MINILM [--minutes 8] [--seed 1]
    PYTHONPATH=. python benchmarks/own_encoder.py FOLDER --data CORPORA --write

Every step is the command that a user would type, and what is finished is not done again; a training that was killed
goes on. Pairs of a title and its text are made of the documents of Cranfield by `regard pairs`; dev and test are held
out of these pairs, and no query and no judgment is seen before the end. Documents are truncated to the window of the
encoder, in both indexes. The fused rankings of both are compared by a paired test. --write makes
results/own_encoder.md of it. No sentence of the corpus is in the results.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from environment import described, write

from regard.run import Run
from tests.jobs.retrieval.test_collections import convert

ENCODERS = ("minilm", "tuned")
MEASURES = {"ndcg_10": "nDCG@10", "ap": "MAP"}


def run_regard(*arguments: object) -> str:
    """What a command prints."""
    words = [str(argument) for argument in arguments]
    print("regard", *words, flush=True)
    command = [sys.executable, "-m", "regard", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def write_documents(folder: Path, data: Path, limit: int | None) -> None:
    """docs.jsonl, queries.jsonl, qrels.txt, and a Markdown file for each document that has a title and a text."""
    if (folder / "notes").exists():
        return
    convert(data, "cranfield", folder)
    lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()[:limit]
    (folder / "docs.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "notes.new").mkdir(exist_ok=True)
    for record in map(json.loads, lines):
        title, text = (" ".join(record[key].split()) for key in ("title", "text"))
        (folder / "notes.new" / f"{record['id']}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    (folder / "notes.new").rename(folder / "notes")


def train(folder: Path, options: argparse.Namespace) -> None:
    tuned = folder / "tuned"
    if (tuned / "scores" / "test.json").exists():
        return
    if tuned.exists():
        run_regard("train", "--resume", tuned, "--plain")
        return
    files = (folder / "pairs.tsv", "--task", "embed", "--from", folder / "minilm")
    settings = (word for change in (f"train.seed={options.seed}", *options.set) for word in ("--set", change))
    run_regard("train", *files, "--minutes", options.minutes, *settings, "--out", tuned, "--plain")


def measure(folder: Path, options: argparse.Namespace) -> dict:
    """The evaluation of the index of the tuned encoder, with the fused ranking of the other one beside it."""
    write_documents(folder, options.data, options.documents)
    if not (folder / "minilm").exists():
        run_regard("import", options.encoder, "--out", folder / "minilm")
    if not (folder / "pairs.tsv").exists():
        run_regard("pairs", folder / "notes", "--kind", "title", "--language", "en", "--out", folder / "pairs.tsv")
    train(folder, options)
    for name in ENCODERS:
        if not (folder / f"index-{name}").exists():
            documents = (folder / "docs.jsonl", "--out", folder / f"index-{name}", "--max-passages", 1)
            run_regard("index", folder / name, *documents)
    queries = ("--queries", folder / "queries.jsonl")
    others = []
    for method in ("fused", "dense"):
        others += ["--compare-with", folder / f"minilm-{method}"]
        run_regard("search", folder / "index-minilm", *queries, "--method", method, "--run", others[-1])
    judgments = ("--judgments", folder / "qrels.txt", "--json")
    result = json.loads(run_regard("search", folder / "index-tuned", *queries, *judgments, *others))
    (folder / "result.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    return result


def result_lines(folder: Path, result: dict) -> Iterator[str]:
    run = Run(folder / "tuned")
    held_out = json.loads(run.scores("test").read_text(encoding="utf-8"))
    events = [json.loads(line) for line in run.log.read_text(encoding="utf-8").split("\n")[:-1]]
    seconds = sum(event.get("seconds", 0) for event in events if event["kind"] in ("step", "validation"))
    steps = max(event["number"] for event in events if event["kind"] == "step")
    num_pairs = len((folder / "pairs.tsv").read_text(encoding="utf-8").splitlines())
    mrr = held_out["scores"]["mrr"]
    best = run.read_best().step
    yield f"- {num_pairs:,} pairs, {seconds / 60:.1f} minutes, {steps:,} steps; the weights of step {best:,}"
    yield f"- titles that find their texts, {held_out['examples']} held out: MRR {format_score(mrr)}"
    yield from ("", f"| system | {' | '.join(MEASURES.values())} |", "|---" * (1 + len(MEASURES)) + "|")
    for name, scores in result["systems"].items():
        yield f"| {describe(name)} | {' | '.join(format_score(scores[measure]) for measure in MEASURES)} |"
    yield from ("", "| difference, nDCG@10 | 95 % interval | p, bootstrap | p, randomization |", "|---|---|---|---|")
    for test in result["tests"]["ndcg_10"]:
        yield (
            f"| {describe(test['first'])} − {describe(test['second'])}: {test['difference']:+.2f} "
            f"| {test['low']:+.2f} to {test['high']:+.2f} | {test['p_bootstrap']:.4f} | {test['p_randomized']:.4f} |"
        )


def describe(system: str) -> str:
    """The name of a system with that of its encoder."""
    return system if system == "BM25" or system.startswith("minilm") else f"tuned-{system}"


def format_score(score: dict) -> str:
    limits = "" if score["low"] is None else f" [{score['low']:.2f}, {score['high']:.2f}]"
    return f"{score['value']:.2f}{limits}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a setting of the training; may be repeated")
    parser.add_argument("--documents", type=int, help="take only the first N documents")
    parser.add_argument("--note", action="append", default=[], help="what else the results depend on; may be repeated")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    result = measure(options.folder, options)
    settings = [f"- settings: {', '.join(options.set)}"] if options.set else []
    notes = [f"- {note}" for note in options.note]
    lines = [*described(), *settings, *notes, *result_lines(options.folder, result)]
    print("\n".join(lines))
    if options.write:
        write("own_encoder", lines)


if __name__ == "__main__":
    main()
