"""Memory does not grow with the corpus: neither that of training nor that of the doctor."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

STEPS = 50

# A process of its own for each corpus, which prints the most anonymous memory it had before and during training.
# Mapped files do not count: the system takes them back whenever it likes.
PROBE = """
import json, sys, threading, time
from pathlib import Path
from regard.config import Config, override
from regard.jobs.train.events import TrainingProgress
from regard.jobs.train.fit import train_run

def anonymous():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) // 1024

peak, over = {"before": 0, "training": 0}, threading.Event()
phase, begun = "before", time.monotonic()
def watch():
    while not over.wait(0.02):
        peak[phase] = max(peak[phase], anonymous())
threading.Thread(target=watch, daemon=True).start()
config = override(Config(), json.loads(sys.argv[2]))
for event in train_run(Path(sys.argv[1]), config, False, lambda: False):
    if isinstance(event, TrainingProgress):
        if phase == "before":
            peak["seconds"] = time.monotonic() - begun
        phase = "training"
        if event.step.number == int(sys.argv[3]):
            break
over.set()
print(json.dumps(peak))
"""


def write_pairs(folder: Path, pairs: int) -> None:
    """So many different pairs of sentences, of words that repeat as words do."""
    rng = random.Random(7)
    english = [f"{a}{b}" for a in ("ba", "ko", "ri", "tu", "me", "sol", "fan") for b in ("n", "lia", "rto", "ss", "v")]
    french = [f"{word}e" for word in english]
    weights = [1 / (i + 1) for i in range(len(english))]
    with (folder / "train.en").open("w") as source, (folder / "train.fr").open("w") as target:
        for number in range(pairs):
            chosen = rng.choices(range(len(english)), weights, k=rng.randint(5, 17))
            source.write(f"{' '.join(english[i] for i in chosen)} {number}.\n")
            target.write(f"{' '.join(french[i] for i in chosen)} {number}.\n")


def peaks(folder: Path, pairs: int, steps: int = STEPS) -> dict[str, float]:
    """The most anonymous memory, in MB, before and during the first steps, and the seconds of the former."""
    folder.mkdir()
    write_pairs(folder, pairs)
    files = [str(folder / "train.en"), str(folder / "train.fr")]
    # The same model for both: what is compared is what the corpus takes.
    changes = ["model.dim=64", "model.layers=2", "model.heads=2", "model.ffn=128", "data.vocab_size=800"]
    changes += [f"data.train={json.dumps(files)}", "train.validate_every=1000000", "train.steps=1000000"]
    command = [sys.executable, "-c", PROBE, str(folder / "run"), json.dumps(changes), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to read RssAnon")
def test_two_million_pairs_take_the_memory_of_fifty_thousand(tmp_path: Path):
    small, large = peaks(tmp_path / "small", 50_000), peaks(tmp_path / "large", 2_000_000)
    print(f"peak RssAnon in MB: 50 thousand pairs {small}, 2 million pairs {large}")
    assert large["training"] < 1.15 * small["training"]
    assert large["before"] < 1500  # the doctor's search for repeats, the choice of what to hold out, the pieces
