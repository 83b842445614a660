"""The scores of a denoiser on passages whose noise is fixed: the loss, and how much of what was hidden comes back."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regard.baselines import OpponentResult, compare_sums
from regard.data.tokenizers.tokenizer import EOS
from regard.metrics import Score
from regard.metrics.intervals import FloatArray, NonNegativeScale, make_score, ratio_interval, ratio_score
from regard.tasks.denoise.denoiser import Denoiser, ForcedText, count_restored
from regard.tasks.denoise.noise import FixedDenoisingCollator, NoisyText

NATS_SCALE = NonNegativeScale(unit=1)
FREQUENCIES, COPYING = "token frequencies", "copying"
PREDICTED, RESTORED = "hidden tokens predicted", "hidden tokens restored"
NUMBERS = ("num_targets", "nats", "num_hidden", "num_correct", "num_searched", "num_restored")
MAX_RESTORED = 500
"""Passages that the decoder writes itself, spread over the set: a search takes longer than a loss."""


class RestoredPassage(NamedTuple):
    """A passage with noise, and how well it is rebuilt."""

    text: str
    num_targets: int
    nats: float
    num_hidden: int
    """Tokens of its spans."""
    num_correct: int
    """Of these, how many are predicted where the target before them is given."""
    num_searched: int
    """As many as are hidden where the decoder wrote the passage itself; otherwise 0."""
    num_restored: int
    noisy: str = ""
    restored: str = ""


@dataclass(frozen=True)
class DenoisingEvaluation:
    """The scores of a denoiser on a set of passages."""

    scores: dict[str, Score]
    loss: float
    """Nats per target token."""
    passages: tuple[RestoredPassage, ...]
    opponents: tuple[OpponentResult, ...] = ()


class Counts(NamedTuple):
    """What each passage counts."""

    nats: FloatArray
    num_correct: FloatArray
    num_restored: FloatArray


@dataclass(frozen=True)
class PassageSizes:
    """What the counts of passages are divided by, and what scores are signed with."""

    num_targets: FloatArray
    num_hidden: FloatArray
    num_searched: FloatArray
    signature: str

    def score(self, counts: Counts) -> dict[str, Score]:
        """The loss, and where anything is hidden the shares of it that are predicted and restored."""
        signature = self._sign("target-token", self.num_targets)
        value = float(counts.nats.sum() / self.num_targets.sum())
        interval = ratio_interval(counts.nats, self.num_targets, NATS_SCALE)
        scores = {"loss": make_score("nats per target token", value, interval, signature, NATS_SCALE)}
        if self.num_hidden.sum():
            signature, counted = self._sign("hidden-token", self.num_hidden), counts.num_correct.tolist()
            scores["accuracy"] = ratio_score(PREDICTED, counted, self.num_hidden.tolist(), signature)
        if self.num_searched.sum():
            signature = f"{self._sign('hidden-token', self.num_searched)}|search:greedy|aligned:longest-blocks"
            scores["restored"] = ratio_score(
                RESTORED, counts.num_restored.tolist(), self.num_searched.tolist(), signature
            )
        return scores

    def compare(self, name: str, model: Counts, opponent: Counts, measures: Sequence[str]) -> OpponentResult:
        """The scores of an opponent by these measures, and paired tests."""
        scores, tests = self.score(opponent), {}
        sizes = (self.num_targets, self.num_hidden, self.num_searched)
        for measure, size, of_model, of_opponent in zip(
            ("loss", "accuracy", "restored"), sizes, model, opponent, strict=True
        ):
            if measure in measures and measure in scores:
                counted, factor = size > 0, 1 if measure == "loss" else 100
                values = {name: factor * of_opponent[counted]}
                tests[measure] = compare_sums(size[counted], factor * of_model[counted], values)[name]
        return OpponentResult(name, {measure: scores[measure] for measure in tests}, tests)

    def _sign(self, unit: str, sizes: FloatArray) -> str:
        return f"unit:{unit}|tokens:{int(sizes.sum())}|passages:{np.count_nonzero(sizes)}|{self.signature}"


def evaluate_denoiser(
    denoiser: Denoiser,
    collator: FixedDenoisingCollator,
    rows: Sequence[Sequence[int]],
    signature: str,
    target_counts: FloatArray | None = None,
) -> DenoisingEvaluation:
    """Score rows of ids; with the counts of training targets, also what needs no model."""
    texts = [collator.corrupt(row) for row in rows]
    searched = range(0, len(texts), -(-len(texts) // MAX_RESTORED))
    outputs = dict(zip(searched, denoiser.generate([texts[i].source for i in searched]), strict=True))
    passages = tuple(
        _score_passage(denoiser, text, forced, outputs.get(i))
        for i, (text, forced) in enumerate(zip(texts, denoiser.teacher_force(texts), strict=True))
    )
    columns = {name: np.array([getattr(one, name) for one in passages], np.float64) for name in NUMBERS}
    sizes = PassageSizes(columns["num_targets"], columns["num_hidden"], columns["num_searched"], signature)
    model = Counts(*(columns[name] for name in Counts._fields))
    scores = sizes.score(model)
    copied = [count_restored(text, text.source) if i in outputs else 0 for i, text in enumerate(texts)]
    zeros = np.zeros(len(texts))
    opponents = [sizes.compare(COPYING, model, Counts(zeros, zeros, np.array(copied, np.float64)), ("restored",))]
    if target_counts is not None:
        counts = _count_by_frequency(texts, target_counts, collator, sizes)
        opponents.append(sizes.compare(FREQUENCIES, model, counts, ("loss", "accuracy", "restored")))
    return DenoisingEvaluation(scores, scores["loss"].value, passages, tuple(one for one in opponents if one.scores))


def smooth_counts(target_counts: FloatArray) -> FloatArray:
    """ln p of every token by its count, plus one: (V,)."""
    return np.asarray(np.log((target_counts + 1) / (target_counts + 1).sum()))


def score_restored(texts: Sequence[NoisyText], outputs: Sequence[Sequence[int]]) -> Score:
    """The share of hidden tokens in the outputs."""
    restored = [count_restored(text, output) for text, output in zip(texts, outputs, strict=True)]
    hidden = [sum(text.is_hidden) for text in texts]
    return ratio_score(RESTORED, restored, hidden, "by greedy decoding")


def _score_passage(
    denoiser: Denoiser, text: NoisyText, forced: ForcedText, output: Sequence[int] | None
) -> RestoredPassage:
    num_hidden, decode = sum(text.is_hidden), denoiser.tokenizer.decode
    whole = decode(denoiser.target.join(text.source, text.target))
    sizes = (len(text.target) + 1, forced.nats, num_hidden, forced.num_correct)  # EOS included
    if output is None:
        return RestoredPassage(whole, *sizes, 0, 0)
    restored = decode(denoiser.target.join(text.source, output))
    num_restored = count_restored(text, output)
    return RestoredPassage(whole, *sizes, num_hidden, num_restored, show_masks(denoiser, text.source), restored)


def show_masks(denoiser: Denoiser, ids: Sequence[int]) -> str:
    """A source for people: each mask is an ellipsis."""
    groups = itertools.groupby(ids, lambda token: token in denoiser.target.masks)
    parts = (
        "… " * len(list(group)) if is_mask else denoiser.tokenizer.decode(list(group)) for is_mask, group in groups
    )
    return " ".join(" ".join(parts).split())


def _count_by_frequency(
    texts: Sequence[NoisyText], target_counts: FloatArray, collator: FixedDenoisingCollator, sizes: PassageSizes
) -> Counts:
    """Every target is predicted by the frequencies of training targets; what is hidden, by the most frequent one."""
    log_probs = smooth_counts(target_counts)
    nats = np.array([-log_probs[[*text.target, EOS]].sum() for text in texts])
    regular = target_counts.copy()
    regular[[EOS, *collator.mark_ids, *collator.target.masks]] = 0
    guess = int(regular.argmax())
    correct = [
        sum(hidden and token == guess for token, hidden in zip(text.target, text.is_hidden, strict=True))
        for text in texts
    ]
    counted = np.array(correct, np.float64)
    return Counts(nats, counted, np.where(sizes.num_searched > 0, counted, 0.0))
