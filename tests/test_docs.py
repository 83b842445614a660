"""The commands of the README run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHORTER = (("--minutes 5", "--steps 5 --set train.batch_tokens=256"), ("--keep 50%", "--keep 50% --finetune-steps 2"))
"""What is shortened so that the tour takes seconds; nothing else is touched."""


def commands(language: str) -> str:
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL))


def test_the_tour_runs(tmp_path: Path):
    script = commands("sh")
    assert script.count("regard ") >= 6
    for long, short in SHORTER:
        assert long in script
        script = script.replace(long, short)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    out = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True, env={"PATH": path}
    )
    assert out.returncode == 0, out.stderr
    assert "BLEU" in out.stdout and (tmp_path / "runs" / "mine" / "report.html").exists()
    python = subprocess.run([sys.executable, "-c", commands("python")], cwd=tmp_path, capture_output=True, text=True)
    assert python.returncode == 0 and python.stdout.startswith("["), python.stderr


def test_every_file_that_the_documents_name_is_there():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
