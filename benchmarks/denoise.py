"""Denoising before translation, at equal total minutes: does it help where there is no other text?

    REGARD_DATA=../shared/data python benchmarks/denoise.py /tmp/denoise --pretrain-minutes 6 --minutes 12 --seeds 1 2 3

A translator learns for `--minutes`. Another one first learns for `--pretrain-minutes` to rebuild texts of both
languages, of the same files, and then to translate for the rest of them: `regard train … --task denoise`, then
`regard train … --from`. Both have the sizes and the vocabulary that are chosen for the first. The minutes are those of
whole commands, the scoring of the test set included, which is used for nothing else. BLEU of the test set is compared
sentence by sentence, pooled over the seeds: one bootstrap sample of sentences serves both systems and all seeds.

Every finished cell is kept in results/denoise.json, with the statistics of each sentence and none of its text, and is
not measured again: interrupt and repeat the command as often as you like. The table and the verdict are in
results/denoise.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from environment import RESULTS, described, write

from regard.jobs.evaluate import read_sentences
from regard.metrics import choose_tokenization
from regard.metrics.corpus_sums import bleu_of_sums, sentence_statistics
from regard.run import Run

CELLS = RESULTS / "denoise.json"
SIZES = ("model.dim", "model.layers", "model.heads", "model.ffn", "data.vocab_size")
SYSTEMS = ("translation alone", "denoising, then translation")
SAMPLES = 10_000
Cell = dict[str, Any]


def read_cells() -> dict[str, Cell]:
    return json.loads(CELLS.read_text()) if CELLS.exists() else {}


def keep(cells: dict[str, Cell], key: str, cell: Cell) -> None:
    """Add a cell to those on disk, which another process may write, too; a reader sees the old file or the new one."""
    cells |= read_cells() | {key: cell}
    temporary = CELLS.with_suffix(".tmp")
    temporary.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in cells.items()) + "\n}\n")
    temporary.replace(CELLS)
    print(key, {name: value for name, value in cell.items() if name != "statistics"}, flush=True)


def train(given: argparse.Namespace, out: Path, minutes: float, seed: int, *options: str) -> float:
    """The minutes that a training took, from the start of the command to its end."""
    files = {
        name: [str(given.data / f"{name}.{side}") for side in given.languages] for name in ("train", "dev", "test")
    }
    sets = ["--dev", *files["dev"], *([] if "denoise" in options else ["--test", *files["test"]])]
    command = [sys.executable, "-m", "regard", "train", *files["train"], *sets, "--seed", str(seed)]
    start = time.perf_counter()
    subprocess.run([*command, "--minutes", f"{minutes:g}", "--out", str(out), "--overwrite", *options], check=True)
    return (time.perf_counter() - start) / 60


def score(out: Path, language: str) -> Cell:
    """BLEU of the test set, and its statistics of each sentence."""
    sentences = read_sentences(Run(out), "test")
    references = [one.reference for one in sentences]
    bleu = choose_tokenization(language, references).make_bleu()
    statistics = sentence_statistics(bleu, [one.translation for one in sentences], references).astype(int)
    return {"bleu": float(bleu_of_sums(statistics.sum(axis=0).astype(float))), "statistics": statistics.tolist()}


def read_sizes(out: Path) -> list[str]:
    """The sizes of a run as options of another one."""
    config = Run(out).load_config()
    values = {name: getattr(getattr(config, name.partition(".")[0]), name.partition(".")[2]) for name in SIZES}
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def measure(given: argparse.Namespace, cells: dict[str, Cell], seed: int) -> None:
    """The cells of a seed that are missing."""
    alone, pretrained, tuned = (given.folder / f"{name}.{seed}" for name in ("alone", "denoised", "tuned"))
    keys = [cell_key(given, system, seed) for system in SYSTEMS]
    if keys[0] not in cells:
        minutes = train(given, alone, given.minutes, seed)
        keep(cells, keys[0], {"minutes": minutes, **score(alone, given.languages[1]), "sizes": read_sizes(alone)[1::2]})
    if keys[1] not in cells:
        noise = ["--set", f"denoise.scheme={given.scheme}", "--set", f"denoise.target={given.target}"]
        sizes = [part for value in cells[keys[0]]["sizes"] for part in ("--set", value)]
        first = train(given, pretrained, given.pretrain_minutes, seed, "--task", "denoise", *noise, *sizes)
        rest = given.minutes - given.pretrain_minutes
        second = train(given, tuned, rest, seed, "--from", str(pretrained))
        keep(cells, keys[1], {"minutes": first + second, "pretrain_minutes": first, **score(tuned, given.languages[1])})


def cell_key(given: argparse.Namespace, system: str, seed: int) -> str:
    """What a cell depends on."""
    noise = "" if system == SYSTEMS[0] else f" of which {given.pretrain_minutes:g}, {given.scheme}, {given.target}"
    return f"{given.data.name} {'-'.join(given.languages)}: {system}, {given.minutes:g} minutes{noise}, seed {seed}"


def compare(pairs: list[tuple[Cell, ...]]) -> tuple[float, float, float]:
    """The mean difference of BLEU over seeds, and its 95 % interval over sentences."""
    rng = np.random.default_rng(1)
    tables = [[np.array(cell["statistics"], np.float64) for cell in pair] for pair in pairs]
    num_sentences = len(tables[0][0])
    weights = rng.multinomial(num_sentences, np.full(num_sentences, 1 / num_sentences), SAMPLES).astype(np.float64)

    def difference(sample: np.ndarray) -> np.ndarray:
        return np.mean([bleu_of_sums(sample @ tuned) - bleu_of_sums(sample @ alone) for alone, tuned in tables], axis=0)

    low, high = np.quantile(difference(weights), (0.025, 0.975))
    return float(difference(np.ones((1, num_sentences)))[0]), float(low), float(high)


def tabulate(pairs: dict[int, tuple[Cell, ...]]) -> list[str]:
    """The table and the verdict."""
    rows = ["| seed | " + " | ".join(f"{system}, BLEU (minutes)" for system in SYSTEMS) + " | difference |"]
    rows.append("|---:|---:|---:|---:|")
    for seed, (alone, tuned) in pairs.items():
        cells = [f"{cell['bleu']:.2f} ({cell['minutes']:.1f})" for cell in (alone, tuned)]
        rows.append(f"| {seed} | {' | '.join(cells)} | {tuned['bleu'] - alone['bleu']:+.2f} |")
    value, low, high = compare(list(pairs.values()))
    seeds = f"seed{'s' * (len(pairs) > 1)} {', '.join(map(str, pairs))}"
    if low <= 0 <= high:
        verdict = "Denoising first makes no difference that this test set shows"
    else:
        verdict = f"Denoising first {'helps' if low > 0 else 'costs'}"
    verdict += (
        f": {value:+.2f} BLEU ({low:+.2f} to {high:+.2f}, 95 %, {seeds} pooled, paired bootstrap over sentences)."
    )
    return [*rows, "", verdict]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where runs go; nothing in it is needed later")
    data = Path(os.environ.get("REGARD_DATA", ".")) / "ted_en_fr"
    parser.add_argument("--data", type=Path, default=data, help="train, dev and test of both languages")
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--minutes", type=float, default=12.0, help="of each system in all")
    parser.add_argument("--pretrain-minutes", type=float, default=6.0, help="of these, for denoising")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--scheme", choices=("bart", "t5"), default="bart")
    parser.add_argument("--target", choices=("text", "spans"), default="text")
    given = parser.parse_args()
    if not 0 < given.pretrain_minutes < given.minutes:
        parser.error("--pretrain-minutes must be above 0 and below --minutes")
    return given


def main() -> None:
    given = parse()
    given.folder.mkdir(parents=True, exist_ok=True)
    cells = read_cells()
    for seed in given.seeds:
        measure(given, cells, seed)
        finished = {}
        for one in given.seeds:
            pair = [cells.get(cell_key(given, system, one)) for system in SYSTEMS]
            if all(pair):
                finished[one] = tuple(pair)
        about = (
            f"`benchmarks/denoise.py`: {given.minutes:g} minutes each, {given.pretrain_minutes:g} of them denoising "
        )
        about += f"({given.scheme}, target: {given.target}); test set of {given.data.name}"
        lines = [*described(), f"- {about}", "", *tabulate(finished)]
        write("denoise", lines)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
