"""Prune the least important attention heads of a run, fine-tune the rest, and measure what that costs."""

import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard import config as settings
from regard import run as runs
from regard.config import Config, value_at
from regard.config.base import MAX_STEPS
from regard.data.batch import Batches, DataPosition, TranslationCollator
from regard.data.store import open_corpus
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.decode import GreedySearch, Search
from regard.errors import ConfigError, DataError, DivergedError
from regard.files import resolve
from regard.formats import Pair
from regard.inspection.example import MAX_TOKENS, Example, build_pair_example
from regard.inspection.pruning import gates
from regard.inspection.pruning.order import (
    PruningStage,
    copy_pruned_weights,
    feasible_head_count,
    mask_heads,
    parse_head_count,
    prune_by_gates,
    prune_by_importance,
)
from regard.inspection.trace import attention_sites
from regard.jobs.load import load, load_tokenizers, new_model
from regard.jobs.run_kind import has_cross_attention, refuse
from regard.jobs.tasks.translation.data import open_training_data
from regard.jobs.train.events import Note
from regard.jobs.train.training_data import find_training_store
from regard.metrics import Score, choose_tokenization, corpus_bleu
from regard.metrics.paired import bleu_difference
from regard.model import weights
from regard.model.modules import count_parameters, device_of
from regard.model.taps import alter
from regard.model.transformer import EncoderDecoder
from regard.progress import stage, track
from regard.report import DefinitionList, Table, TableView, Value, render_fragment
from regard.run import BestWeights, Run
from regard.staged_run import StagedRun, stage_run
from regard.tasks.translate.loss import TranslationLoss
from regard.tasks.translate.translator import Translator
from regard.training import optim
from regard.training.distributed.ddp import SingleProcess
from regard.training.ema import Ema
from regard.training.loop import TrainingLoop
from regard.training.planning.budget import Budget
from regard.training.planning.cost import MeanLengths, training_flops
from regard.training.precision import Precision, uses_padding_free
from regard.training.schedule import linear_decay

METHODS = ("importance", "gates")
FINETUNE_STEPS = 600
RECOVERY_LR_FACTOR = 0.5  # of the peak learning rate of the run
REPORT_EVERY = 100  # steps of fine-tuning
GATE_STEPS, GATE_PENALTY = 200, 0.02
IMPORTANCE_PAIRS = 200  # dev pairs on which importance is measured; BLEU is scored on all dev pairs


@dataclass(frozen=True)
class PruneOptions:
    """How much is pruned, and how."""

    keep: str = "50%"
    method: str = "importance"
    finetune_steps: int = FINETUNE_STEPS
    overwrite: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        if not 0 <= self.finetune_steps <= MAX_STEPS:
            raise ConfigError(f"finetune_steps={self.finetune_steps}: must be between 0 and {MAX_STEPS:,}")


@dataclass(frozen=True)
class PruningPoint:
    """A point of the curve: the heads that are left, and the scores with the others masked, before fine-tuning."""

    num_heads: int
    loss: float
    bleu: Score


@dataclass(frozen=True)
class ModelFootprint:
    """The size and the speed of a model."""

    heads: int
    parameters: int
    flops: float
    """Floating-point operations of one forward pass on a dev pair."""
    seconds: float
    """To translate the dev sentences with greedy search."""


@dataclass(frozen=True)
class PrunedModel:
    """A model without its pruned heads, and how it came about."""

    config: Config
    model: EncoderDecoder
    removed: tuple[str, ...]
    curve: tuple[PruningPoint, ...]
    finetune_steps: int


@dataclass(frozen=True, repr=False)
class PruneResult:
    """The result of pruning."""

    run: Run
    removed: tuple[str, ...]
    curve: tuple[PruningPoint, ...]
    before: Score
    after: Score
    difference: Score
    sizes: tuple[ModelFootprint, ModelFootprint]
    finetune_steps: int

    def curve_table(self) -> Table:
        """The heads that are left, and the scores without the others."""
        return Table.from_rows({"heads": p.num_heads, "loss": p.loss, "BLEU": p.bleu.value} for p in self.curve)

    def __repr__(self) -> str:
        before, after = self.sizes
        scores = f"BLEU {self.before.value:.2f} → {self.after.value:.2f} on dev"
        return f"<PruneResult {self.run.folder}: {before.heads} → {after.heads} heads, {scores}>"

    def _repr_html_(self) -> str:
        before, after = self.sizes
        facts: dict[str, Value] = {
            "BLEU": f"{self.before.value:.2f} → {self.after.value:.2f} (dev)",
            "heads": f"{before.heads} → {after.heads}",
            "parameters": f"{before.parameters:,} → {after.parameters:,}",
            "FLOPs per pair": f"{before.flops:,.0f} → {after.flops:,.0f}",
        }
        return render_fragment([DefinitionList(facts), TableView(self.curve_table())])


def prune_run(folder: Path, out: Path, pairs: Sequence[Pair], options: PruneOptions) -> Iterator[Note | PruneResult]:
    """Prune heads, fine-tune the rest on the training pairs of the run, and score both models on dev."""
    if options.method not in METHODS:
        raise ConfigError(f"--method {options.method}: expected one of {', '.join(METHODS)}")
    if not pairs:
        raise ConfigError("pruning needs dev pairs, and this run holds none: give them with --dev dev.en dev.fr")
    if options.finetune_steps < 0:
        raise ConfigError(f"--finetune-steps {options.finetune_steps}: expected 0 or more")
    if resolve(out) == resolve(folder):
        raise ConfigError(f"{out}: a run cannot be pruned in place; choose another folder with --out")
    with stage_run(out, options.overwrite) as staged:  # no other process writes there meanwhile
        yield from _prune(staged, folder, pairs, options)


def _prune(
    staged: StagedRun, folder: Path, pairs: Sequence[Pair], options: PruneOptions
) -> Iterator[Note | PruneResult]:
    translator = load(folder, options.device)
    model, init_run = translator.encoder_decoder, runs.open_run(folder)
    num_given, pairs = len(pairs), _filter_by_length(translator, pairs)
    if len(pairs) < num_given:
        yield Note(f"{num_given - len(pairs)} of {num_given} pairs are longer than {MAX_TOKENS} tokens and left out")
    examples = [
        build_pair_example(translator.tokenizers, pair.source, pair.target) for pair in pairs[:IMPORTANCE_PAIRS]
    ]
    total_heads = sum(site.attention.heads for site in attention_sites(model))
    num_heads = parse_head_count(options.keep, total_heads)
    tokenization = choose_tokenization(init_run.load_config().data.target, _references(pairs))
    curve, num_pruned = [], 0
    with stage("pruning heads", total_heads - feasible_head_count(model, num_heads)) as current:
        for step in _iterate_stages(model, examples, options, num_heads):
            with alter(model, mask_heads(model, step.pruned_heads)):
                score = corpus_bleu(_translate_pairs(translator, pairs)[0], _references(pairs), tokenization)
            curve.append(PruningPoint(step.num_heads, step.loss, score))
            current.advance(len(step.pruned_heads) - num_pruned)
            num_pruned = len(step.pruned_heads)
            yield Note(f"{step.num_heads} of {total_heads} heads: loss {step.loss:.3f}, BLEU {score.value:.1f}")
    removed = tuple(map(str, step.pruned_heads))
    pruned_config = _prune_config(init_run.load_config(), removed, folder)
    pruned_model = new_model(pruned_config, translator.tokenizers).to(device_of(model)).eval()
    copy_pruned_weights(model, pruned_model)
    steps = yield from _recover(init_run, pruned_config, pruned_model, translator, options.finetune_steps)
    pruned = PrunedModel(pruned_config, pruned_model, removed, tuple(curve), steps)
    _write_run(staged, init_run, pruned)
    yield _commit_scored(staged, init_run, translator, pruned, pairs)


def read_dev_pairs(folder: Path) -> list[Pair]:
    """The dev pairs that a run holds; none for an imported one."""
    run = runs.open_run(folder)
    store = find_training_store(run)
    if not store.tokens_manifest.exists():
        return []
    return list(open_corpus(store.store, "dev", load_tokenizers(run, run.load_config())).pairs())


def _filter_by_length(translator: Translator, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs that are short enough to measure heads on."""
    sources = translator.tokenizers.source.encode([pair.source for pair in pairs])
    targets = translator.tokenizers.target.encode([pair.target for pair in pairs])
    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    short = [pair for pair, length in zip(pairs, lengths, strict=True) if length < MAX_TOKENS]
    if not short:
        raise DataError(f"no dev pair has at most {MAX_TOKENS} tokens; give shorter ones with --dev")
    return short


def _iterate_stages(
    model: EncoderDecoder, examples: Sequence[Example], options: PruneOptions, num_heads: int
) -> Iterator[PruningStage]:
    if options.method == "importance":
        return prune_by_importance(model, examples, num_heads)
    gate_values = gates.learn_gates(model, examples, GATE_STEPS, GATE_PENALTY)
    return prune_by_gates(model, examples, sorted(gate_values, key=gate_values.__getitem__), num_heads)


def _recover(
    run: Run, config: Config, model: EncoderDecoder, translator: Translator, steps: int
) -> Generator[Note, None, int]:
    """Fine-tune the pruned model on the training pairs of the run; the number of steps."""
    if not steps:
        return 0
    if not run.tokens_manifest.exists():
        yield Note(
            f"{run.folder}: has no training pairs, so the pruned model was not fine-tuned; fine-tune it with "
            f"`regard train FILES --from` the pruned run"
        )
        return 0
    loop = _build_loop(run, config, model, translator.tokenizers, steps)
    try:
        for step in track(islice(loop.steps(0, DataPosition()), steps), "fine-tuning", steps):
            if step.number % REPORT_EVERY == 0 or step.number == steps:
                yield Note(f"fine-tuning, step {step.number} of {steps}: loss {step.loss:.3f}")
    except DivergedError:
        raise DivergedError(
            f"{run.folder}: fine-tuning after pruning diverged, its loss is no longer a finite number; "
            f"keep more heads, or leave fine-tuning out with --finetune-steps 0"
        ) from None
    model.eval()
    return steps


def _build_loop(run: Run, config: Config, model: EncoderDecoder, tokenizers: Tokenizers, steps: int) -> TrainingLoop:
    """Training as the run was trained, but with a low learning rate that falls to 0."""
    c, device = config.train, device_of(model)
    padding_free = uses_padding_free("auto", Precision(device), sharded=False)
    return TrainingLoop(
        loss_module=TranslationLoss(model, value_at(c.label_smoothing, 1.0), padding_free),
        batches=Batches(
            open_training_data(run, config).trained_on,
            TranslationCollator(tokenizers),
            c.batch_tokens,
            config.data.max_length,
            c.seed,
        ),
        optimizers=optim.build_optimizers(c, model),
        schedule=linear_decay(RECOVERY_LR_FACTOR),
        budget=Budget(steps=steps, minutes=None),
        ema=Ema(),
        processes=SingleProcess(device),
        accumulate_batches=1,
        clip_grad_norm=c.clip_grad_norm,
        seed=c.seed,
    )


def _commit_scored(
    staged: StagedRun, init_run: Run, translator: Translator, pruned: PrunedModel, pairs: Sequence[Pair]
) -> PruneResult:
    """Compare the pruned model with the original on dev, and move its run to its folder."""
    outputs, seconds = _translate_pairs(translator, pairs)
    pruned_outputs, pruned_seconds = _translate_pairs(Translator(pruned.model, translator.tokenizers), pairs)
    references = _references(pairs)
    with stage("scoring"):
        tokenization = choose_tokenization(init_run.load_config().data.target, references)
        before, after = (corpus_bleu(texts, references, tokenization) for texts in (outputs, pruned_outputs))
        difference = bleu_difference(pruned_outputs, outputs, references, tokenization)
    result = PruneResult(
        run=Run(staged.folder),
        removed=pruned.removed,
        curve=pruned.curve,
        before=before,
        after=after,
        difference=difference,
        sizes=(
            _measure_footprint(translator, init_run.load_config(), pairs, seconds),
            _measure_footprint(Translator(pruned.model, translator.tokenizers), pruned.config, pairs, pruned_seconds),
        ),
        finetune_steps=pruned.finetune_steps,
    )
    staged.run.write_json(staged.run.pruning, as_dict(result))
    staged.commit()
    return result


def _measure_footprint(translator: Translator, config: Config, pairs: Sequence[Pair], seconds: float) -> ModelFootprint:
    source, target = translator.tokenizers.source, translator.tokenizers.target
    ids = [source.encode([pair.source for pair in pairs]), target.encode(_references(pairs))]
    lengths = MeanLengths(*(sum(map(len, side)) / len(side) + 1 for side in ids))
    return ModelFootprint(
        heads=sum(site.attention.heads for site in attention_sites(translator.encoder_decoder)),
        parameters=count_parameters(translator.model),
        flops=training_flops(config.model, target.vocab_size, lengths) / 3,  # of which one third is the forward pass
        seconds=seconds,
    )


def as_dict(result: PruneResult) -> dict[str, object]:
    """The content of pruning.json."""
    return {
        "removed": list(result.removed),
        "curve": [{"heads": p.num_heads, "loss": p.loss, "bleu": p.bleu.as_dict()} for p in result.curve],
        "before": result.before.as_dict(),
        "after": result.after.as_dict(),
        "difference": result.difference.as_dict(),
        "sizes": [vars(size) for size in result.sizes],
        "finetune_steps": result.finetune_steps,
    }


def _prune_config(config: Config, removed: Sequence[str], init_from: Path) -> Config:
    """The settings of the pruned model: without the pruned heads, and without data files."""
    table = config.model_dump(mode="json", exclude_none=True)
    table["model"]["pruned"] = sorted({*config.model.pruned, *removed})
    table["data"] |= {"train": [], "dev": [], "test": []}
    table["train"]["init_from"] = str(resolve(init_from))
    return settings.build(table)


def _write_run(staged: StagedRun, init_run: Run, pruned: PrunedModel) -> None:
    staged.write_settings(pruned.config)
    run, files = staged.run, init_run.tokenizer_files()
    for path in files:
        shutil.copyfile(init_run.verify(path), run.folder / path.name)
    runs.write_text(run.config, settings.dump(pruned.config))
    with runs.atomic_write(run.weights(0)) as temporary:
        weights.write(weights.tensors_of(pruned.model), temporary)
    run.record_checksums(run.weights(0), *(run.folder / path.name for path in files))
    run.write_best(BestWeights(f"weights/{run.weights(0).name}", step=0, cost=None, metric="loss"))


def _translate_pairs(
    translator: Translator, pairs: Sequence[Pair], search: Search | None = None
) -> tuple[list[str], float]:
    start = time.perf_counter()
    translations = Translator(translator.model, translator.tokenizers).translate(
        [pair.source for pair in pairs], search or GreedySearch(scored=False)
    )
    return translations, time.perf_counter() - start


def _references(pairs: Sequence[Pair]) -> list[str]:
    return [pair.target for pair in pairs]


def require_translator(config: Config, folder: Path) -> None:
    """Refuse a run that does not translate."""
    if not has_cross_attention(config):
        raise refuse(Run(folder), config, "be pruned: pruning is measured in BLEU")
