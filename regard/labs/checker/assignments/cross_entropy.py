"""The loss: cross-entropy with label smoothing, without padding."""

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model.projection import Projection
from regard.tasks.loss import TokenLoss

PLAIN, PADDED, SMOOTHED = "without padding", "with padding", "with label smoothing"
ALL, LARGE = "with padding and label smoothing", "with large logits"
Many = list[Observation]


def cross_entropy(logits: Tensor, targets: Tensor, pad: int, label_smoothing: float = 0.0) -> Tensor:
    """-Σ log softmax(logits)[target] / N: the mean over all N targets that are not padding.

    With label smoothing ε, the loss of a target is (1 - ε) · -log p[target] + ε · the mean of -log p over all V tokens.
    Szegedy et al. 2016; Vaswani et al. 2017, section 5.4.

    logits (B, T, V), targets (B, T), where `pad` stands for padding -> a scalar.
    """
    is_token = targets != pad
    loss = TokenLoss(Projection(logits.new_empty(0)), label_smoothing)
    totals = loss.totals(logits[is_token].log_softmax(dim=-1), targets[is_token])
    return totals.objective / is_token.sum()


def plain(logits: Tensor, targets: Tensor, pad: int, label_smoothing: float = 0.0) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    V = logits.shape[-1]
    highest = logits.amax(dim=-1, keepdim=True)
    log_p = logits - highest - (logits - highest).exp().sum(dim=-1, keepdim=True).log()
    gold = -log_p.gather(-1, targets[..., None])[..., 0]
    uniform = -log_p.sum(dim=-1) / V
    each = (1 - label_smoothing) * gold + label_smoothing * uniform
    real = targets != pad
    return (each * real).sum() / real.sum()


MISTAKES = edits(
    plain,
    ("divides by all places, padding included", "/ real.sum()", "/ real.numel()"),
    ("counts padding as targets", "real = targets != pad", "real = targets == targets"),
    ("sums over the padding, and divides by the number of targets", "(each * real).sum()", "each.sum()"),
    ("returns the sum instead of the mean", "(each * real).sum() / real.sum()", "(each * real).sum()"),
    (
        "takes the mean of the means of the sentences",
        "(each * real).sum() / real.sum()",
        "((each * real).sum(-1) / real.sum(-1)).mean()",
    ),
    ("divides by the number of sentences", "/ real.sum()", "/ len(real)"),
    ("takes 0 for the padding id", "targets != pad", "targets != 0"),
    (
        "leaves out the padding's id as a prediction, too",
        "V = logits.shape[-1]",
        "V = logits.shape[-1]\n    logits = logits.index_fill(-1, torch.tensor([pad]), -1e9)",
    ),
    (
        "spreads the smoothing over the other V - 1 tokens",
        "uniform = -log_p.sum(dim=-1) / V",
        "uniform = (-log_p.sum(dim=-1) - gold) / (V - 1)",
    ),
    (
        "sums the smoothing over the vocabulary instead of taking the mean",
        "-log_p.sum(dim=-1) / V",
        "-log_p.sum(dim=-1)",
    ),
    (
        "exchanges ε and 1 - ε",
        "(1 - label_smoothing) * gold + label_smoothing * uniform",
        "label_smoothing * gold + (1 - label_smoothing) * uniform",
    ),
    ("ignores label smoothing", "(1 - label_smoothing) * gold + label_smoothing * uniform", "gold"),
    ("adds the smoothing without taking it from the target", "(1 - label_smoothing) * gold", "gold"),
    ("smooths towards the entropy of the prediction", "-log_p.sum(dim=-1) / V", "-(log_p.exp() * log_p).sum(dim=-1)"),
    (
        "overflows with large logits: the largest is not subtracted",
        "highest = logits.amax(dim=-1, keepdim=True)",
        "highest = torch.zeros(())",
    ),
    ("takes the logarithm to base 2", "each * real).sum() /", "each * real).sum() / 0.6931471805599453 /"),
    ("takes probabilities instead of their logarithms", "gold = -log_p", "gold = -log_p.exp()"),
    ("takes the softmax over the positions", "amax(dim=-1", "amax(dim=-2", "exp().sum(dim=-1", "exp().sum(dim=-2"),
    (
        "takes no softmax: logits for log-probabilities",
        "log_p = logits - highest - (logits - highest).exp().sum(dim=-1, keepdim=True).log()",
        "log_p = logits",
    ),
    ("takes the softmax twice", "    gold = ", "    log_p = log_p.exp().log_softmax(dim=-1)\n    gold = "),
    ("has the wrong sign", "return (each", "return -(each"),
    ("predicts the next target: positions are shifted by one", "targets[..., None]", "targets.roll(-1, -1)[..., None]"),
    ("returns the loss of each position", "return (each * real).sum() / real.sum()", "return each * real"),
    (
        "changes the logits in place",
        "highest = logits.amax(dim=-1, keepdim=True)",
        "highest = logits.sub_(logits.amax(dim=-1, keepdim=True)).amax(dim=-1, keepdim=True)",
    ),
    (
        "detaches the normalization from the gradient",
        ".exp().sum(dim=-1, keepdim=True).log()",
        ".exp().sum(dim=-1, keepdim=True).log().detach()",
    ),
)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {kind: [] for kind in (PLAIN, PADDED, SMOOTHED, ALL, LARGE)}
    for B, T, V in ((1, 2, 3), (2, 3, 5), (3, 5, 7)):
        pad = 1
        logits, targets = draw.normal(B, T, V), draw.integers(2, V, B, T)
        targets[0, 0] = 0
        padded = targets.clone()
        padded[0, 1:] = pad
        kinds[PLAIN].append({"logits": logits, "targets": targets, "pad": pad})
        kinds[PADDED].append({"logits": logits, "targets": padded, "pad": pad})
        kinds[SMOOTHED].append({"logits": logits, "targets": targets, "pad": pad, "label_smoothing": 0.1})
        kinds[ALL].append({"logits": logits, "targets": padded, "pad": pad, "label_smoothing": 0.3})
        large = draw.integers(-9, 9, B, T, V) * 1000.0
        kinds[LARGE].append({"logits": large.double(), "targets": targets, "pad": pad})
    return kinds


def _uniform(loss: CheckedFunction, x: Inputs) -> Many:
    value = loss(**{**x, "logits": x["logits"] * 0})
    return [Observation(value, torch.tensor(float(x["logits"].shape[-1])).double().log(), "loss")]


def _above_0(loss: CheckedFunction, x: Inputs) -> Many:
    value = loss(**x)
    return [Observation(value.clamp(max=0), torch.zeros_like(value), "loss below 0")]


def _constant(loss: CheckedFunction, x: Inputs) -> Many:
    return [Observation(loss(**{**x, "logits": x["logits"] + 5}), loss(**x), "loss")]


def _padding_logits(loss: CheckedFunction, x: Inputs) -> Many:
    is_pad = (x["targets"] == x["pad"])[..., None]
    return [Observation(loss(**{**x, "logits": x["logits"].where(~is_pad, -3.0)}), loss(**x), "loss")]


def _more_padding(loss: CheckedFunction, x: Inputs) -> Many:
    longer = {
        "logits": torch.cat((x["logits"], x["logits"]), dim=1),
        "targets": torch.cat((x["targets"], torch.full_like(x["targets"], x["pad"])), dim=1),
    }
    return [Observation(loss(**{**x, **longer}), loss(**x), "loss")]


def _one_sentence(loss: CheckedFunction, x: Inputs) -> Many:
    """A batch of sentences, and all of its tokens as one sentence."""
    joined = {name: x[name].flatten(0, 1)[None] for name in ("logits", "targets")}
    return [Observation(loss(**{**x, **joined}), loss(**x), "loss")]


def _smoothing_straight(loss: CheckedFunction, x: Inputs) -> Many:
    """Halfway from no smoothing to all is half of the loss of each."""
    none, half, full = (loss(**{**x, "label_smoothing": share}) for share in (0.0, 0.5, 1.0))
    return [Observation(half, (none + full) / 2, "loss at ε = 0.5")]


def _all_smoothed(loss: CheckedFunction, x: Inputs) -> Many:
    """With all of it smoothed, the targets do not matter."""
    full = {**x, "label_smoothing": 1.0}
    return [Observation(loss(**{**full, "targets": x["targets"] * 0}), loss(**full), "loss at ε = 1")]


CROSS_ENTROPY = Assignment(
    cross_entropy,
    outputs=("loss, a scalar",),
    steps=(
        "log p = log softmax of the logits over the vocabulary",
        "the loss of each target: -log p[target]; with smoothing, mixed with the mean of -log p over all V",
        "leave out targets that are padding",
        "the sum of the losses, divided by the number of targets that are not padding",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a scalar", PLAIN, PADDED, SMOOTHED, ALL),
        Truth("where all logits are alike, the loss is log V", (PLAIN, SMOOTHED), _uniform),
        Truth("the loss is not below 0", (PLAIN, PADDED, SMOOTHED), _above_0),
        Truth("a constant that is added to all logits does not matter", (PLAIN, SMOOTHED), _constant),
        Truth("the logits of padding do not matter", (PADDED, ALL), _padding_logits),
        Truth("more padding does not matter", (PLAIN, PADDED, ALL), _more_padding),
        Truth("each token counts the same, whichever sentence it is in", (PLAIN, PADDED), _one_sentence),
        Truth("smoothing moves the loss on a straight line", (SMOOTHED, ALL), _smoothing_straight),
        Truth("with all of the target smoothed away, targets do not matter", (SMOOTHED,), _all_smoothed),
        equals_reference("the losses of logits in the thousands", LARGE),
        leaves_inputs_alone(PLAIN, ALL),
        equals_reference("the losses without smoothing", PLAIN, PADDED),
        equals_reference("the losses with smoothing", SMOOTHED, ALL),
        gradients_equal_reference(PLAIN, ALL),
    ),
    mistakes=MISTAKES,
    shapes=(TokenLoss.predict,),
)
