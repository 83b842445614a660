"""What the demo promises of its model, measured on the model that it trains."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


def said(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "regard", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())  # however long its lines are


@pytest.mark.slow
def test_the_demo_model_aligns_and_half_of_its_heads_will_do(tmp_path: Path):
    output = said(tmp_path, "demo")
    found = re.search(r"best head decoder\.\d\.cross\.\d (0\.\d+) .*, all heads averaged", output)
    assert found and float(found[1]) <= 0.20
    heads = said(tmp_path, "heads", "runs/demo", "runs/demo-corpus/test.tsv")
    assert re.search(r"grammar: (no head has an agreement role|\S+ attends from)", heads)
    cut = ("prune", "runs/demo", "--keep", "50%", "--dev", "runs/demo-corpus/dev.tsv", "--out", "runs/half")
    share = re.search(r"(\d+\.\d)% of the BLEU with 12 of 24 heads", said(tmp_path, *cut))
    assert share and float(share[1]) >= 95
