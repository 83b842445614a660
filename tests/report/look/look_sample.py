"""A small invented look: every part of docs/reference/look_data.md filled with numbers that add up."""

from dataclasses import replace
from typing import Any

import numpy as np

from regard.report.look.data import (
    AlignmentData,
    AttentionData,
    CorpusSummary,
    EvidenceMatrix,
    FlowData,
    HeadData,
    HeadFaithfulness,
    HeadHistoryPoint,
    HistoryRecord,
    LookData,
    MethodAgreement,
    ReferenceDivergence,
    RowContrast,
    SentenceSide,
    TermArrays,
)

TERMS = ["content·content", "content·position", "position·content", "position·position", "constant", "distance"]
SOURCE = ["▁I", "▁love", "▁do", "gs", ",", "▁but", "▁cat", "s", "▁don", "'", "t", "▁care", ".", "</s>"]
TARGET = ["▁J", "'", "aime", "▁les", "▁chi", "ens", ",", "▁mais", "▁les", "▁chats", "▁s", "'", "en", "▁mo", "quent"]
TARGET += [".", "</s>"]
ROLES = [("previous", "P"), ("next", "N"), ("alignment", "A"), (None, "·"), ("separator", "X")]
METHODS = ["weights", "norms", "rollout", "flow", "gradient"]


def side(tokens: list[str]) -> SentenceSide:
    word_ids, words = [], []
    for token in tokens:
        special = token in ("<s>", "</s>")
        if not special and (token.startswith("▁") or token in ",." or not words):
            words.append(token.removeprefix("▁"))
        elif not special:
            words[-1] += token
        word_ids.append(-1 if special else len(words) - 1)
    text = "".join(token for token in tokens if token not in ("<s>", "</s>")).replace("▁", " ").strip()
    return SentenceSide(text, tokens, word_ids, words, [token in ("<s>", "</s>") for token in tokens])


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - np.nanmax(scores, axis=-1, keepdims=True))
    powers = np.nan_to_num(powers, nan=0.0)
    return powers / powers.sum(axis=-1, keepdims=True)


def kind(name: str, rows: int, columns: int, layers: int, heads: int, rng: np.random.Generator) -> AttentionData:
    sides = {"encoder": ("source", "source"), "decoder": ("decoder_input",) * 2, "cross": ("target", "source")}[name]
    terms = [_terms(name, rows, columns, heads, layer, rng) for layer in range(layers)]
    scores = [layer.sum(axis=1) for layer in terms]
    weights = [softmax(layer) for layer in scores]
    lengths = [rng.uniform(0.5, 3, (heads, columns)) for _ in range(layers)]
    shares = rng.dirichlet(np.ones(6), (layers, heads))
    norms = [w * length[:, None] for w, length in zip(weights, lengths, strict=True)]
    output_share = [w * rng.normal(0.1, 0.1, w.shape) for w in weights]
    gradient = [w * rng.uniform(0, 0.1, w.shape) for w in weights]
    reference = [softmax(layer + rng.normal(0, 1, layer.shape)) for layer in scores]
    return AttentionData(
        *sides,
        causal=name == "decoder",
        weights=_float32(weights),
        scores=_float32(scores),
        value_norms=_float32(lengths),
        norms=_float32(norms),
        output_share=_float32(output_share),
        terms=TermArrays(TERMS, terms, list(shares), [(rows, columns)] * layers),
        head_divergence=np.zeros((layers * heads, layers * heads)),
        heads=[[head(name, layer, h, rng) for h in range(heads)] for layer in range(layers)],
        toeplitz=None if name == "cross" else _float32(rng.uniform(0, 1, (layers, heads))),
        gradient=_float32(gradient),
        reference_weights=_float32(reference),
        weight_difference=_float32([w - before for w, before in zip(weights, reference, strict=True)]),
    )


def head(name: str, layer: int, number: int, rng: np.random.Generator) -> HeadData:
    role, letter = ROLES[(layer + number) % len(ROLES)]
    lift = float(rng.uniform(0.4, 0.95))
    path = {"encoder": "encoder.{}.self.{}", "decoder": "decoder.{}.self.{}", "cross": "decoder.{}.cross.{}"}[name]
    cost = float(rng.normal(0.01, 0.01))
    tokens, matrix = [f"▁w{i}" for i in range(9)], rng.dirichlet(np.ones(9) * 0.2, 9)
    return HeadData(
        path.format(layer, number), layer, number,
        HeadFaithfulness(
            path.format(layer, 1 - number % 2), 0.05 + layer / 10, position_divergence=0.3, gradient_correlation=0.71,
            permutation_tvd=0.004 if number == 0 else 0.125, uniform_loss_increase=0.031,
        ),
        role=role, letter=letter, lift=lift, low=lift - 0.03, high=lift + 0.02, macro_lift=lift - 0.01,
        argmax_rate=lift, baseline=0.01, runner_up="local", runner_up_lift=lift - 0.3, margin=0.3, best=role or "local",
        entropy=0.7, normalized_entropy=0.32, effective_keys=2.0, confidence=0.8, mean_distance=1.3, distance_std=0.9,
        importance=float(rng.uniform(0, 1)), cost=cost, cost_low=cost - 0.008, cost_high=cost + 0.008,
        aer=0.31 if name == "cross" else None, copying=0.2,
        note=f"{role or 'no reliable role'}, lift {lift:.2f}, runner-up local {lift - 0.3:.2f}",
        evidence=[
            EvidenceMatrix(rank, lift + more, f"{rank} words of a text", tokens, tokens, matrix)
            for rank, more in (("best", 0.05), ("median", 0.0), ("worst", -0.3))
        ],
    )  # fmt: skip


def look_data(
    layers: int = 3, heads: int = 4, source: list[str] | None = None, target: list[str] | None = None
) -> LookData:
    """All data of a page, as `regard.jobs.look.page.build_look_data` makes them."""
    rng = np.random.default_rng(7)
    source, target = list(source or SOURCE), list(target or TARGET)
    S, T = len(source), len(target)
    kinds = {
        "encoder": kind("encoder", S, S, layers, heads, rng),
        "decoder": kind("decoder", T, T, layers, heads, rng),
        "cross": kind("cross", T, S, layers, heads, rng),
    }
    share = rng.uniform(0.3, 0.9, T)
    return LookData(
        run="sample",
        sides={"source": side(source), "target": side(target), "decoder_input": side(["<s>", *target[:-1]])},
        kinds=kinds,
        reference=ReferenceDivergence("step 400", {}),
        flow=FlowData(
            encoder=rng.dirichlet(np.ones(S), S),
            source=rng.dirichlet(np.ones(S), T) * share[:, None],
            target=np.tril(rng.dirichlet(np.ones(T), T)),
            source_share=share,
            above_chance=rng.normal(0, 0.1, (S, S)),
            above_chance_source=rng.normal(0, 0.1, (T, S)),
            above_chance_target=np.tril(rng.normal(0, 0.1, (T, T))),
            contrast={"encoder": RowContrast(0.31, 0.12)},
            max_flow=rng.uniform(0, 1, (S, S)),
            mixing={name: list(rng.uniform(0, 1, (layers, S if name == "encoder" else T))) for name in kinds},
            agreement=MethodAgreement(METHODS, _agreement()),
        ),
        corpus=CorpusSummary("test", 200, 60, "the same model with random weights"),
        alignment=AlignmentData("decoder.0.cross.1", [(0, 0)], "0-0", None),
        history=[_record(step) for step in (100, 200, 400, 800)],
        caveats=["Attention shows where a head attends, not why the model predicts what it predicts."],
    )


def with_kind(data: LookData, name: str, **changes: Any) -> LookData:
    """The same data with one kind of attention changed."""
    return replace(data, kinds={**data.kinds, name: replace(data.kinds[name], **changes)})


def with_source(data: LookData, **changes: Any) -> LookData:
    """The same data with another source."""
    return replace(data, sides={**data.sides, "source": replace(data.sides["source"], **changes)})


def prune(data: LookData, name: str, layer: int, index: int) -> LookData:
    """The same data without one head of a kind."""
    attention = data.kinds[name]

    def cut(layers: Any) -> Any:
        return [np.delete(array, index, axis=0) if i == layer else array for i, array in enumerate(layers)]

    heads = [[h for h in row if (h.layer, h.head) != (layer, index)] for row in attention.heads]
    arrays = {key: cut(value) for key, value in vars(attention).items() if key != "heads" and isinstance(value, list)}
    terms = replace(attention.terms, values=cut(attention.terms.values), shares=cut(attention.terms.shares))
    removed = attention.heads[layer][index].name
    return replace(with_kind(data, name, **arrays, heads=heads, terms=terms), pruned=[removed])


def unmeasured(data: LookData) -> LookData:
    """The same data where heads were not measured on a corpus."""
    for name, attention in data.kinds.items():
        bare = [[HeadData(h.name, h.layer, h.head) for h in row] for row in attention.heads]
        data = with_kind(data, name, heads=bare)
    return replace(data, corpus=None, alignment=None)


def _agreement() -> np.ndarray:
    """Four methods that agree by halves, flow and norms least of all, and no gradient."""
    table = np.eye(5) * 0.5 + 0.5
    table[1, 3] = table[3, 1] = 0.25
    table[4] = table[:, 4] = np.nan
    return table


def _record(step: int) -> HistoryRecord:
    role, letter = ("previous", "P") if step > 150 else (None, "·")
    snapshot = HeadHistoryPoint(2 - step / 1000, step / 1000, role, letter, step / 1200)
    return HistoryRecord(step, {"encoder.0.self.0": snapshot})


def _terms(name: str, rows: int, columns: int, heads: int, layer: int, rng: np.random.Generator) -> np.ndarray:
    """Six terms whose sum has a shape: each head prefers its own distance."""
    terms = rng.normal(0, 0.7, (heads, 6, rows, columns))
    gap = np.arange(columns)[None] - np.arange(rows)[:, None] * columns / rows
    for h in range(heads):
        terms[h, 5] -= np.abs(gap - (h - heads // 2)) * (0.5 + layer)
    if name == "decoder":
        terms[:, :, np.triu(np.ones((rows, columns), dtype=bool), 1)] = np.nan
    return terms


def _float32(layers: Any) -> list[np.ndarray]:
    return [array.astype(np.float32) for array in layers]


def with_unknown_positions(data: LookData, name: str, queries: int, keys: int) -> LookData:
    """As if too few sentences of the corpus were longer: in all layers but the first, later positions are unknown."""
    terms = data.kinds[name].terms
    values = [values.copy() for values in terms.values]
    for layer in values[1:]:
        layer[:, :, queries:], layer[:, :, :, keys:] = np.nan, np.nan
    known = [terms.known_positions[0], *[(queries, keys)] * (len(values) - 1)]
    return with_kind(data, name, terms=replace(terms, values=values, known_positions=known))


def with_trained_aligner(data: LookData, layer: int, number: int, best_untrained: str) -> LookData:
    """As if guided alignment had trained a head of cross-attention."""
    heads = [list(layer_heads) for layer_heads in data.kinds["cross"].heads]
    heads[layer][number] = replace(heads[layer][number], trained_to_align=True)
    trained = heads[layer][number].name
    alignment = AlignmentData(trained, [(0, 0)], "0-0", 0.1, trained, best_untrained, 0.31)
    return replace(with_kind(data, "cross", heads=heads), alignment=alignment)


def with_unmeasured_layers(data: LookData, name: str) -> LookData:
    """As without a corpus: only the terms of the first layer are known."""
    terms = data.kinds[name].terms
    known = {key: [getattr(terms, key)[0], *[None] * 2] for key in ("values", "shares", "known_positions")}
    return with_kind(data, name, terms=replace(terms, **known))
