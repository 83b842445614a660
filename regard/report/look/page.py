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
from regard.report.look.bundle import digest, script, static
from regard.report.look.quantized import pack
from regard.report.look.size_budget import Blobs, Layers, Measure, packed_measures
from regard.report.text import clean, escape

Data = Mapping[str, Any]

BUDGET = 4_500_000  # with the script and the facts a page then stays under 5 MB

LABELS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
ROLES = {
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
FLOWS = (
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
LIMITS = {
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
HEAD = (
    *("name", "layer", "head", "role", "letter", "lift", "low", "high", "by_sentence", "argmax", "baseline"),
    *("runner_up", "runner_up_lift", "margin", "best", "entropy", "evenness", "effective_keys"),
    *("confidence", "distance", "deviation"),
    *("importance", "cost", "cost_low", "cost_high", "aer", "copying", "note", "trust"),
)
CURVES = ("lift", "confidence", "entropy")  # what is shown through training
THEN = ("role", "letter")  # what the map shows of a moment
MOMENTS = 80
LONGEST = 1024  # tokens; beyond, neither the eye nor the browser would follow
SHARES = {"weight", "then", "rollout"}  # measures whose rows sum to 1
SIGNED = {"signed", "score", "beyond", "change"}  # measures that have a zero in their middle
OWN = {"change", "then", "signed"}  # their largest numbers stand elsewhere than the weights'
AVERAGED = {"score"}  # with its terms: a word's score is the mean of its pieces', not their sum


def look_page(data: Data, *, budget: int = BUDGET) -> str:
    """The page; `budget` is how many characters its packed numbers may take."""
    return page_and_notes(data, budget=budget)[0]


def page_and_notes(data: Data, *, budget: int = BUDGET) -> tuple[str, list[str]]:
    """The page, and what it had to leave out to stay small."""
    if not data.get("kinds"):
        raise RegardError("there is nothing to look at: the data has no attention of any kind")
    longest = max(len(side["pieces"]) for side in data["sides"].values())
    if longest > LONGEST:
        raise RegardError(
            f"the text has {longest:,} tokens and a page shows {LONGEST:,} at most; look at a shorter part of it"
        )
    blobs = Blobs()
    measures, notes = packed_measures(_measures(data), blobs, budget)
    facts = _facts(data, measures, notes)
    facts["evidence"], facts["sentences"] = _evidence(data, blobs, budget - blobs.size)
    return _filled(_title(data), data, facts, blobs), notes


def _measures(data: Data) -> list[Measure]:
    """What can be shown, the most wanted first: when room is short, the last are the first to go."""
    found = [_per_head(data, *given) for given in MEASURES]
    found += [_shared(data, *given) for given in FLOWS]
    names = _term_names(data)
    found += [_term(data, i, name) for i, name in enumerate(names)]
    return [measure for measure in found if measure.kinds]


def _per_head(data: Data, name: str, key: str, label: str, told: str) -> Measure:
    kinds = {
        kind: _layers(kind, key, given[key]) for kind, given in data["kinds"].items() if given.get(key) is not None
    }
    label = label.format((data.get("against") or {}).get("name"))
    shares, averaged, signed, own = (name in names for names in (SHARES, AVERAGED, SIGNED, OWN))
    return Measure(name, label, told, kinds, total=shares, averaged=averaged, signed=signed, own=own)


def _term(data: Data, index: int, name: str) -> Measure:
    kinds = {
        kind: [layer[:, index] for layer in _layers(kind, "terms", values, axes=4)]
        for kind, values in _terms(data).items()
    }
    told = "One of the terms that add up to the score."
    return Measure(f"term{index}", f"Score: {name}", told, kinds, averaged=True, signed=True, group="score")


def _terms(data: Data) -> dict[str, list[Any]]:
    """The terms of kinds that have them in some layer; in the others, where they are not known, there is no number."""
    found = {}
    for kind, given in data["kinds"].items():
        values = (given.get("terms") or {}).get("values", ())
        if any(layer is not None for layer in values):
            unknown = (
                np.full((len(w), len(given["terms"]["names"]), *w.shape[1:]), math.nan) for w in given["weights"]
            )
            found[kind] = [hole if layer is None else layer for layer, hole in zip(values, unknown, strict=True)]
    return found


def _shared(data: Data, name: str, label: str, told: str, keys: tuple[str, str, str]) -> Measure:
    """A measure of all layers together: every head of a kind shows the same."""
    flow = data.get("flow") or {}
    places = dict(zip(("encoder", "cross", "decoder"), (keys[0] or "encoder", *keys[1:]), strict=True))
    kinds = {
        kind: [np.asarray(flow[key])[None]]
        for kind, key in places.items()
        if kind in data["kinds"] and key and flow.get(key) is not None
    }
    return Measure(name, label, told, kinds, total=name in SHARES, signed=name in SIGNED, shared=True)


def _layers(kind: str, key: str, layers: Sequence[Any], axes: int = 3) -> Layers:
    arrays = [np.asarray(layer) for layer in layers]
    for number, array in enumerate(arrays):
        if array.ndim != axes:
            raise RegardError(f"{kind}.{number}.{key}: expected {axes} axes, got shape {array.shape}")
    return arrays


def _term_names(data: Data) -> list[str]:
    return next((list(given["terms"]["names"]) for given in data["kinds"].values() if given.get("terms")), [])


def _facts(data: Data, measures: list[dict[str, Any]], notes: list[str]) -> dict[str, Any]:
    flow = data.get("flow") or {}
    terms = _term_names(data)
    return {
        "run": data.get("run", ""),
        "sides": data["sides"],
        "kinds": [_kind(name, given, data.get("pruned", ())) for name, given in data["kinds"].items()],
        "measures": measures,
        "terms": [f"term{i}" for i in range(len(terms))],
        "termLabels": terms,
        "roles": ROLES,
        "letters": _letters(data),
        "history": _history(data.get("history") or []),
        "aligner": (data.get("alignment") or {}).get("best"),
        "corpus": _corpus(data.get("corpus") or {}),
        "sourceShare": flow.get("source_share"),
        "mixing": flow.get("mixing") or {},
        "contrast": flow.get("contrast") or {},
        "against": data.get("against"),
        "disagreement": flow.get("disagreement"),
        "limits": _limits(measures),
        "caveats": list(data.get("caveats") or ()),
        "notes": notes,
    }


def _limits(measures: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What each measure that is there may be taken for, and what not; the terms of a score are told once."""
    found = [
        {"label": measure["label"], "told": measure["help"], "not": LIMITS[measure["name"]]}
        for measure in measures
        if measure["name"] in LIMITS
    ]
    terms = [measure for measure in measures if measure["name"].startswith("term")]
    return found + [{"label": "Terms of a score", "told": m["help"], "not": LIMITS["terms"]} for m in terms[:1]]


def _history(moments: Sequence[Data]) -> dict[str, Any]:
    """Measures through training, a list a head and measure; of very many moments every n-th and the last."""
    every = max(1, math.ceil(len(moments) / MOMENTS))
    kept = [moment for i, moment in enumerate(moments) if i % every == 0 or i == len(moments) - 1]
    names = {name for moment in kept for name in moment["heads"]}
    heads = {
        name: {key: [_short(moment["heads"].get(name, {}).get(key)) for moment in kept] for key in CURVES}
        for name in sorted(names)
    }
    roles = {
        name: [[moment["heads"].get(name, {}).get(key) for key in THEN] for moment in kept] for name in sorted(names)
    }
    return {"steps": [moment["step"] for moment in kept], "heads": heads, "roles": roles}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _corpus(corpus: Data) -> str:
    """What roles and costs were measured on, as a sentence; empty where nothing was."""
    if not corpus.get("sentences"):
        return ""
    number, costed = corpus["sentences"], corpus.get("costed", 0)
    fewer = f" (costs on {costed:,} of them)" if 0 < costed < number else ""
    return f"Measured on {number:,} sentences of {corpus['what']}{fewer}; random weights: {corpus['baseline']}."


def _letters(data: Data) -> dict[str, str]:
    """The roles that are there with their letters, the most frequent first."""
    heads = [head for given in data["kinds"].values() for layer in given["heads"] for head in layer if head.get("role")]
    letters = {head["role"]: head["letter"] for head in heads}
    return {role: letters[role] for role, _ in Counter(head["role"] for head in heads).most_common()}


def _kind(name: str, given: Data, pruned: Sequence[str]) -> dict[str, Any]:
    gone = [place for place in map(_place, pruned) if place[0] == name]
    return {
        "name": name,
        "label": LABELS[name],
        "rows": given["rows"],
        "columns": given["columns"],
        "causal": given.get("causal", False),
        "heads": [
            [_head(given, layer, i, head) for i, head in enumerate(heads)] for layer, heads in enumerate(given["heads"])
        ],
        "pruned": [[layer, head] for _, layer, head in gone],
    }


def _head(given: Data, layer: int, index: int, head: Data) -> dict[str, Any]:
    """What is known of a head, with all names there, so that the page need not ask which are."""
    known = dict.fromkeys(HEAD)
    known |= {key: value for key, value in head.items() if key != "evidence"}
    shares = given["terms"]["shares"][layer] if given.get("terms") else None
    toeplitz = given["toeplitz"][layer][index] if given.get("toeplitz") else None
    return known | {"index": index, "shares": None if shares is None else shares[index], "toeplitz": toeplitz}


def _place(name: str) -> tuple[str, int, int]:
    """`decoder.2.cross.1` -> kind, layer, head."""
    stack, layer, which, head = name.split(".")
    return ("cross" if which == "cross" else stack), int(layer), int(head)


def _evidence(data: Data, blobs: Blobs, room: int) -> tuple[dict[str, Any], list[list[str]]]:
    """Best, median and worst sentences of each head, three decimals each, sentences written once."""
    found: dict[str, Any] = {}
    sentences: dict[tuple[str, ...], int] = {}
    start = blobs.size
    for given in data["kinds"].values():
        for head in (head for layer in given["heads"] for head in layer):
            cards = head.get("evidence") or []
            if not cards or blobs.size - start > room:
                continue
            flat = np.concatenate([np.asarray(card["weights"]).ravel() for card in cards])
            numbered = [
                {side: sentences.setdefault(tuple(card[side]), len(sentences)) for side in ("rows", "columns")}
                for card in cards
            ]
            told = [{"which": card["which"], "lift": card["lift"]} for card in cards]
            found[head["name"]] = blobs.keep(pack([flat], finest=1)) | {
                "cards": [a | b for a, b in zip(numbered, told, strict=True)]
            }
    return found, [list(sentence) for sentence in sentences]


def _title(data: Data) -> str:
    return f"{data.get('run') or 'model'}: what it looks at"


def _filled(title: str, data: Data, facts: dict[str, Any], blobs: Blobs) -> str:
    style = static("look", "look.css").read_text(encoding="utf-8")
    code = script(static("look"), "main")
    policy = (
        f"default-src 'none'; script-src {digest(code)}; style-src {digest(style)}; base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": policy,
        "title": escape(title),
        "heading": escape(title),
        "sentence": escape(" → ".join(side["text"] for side in _texts(data))),
        "style": style,
        "facts": _json(facts),
        "blobs": blobs.html(),
        "script": code,
    }
    page = static("look", "look.html").read_text(encoding="utf-8")
    # In one pass: what is put in may itself hold the name of a place, and must not be read again.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], page)


def _texts(data: Data) -> list[Data]:
    sides = data["sides"]
    return [sides[name] for name in ("source", "target") if name in sides]


def _json(facts: dict[str, Any]) -> str:
    """JSON that may stand in a script element: no `<`, no NaN, numbers with no more digits than they are worth."""
    return json.dumps(_plain(facts), ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return clean(value) if isinstance(value, str) else value
