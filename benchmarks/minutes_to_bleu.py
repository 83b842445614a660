"""BLEU against minutes: Regard with nothing but files and --minutes, and the best known recipe in another toolkit.

    python benchmarks/minutes_to_bleu.py FOLDER --train train.en train.de --dev val.en val.de --test test.en test.de

The recipe is that of Wu et al. 2021 for Multi30k (4+4 layers of width 128, dropout 0.3, batches of 4,096, rate 0.005,
the mean of the last ten checkpoints), run by OpenNMT-py, the fastest of the others here. Both train at the same time,
each on one half of the cores, so that they share the same clock and the same machine. Text is lowercased and cut into
words beforehand, and scored so, with beam 5. Of Regard every point is a training of its own, whose schedule ends when
its minutes do; of the other it is a look at one training on its way. Regard keeps its best checkpoint or an average by
dev loss, so the test set, which was used for nothing, stands beside dev. What is finished in FOLDER is not done again;
--write keeps the results and the chart.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environment import RESULTS, described, write
from material import Material, make
from peers import PEERS, versions

from regard.data.tokenizers.tokenizer import Tokenizer
from regard.metrics import make_bleu_metric
from regard.report import Table, line_chart
from regard.run import Run

OURS = (5.0, 10.0, 15.0, 30.0)  # one after the other: as long as the other's hour
THEIRS = (5, 10, 15, 20, 30, 40, 50, 60)
AVERAGED = 10
RIVAL = "OpenNMT-py, best known recipe"
IMAGE = Path(__file__).parent.parent / "docs" / "images" / "minutes-to-bleu.png"
PEER = PEERS["OpenNMT-py"]
JUDGED = ("dev", "test")
Files = dict[str, list[str]]
Point = dict[str, Any]
"""Minutes, and for each judged set BLEU with its interval."""
RECIPE = {
    "layers": 4,
    "heads": 4,
    "hidden_size": 128,
    "word_vec_size": 128,
    "transformer_ff": 256,
    "dropout": [0.3],
    "attention_dropout": [0.0],
    "label_smoothing": 0.1,
    "optim": "adam",
    "adam_beta2": 0.98,
    "learning_rate": 2.53,  # times 128^-0.5 times 2000^-0.5 is 0.005
    "decay_method": "noam",
    "warmup_steps": 2000,
    "max_grad_norm": 0,
    "batch_type": "tokens",
    "normalization": "tokens",
    "batch_size": 4096,
    "bucket_size": 29000,
    "num_workers": 0,
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "share_embeddings": True,
    "share_decoder_embeddings": True,
    "position_encoding": True,
    "save_checkpoint_steps": 50,
    "keep_checkpoint": -1,
    "train_steps": 1_000_000,
    "valid_steps": 1_000_000,
    "report_every": 50,
    "share_vocab": True,
    "seed": 1,
}


def on_half(which: int) -> list[str]:
    """What to put before a command that gets the first (0) or the second (1) half of the cores."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    mine = cores[:half] if which == 0 else cores[half:]
    return ["taskset", "-c", ",".join(map(str, mine))]


def cell(path: Path, work: Callable[[], Point]) -> Point:
    """What was found earlier, or is found now."""
    if not path.exists():
        found = work()
        path.write_text(json.dumps(found), encoding="utf-8")
        print(path.stem, found, flush=True)
    return json.loads(path.read_text(encoding="utf-8"))


def score(translations: list[str], reference: str) -> dict[str, float]:
    references = lines(reference)
    found = make_bleu_metric(lowercase=True, tokenize="none")(translations, references)
    return {"bleu": found.value, "low": found.low, "high": found.high}


def lines(path: str | Path) -> list[str]:
    return Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")


def ours(folder: Path, minutes: float, files: Files) -> Point:
    """Train for `minutes`, all of it included, and score."""
    out = folder / f"regard.{minutes:g}"
    start = time.perf_counter()
    regard = [*on_half(1), sys.executable, "-m", "regard"]
    command = [*regard, "train", *files["train"], "--dev", *files["dev"], "--minutes", f"{minutes:g}"]
    subprocess.run([*command, "--out", str(out), "--overwrite"], check=True, capture_output=True)
    seconds = time.perf_counter() - start
    found: Point = {"minutes": seconds / 60}
    for name in JUDGED:
        done = subprocess.run([*regard, "translate", str(out), files[name][0]], check=True, stdout=subprocess.PIPE)
        found[name] = score(done.stdout.decode().removesuffix("\n").split("\n"), files[name][1])
    return found


def their_training(folder: Path, material: Material, minutes: float) -> None:
    """The other toolkit, for as many minutes of its own."""
    if (folder / "finished").exists():
        return
    folder.mkdir(exist_ok=True)
    files = {
        f"path_{short}": str(material.lines("train", side)) for short, side in (("src", "source"), ("tgt", "target"))
    }
    vocabulary = {name: str(material.vocabulary) for name in ("src_vocab", "tgt_vocab")}
    config = {"data": {"corpus": files}, **vocabulary, "save_model": str(folder / "model"), **RECIPE}
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    command = [*on_half(0), str(PEER.python), "-m", "onmt.bin.train", "-config", str(folder / "config.yaml")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        (folder / "begun").write_text(f"{time.time()}")
        time.sleep(60 * minutes)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    (folder / "finished").touch()


def their_score(folder: Path, material: Material, minutes: int, files: Files) -> Point:
    """The mean of the checkpoints that existed after this time."""
    begun = float((folder / "begun").read_text())
    saved = sorted(folder.glob("model_step_*.pt"), key=lambda path: path.stat().st_mtime)
    there = [path for path in saved if path.stat().st_mtime <= begun + 60 * minutes][-AVERAGED:]
    variables = {**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    mean = folder / f"mean.{minutes}.pt"
    average = ["-m", "onmt.bin.average_models", "-models", *map(str, there), "-output", str(mean)]
    subprocess.run([str(PEER.python), *average], check=True, env=variables, capture_output=True)
    tokenizer = Tokenizer(Run(material.run).tokenizer().read_bytes())
    ids = {token: i for i, token in enumerate(tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size)))}
    found: Point = {"minutes": float(minutes)}
    for name in JUDGED:
        source, out = folder / f"{name}.source", folder / f"{name}.{minutes}"
        cut = (" ".join(tokenizer.convert_ids_to_tokens(row)) for row in tokenizer.encode(lines(files[name][0])))
        source.write_text("".join(f"{line}\n" for line in cut), encoding="utf-8")
        translate = ["-m", "onmt.bin.translate", "-model", str(mean), "-src", str(source), "-output", str(out)]
        beam = ["-beam_size", "5", "-length_penalty", "avg", "-batch_size", "32"]
        subprocess.run([str(PEER.python), *translate, *beam], check=True, env=variables, capture_output=True)
        said = [tokenizer.decode([ids[token] for token in line.split(" ") if token in ids]) for line in lines(out)]
        found[name] = score(said, files[name][1])
    return found


def chart(found: dict[str, list[Point]]) -> bytes:
    points = [(point["minutes"], point["dev"]["bleu"], name) for name, row in found.items() for point in row]
    cores = len(os.sched_getaffinity(0)) // 2
    columns = dict(zip(("minutes", "bleu", "toolkit"), map(list, zip(*points, strict=True)), strict=True))
    return line_chart(
        Table(columns),
        "minutes",
        "bleu",
        "toolkit",
        title=f"Multi30k, English to German, {cores} core{'s' if cores > 1 else ''} each",
        x_title="minutes of training",
        y_title="dev BLEU (lowercased, as tokenized)",
    ).to_png()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", nargs=2, required=True)
    parser.add_argument("--dev", nargs=2, required=True)
    parser.add_argument("--test", nargs=2, required=True)
    parser.add_argument("--minutes", type=float, nargs="*", default=OURS, help="trainings of ours")
    parser.add_argument("--rival", type=float, default=max(THEIRS), help="minutes of the other")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    files = {name: getattr(given, name) for name in ("train", *JUDGED)}
    given.folder.mkdir(parents=True, exist_ok=True)
    material = make(given.folder / "material", {name: files[name] for name in ("train", "dev")}, vocabulary=10_000)
    theirs = given.folder / "opennmt"
    found: dict[str, list[Point]] = {"Regard": [], RIVAL: []}
    with ThreadPoolExecutor(1) as beside:
        training = beside.submit(their_training, theirs, material, given.rival)
        for minutes in given.minutes:
            path = given.folder / f"regard.{minutes:g}.json"
            found["Regard"].append(cell(path, lambda m=minutes: ours(given.folder, m, files)))
        training.result()
    for minutes in (minutes for minutes in THEIRS if minutes <= given.rival):
        path = given.folder / f"opennmt.{minutes}.json"
        found[RIVAL].append(cell(path, lambda m=minutes: their_score(theirs, material, m, files)))
    rows = ["| toolkit | minutes | dev BLEU | test BLEU |", "|---|---|---|---|"]
    for name, points in found.items():
        for point in points:
            scores = (f"{point[s]['bleu']:.2f} [{point[s]['low']:.2f}, {point[s]['high']:.2f}]" for s in JUDGED)
            rows.append(f"| {name} | {point['minutes']:.1f} | {' | '.join(scores)} |")
    print("\n".join(rows))
    if given.write:
        about = ["- seed 1; lowercased, as tokenized, beam 5", *(f"- {line}" for line in versions([PEER.name]))]
        write("minutes_to_bleu", [*described(), *about, "", *rows])
        IMAGE.write_bytes(chart(found))
        (RESULTS / "minutes_to_bleu.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
