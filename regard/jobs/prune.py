"""Prune a run: its least important heads are cut out of the weights, and what that costs is measured."""

import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from regard import config as settings
from regard import run as runs
from regard.config import Config
from regard.data.batch import Batches, DataPosition
from regard.data.store import open_corpus
from regard.decode import GreedySearch, Search
from regard.errors import ConfigError, DataError, RunError
from regard.formats import Pair
from regard.inspection.example import LONGEST, Example, pair_example
from regard.inspection.pruning import gates
from regard.inspection.pruning.order import Stage, by_gates, by_importance, heads_to_keep, masked, narrow
from regard.inspection.trace import sites
from regard.jobs.load import load, new_model
from regard.jobs.train.events import Note
from regard.jobs.versions import versions
from regard.metrics import Score, bleu
from regard.metrics.paired import bleu_difference
from regard.model import weights
from regard.model.taps import alter
from regard.model.transformer import EncoderDecoder, count_parameters
from regard.run import Run
from regard.tasks.translate import Translator
from regard.training import optim
from regard.training.loss import LossModule
from regard.training.planning.cost import MeanLengths, training_flops

METHODS = ("importance", "gates")
MEND_STEPS = 600
GENTLE = 0.5  # of the run's own rate: what is left is to be mended, not begun anew
GATE_STEPS, PENALTY = 200, 0.02
MEASURED = 200  # dev pairs on which importance is asked; BLEU is scored on all that were given


@dataclass(frozen=True)
class Wish:
    """What is to be pruned, and how."""

    keep: str = "50%"
    method: str = "importance"
    mend: int = MEND_STEPS
    overwrite: bool = False
    device: str = "auto"


@dataclass(frozen=True)
class Point:
    """One point of the curve: so many heads left, and what the model scores with the others shut."""

    left: int
    loss: float
    bleu: Score


@dataclass(frozen=True)
class Size:
    """How large a model is, and how long it took."""

    heads: int
    parameters: int
    operations: float
    """Floating-point operations to read and write one dev pair once."""
    seconds: float
    """To translate the dev sentences greedily."""


@dataclass(frozen=True)
class Pruned:
    """What pruning did."""

    run: Run
    removed: tuple[str, ...]
    curve: tuple[Point, ...]
    before: Score
    after: Score
    difference: Score
    sizes: tuple[Size, Size]
    mended: int


def prune(folder: Path, out: Path, pairs: Sequence[Pair], wish: Wish) -> Iterator[Note | Pruned]:
    """Cut heads out of a run until so many are left, mend the rest on the run's own text, and score both on dev."""
    if wish.method not in METHODS:
        raise ConfigError(f"--method {wish.method}: expected one of {', '.join(METHODS)}")
    if not pairs:
        raise ConfigError("pruning needs pairs to measure on: give them with --dev dev.en dev.fr")
    if out.resolve() == folder.resolve():
        raise ConfigError(f"{out}: a run cannot be pruned in place; choose another folder with --out")
    runs.require_free(out, wish.overwrite)
    translator = load(folder, wish.device)
    whole, config = translator.model, runs.open_run(folder).load_config()
    given, pairs = len(pairs), _short(translator, pairs)
    if len(pairs) < given:
        yield Note(f"{given - len(pairs)} of {given} pairs are longer than {LONGEST} pieces and left out")
    examples = [pair_example(translator.tokenizers, pair.source, pair.target) for pair in pairs[:MEASURED]]
    total = sum(site.attention.heads for site in sites(whole))
    curve, stages = [], _stages(whole, examples, wish, heads_to_keep(wish.keep, total))
    for stage in stages:
        with alter(whole, masked(whole, stage.shut)):
            point = Point(stage.left, stage.loss, bleu(_translated(translator, pairs)[0], _targets(pairs)))
        curve.append(point)
        yield Note(f"{stage.left} of {total} heads: loss {stage.loss:.3f}, {point.bleu}")
    removed = tuple(map(str, stage.shut))
    small_config = _config(config, removed, folder)
    small = new_model(small_config, translator.tokenizers).to(next(whole.parameters()).device).eval()
    narrow(whole, small)
    steps = yield from _mend(runs.open_run(folder), small_config, small, translator, wish.mend)
    yield _scored(Run(out), folder, (config, small_config), (translator, small), pairs, (removed, tuple(curve), steps))


def _short(translator: Translator, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that heads can be measured on."""
    sources = translator.tokenizers.source.encode([pair.source for pair in pairs])
    targets = translator.tokenizers.target.encode([pair.target for pair in pairs])
    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    short = [pair for pair, length in zip(pairs, lengths, strict=True) if length < LONGEST]
    if not short:
        raise DataError(f"no pair of at most {LONGEST} pieces to measure on; give shorter ones with --dev")
    return short


def _stages(model: EncoderDecoder, examples: Sequence[Example], wish: Wish, keep: int) -> Iterator[Stage]:
    if wish.method == "importance":
        return by_importance(model, examples, keep)
    wanted = gates.learn(model, examples, GATE_STEPS, PENALTY)
    return by_gates(model, examples, sorted(wanted, key=wanted.__getitem__), keep)


def _mend(
    run: Run, config: Config, model: EncoderDecoder, translator: Translator, steps: int
) -> Generator[Note, None, int]:
    """Train what is left for a while on the run's own pairs, at a gentle rate that falls to 0; the steps taken."""
    if not steps:
        return 0
    if not run.tokens_manifest.exists():
        yield Note(
            f"{run.folder}: keeps no training pairs, so what is left was not mended; train on with "
            f"`regard train FILES --from` the pruned run"
        )
        return 0
    corpus, c = open_corpus(run.store, "train", translator.tokenizers), config.train
    batches = Batches(corpus, translator.tokenizers, c.batch_tokens, config.data.max_length, c.seed)
    learner = LossModule(model, c.label_smoothing, padding_free=next(model.parameters()).device.type == "cpu").train()
    optimizers = optim.build(c, model)
    for number, (_, batch) in enumerate(batches.iterate_from(DataPosition()), start=1):
        assert batch is not None
        torch.manual_seed(number)
        sums = learner(batch.to(next(model.parameters()).device))
        (sums.objective / batch.num_tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), c.clip_grad_norm or torch.inf)
        optimizers.step(GENTLE * (1 - (number - 1) / steps))
        if number % 100 == 0 or number == steps:
            yield Note(f"mending, step {number} of {steps}: loss {float(sums.loss) / batch.num_tokens:.3f}")
        if number == steps:
            break
    model.eval()
    return steps


def _scored(
    out: Run,
    origin: Path,
    configs: tuple[Config, Config],
    models: tuple[Translator, EncoderDecoder],
    pairs: Sequence[Pair],
    done: tuple[tuple[str, ...], tuple[Point, ...], int],
) -> Pruned:
    """Write the small model as a run, and compare it with the whole one on dev."""
    translator, small = models
    _write(out, runs.open_run(origin), configs[1], small)
    outputs, seconds = _translated(translator, pairs)
    fewer, less = _translated(Translator(small, translator.tokenizers), pairs)
    references = _targets(pairs)
    ids = [
        translator.tokenizers.source.encode([p.source for p in pairs]),
        translator.tokenizers.target.encode(references),
    ]
    lengths = MeanLengths(*(sum(map(len, side)) / len(side) + 1 for side in ids))
    vocabulary = translator.tokenizers.target.vocab_size
    sizes = tuple(
        Size(
            sum(site.attention.heads for site in sites(model)),
            count_parameters(model),
            training_flops(config.model, vocabulary, lengths) / 3,  # forward alone
            took,
        )
        for model, config, took in zip((translator.model, small), configs, (seconds, less), strict=True)
    )
    removed, curve, steps = done
    before, after = bleu(outputs, references), bleu(fewer, references)
    difference = bleu_difference(fewer, outputs, references)
    pruned = Pruned(out, removed, curve, before, after, difference, (sizes[0], sizes[1]), steps)
    out.write_json(out.pruning, as_dict(pruned))
    return pruned


def as_dict(pruned: Pruned) -> dict[str, object]:
    """The whole story as plain values: what the run keeps in pruning.json."""
    return {
        "removed": list(pruned.removed),
        "curve": [{"heads": p.left, "loss": p.loss, "bleu": p.bleu.as_dict()} for p in pruned.curve],
        "before": pruned.before.as_dict(),
        "after": pruned.after.as_dict(),
        "difference": pruned.difference.as_dict(),
        "sizes": [vars(size) for size in pruned.sizes],
        "mended": pruned.mended,
    }


def _config(config: Config, removed: Sequence[str], origin: Path) -> Config:
    """The settings of the small model: heads gone, and no files of its own."""
    table = config.model_dump(mode="json", exclude_none=True)
    table["model"]["pruned"] = sorted({*config.model.pruned, *removed})
    table["data"] |= {"train": [], "dev": [], "test": []}
    table["train"]["origin"] = str(origin.resolve())
    return settings.build(table)


def _write(out: Run, origin: Run, config: Config, model: EncoderDecoder) -> None:
    making = runs.stage(out.folder, config)
    try:
        files = origin.tokenizer_files()
        for path in files:
            shutil.copyfile(origin.verify(path), making.folder / path.name)
        runs.write_text(making.config, settings.dump(config))
        making.write_json(making.versions, versions())
        with runs.atomic_write(making.weights(0)) as aside:
            weights.write(weights.tensors_of(model), aside)
        making.record_checksums(making.weights(0), *(making.folder / path.name for path in files))
        best = {"weights": f"weights/{making.weights(0).name}", "step": 0, "cost": None, "metric": "loss"}
        making.write_json(making.best, best)
    except BaseException:
        runs.discard(making)
        raise
    runs.commit(making, out.folder)


def _translated(translator: Translator, pairs: Sequence[Pair], search: Search | None = None) -> tuple[list[str], float]:
    start = time.perf_counter()
    found = Translator(translator.model, translator.tokenizers).translate(
        [pair.source for pair in pairs], search or GreedySearch(scored=False)
    )
    return found, time.perf_counter() - start


def _targets(pairs: Sequence[Pair]) -> list[str]:
    return [pair.target for pair in pairs]


def training_store(run: Run) -> Run:
    """The run that keeps the training pairs: this one, or the one it was pruned from."""
    origin = run.load_config().train.init_from
    if run.tokens_manifest.exists() or not origin:
        return run
    return Run(Path(origin)) if Run(Path(origin)).tokens_manifest.exists() else run


def require_translator(config: Config, folder: Path) -> None:
    """Refuse a run that cannot be scored."""
    if config.model.architecture != "encoder-decoder":
        raise RunError(f"{folder}: holds an encoder alone; pruning is measured in BLEU, so it needs a translator")
