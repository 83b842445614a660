"""Does bfloat16 make training on a CPU faster? Classifiers of several widths, interleaved with float32.

    python benchmarks/bfloat16.py --corpus texts.tsv [--widths 128 256 384 512] [--rounds 2]

Each round trains each width for some steps in both precisions, by the command that a user would type; the first steps,
which warm up, are not counted. float32 is computed without padding, bfloat16 with it: as training does. Results:
benchmarks/results/bfloat16.md.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from environment import described, write

STEPS, WARMUP_STEPS = 30, 5
PRECISIONS = ("float32", "bfloat16")


def step_seconds(corpus: str, width: int, precision: str, threads: int) -> list[float]:
    """Seconds of each step of a training."""
    settings = {
        "model.dim": width,
        "model.heads": width // 32,
        "model.ffn": 4 * width,
        "model.layers": 6,
        "train.precision": precision,
        "train.threads": threads,
        "train.batch_tokens": 1024,
        "train.validate_every": 10 * STEPS,
    }
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "regard", "train", corpus, "--task", "classify", "--steps", str(STEPS)]
        command += ["--out", f"{folder}/run", "--plain"]
        command += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        subprocess.run(command, check=True, capture_output=True)
        lines = Path(folder, "run", "log.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    events = [json.loads(line) for line in lines]
    return [event["seconds"] for event in events if event["kind"] == "step"][WARMUP_STEPS:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--widths", type=int, nargs="*", default=[128, 256, 384, 512])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    seconds: dict[tuple[int, str], list[float]] = {}
    for _ in range(options.rounds):
        for width in options.widths:
            for precision in PRECISIONS:
                taken = step_seconds(options.corpus, width, precision, options.threads)
                seconds.setdefault((width, precision), []).extend(taken)
                print(f"width {width}, {precision}: {statistics.median(taken):.3f} s a step", flush=True)
    lines = [
        "Training in bfloat16 on a CPU",
        "",
        *described(),
        f"- {torch.backends.cpu.get_cpu_capability()}, {options.threads} thread, 6 layers, batches of 1,024 tokens",
        "",
        "| width | float32, s a step | bfloat16, s a step | speed-up |",
        "|---|---|---|---|",
    ]
    for width in options.widths:
        full, half = (statistics.median(seconds[width, precision]) for precision in PRECISIONS)
        lines.append(f"| {width} | {full:.3f} | {half:.3f} | {full / half:.2f} |")
    print("\n".join(lines))
    write("bfloat16", lines)


if __name__ == "__main__":
    main()
