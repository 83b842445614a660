"""The data of a look page: plain values, with numpy arrays where there is a matrix. See docs/reference/look_data.md.

Rows are queries, columns are keys. Arrays of heads are a list with one entry per layer,
because pruned layers have different numbers of heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.report.look.quantized import Array, LayerArrays


@dataclass(frozen=True)
class SentenceSide:
    """A text as the model reads or writes it."""

    text: str
    tokens: Sequence[str]
    word_ids: Sequence[int]
    """The word of each token as an index into `words`; -1 for special tokens."""
    words: Sequence[str]
    special_tokens_mask: Sequence[bool]
    word_groups: Sequence[int] = ()
    """The group of each word: words that a token covers together are one row. Empty: every word is a group."""


@dataclass(frozen=True)
class TermArrays:
    """The terms that add up to the scores before softmax."""

    names: Sequence[str]
    values: Sequence[Array | None]
    """(H, terms, Tq, Tk) per layer; NaN where masked or unknown. None: this layer needs the means of a corpus."""
    shares: Sequence[Array | None]
    """(H, terms) per layer: shares of the variance of the scores, over known cells. They sum to 1 and may be negative;
    NaN for a head whose scores do not vary."""
    known_positions: Sequence[tuple[int, int] | None]
    """Queries and keys per layer, from the first one on, whose terms are known. Too few sentences of the corpus reach
    the others, whose position cannot be separated from their content."""


@dataclass(frozen=True)
class HeadFaithfulness:
    """How far a head's weights explain this sentence."""

    most_similar_head: str | None
    """The head of the same kind with the smallest divergence; None where there is no other."""
    most_similar_divergence: float | None
    """Jensen-Shannon divergence from that head, in bits."""
    position_divergence: float | None
    """Divergence from the weights that position·position and distance alone would give; None without terms."""
    gradient_correlation: float | None
    """Rank correlation of the weights with |gradient|; None for an encoder-only model."""
    permutation_tvd: float | None
    """Total variation distance of the output probabilities if the weights of each row are permuted, 0..1."""
    uniform_loss_increase: float | None
    """Nats per target token lost if the weights are uniform. Both None where heads were not measured."""


@dataclass(frozen=True)
class EvidenceMatrix:
    """A head's weights in a sentence of the corpus."""

    rank: str
    """best, median or worst"""
    lift: float
    text: str
    """The sentence of the columns."""
    rows: Sequence[str]
    columns: Sequence[str]
    weights: Array
    """(Tq, Tk)"""


@dataclass(frozen=True)
class HeadData:
    """What is known about a head. Everything but its name is None where heads were not measured."""

    name: str
    """`encoder.0.self.3`"""
    layer: int
    head: int
    """Its number in the original model, so that pruned models have gaps."""
    faithfulness: HeadFaithfulness | None = None
    role: str | None = None
    """None: no role is reliable."""
    letter: str = "·"
    best: str | None = None
    """The role with the largest lift, reliable or not."""
    lift: float | None = None
    """1 is perfect, 0 is chance."""
    low: float | None = None
    """95% interval over sentences; None below 10 sentences, and for `copy`."""
    high: float | None = None
    macro_lift: float | None = None
    """The mean of the lifts of single sentences."""
    argmax_rate: float | None = None
    """Share of rows whose largest weight is on the pattern."""
    baseline: float | None = None
    """The same lift in a model with random weights."""
    runner_up: str | None = None
    runner_up_lift: float | None = None
    margin: float | None = None
    entropy: float | None = None
    """Nats."""
    normalized_entropy: float | None = None
    """Entropy relative to that of uniform weights; None where no row has a choice."""
    effective_keys: float | None = None
    confidence: float | None = None
    """The mean of the largest weights, without the row of the end token."""
    mean_distance: float | None = None
    """None in cross-attention, as `distance_std`."""
    distance_std: float | None = None
    importance: float | None = None
    """Gate gradient, l2-normalized within the layer; None for an encoder-only model."""
    cost: float | None = None
    """Nats per target token lost if the head is removed."""
    cost_low: float | None = None
    cost_high: float | None = None
    aer: float | None = None
    """Alignment error rate; cross-attention heads where gold alignments are known."""
    trained_to_align: bool = False
    """Whether guided alignment has trained it, so that aligning is no finding."""
    copying: float | None = None
    """OV eigenvalue score, -1..1."""
    note: str = "heads were not measured"
    evidence: Sequence[EvidenceMatrix] = ()


@dataclass(frozen=True)
class AttentionData:
    """One kind of attention: the encoder's, the decoder's, or cross-attention. Arrays are (H, Tq, Tk) per layer."""

    rows: str
    """The side of the queries: source, target or decoder_input."""
    columns: str
    causal: bool
    weights: LayerArrays
    """Rows sum to 1; masked cells are exactly 0."""
    scores: LayerArrays
    """Before softmax; NaN where masked."""
    value_norms: LayerArrays
    """(H, Tk): norms of the transformed value vectors, ||f_h(x_j)||."""
    norms: LayerArrays
    """||α f(x)||; norms do not add up."""
    output_share: LayerArrays
    """<α f(x), y> / ||y||². Over heads and keys they sum to 1 with that of the output's bias."""
    terms: TermArrays
    head_divergence: Array
    """(N, N): Jensen-Shannon divergence of every two heads in bits, mean over rows with a choice. N: all layers."""
    heads: Sequence[Sequence[HeadData]]
    """One list per layer."""
    toeplitz: LayerArrays | None = None
    """(H,): share of the scores' variance that depends on distance alone; None in cross-attention."""
    gradient: LayerArrays | None = None
    """|weight · gradient of the loss|; None for an encoder-only model."""
    reference_weights: LayerArrays | None = None
    """Weights of the same heads in the reference model; NaN where it has no such head."""
    weight_difference: LayerArrays | None = None
    """Weights minus reference weights."""


@dataclass(frozen=True)
class RowContrast:
    """Mean total variation of two rows of a rollout: observed, and with permuted weights."""

    observed: float
    chance: float


@dataclass(frozen=True)
class MethodAgreement:
    """Spearman correlation of every two attribution methods, mean over rows; NaN where one is missing."""

    names: Sequence[str]
    correlation: Array


@dataclass(frozen=True)
class FlowData:
    """Where each row comes from through all layers. What involves a decoder is None for an encoder-only model."""

    encoder: Array
    """(S, S): rollout of the encoder; of the decoder in a decoder-only model."""
    above_chance: Array
    """(S, S): rollout minus the mean rollout of permuted weights."""
    contrast: Mapping[str, RowContrast]
    mixing: Mapping[str, LayerArrays]
    """By kind, (T,) per layer: the mixing ratio, 0..1."""
    agreement: MethodAgreement
    max_flow: Array | None = None
    """(S, S); None for long sentences."""
    source: Array | None = None
    """(T, S): rollout of the decoder to the source."""
    target: Array | None = None
    """(T, T): rollout of the decoder to its input."""
    source_share: Array | None = None
    """(T,): row sums of `source`; the rest comes from the target prefix."""
    above_chance_source: Array | None = None
    above_chance_target: Array | None = None
    max_flow_source: Array | None = None
    """(T, S)"""


@dataclass(frozen=True)
class ReferenceDivergence:
    """The model that weights are compared with."""

    name: str
    """`step 400`, `before training`, or the name of a run."""
    divergence: Mapping[str, float]
    """By head: Jensen-Shannon divergence of its weights, in bits. Heads that the reference lacks are absent."""


@dataclass(frozen=True)
class CorpusSummary:
    """The sentences that heads were measured on."""

    name: str
    sentences: int
    ablation_sentences: int
    """The first of them, on which costs were measured."""
    baseline: str


@dataclass(frozen=True)
class AlignmentData:
    """The word alignment of this sentence by the best head of cross-attention."""

    best: str
    links: Sequence[tuple[int, int]]
    pharaoh: str
    aer: float | None
    """On the corpus; None without gold alignments."""
    trained: str | None = None
    """`best` if guided alignment has trained it, else the heads that it has trained; None without guided alignment."""
    best_untrained: str | None = None
    """The best of the other heads; None if there is no other."""
    best_untrained_aer: float | None = None


@dataclass(frozen=True)
class HeadHistoryPoint:
    """A head at a training step."""

    entropy: float
    confidence: float
    role: str | None
    letter: str
    lift: float | None


@dataclass(frozen=True)
class HistoryRecord:
    """All heads at a training step."""

    step: int
    heads: Mapping[str, HeadHistoryPoint]


@dataclass(frozen=True)
class LookData:
    """Everything that a look page shows of one sentence."""

    run: str
    sides: Mapping[str, SentenceSide]
    """source; target, what the decoder writes in each row; decoder_input, what it reads there."""
    kinds: Mapping[str, AttentionData]
    """encoder, decoder, cross, as far as the model has them."""
    flow: FlowData
    pruned: Sequence[str] = ()
    """Names of the heads that were removed."""
    reference: ReferenceDivergence | None = None
    corpus: CorpusSummary | None = None
    alignment: AlignmentData | None = None
    history: Sequence[HistoryRecord] = ()
    caveats: Sequence[str] = ()
