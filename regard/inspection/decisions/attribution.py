"""What each word of a text contributes to the decision of a classifier: gradient x input, attention and erasure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import DataError, ModelError
from regard.inspection.decisions.erasure import erasure_costs, masking_costs
from regard.inspection.example import TokenizedText, build_text_example, pair_spans, tokenize_pair
from regard.inspection.flow.rollout import attention_rollout
from regard.inspection.heads.statistics import FloatArray
from regard.inspection.trace import attention_sites
from regard.languages import word_spans
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import TextEncoderDecoder
from regard.model.taps import record
from regard.progress import track
from regard.tasks.classify.classifier import Classification, Classifier
from regard.tasks.text_batch import batch_by_length, pad_rows
from regard.tasks.text_forward import InputText, SingleStack, has_token_types


@dataclass(frozen=True)
class WordMeasure:
    """A way to say how much a word matters."""

    name: str
    signed: bool
    """Whether it tells words that support the label (above 0) from words that oppose it."""


GRADIENT = WordMeasure("gradient x input", signed=True)
ATTENTION = WordMeasure("attention", signed=False)
ROLLOUT = WordMeasure("rollout", signed=False)
ERASURE = WordMeasure("erasure", signed=True)
MASKING = WordMeasure("masking", signed=True)


@dataclass(frozen=True)
class Decision:
    """The decision of a classifier about one text, and the words that it rests on."""

    text: TokenizedText
    classification: Classification
    label: str
    """What is explained: the predicted label, or the one that was asked for."""
    log_prob: float
    """Of this label, in nats."""
    measures: Mapping[WordMeasure, FloatArray]
    """One value per word; without MASKING where the vocabulary has no [MASK]."""
    special_attention: float
    """The share of attention on tokens of no word, such as eos."""


class TokenAttributions(NamedTuple):
    """One value per token of a text: (T,)."""

    gradient: FloatArray
    attention: FloatArray
    rollout: FloatArray


def explain_decisions(classifier: Classifier, texts: Sequence[InputText], label: str | None = None) -> list[Decision]:
    """Explain the predicted label of each text or pair of texts, or the same label for all of them.

    A text without words is left out.

    Of a text that is longer than the classifier reads, the words count that it reads as a whole.
    """
    sides = [side for text in texts if (side := tokenize_visible(classifier, text)).words]
    log_probs = classifier.log_probs([side.input for side in sides])
    classifications = [classifier.decide(row) for row in log_probs.exp().tolist()]
    labels = [label or main_label(one) for one in classifications]
    label_ids = [_find_label(classifier, name) for name in labels]
    attributions = attribute_tokens(classifier, sides, label_ids)
    erasure = erasure_costs(classifier, sides, label_ids, log_probs)
    masking = masking_costs(classifier, sides, label_ids, log_probs)
    decisions = []
    for i, side in enumerate(sides):
        values = {m: merge_words(side, row) for m, row in zip(TOKEN_MEASURES, attributions[i], strict=True)}
        values[ERASURE] = erasure[i]
        if masking is not None:
            values[MASKING] = masking[i]
        special = 1 - float(values[ATTENTION].sum())
        log_prob = float(log_probs[i, label_ids[i]])
        decisions.append(Decision(side, classifications[i], labels[i], log_prob, values, special))
    return decisions


TOKEN_MEASURES = (GRADIENT, ATTENTION, ROLLOUT)
"""In the order of TokenAttributions."""


def main_label(classification: Classification) -> str:
    """The most probable of the chosen labels; of all, where none is chosen."""
    probabilities = classification.probabilities
    return max(classification.labels or probabilities, key=lambda name: probabilities[name])


def _find_label(classifier: Classifier, label: str) -> int:
    labels = classifier.labels.labels
    if label not in labels:
        raise DataError(f"there is no label '{label}'; this classifier has {', '.join(labels)}")
    return labels.index(label)


def tokenize_visible(classifier: Classifier, text: InputText) -> TokenizedText:
    """A text, or a pair of texts, as the classifier reads it; of a truncated one, the words that are whole."""
    tokenizer, limit = classifier.tokenizer, classifier.max_length
    if isinstance(text, str):
        return build_text_example(tokenizer, _whole_words(text, tokenizer.spans(text, limit)), limit).source
    (ids,) = tokenizer.encode_pairs([text], limit)
    first, second = map(_whole_words, text, pair_spans(tokenizer, text, ids))
    return tokenize_pair(tokenizer, (first, second), limit)


def _whole_words(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The part of a text that its tokens cover, without a word that is cut."""
    end = max((b for _, b in spans), default=0)
    if end >= len(text.rstrip()):
        return text
    return text[: max((b for _, b in word_spans(text) if b <= end), default=0)]


def merge_words(side: TokenizedText, values: FloatArray) -> FloatArray:
    """Values of tokens (T,) as sums over words; a token of several words is split by its characters."""
    merged = np.zeros(len(side.words))
    for value, shares in zip(values, side.covered_words(), strict=True):
        for word, share in shares.items():
            merged[word] += share * value
    return merged


def attribute_tokens(
    classifier: Classifier, sides: Sequence[TokenizedText], label_ids: Sequence[int]
) -> list[TokenAttributions]:
    """Gradient x input, attention and rollout of every token.

    **Gradient x input** is x · ∂ log p(label) / ∂x with x the embedding of the token, positions excluded: the exact
    contribution where log p is linear in x, a first-order approximation elsewhere (Shrikumar et al. 2017; Denil et al.
    2014). **Attention** is the weight that the token receives from the positions that are pooled (all of them alike
    under mean pooling), mean over heads and layers. **Rollout** multiplies the layers instead, each with half of its
    residual stream (Abnar and Zuidema 2020). Both sum to 1 over all tokens, special ones included.
    """
    rows = [side.ids for side in sides]
    attributions: dict[int, TokenAttributions] = {}
    for batch in track(batch_by_length(rows), "explaining decisions"):
        batch_rows = _attribute_batch(classifier, [rows[i] for i in batch], [label_ids[i] for i in batch])
        attributions.update(zip(batch, batch_rows, strict=True))
    return [attributions[i] for i in range(len(rows))]


def _attribute_batch(
    classifier: Classifier, rows: Sequence[Sequence[int]], label_ids: Sequence[int]
) -> list[TokenAttributions]:
    model = _require_single_stack(classifier)
    ids = pad_rows(rows, model.pad).to(device_of(model))
    with evaluation_mode(model), torch.enable_grad(), record(model, "*.self_attn.weights") as activations:
        embeddings = _EmbeddingLeaf(model.stack.embedding.tokens)
        with embeddings:
            states = model(ids, token_type_ids=token_types(classifier, rows))  # (B, T, D)
        pooled = model.pool(states, ids != model.pad)  # (B, D)
        shares = pooling_shares(pooled, states)
        chosen = classifier.predict(pooled)[torch.arange(len(rows)), torch.tensor(label_ids)]
        (gradient,) = torch.autograd.grad(chosen.sum(), embeddings.leaf)
        products = (gradient * embeddings.leaf).sum(dim=-1).detach()  # (B, T)
        layers = [activations[f"{site.path}.weights"].detach().mean(dim=1) for site in attention_sites(model)]
    return [
        TokenAttributions(
            _to_array(products[b, :length]),
            _to_array(shares[b, :length] @ torch.stack([w[b, :length, :length] for w in layers]).mean(dim=0)),
            _to_array(shares[b, :length] @ attention_rollout([w[b, :length, :length] for w in layers])),
        )
        for b, length in enumerate(map(len, rows))
    ]


def _require_single_stack(classifier: Classifier) -> SingleStack:
    """The model of a classifier, unless it reads a text in two stacks, whose attention is no path through one."""
    if isinstance(classifier.model, TextEncoderDecoder):
        raise ModelError(
            "this classifier has an encoder and a decoder; decisions are explained for models with one of them: train "
            "with model.architecture=encoder or decoder"
        )
    return classifier.model


def token_types(classifier: Classifier, rows: Sequence[Sequence[int]]) -> Tensor | None:
    """Which text each token belongs to (B, T); None where the model does not tell two texts apart."""
    if not has_token_types(classifier.model):
        return None
    return pad_rows([*map(classifier.tokenizer.token_type_ids, rows)], 0).to(device_of(classifier.model))


def pooling_shares(pooled: Tensor, states: Tensor) -> Tensor:
    """The share of each position in the pooled state (B, D), by its gradient: (B, T).

    1/T under mean pooling, 1 for one position where the first or the last token is pooled.
    """
    (gradient,) = torch.autograd.grad(pooled.sum(), states, retain_graph=True)
    norms = gradient.norm(dim=-1)
    return norms / norms.sum(dim=1, keepdim=True)


class _EmbeddingLeaf:
    """Makes what an embedding returns a leaf of the graph, for as long as the block lasts."""

    leaf: Tensor

    def __init__(self, embedding: nn.Embedding):
        self.embedding = embedding

    def __enter__(self) -> None:
        self._handle = self.embedding.register_forward_hook(self._replace)

    def __exit__(self, *error: object) -> None:
        self._handle.remove()

    def _replace(self, module: nn.Module, inputs: object, output: Tensor) -> Tensor:
        self.leaf = output.detach().requires_grad_()
        return self.leaf


def _to_array(values: Tensor) -> FloatArray:
    return np.asarray(values.double().cpu())


def attention_of_text(classifier: Classifier, side: TokenizedText) -> dict[str, FloatArray]:
    """The attention weights of each head (T, T) by its name, such as encoder.0.self.1."""
    model = _require_single_stack(classifier)
    with evaluation_mode(model), torch.inference_mode(), record(model, "*.self_attn.weights") as activations:
        ids = torch.tensor([side.ids], device=device_of(model))
        model(ids, token_type_ids=token_types(classifier, [side.ids]))
    return {
        str(head): _to_array(weights)
        for site in attention_sites(model)
        for head, weights in zip(site.heads, activations[f"{site.path}.weights"][0], strict=True)
    }
