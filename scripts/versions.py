"""Are the version ranges of pyproject.toml true? Install their ends into empty environments, and use them.

    python scripts/versions.py lowest newest
    python scripts/versions.py lowest newest --also python3.12 python3.13 --out benchmarks/results/versions.md

lowest: every package at its lower bound; newest: at the newest version that can be had; --also: the newest ones with
other versions of Python, those that this machine has. torch is the one of constraints.txt in all of them: older ones
come with gigabytes of CUDA. The exit code is 1 if a range is not true.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("baselines", "bert", "ctranslate2", "hf", "hnsw", "icu", "ja", "ko", "track", "tune", "word2vec")
"""All that a user installs; not the tools of `dev` and `docs`, of which constraints.txt has the versions."""
REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(\[[\w,]+\])?>=(?P<lower>[\d.]+)")
SMOKE = """
regard --help
regard train --help
regard settings
regard corpus english-french --pairs 1500 --out pairs.tsv
regard corpus english-french --pairs 97 --seed 7 --out test.tsv
regard doctor pairs.tsv
regard doctor japanese.tsv
regard estimate pairs.tsv --minutes 1
regard train pairs.tsv --steps 30 --out runs/a --track tensorboard --set model.dim=32 --set model.layers=2
regard train --resume runs/a --steps 40
regard train pairs.tsv --steps 9 --out runs/b --set model.norm=post --set model.positions.sinusoid_layout=halves
regard translate runs/a lines.txt --out hypotheses.txt --quantize int8
regard translate runs/a lines.txt --out again.txt --engine ctranslate2
regard evaluate runs/a test.tsv --tokenize ja-mecab
regard evaluate runs/a test.tsv --tokenize ko-mecab
regard compare runs/a runs/b --on test.tsv
regard look runs/a 'The small dog sees the cat.' '犬が猫を見る。' --head encoder.0.self.0 --out look.html --png head.png
regard look runs/a test.tsv --out corpus.html
regard heads runs/a
regard report runs/a
regard prune runs/a --keep 50% --finetune-steps 3 --out runs/pruned
regard export runs/b --to marian --out exported
regard import exported --out runs/imported
regard translate runs/imported lines.txt --out imported.txt
regard tune pairs.tsv --over model.dropout=0.1,0.2 --steps-each 5 --out studies/s --set model.dim=32
python make_bert.py
regard import bert --out runs/bert
python -c 'import regard; assert regard.load_encoder("runs/bert").embed(["a dog", "a cat"]).shape == (2, 16)'
regard train reviews.csv --task classify --steps 9 --out runs/classifier --set model.dim=32
regard train tagged.conll --task tag --steps 9 --out runs/tagger --set model.dim=32
regard index runs/bert documents.tsv --out index --hnsw
regard search index 'the dog of the river' --hnsw
regard evaluate runs/bert senses.jsonl --task senses --fit more-senses.jsonl
python -c 'import gensim.models, pycrfsuite, psycopg, sklearn.linear_model, usearch.index; psycopg.pq.version()'
"""


def sense_line(word: str) -> str:
    """A word in two sentences, as MCL-WiC has it."""
    places = {"start1": 2, "end1": 2 + len(word), "start2": 4, "end2": 4 + len(word)}
    label = "T" if len(word) > 3 else "F"
    return (
        json.dumps({"sentence1": f"a {word} runs", "sentence2": f"the {word} sleeps", **places, "label": label}) + "\n"
    )


ANIMALS = ("cat", "dog", "horse", "hen", "owl", "fox", "goat")
FILES = {
    "lines.txt": "The small dog sees the cat.\nThe girls sing.\n",
    "japanese.tsv": "".join(f"The cat sees {n} dogs.\t猫が{n}匹の犬を見ています。\n" for n in range(23)),
    "reviews.csv": "text,label\n"
    + "".join(f"the {a} of the {b} is {c},{c}\n" for a in ANIMALS for b in ANIMALS for c in ("good", "bad")),
    "tagged.conll": "".join(f"the\tO\n{a}\tB-animal\nsaw\tO\n{b}\tB-animal\n\n" for a in ANIMALS for b in ANIMALS),
    "documents.tsv": "id\ttitle\ttext\n" + "".join(f"{a}\tthe {a}\tthe {a} is at the river\n" for a in ANIMALS),
    "senses.jsonl": "".join(map(sense_line, ANIMALS)),
    "more-senses.jsonl": "".join(map(sense_line, ANIMALS[::-1])),
    "make_bert.py": """\
import pathlib, tokenizers, transformers
folder = pathlib.Path("bert")
folder.mkdir()
wordpiece = tokenizers.BertWordPieceTokenizer()
wordpiece.train_from_iterator(pathlib.Path("pairs.tsv").read_text().splitlines(), vocab_size=307, show_progress=False)
wordpiece.save(str(folder / "tokenizer.json"))
wordpiece.save_model(str(folder))
sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
transformers.BertModel(transformers.BertConfig(vocab_size=wordpiece.get_vocab_size(), **sizes)).save_pretrained(folder)
""",
}


@dataclass(frozen=True)
class Outcome:
    """What became of one environment."""

    kind: str
    python: str
    commands: str
    """How many of the commands succeeded."""
    versions: str
    failures: Sequence[str] = ()

    def lines(self) -> Iterator[str]:
        yield f"## {self.kind}, {self.python}: {self.commands}"
        yield ""
        yield self.versions
        for failure in self.failures:
            yield from ("", "```text", failure.rstrip(), "```")
        yield ""


def lower_bounds(requirements: Iterable[str]) -> list[str]:
    """`name>=bound` -> `name==bound`; requirements without a lower bound are left out."""
    matches = filter(None, map(REQUIREMENT.match, requirements))
    return [f"{match['name']}=={match['lower']}" for match in matches]


def read_requirements() -> list[str]:
    """What Regard and the extras of the smoke path require, torch excepted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
    return [requirement for requirement in project["dependencies"] + extras if not requirement.startswith("torch>")]


def install(environment: Path, python: str, constraints: Sequence[str]) -> None:
    """An empty environment with Regard and its extras."""
    subprocess.run([python, "-m", "venv", environment], check=True)
    torch = next(line for line in (ROOT / "constraints.txt").read_text().split() if line.startswith("torch=="))
    file = environment / "constraints.txt"
    file.write_text("\n".join([torch, *constraints]) + "\n")
    pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-c", file]
    subprocess.run([*pip, torch], check=True)  # first and alone, as the Makefile does
    subprocess.run([*pip, f"{ROOT}[{','.join(EXTRAS)}]"], check=True)


def smoke_commands() -> list[str]:
    """The commands in their order."""
    return SMOKE.strip().split("\n")


def run_smoke_path(environment: Path, folder: Path) -> list[str]:
    """Every command once; those that failed, with the end of what they printed."""
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    # The environment alone: not the packages of the one that this script runs in.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    failures = []
    for line in smoke_commands():
        program, *words = shlex.split(line)
        command = [str(environment / "bin" / program), *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=variables)
        if done.returncode or "Traceback" in done.stderr or (program == "regard" and "Warning" in done.stderr):
            failures.append(f"{line}\n{done.stderr[-1500:]}")
    return failures


def installed_versions(environment: Path) -> str:
    """The versions of the packages that Regard names."""
    matches = filter(None, map(REQUIREMENT.match, read_requirements()))
    names = {_normalize_name(match["name"]) for match in matches} | {"torch"}
    listing = [environment / "bin" / "pip", "list", "--format", "freeze"]
    lines = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    return ", ".join(line.replace("==", " ") for line in lines if _normalize_name(line.split("==")[0]) in names)


def _normalize_name(name: str) -> str:
    return name.lower().replace("_", "-")


def check(kind: str, python: str) -> Outcome:
    """Install one end of the ranges, run the smoke path, and remove both."""
    found = shutil.which(python)
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout.strip() if found else ""
    if not version:  # not there, or a placeholder of pyenv
        return Outcome(kind, python, "not on this machine", "")
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "environment"
        try:
            install(environment, python, lower_bounds(read_requirements()) if kind == "lowest" else [])
        except subprocess.CalledProcessError as error:
            return Outcome(kind, version, "cannot be installed", "", [str(error)])
        failures = run_smoke_path(environment, Path(folder) / "smoke")
        count = len(smoke_commands())
        commands = f"{count - len(failures)} of {count} commands"
        return Outcome(kind, version, commands, installed_versions(environment), failures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=("lowest", "newest"))
    parser.add_argument("--also", nargs="+", default=[], metavar="PYTHON")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    wanted = [(kind, sys.executable) for kind in options.kinds] + [("newest", python) for python in options.also]
    outcomes = []
    for kind, python in wanted:
        outcomes.append(check(kind, python))
        print("\n".join(outcomes[-1].lines()), flush=True)
    if options.out:
        title = ["# Versions", "", f"{date.today()}, `make versions`. Every environment is empty at first.", ""]
        title += ["The commands, one after the other:", "", "```text", *smoke_commands(), "```", ""]
        text = "\n".join(title + [line for outcome in outcomes for line in outcome.lines()])
        options.out.write_text(text.rstrip() + "\n", encoding="utf-8")
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
