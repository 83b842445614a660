"""What a measurement was made on, and where its results go."""

import os
import platform
import subprocess
from datetime import date
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def described() -> list[str]:
    """Hardware, date and versions, for the head of a results file."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("regard", "torch", "numpy", "sentencepiece"))
    return [
        f"- {processor()}, {os.cpu_count()} cores, {platform.system()}",
        f"- {date.today()}, Python {platform.python_version()}, {packages}{commit()}",
    ]


def commit() -> str:
    """Of the code that is measured; nothing where git does not know."""
    asked = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return f", commit {subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()}"
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write(name: str, lines: list[str]) -> None:
    """Keep the results of a benchmark as results/<name>.md."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text("\n".join([f"# {name}", "", *lines]) + "\n", encoding="utf-8")
