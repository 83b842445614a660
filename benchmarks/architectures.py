"""Which architecture suits which job: encoder, decoder and encoder-decoder with equally many weights and equal time.

    python benchmarks/architectures.py FOLDER --data CORPORA [--only classify …] [--minutes 8] [--seeds 3]
    python benchmarks/architectures.py FOLDER --data CORPORA --write

Each job is one call of `regard architectures`, a study in FOLDER: a run that is finished is not trained again, and one
that was killed goes on. The results of a finished job are kept in results/architectures.json with its minutes and
seeds, so that a job is not repeated where FOLDER is gone. --write makes docs/results/architectures.md of what is there.
Checkpoints are chosen on dev alone; test is scored once, at the end of each run. No text of the corpora is kept.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from environment import RESULTS, described

from regard.config import TaskName

KEPT = RESULTS / "architectures.json"
PAGE = Path(__file__).parent.parent / "docs" / "results" / "architectures.md"


@dataclass(frozen=True)
class Job:
    """A job, by the options of its command; {data} is filled in."""

    name: str
    task: str
    corpus: str
    options: str
    expected: str
    """The architecture that lectures name for it."""
    taught: str


JOBS = (
    Job(
        "classify",
        "classify",
        "SST-2, sentences of film reviews: positive or negative",
        "{data}/sst2/train.tsv --test {data}/sst2/test.tsv",
        "encoder",
        "An encoder: every token attends to both sides. BabyLM (10 million words of pretraining) has the encoder ahead "
        "on SST-2: 87.0, against 81.9 of the decoder and 78.1 of the encoder-decoder",
    ),
    Job(
        "tag",
        "tag",
        "WNUT17, entities in noisy text",
        "{data}/wnut17/wnut17train.conll --dev {data}/wnut17/emerging.dev.conll "
        "--test {data}/wnut17/emerging.test.annotated",
        "encoder",
        "An encoder: what a name is often shows only on its right, which a decoder does not see",
    ),
    Job(
        "search",
        "embed",
        "STS-B, similarity of two sentences",
        "{data}/stsb_en/train.csv --dev {data}/stsb_en/dev.csv --test {data}/stsb_en/test.csv",
        "encoder",
        "An encoder: its mean state is a vector of the whole text",
    ),
    Job(
        "summarize",
        "summarize",
        "SciTLDR, an abstract in one sentence",
        "{data}/scitldr/train.jsonl --dev {data}/scitldr/dev.jsonl --test {data}/scitldr/test.jsonl",
        "encoder-decoder",
        "An encoder-decoder: it reads the text with an encoder and writes with a decoder",
    ),
    Job(
        "translate",
        "translate",
        "TED talks, English to French, 30,000 pairs",
        "{data}/ted_en_fr/train.en {data}/ted_en_fr/train.fr --dev {data}/ted_en_fr/dev.en {data}/ted_en_fr/dev.fr "
        "--test {data}/ted_en_fr/test.en {data}/ted_en_fr/test.fr",
        "encoder-decoder",
        "An encoder-decoder: what the Transformer was invented for; large decoders translate, too",
    ),
)


def is_available(job: Job) -> bool:
    return job.task in get_args(TaskName)


def read_kept() -> dict[str, Any]:
    """The finished jobs by name."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def is_kept(job: Job, minutes: float, seeds: int) -> bool:
    kept = read_kept().get(job.name)
    return kept is not None and kept["each"] == {"minutes": minutes} and kept["seeds"] == seeds


def run(job: Job, options: argparse.Namespace) -> None:
    """Compare the architectures on a job, unless that is done, and keep the result."""
    out = options.folder / f"{job.name}-{options.minutes:g}"
    files = job.options.format(data=options.data).split()
    new = [*files, "--task", job.task, "--minutes-each", f"{options.minutes:g}", "--seeds", str(options.seeds)]
    study = [str(out)] if (out / "study.toml").exists() else [*new, "--out", str(out)]
    command = ["architectures", *study, "--json"]
    print("regard", *command, flush=True)
    found = subprocess.run([sys.executable, "-m", "regard", *command], check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(found.stdout) | {"seeds": options.seeds, "machine": described()}
    KEPT.write_text(json.dumps(read_kept() | {job.name: result}, indent=1) + "\n", encoding="utf-8")


def judge(job: Job, result: dict[str, Any]) -> str:
    """Whether the architecture that lectures name is ahead, by the tests."""
    tests = result["tests"]
    ahead = [test for test in tests if test["adjusted_p"] < 0.05]
    if behind := [test["first"] for test in ahead if test["second"] == job.expected]:
        return f"not as taught: the {' and the '.join(behind)} is ahead of the {job.expected}"
    beaten = [test["second"] for test in ahead if test["first"] == job.expected]
    others = [name for name in result["architectures"] if name not in (job.expected, *beaten)]
    if not others:
        return f"as taught: the {job.expected} is ahead"
    if beaten:
        return f"ahead of the {' and the '.join(beaten)} as taught; undecided against the {' and the '.join(others)}"
    return "undecided"


def job_lines(job: Job, result: dict[str, Any] | None) -> Iterator[str]:
    yield f"## {job.name.capitalize()}"
    yield ""
    yield f"{job.corpus}. Taught: {job.taught}."
    yield ""
    if result is None:
        yield "Not measured yet."
        yield ""
        return
    yield f"| architecture | layers and feed-forward width | weights | {result['metric']} | 95% interval | seeds |"
    yield "|---|---|---|---|---|---|"
    for name, one in result["architectures"].items():
        params = {key.removeprefix("model."): value for key, value in one["settings"].items()}
        layers = [params[key] for key in ("layers", "encoder_layers", "decoder_layers") if key in params]
        shape = f"{' + '.join(map(str, layers))}, {params['ffn']}"
        seeds = " ".join(f"{score:.1f}" for score in one["scores"])
        interval = f"{one['low']:.1f} to {one['high']:.1f}"
        yield f"| {name} | {shape} | {one['weights']:,} | {one['score']:.1f} | {interval} | {seeds} |"
    yield ""
    yield f"Found: {judge(job, result)}. {' '.join(result['findings'])}"
    yield ""


HEAD = """# Which architecture suits which job

An encoder, a decoder and an encoder-decoder did the same jobs, with equally many weights outside the token embeddings,
the same tokenizer, data and settings, and equally many minutes on a CPU, from scratch: `regard architectures`
([how](../howto/architectures.md)). Each was trained with several seeds. Checkpoints were chosen on dev, and test was
scored once. A difference counts as found if it is significant with the chance of the test examples and of the seeds in
it, after correction for the three comparisons of a job. What holds for minutes of training on a small corpus need not
hold for large pretrained models. Made by [`benchmarks/architectures.py`](../../benchmarks/architectures.py).
"""


def page_lines(kept: dict[str, Any]) -> Iterator[str]:
    yield HEAD
    yield "| job | taught | found |"
    yield "|---|---|---|"
    for job in JOBS:
        found = judge(job, kept[job.name]) if job.name in kept else "not measured yet"
        yield f"| [{job.name}](#{job.name}) | {job.expected} | {found} |"
    yield ""
    for job in JOBS:
        yield from job_lines(job, kept.get(job.name))
    machines = dict.fromkeys(line for result in kept.values() for line in result["machine"])
    if machines:
        yield "## Measured on"
        yield ""
        yield from machines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=[job.name for job in JOBS])
    parser.add_argument("--minutes", type=float, default=8, help="of each run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for job in JOBS if not options.write else ():
        if options.only is not None and job.name not in options.only:
            continue
        if not is_available(job):
            print(f"{job.name}: there is no --task {job.task}; left out")
        elif not is_kept(job, options.minutes, options.seeds):
            run(job, options)
    if options.write:
        PAGE.write_text("\n".join(page_lines(read_kept())).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
