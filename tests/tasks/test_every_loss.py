"""What the losses of all tasks have in common: padding and neighbors change nothing, and both paths are one."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from regard.config import PiecewiseLinear
from regard.config.tasks import TASK_ARCHITECTURES
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.jobs.tasks.registry import MODULES
from regard.tasks.causal_lm.loss import CausalLMLoss
from regard.tasks.causal_lm.windows import WindowCollator
from regard.tasks.extract.loss import ExtractionLoss
from regard.tasks.loss import LossModule, RDrop
from regard.tasks.masked_lm.loss import MaskedLMLoss
from regard.tasks.masked_lm.masking import MaskingCollator
from regard.tasks.text_batch import IGNORED, TextBatch, TokenLabelBatch
from tests.tasks.classify import test_loss as classify
from tests.tasks.conftest import TOKENIZER, make_stack
from tests.tasks.tag import test_loss as tag
from tests.training import conftest as translate

LENGTHS = [3, 11, 7, 1, 2, 5, 13, 4]
EXACT = {"rtol": 0, "atol": 1e-10}


def make_rows(lengths: list[int]) -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(5, TOKENIZER.vocab_size, (n,), generator=generator).tolist() for n in lengths]


def make_windows(lengths: list[int]) -> TextBatch:
    rows = make_rows(lengths)
    labels = [[*row, EOS] for row in rows]
    labels[1][:4] = [IGNORED] * 4  # what an earlier window has scored
    return WindowCollator()([[BOS, *row] for row in rows], labels, ())


def make_masks(lengths: list[int]) -> TextBatch:
    return MaskingCollator(TOKENIZER, 0.4, "80/10/10")([[*row, EOS] for row in make_rows(lengths)], [], (7,))


@dataclass(frozen=True)
class Kind:
    """A loss: its module, by path, stack and settings, and a batch of rows of these lengths."""

    make: Callable[..., LossModule]
    make_batch: Callable[[list[int]], Any]
    stacks: tuple[str, ...]


def of_tokens(loss: type[LossModule]) -> Callable[..., LossModule]:
    return lambda padding_free, stack, **settings: loss(make_stack(None, stack, **settings), 0.1, padding_free)


def of_texts(kind: str) -> Callable[..., LossModule]:
    return lambda padding_free, stack, **settings: classify.make_loss(kind, 0.1, padding_free, stack, **settings)


KINDS = {
    "translate": Kind(
        lambda padding_free, stack, **settings: translate.make_loss_module(0.1, padding_free, stack, **settings),
        translate.make_batch,
        TASK_ARCHITECTURES["translate"],
    ),
    "tag": Kind(tag.make_loss, lambda lengths: tag.make_batch(tuple(lengths)), TASK_ARCHITECTURES["tag"]),
    "extract": Kind(
        lambda padding_free, stack, **settings: ExtractionLoss(make_stack(5, stack, **settings), 0.1, padding_free),
        lambda lengths: tag.make_batch(tuple(lengths)),
        TASK_ARCHITECTURES["extract"],
    ),
    "causal-lm": Kind(of_tokens(CausalLMLoss), make_windows, TASK_ARCHITECTURES["causal-lm"]),
    "masked-lm": Kind(of_tokens(MaskedLMLoss), make_masks, TASK_ARCHITECTURES["masked-lm"]),
    **{
        name: Kind(
            of_texts(kind),
            lambda lengths, kind=kind: classify.make_batch(kind, lengths),
            TASK_ARCHITECTURES["classify"][: 3 if name == "classify" else 2],
        )
        for name, kind in (("classify", "one"), ("classify, balanced", "balanced"), ("classify, several", "several"))
    },
}
CASES = [pytest.param(kind, stack, id=f"{name}-{stack}") for name, kind in KINDS.items() for stack in kind.stacks]
of_every_loss = pytest.mark.parametrize(("kind", "stack"), CASES)
on_both_paths = pytest.mark.parametrize("padding_free", [False, True], ids=["padded", "padding-free"])


def test_every_task_has_a_loss_here():
    """Except that of vectors, which compares the rows of a batch with each other: neighbors are its negatives.

    Summaries that are written, and texts that are restored, have the loss of translation.
    """
    assert KINDS.keys() >= MODULES.keys() - {"embed", "summarize", "denoise"}


def change_tensors(batch: Any, change: Callable[[str, Tensor], Tensor]) -> Any:
    tensors = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return replace(batch, **{name: change(name, x) for name, x in tensors.items() if isinstance(x, Tensor)})


def take_rows(batch: Any, rows: list[int]) -> Any:
    return change_tensors(batch, lambda name, tensor: tensor[rows])


def widen(batch: Any) -> Any:
    """The same rows with more padding."""

    def pad(name: str, tensor: Tensor) -> Tensor:
        if name == "labels":
            return F.pad(tensor, (0, 5), value=IGNORED) if isinstance(batch, TokenLabelBatch) else tensor
        return F.pad(tensor, (0, 5), value=PAD)

    return change_tensors(batch, pad)


def measure(loss_module: LossModule, batch: Any) -> dict[str, Tensor]:
    """The totals of a batch, and the gradients of the objective."""
    totals = loss_module(batch)
    named = dict(loss_module.model.named_parameters())
    gradients = torch.autograd.grad(totals.objective, list(named.values()), allow_unused=True)
    used = {name: g for name, g in zip(named, gradients, strict=True) if g is not None}
    return {name: total.detach() for name, total in totals._asdict().items()} | used


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert_close(one[name], other[name], check_dtype=False, **EXACT, msg=lambda text, name=name: f"{name}: {text}")


@of_every_loss
@on_both_paths
def test_more_padding_changes_nothing(kind: Kind, stack: str, padding_free: bool):
    module, batch = kind.make(padding_free, stack), kind.make_batch(LENGTHS)
    assert_same(measure(module, widen(batch)), measure(module, batch))


@of_every_loss
@on_both_paths
def test_a_row_does_not_depend_on_its_neighbors(kind: Kind, stack: str, padding_free: bool):
    """The loss of all rows is the sum of what each has alone, in value and gradient."""
    module, batch = kind.make(padding_free, stack), kind.make_batch(LENGTHS)
    alone = [measure(module, take_rows(batch, [row])) for row in range(len(LENGTHS))]
    for rows in (list(range(len(LENGTHS))), [2, 6, 1], [6, 0]):
        together = measure(module, take_rows(batch, rows))
        assert_same(together, {name: sum(alone[row][name] for row in rows) for name in together})
    assert len({float(one["loss"]) for one in alone}) > 5


@of_every_loss
@pytest.mark.parametrize("kl_weight", [None, 5.0], ids=["once", "R-Drop"])
def test_both_paths_have_the_same_loss_and_gradients(kind: Kind, stack: str, kl_weight: float | None):
    results = []
    for padding_free in (False, True):
        module = kind.make(padding_free, stack)
        wrapped = module if kl_weight is None else RDrop(module, kl_weight)
        results.append(measure(wrapped.train(), kind.make_batch(LENGTHS)))
    assert_same(*results)


@of_every_loss
@on_both_paths
def test_rdrop_without_dropout_is_the_loss_and_with_it_punishes_difference(kind: Kind, stack: str, padding_free: bool):
    module, batch = kind.make(padding_free, stack), kind.make_batch(LENGTHS)
    assert_same(measure(RDrop(module, 5.0).train(), batch), measure(module, batch))
    noisy = kind.make(padding_free, stack, dropout=0.3).train()
    totals = []
    for weight in (2.0, 6.0):
        torch.manual_seed(1)
        totals.append(RDrop(noisy, weight)(batch))
    torch.manual_seed(1)
    p, q = (noisy.loss.predict(half) for half in noisy.states(batch.duplicate())[0].chunk(2))
    kl = F.kl_div(p, q, log_target=True, reduction="sum") + F.kl_div(q, p, log_target=True, reduction="sum")
    assert float(kl.detach()) > 0.01
    assert_close(totals[1].objective - totals[0].objective, kl)
    late = RDrop(noisy, PiecewiseLinear(((0.5, 0.0), (0.5, 6.0))))  # one pass at first, two later
    for progress, expected in ((0.0, None), (0.5, totals[1]), (0.4, None)):
        late.set_progress(progress)
        torch.manual_seed(1)
        objective = late(batch).objective
        torch.manual_seed(1)
        assert_close(objective, (expected or noisy(batch)).objective, rtol=0, atol=0)


@of_every_loss
def test_a_batch_twice_has_twice_the_loss(kind: Kind, stack: str):
    module, batch = kind.make(True, stack), kind.make_batch(LENGTHS)
    twice = batch.duplicate()
    assert twice.num_targets == 2 * batch.num_targets and type(twice) is type(batch)
    assert_same(measure(module, twice), {name: 2 * value for name, value in measure(module, batch).items()})


@pytest.mark.parametrize("name", KINDS)
def test_shuffled_inputs_have_the_targets_of_other_rows(name: str):
    """With them, a model is no better than one that ignores its input; the labels of tokens fit no other text."""
    kind = KINDS[name]
    batch = kind.make_batch(LENGTHS)
    shuffled = batch.shuffle_inputs()
    assert (shuffled is None) == isinstance(batch, TokenLabelBatch)
    assert take_rows(batch, [2]).shuffle_inputs() is None
    if shuffled is not None:
        assert take_rows(batch, [2, 5]).shuffle_inputs() is not None
        module = kind.make(False, kind.stacks[0])
        assert float(module(shuffled).loss) != pytest.approx(float(module(batch).loss), rel=1e-3)
        ids, inputs = ("source", "target_out") if name == "translate" else ("ids", "labels")
        moved = [not torch.equal(getattr(shuffled, part), getattr(batch, part)) for part in (ids, inputs)]
        assert sum(moved) == 1


@on_both_paths
@pytest.mark.parametrize("name", ["tag", "causal-lm", "masked-lm"])
def test_a_batch_without_targets_has_no_loss(name: str, padding_free: bool):
    kind = KINDS[name]
    batch = kind.make_batch([3, 2])
    empty = replace(batch, labels=torch.full_like(batch.labels, IGNORED), num_targets=0)
    module = kind.make(padding_free, kind.stacks[0])
    assert [float(total.detach()) for total in module(empty)] == [0, 0, 0]
