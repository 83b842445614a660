"""Are the version ranges of pyproject.toml true? Install their ends into empty environments, and use them.

    python scripts/versions.py lowest newest
    python scripts/versions.py newest --python python3.13

lowest: every package at its lower bound; newest: at the newest version that can be had. torch is the one of
constraints.txt in both: older ones come with gigabytes of CUDA. Prints versions and results; the exit code is 1 if a
range is not true.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("bert", "ctranslate2", "track", "tune")
REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(\[[\w,]+\])?>=(?P<lower>[\d.]+)")
SMOKE = """
regard --help
regard settings
regard corpus english-french --pairs 1500 --out pairs.tsv
regard corpus english-french --pairs 97 --seed 7 --out test.tsv
regard doctor pairs.tsv
regard estimate pairs.tsv --minutes 1
regard train pairs.tsv --steps 30 --out runs/a --track tensorboard
regard train --resume runs/a --steps 40
regard translate runs/a README.txt --out hypotheses.txt --quantize int8
regard translate runs/a README.txt --out again.txt --engine ctranslate2
regard evaluate runs/a test.tsv
regard compare runs/a runs/a --on test.tsv
regard look runs/a --out look.html
regard heads runs/a
regard report runs/a
regard prune runs/a --keep 50% --finetune-steps 3 --out runs/pruned
regard export runs/a --to marian --out exported
regard import exported --out runs/imported
regard tune pairs.tsv --over model.dropout=0.1,0.2 --steps 5 --out studies/s
"""


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
    pip = [environment / "bin" / "pip", "install", "--quiet", "-c", file]
    subprocess.run([*pip, torch], check=True)  # first and alone, as the Makefile does
    subprocess.run([*pip, f"{ROOT}[{','.join(EXTRAS)}]"], check=True)


def run_smoke_path(environment: Path, folder: Path) -> list[str]:
    """Every command once; those that failed, with the end of what they printed."""
    folder.mkdir()
    (folder / "README.txt").write_text("The small dog sees the cat.\nThe girls sing.\n", encoding="utf-8")
    failures = []
    for line in SMOKE.strip().split("\n"):
        words = [str(environment / "bin" / "regard"), *line.split()[1:]]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if done.returncode or "Traceback" in done.stderr or "Warning" in done.stderr:
            failures.append(f"{line}\n{done.stderr[-1500:]}")
    return failures


def installed_versions(environment: Path) -> str:
    """The versions of the packages that Regard names."""
    names = {match["name"].lower() for match in filter(None, map(REQUIREMENT.match, read_requirements()))} | {"torch"}
    listing = [environment / "bin" / "pip", "list", "--format", "freeze"]
    lines = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split()
    return ", ".join(line.replace("==", " ") for line in lines if line.split("==")[0].lower() in names)


def check(kind: str, python: str, folder: Path) -> bool:
    """Install one end of the ranges, run the smoke path, print what happened; whether all went well."""
    environment = folder / kind
    try:
        install(environment, python, lower_bounds(read_requirements()) if kind == "lowest" else [])
    except subprocess.CalledProcessError as error:
        print(f"{kind}, {python}: cannot be installed ({error})")
        return False
    failures = run_smoke_path(environment, folder / f"{kind}-smoke")
    version = subprocess.run([environment / "bin" / "python", "--version"], capture_output=True, text=True).stdout
    count = len(SMOKE.strip().split("\n"))
    print(f"{kind}, {version.strip()}: {count - len(failures)} of {count} commands; {installed_versions(environment)}")
    for failure in failures:
        print(f"  failed: {failure}")
    return not failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=("lowest", "newest"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = [check(kind, options.python, Path(folder)) for kind in options.kinds]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
