"""look.html: what a model looks at, as one file that draws itself and asks the network for nothing.

Takes the plain dictionary of docs/look_contract.md. Numbers travel as packed text (`packed.py`) and are unpacked when
a view first needs them; the page's own modules (`static/look/`) are written into it (`inlined.py`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.report.look.bundle import bundle_script, csp_hash, static_resource
from regard.report.look.quantized import quantize_arrays
from regard.report.look.size_budget import BlobStore, LayerArrays, Measure, quantize_measures
from regard.report.text import escape_html, replace_forbidden

LookData = Mapping[str, Any]

SIZE_BUDGET = 4_500_000  # with the script and the facts a page then stays under 5 MB

KIND_LABELS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
ROLE_DESCRIPTIONS = {
    "previous": "previous token",
    "next": "next token",
    "self": "itself",
    "duplicate": "same token elsewhere",
    "induction": "what followed last time",
    "alignment": "the word it translates",
    "rare": "rare tokens",
    "separator": "separators and ends",
    "local": "its neighbourhood",
    "block": "its own part",
    "vertical": "one token for all",
    "diagonal": "its own place on the other side",
}
# Name, what the contract calls it, what people call it, one sentence of help.
MEASURES = (
    ("weight", "weights", "Attention weight", "How much each row takes from each column; rows sum to 1."),
    ("change", "change", "Difference to {}", "Weight less the weight of the other model."),
    ("then", "then", "Weight: {}", "What the same heads looked at in the other model."),
    ("norm", "norms", "Weight × vector length", "How long the vector is that a key hands over; lengths do not add up."),
    ("signed", "signed", "Share in the output", "What part of attention's output it makes up; below 0: against it."),
    ("score", "scores", "Score before softmax", "What the weights are made of; only differences inside a row count."),
    ("gradient", "gradient", "Weight × gradient", "How strongly the loss reacts to the weight, without its sign."),
)
FLOW_MEASURES = (
    (
        "rollout",
        "Rollout",
        "Where a row's content comes from through all layers, heads averaged.",
        ("", "source", "target"),
    ),
    (
        "beyond",
        "Rollout beyond chance",
        "Rollout, less what the same weights dealt out at random would give.",
        ("beyond", "beyond_source", "beyond_target"),
    ),
    ("flow", "Maximum flow", "The most that could flow through all layers.", ("max_flow", "max_flow_source", "")),
)
# What each measure may not be taken for.
MEASURE_LIMITS = {
    "weight": "Not that the output depends on it: shuffle it and see.",
    "norm": "Not a share: what several keys hand over may cancel.",
    "signed": "Not what the model needs: a share may be large, and the output as good without it.",
    "score": "Not to be compared between rows or heads.",
    "gradient": "Not an effect: it tells of very small changes, and the weight is a factor of it.",
    "rollout": "Not what a word contributes: heads are averaged, feed-forwards left out; deep models look all alike.",
    "beyond": "Not an effect either: it only takes away what depth alone would show.",
    "flow": "Not what did flow, but what could if nothing else needed the room.",
    "change": "Not what made the model better: a head may look elsewhere for nothing.",
    "terms": "Above the first layer a description by averages, not a cause.",
}
# What a head may be known by; what the data does not have is None on the page.
HEAD_FIELDS = (
    *("name", "layer", "head", "role", "letter", "lift", "low", "high", "by_sentence", "argmax", "baseline"),
    *("runner_up", "runner_up_lift", "margin", "best", "entropy", "evenness", "effective_keys"),
    *("confidence", "distance", "deviation"),
    *("importance", "cost", "cost_low", "cost_high", "aer", "copying", "note", "trust"),
)
HISTORY_CURVES = ("lift", "confidence", "entropy")  # what is shown through training
HISTORY_ROLE_FIELDS = ("role", "letter")  # what the map shows of a moment
MAX_HISTORY_STEPS = 80
MAX_TOKENS = 1024  # tokens; beyond, neither the eye nor the browser would follow
NORMALIZED_MEASURES = {"weight", "then", "rollout"}  # measures whose rows sum to 1
SIGNED_MEASURES = {"signed", "score", "beyond", "change"}  # measures that have a zero in their middle
OWN_TOP_KEY_MEASURES = {"change", "then", "signed"}  # their largest numbers stand elsewhere than the weights'
AVERAGED_MEASURES = {"score"}  # with its terms: a word's score is the mean of its pieces', not their sum


def render_look_page(data: LookData, *, budget: int = SIZE_BUDGET) -> str:
    """The page; `budget` is how many characters its packed numbers may take."""
    return render_look_page_with_notes(data, budget=budget)[0]


def render_look_page_with_notes(data: LookData, *, budget: int = SIZE_BUDGET) -> tuple[str, list[str]]:
    """The page, and what it had to leave out to stay small."""
    if not data.get("kinds"):
        raise RegardError("there is nothing to look at: the data has no attention of any kind")
    longest = max(len(side["pieces"]) for side in data["sides"].values())
    if longest > MAX_TOKENS:
        raise RegardError(
            f"the text has {longest:,} tokens and a page shows {MAX_TOKENS:,} at most; look at a shorter part of it"
        )
    blobs = BlobStore()
    measures, notes = quantize_measures(_collect_measures(data), blobs, budget)
    facts = _page_facts(data, measures, notes)
    facts["evidence"], facts["sentences"] = _quantize_evidence(data, blobs, budget - blobs.size)
    return _fill_template(_title(data), data, facts, blobs), notes


def _collect_measures(data: LookData) -> list[Measure]:
    """What can be shown, the most wanted first: when room is short, the last are the first to go."""
    measures = [_head_measure(data, *spec) for spec in MEASURES]
    measures += [_flow_measure(data, *spec) for spec in FLOW_MEASURES]
    names = _term_names(data)
    measures += [_term_measure(data, i, name) for i, name in enumerate(names)]
    return [measure for measure in measures if measure.kinds]


def _head_measure(data: LookData, name: str, key: str, label: str, description: str) -> Measure:
    kinds = {
        kind: _layer_arrays(kind, key, attention[key])
        for kind, attention in data["kinds"].items()
        if attention.get(key) is not None
    }
    label = label.format((data.get("against") or {}).get("name"))
    normalized, averaged, signed, own_top_keys = (
        name in names for names in (NORMALIZED_MEASURES, AVERAGED_MEASURES, SIGNED_MEASURES, OWN_TOP_KEY_MEASURES)
    )
    return Measure(
        name,
        label,
        description,
        kinds,
        normalized=normalized,
        averaged=averaged,
        signed=signed,
        own_top_keys=own_top_keys,
    )


def _term_measure(data: LookData, index: int, name: str) -> Measure:
    kinds = {
        kind: [layer[:, index] for layer in _layer_arrays(kind, "terms", values, axes=4)]
        for kind, values in _terms_by_kind(data).items()
    }
    description = "One of the terms that add up to the score."
    return Measure(f"term{index}", f"Score: {name}", description, kinds, averaged=True, signed=True, group="score")


def _terms_by_kind(data: LookData) -> dict[str, list[Any]]:
    """The terms of kinds that have them in some layer; in the others, where they are not known, there is no number."""
    terms = {}
    for kind, attention in data["kinds"].items():
        values = (attention.get("terms") or {}).get("values", ())
        if any(layer is not None for layer in values):
            placeholders = (
                np.full((len(w), len(attention["terms"]["names"]), *w.shape[1:]), math.nan)
                for w in attention["weights"]
            )
            terms[kind] = [
                placeholder if layer is None else layer for layer, placeholder in zip(values, placeholders, strict=True)
            ]
    return terms


def _flow_measure(data: LookData, name: str, label: str, description: str, keys: tuple[str, str, str]) -> Measure:
    """A measure of all layers together: every head of a kind shows the same."""
    flow = data.get("flow") or {}
    keys_by_kind = dict(zip(("encoder", "cross", "decoder"), (keys[0] or "encoder", *keys[1:]), strict=True))
    kinds = {
        kind: [np.asarray(flow[key])[None]]
        for kind, key in keys_by_kind.items()
        if kind in data["kinds"] and key and flow.get(key) is not None
    }
    return Measure(
        name,
        label,
        description,
        kinds,
        normalized=name in NORMALIZED_MEASURES,
        signed=name in SIGNED_MEASURES,
        shared=True,
    )


def _layer_arrays(kind: str, key: str, layers: Sequence[Any], axes: int = 3) -> LayerArrays:
    arrays = [np.asarray(layer) for layer in layers]
    for number, array in enumerate(arrays):
        if array.ndim != axes:
            raise RegardError(f"{kind}.{number}.{key}: expected {axes} axes, got shape {array.shape}")
    return arrays


def _term_names(data: LookData) -> list[str]:
    return next(
        (list(attention["terms"]["names"]) for attention in data["kinds"].values() if attention.get("terms")), []
    )


def _page_facts(data: LookData, measures: list[dict[str, Any]], notes: list[str]) -> dict[str, Any]:
    flow = data.get("flow") or {}
    terms = _term_names(data)
    return {
        "run": data.get("run", ""),
        "sides": data["sides"],
        "kinds": [_kind_entry(name, attention, data.get("pruned", ())) for name, attention in data["kinds"].items()],
        "measures": measures,
        "terms": [f"term{i}" for i in range(len(terms))],
        "termLabels": terms,
        "roles": ROLE_DESCRIPTIONS,
        "letters": _role_letters(data),
        "history": _history(data.get("history") or []),
        "aligner": (data.get("alignment") or {}).get("best"),
        "corpus": _corpus_note(data.get("corpus") or {}),
        "sourceShare": flow.get("source_share"),
        "mixing": flow.get("mixing") or {},
        "contrast": flow.get("contrast") or {},
        "against": data.get("against"),
        "disagreement": flow.get("disagreement"),
        "limits": _measure_limits(measures),
        "caveats": list(data.get("caveats") or ()),
        "notes": notes,
    }


def _measure_limits(measures: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What each measure that is there may be taken for, and what not; the terms of a score are told once."""
    limits = [
        {"label": measure["label"], "told": measure["help"], "not": MEASURE_LIMITS[measure["name"]]}
        for measure in measures
        if measure["name"] in MEASURE_LIMITS
    ]
    terms = [measure for measure in measures if measure["name"].startswith("term")]
    return limits + [
        {"label": "Terms of a score", "told": m["help"], "not": MEASURE_LIMITS["terms"]} for m in terms[:1]
    ]


def _history(records: Sequence[LookData]) -> dict[str, Any]:
    """Measures through training, a list a head and measure; of very many moments every n-th and the last."""
    stride = max(1, math.ceil(len(records) / MAX_HISTORY_STEPS))
    sampled = [record for i, record in enumerate(records) if i % stride == 0 or i == len(records) - 1]
    names = {name for record in sampled for name in record["heads"]}
    heads = {
        name: {
            key: [_round_or_none(record["heads"].get(name, {}).get(key)) for record in sampled]
            for key in HISTORY_CURVES
        }
        for name in sorted(names)
    }
    roles = {
        name: [[record["heads"].get(name, {}).get(key) for key in HISTORY_ROLE_FIELDS] for record in sampled]
        for name in sorted(names)
    }
    return {"steps": [record["step"] for record in sampled], "heads": heads, "roles": roles}


def _round_or_none(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _corpus_note(corpus: LookData) -> str:
    """What roles and costs were measured on, as a sentence; empty where nothing was."""
    if not corpus.get("sentences"):
        return ""
    num_sentences, num_costed = corpus["sentences"], corpus.get("costed", 0)
    cost_note = f" (costs on {num_costed:,} of them)" if 0 < num_costed < num_sentences else ""
    return (
        f"Measured on {num_sentences:,} sentences of {corpus['what']}{cost_note}; random weights: {corpus['baseline']}."
    )


def _role_letters(data: LookData) -> dict[str, str]:
    """The roles that are there with their letters, the most frequent first."""
    heads = [
        head
        for attention in data["kinds"].values()
        for layer in attention["heads"]
        for head in layer
        if head.get("role")
    ]
    letters = {head["role"]: head["letter"] for head in heads}
    return {role: letters[role] for role, _ in Counter(head["role"] for head in heads).most_common()}


def _kind_entry(name: str, attention: LookData, pruned: Sequence[str]) -> dict[str, Any]:
    pruned_heads = [location for location in map(_parse_head_name, pruned) if location[0] == name]
    return {
        "name": name,
        "label": KIND_LABELS[name],
        "rows": attention["rows"],
        "columns": attention["columns"],
        "causal": attention.get("causal", False),
        "heads": [
            [_head_entry(attention, layer, i, head) for i, head in enumerate(heads)]
            for layer, heads in enumerate(attention["heads"])
        ],
        "pruned": [[layer, head] for _, layer, head in pruned_heads],
    }


def _head_entry(attention: LookData, layer: int, index: int, head: LookData) -> dict[str, Any]:
    """What is known of a head, with all names there, so that the page need not ask which are."""
    entry = dict.fromkeys(HEAD_FIELDS)
    entry |= {key: value for key, value in head.items() if key != "evidence"}
    shares = attention["terms"]["shares"][layer] if attention.get("terms") else None
    toeplitz = attention["toeplitz"][layer][index] if attention.get("toeplitz") else None
    return entry | {"index": index, "shares": None if shares is None else shares[index], "toeplitz": toeplitz}


def _parse_head_name(name: str) -> tuple[str, int, int]:
    """`decoder.2.cross.1` -> kind, layer, head."""
    stack, layer, kind, head = name.split(".")
    return ("cross" if kind == "cross" else stack), int(layer), int(head)


def _quantize_evidence(data: LookData, blobs: BlobStore, available: int) -> tuple[dict[str, Any], list[list[str]]]:
    """Best, median and worst sentences of each head, three decimals each, sentences written once."""
    evidence: dict[str, Any] = {}
    sentences: dict[tuple[str, ...], int] = {}
    start = blobs.size
    for attention in data["kinds"].values():
        for head in (head for layer in attention["heads"] for head in layer):
            cards = head.get("evidence") or []
            if not cards or blobs.size - start > available:
                continue
            flat = np.concatenate([np.asarray(card["weights"]).ravel() for card in cards])
            sentence_ids = [
                {side: sentences.setdefault(tuple(card[side]), len(sentences)) for side in ("rows", "columns")}
                for card in cards
            ]
            card_labels = [{"which": card["which"], "lift": card["lift"]} for card in cards]
            evidence[head["name"]] = blobs.add(quantize_arrays([flat], max_subdivisions=1)) | {
                "cards": [a | b for a, b in zip(sentence_ids, card_labels, strict=True)]
            }
    return evidence, [list(sentence) for sentence in sentences]


def _title(data: LookData) -> str:
    return f"{data.get('run') or 'model'}: what it looks at"


def _fill_template(title: str, data: LookData, facts: dict[str, Any], blobs: BlobStore) -> str:
    style = static_resource("look", "look.css").read_text(encoding="utf-8")
    code = bundle_script(static_resource("look"), "main")
    policy = f"default-src 'none'; script-src {csp_hash(code)}; style-src {csp_hash(style)}; base-uri 'none'; form-action 'none'"
    values = {
        "policy": policy,
        "title": escape_html(title),
        "heading": escape_html(title),
        "sentence": escape_html(" → ".join(side["text"] for side in _text_sides(data))),
        "style": style,
        "facts": _to_script_json(facts),
        "blobs": blobs.html(),
        "script": code,
    }
    page = static_resource("look", "look.html").read_text(encoding="utf-8")
    # In one pass: what is put in may itself hold the name of a place, and must not be read again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], page)


def _text_sides(data: LookData) -> list[LookData]:
    sides = data["sides"]
    return [sides[name] for name in ("source", "target") if name in sides]


def _to_script_json(facts: dict[str, Any]) -> str:
    """JSON that may stand in a script element: no `<`, no NaN, numbers with no more digits than they are worth."""
    return json.dumps(_to_jsonable(facts), ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )


def _to_jsonable(value: Any) -> Any:
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
