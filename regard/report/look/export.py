"""The edge where the data of a look page become JSON, arrays by name, and tables."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from regard.report.look.data import AttentionData, CorpusSummary, HeadData, HistoryRecord, LookData, SentenceSide
from regard.report.look.measures import TERM_DESCRIPTION, TERM_LIMITATION, TERMS_LABEL, term_names
from regard.report.look.quantized import Array, QuantizedArrays, quantize_arrays
from regard.report.look.size_budget import QuantizedMeasure
from regard.report.table import Table, Value
from regard.report.text import replace_forbidden

KIND_LABELS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
ROLE_DESCRIPTIONS = {
    "previous": "previous token",
    "next": "next token",
    "self": "the token itself",
    "duplicate": "same token elsewhere",
    "induction": "token after its last occurrence",
    "alignment": "aligned source word",
    "rare": "rare tokens",
    "separator": "separators and special tokens",
    "local": "nearby tokens",
    "block": "its own clause",
    "vertical": "one token for all queries",
    "diagonal": "same relative position in the source",
}
HISTORY_CURVES = ("lift", "confidence", "entropy")
MAX_HISTORY_STEPS = 80
ARRAY_NAMES = (
    *("weights", "scores", "value_norms", "norms", "output_share", "gradient"),
    *("reference_weights", "weight_difference"),
)
OPTIONAL_COLUMNS = {
    "output_share": "output_share",
    "reference_weight": "reference_weights",
    "weight_difference": "weight_difference",
}
"""The last columns of a head's table, where the arrays are known."""
Facts = dict[str, Any]


@dataclass
class BlobStore:
    """Quantized arrays as text elements that no browser executes."""

    texts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, quantized: QuantizedArrays) -> Facts:
        """Store the arrays; returns what the page needs to read them."""
        start = len(self.texts)
        self.texts += quantized.blobs
        self.size += quantized.size
        return {
            "blobs": [f"n{start + i}" for i in range(len(quantized.blobs))],
            "steps_per_unit": quantized.steps_per_unit,
            "offset": quantized.offset,
            "decimals": quantized.decimals,
            "code_bytes": quantized.code_bytes,
        }

    def html(self) -> str:
        return "\n".join(f'<script type="text/plain" id="n{i}">{text}</script>' for i, text in enumerate(self.texts))


def page_facts(data: LookData, measures: Sequence[QuantizedMeasure], notes: Sequence[str], blobs: BlobStore) -> Facts:
    """Everything on the page but its evidence; matrices go into `blobs`."""
    terms = term_names(data)
    return {
        "run": data.run,
        "sides": {name: _side_facts(side) for name, side in data.sides.items()},
        "kinds": [_kind_facts(name, attention, data.pruned) for name, attention in data.kinds.items()],
        "measures": [_measure_facts(measure, blobs) for measure in measures],
        "terms": [f"term{i}" for i in range(len(terms))],
        "termLabels": terms,
        "roles": ROLE_DESCRIPTIONS,
        "letters": _role_letters(data),
        "history": _history_facts(data.history),
        "aligner": data.alignment.best if data.alignment else None,
        "alignment": None if data.alignment is None else replace(data.alignment, links=(), pharaoh=""),
        "corpus": _describe_corpus(data.corpus) if data.corpus else "",
        "sourceShare": data.flow.source_share,
        "mixing": data.flow.mixing,
        "contrast": data.flow.contrast,
        "reference": data.reference,
        "agreement": data.flow.agreement,
        "limits": _limit_facts(measures),
        "caveats": data.caveats,
        "notes": notes,
    }


def evidence_facts(data: LookData, blobs: BlobStore, available: int) -> Facts:
    """Best, median and worst sentences of each head with three decimals, as far as they fit; each sentence once."""
    evidence: Facts = {}
    sentences: dict[tuple[str, ...], int] = {}
    texts: dict[str, int] = {}
    start = blobs.size
    for head in _all_heads(data):
        if not head.evidence or blobs.size - start > available:
            continue
        flat = np.concatenate([item.weights.ravel() for item in head.evidence])
        evidence[head.name] = blobs.add(quantize_arrays([flat], max_subdivisions=1)) | {
            "cards": [
                {
                    "rank": item.rank,
                    "lift": item.lift,
                    "text": texts.setdefault(item.text, len(texts)),
                    "rows": sentences.setdefault(tuple(item.rows), len(sentences)),
                    "columns": sentences.setdefault(tuple(item.columns), len(sentences)),
                }
                for item in head.evidence
            ]
        }
    return {"evidence": evidence, "sentences": [list(sentence) for sentence in sentences], "texts": list(texts)}


def to_script_json(facts: Facts) -> str:
    """JSON for a script element: no `<`, no NaN, six significant digits."""
    return json.dumps(_to_jsonable(facts), ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )


def flatten_arrays(data: LookData) -> dict[str, Any]:
    """All arrays by flat names, for an NPZ file: cross.2.weights, flow.source …"""
    flat: dict[str, Any] = {}
    for kind, attention in data.kinds.items():
        for name in ARRAY_NAMES:
            for layer, array in enumerate(getattr(attention, name) or ()):
                flat[f"{kind}.{layer}.{name}"] = array
        for layer, (values, shares) in enumerate(zip(attention.terms.values, attention.terms.shares, strict=True)):
            if values is not None:
                flat[f"{kind}.{layer}.terms"], flat[f"{kind}.{layer}.shares"] = values, shares
        flat[f"{kind}.head_divergence"] = attention.head_divergence
    flat["flow.agreement"] = data.flow.agreement.correlation
    flat |= {f"flow.{name}": array for name, array in vars(data.flow).items() if isinstance(array, np.ndarray)}
    return flat | {f"tokens.{name}": np.array(side.tokens) for name, side in data.sides.items()}


def tabulate_head(data: LookData, kind: str, layer: int, head_index: int) -> Table:
    """One head as a table: a row for each query and key that is not masked."""
    attention = data.kinds[kind]
    queries, keys = data.sides[attention.rows].tokens, data.sides[attention.columns].tokens
    columns: dict[str, Array] = {
        "weight": attention.weights[layer][head_index],
        "score": attention.scores[layer][head_index],
        "norm": attention.norms[layer][head_index],
    }
    if (terms := attention.terms.values[layer]) is not None:
        columns |= dict(zip(attention.terms.names, terms[head_index], strict=True))
    for column, name in OPTIONAL_COLUMNS.items():
        if (layers := getattr(attention, name)) is not None:
            columns[column] = layers[layer][head_index]
    rows: list[dict[str, Value]] = []
    for i, j in np.argwhere(~np.isnan(columns["score"])).tolist():
        numbers = {name: _none_if_nan(matrix[i, j]) for name, matrix in columns.items()}
        rows.append({"query": i, "key": j, "from": queries[i], "to": keys[j], **numbers})
    return Table.from_rows(rows)


def _side_facts(side: SentenceSide) -> Facts:
    """A side of the sentence with the words that the page shows: what a token covers together is one of them."""
    groups = side.word_groups or range(len(side.words))
    words = [""] * (max(groups, default=-1) + 1)
    for word, group in zip(side.words, groups, strict=True):
        words[group] += word
    return {
        "text": side.text,
        "tokens": side.tokens,
        "word_ids": [groups[word] if word >= 0 else word for word in side.word_ids],
        "words": words,
        "special_tokens_mask": side.special_tokens_mask,
    }


def _measure_facts(quantized: QuantizedMeasure, blobs: BlobStore) -> Facts:
    measure = quantized.measure
    return {
        "name": measure.name,
        "label": measure.label,
        "help": measure.description,
        "signed": measure.signed,
        "top": quantized.scale.top,
        "clipped": quantized.scale.clipped,
        "keys": "mean" if measure.averaged else "sum",
        "normalized": measure.normalized,
        "menu": True,
        "kinds": {
            kind: blobs.add(quantized_kind.arrays)
            | {
                "sizes": quantized.shape(kind),
                "shared": measure.shared,
                "top_k": quantized.top_k(kind),
                "precision": quantized.describe_precision(kind),
                "means": blobs.add(quantized_kind.means) if quantized_kind.means else None,
            }
            for kind, quantized_kind in quantized.kinds.items()
        },
    }


def _limit_facts(quantized: Sequence[QuantizedMeasure]) -> list[Facts]:
    """What each measure on the page shows and what not; the terms of a score share one entry."""
    measures = [entry.measure for entry in quantized]
    limits = [
        {"label": measure.label, "description": measure.description, "not": measure.limitation}
        for measure in measures
        if measure.limitation and not measure.group
    ]
    terms = {"label": TERMS_LABEL, "description": TERM_DESCRIPTION, "not": TERM_LIMITATION}
    return [*limits, terms] if any(measure.group for measure in measures) else limits


def _history_facts(records: Sequence[HistoryRecord]) -> Facts:
    """Curves and roles by head over training; of many records every n-th and the last."""
    stride = max(1, math.ceil(len(records) / MAX_HISTORY_STEPS))
    sampled = [record for i, record in enumerate(records) if i % stride == 0 or i == len(records) - 1]
    heads: Facts = {}
    roles: Facts = {}
    for name in sorted({name for record in sampled for name in record.heads}):
        points = [record.heads.get(name) for record in sampled]
        heads[name] = {key: [_round_or_none(getattr(point, key, None)) for point in points] for key in HISTORY_CURVES}
        roles[name] = [(point.role, point.letter) if point else (None, None) for point in points]
    return {"steps": [record.step for record in sampled], "heads": heads, "roles": roles}


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _describe_corpus(corpus: CorpusSummary) -> str:
    """The sentences that roles and costs were measured on, in words."""
    costs = corpus.ablation_sentences
    cost_note = f" (costs on {costs:,} of them)" if 0 < costs < corpus.sentences else ""
    return f"Measured on {corpus.sentences:,} sentences of {corpus.name}{cost_note}; random weights: {corpus.baseline}."


def _all_heads(data: LookData) -> list[HeadData]:
    return [head for attention in data.kinds.values() for layer in attention.heads for head in layer]


def _role_letters(data: LookData) -> dict[str, str]:
    """The roles of the heads with their letters, most frequent first."""
    roles = [(head.role, head.letter) for head in _all_heads(data) if head.role]
    return {role: letter for (role, letter), _ in Counter(roles).most_common()}


def _kind_facts(name: str, attention: AttentionData, pruned: Sequence[str]) -> Facts:
    pruned_heads = [location for location in map(_parse_head_name, pruned) if location[0] == name]
    return {
        "name": name,
        "label": KIND_LABELS[name],
        "rows": attention.rows,
        "columns": attention.columns,
        "causal": attention.causal,
        "heads": [
            [_head_facts(attention, layer, i, head) for i, head in enumerate(heads)]
            for layer, heads in enumerate(attention.heads)
        ],
        "pruned": [[layer, head] for _, layer, head in pruned_heads],
    }


def _head_facts(attention: AttentionData, layer: int, index: int, head: HeadData) -> Facts:
    shares = attention.terms.shares[layer]
    return {key: value for key, value in vars(head).items() if key != "evidence"} | {
        "index": index,
        "shares": None if shares is None or np.isnan(shares[index]).all() else shares[index],
        "knownPositions": attention.terms.known_positions[layer],
        "toeplitz": attention.toeplitz[layer][index] if attention.toeplitz is not None else None,
    }


def _parse_head_name(name: str) -> tuple[str, int, int]:
    """`decoder.2.cross.1` -> kind, layer, head."""
    stack, layer, kind, head = name.split(".")
    return ("cross" if kind == "cross" else stack), int(layer), int(head)


def _to_jsonable(value: Any) -> Any:
    if is_dataclass(value):
        return {item.name: _to_jsonable(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _to_jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_jsonable(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return _to_jsonable(value.tolist())
    if isinstance(value, np.generic):
        return _to_jsonable(value.item())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return replace_forbidden(value) if isinstance(value, str) else value
