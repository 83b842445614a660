"""A small invented look: every part of docs/look_contract.md filled with numbers that add up."""

from typing import Any

import numpy as np

TERMS = ["content·content", "content·position", "position·content", "position·position", "constant", "distance"]
SOURCE = ["▁I", "▁love", "▁do", "gs", ",", "▁but", "▁cat", "s", "▁don", "'", "t", "▁care", ".", "</s>"]
TARGET = ["▁J", "'", "aime", "▁les", "▁chi", "ens", ",", "▁mais", "▁les", "▁chats", "▁s", "'", "en", "▁mo", "quent"]
TARGET += [".", "</s>"]
ROLES = [("previous", "P"), ("next", "N"), ("alignment", "A"), (None, "·"), ("separator", "X")]


def side(pieces: list[str]) -> dict[str, Any]:
    word, words = [], []
    for piece in pieces:
        special = piece in ("<s>", "</s>")
        if not special and (piece.startswith("▁") or piece in ",." or not words):
            words.append(piece.removeprefix("▁"))
        elif not special:
            words[-1] += piece
        word.append(-1 if special else len(words) - 1)
    return {
        "text": "".join(piece for piece in pieces if piece not in ("<s>", "</s>")).replace("▁", " ").strip(),
        "pieces": pieces,
        "word": word,
        "words": words,
        "special": [piece in ("<s>", "</s>") for piece in pieces],
    }


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - np.nanmax(scores, axis=-1, keepdims=True))
    powers = np.nan_to_num(powers, nan=0.0)
    return powers / powers.sum(axis=-1, keepdims=True)


def kind(name: str, rows: int, columns: int, layers: int, heads: int, rng: np.random.Generator) -> dict[str, Any]:
    names = {"encoder": ("source", "source"), "decoder": ("read", "read"), "cross": ("target", "source")}[name]
    terms = [_terms(name, rows, columns, heads, layer, rng) for layer in range(layers)]
    scores = [layer.sum(axis=1) for layer in terms]
    weights = [softmax(layer) for layer in scores]
    lengths = [rng.uniform(0.5, 3, (heads, columns)) for _ in range(layers)]
    shares = rng.dirichlet(np.ones(6), (layers, heads))
    made = {
        "rows": names[0],
        "columns": names[1],
        "causal": name == "decoder",
        "weights": weights,
        "scores": scores,
        "value_norms": lengths,
        "norms": [w * length[:, None] for w, length in zip(weights, lengths, strict=True)],
        "terms": {"names": TERMS, "values": terms, "shares": list(shares)},
        "signed": [w * rng.normal(0.1, 0.1, w.shape) for w in weights],
        "gradient": [w * rng.uniform(0, 0.1, w.shape) for w in weights],
        "then": (then := [softmax(layer + rng.normal(0, 1, layer.shape)) for layer in scores]),
        "change": [w - before for w, before in zip(weights, then, strict=True)],
        "heads": [[head(name, layer, h, weights[layer][h], rng) for h in range(heads)] for layer in range(layers)],
    }
    if name != "cross":
        made["toeplitz"] = list(rng.uniform(0, 1, (layers, heads)))
    return {key: _small(value) for key, value in made.items()}


def head(name: str, layer: int, number: int, weights: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    role, letter = ROLES[(layer + number) % len(ROLES)]
    lift = float(rng.uniform(0.4, 0.95))
    path = {"encoder": "encoder.{}.self.{}", "decoder": "decoder.{}.self.{}", "cross": "decoder.{}.cross.{}"}[name]
    cost = float(rng.normal(0.01, 0.01))
    pieces = [f"▁w{i}" for i in range(9)]
    matrix = rng.dirichlet(np.ones(9) * 0.2, 9)
    evidence = [
        {"which": which, "lift": lift + more, "rows": pieces, "columns": pieces, "weights": matrix}
        for which, more in (("best", 0.05), ("median", 0.0), ("worst", -0.3))
    ]
    return {
        "name": path.format(layer, number), "layer": layer, "head": number, "role": role, "letter": letter,
        "lift": lift, "low": lift - 0.03, "high": lift + 0.02, "by_sentence": lift - 0.01,
        "argmax": lift, "baseline": 0.01,
        "runner_up": "local", "runner_up_lift": lift - 0.3, "margin": 0.3, "best": role or "local",
        "entropy": 0.7, "evenness": 0.32, "effective_keys": 2.0, "confidence": 0.8, "distance": 1.3, "deviation": 0.9,
        "importance": float(rng.uniform(0, 1)), "cost": cost, "cost_low": cost - 0.008, "cost_high": cost + 0.008,
        "aer": 0.31 if name == "cross" else None, "copying": 0.2,
        "trust": {
            "twin": path.format(layer, 1 - number % 2), "twin_apart": 0.05 + layer / 10, "places_apart": 0.3,
            "gradient": 0.71, "shuffled": 0.004 if number == 0 else 0.125, "even": 0.031,
        },
        "note": f"{role or 'no sure role'}, lift {lift:.2f}, runner-up local {lift - 0.3:.2f}", "evidence": evidence,
    }  # fmt: skip


def look_data(
    layers: int = 3, heads: int = 4, source: list[str] | None = None, target: list[str] | None = None
) -> dict[str, Any]:
    """The whole dictionary, as `regard.jobs.look.page.look_data` would make it."""
    rng = np.random.default_rng(7)
    source, target = list(source or SOURCE), list(target or TARGET)
    S, T = len(source), len(target)
    kinds = {
        "encoder": kind("encoder", S, S, layers, heads, rng),
        "decoder": kind("decoder", T, T, layers, heads, rng),
        "cross": kind("cross", T, S, layers, heads, rng),
    }
    share = rng.uniform(0.3, 0.9, T)
    names = ["weights", "norms", "rollout", "flow", "gradient"]
    return {
        "version": 1, "run": "sample", "architecture": "encoder-decoder", "norm": "pre",
        "positions": {"encoder": "sinusoidal", "decoder": "sinusoidal"}, "pruned": [],
        "sides": {"source": side(source), "target": side(target), "read": side(["<s>", *target[:-1]])},
        "kinds": kinds, "against": {"name": "step 400", "moved": {}},
        "flow": {
            "encoder": rng.dirichlet(np.ones(S), S), "source": rng.dirichlet(np.ones(S), T) * share[:, None],
            "target": np.tril(rng.dirichlet(np.ones(T), T)), "source_share": share,
            "beyond": rng.normal(0, 0.1, (S, S)), "beyond_source": rng.normal(0, 0.1, (T, S)),
            "beyond_target": np.tril(rng.normal(0, 0.1, (T, T))), "contrast": {"encoder": [0.31, 0.12]},
            "max_flow": rng.uniform(0, 1, (S, S)), "max_flow_source": None,
            "mixing": {name: list(rng.uniform(0, 1, (layers, S if name == "encoder" else T))) for name in kinds},
            "disagreement": {"names": names, "correlation": _agreement()},
        },
        "corpus": {"sentences": 200, "costed": 60, "what": "test", "baseline": "the same model with random weights"},
        "alignment": {"best": "decoder.0.cross.1", "links": [[0, 0]], "pharaoh": "0-0", "aer": None},
        "history": [_moment(step) for step in (100, 200, 400, 800)],
        "caveats": ["Attention shows where a head looks, not why the model says what it says."],
    }  # fmt: skip


def _agreement() -> np.ndarray:
    """Four measures that agree by halves, flow and norms least of all, and no gradient."""
    table = np.eye(5) * 0.5 + 0.5
    table[1, 3] = table[3, 1] = 0.25
    table[4] = table[:, 4] = np.nan
    return table


def _moment(step: int) -> dict[str, Any]:
    known = {"entropy": 2 - step / 1000, "confidence": step / 1000, "lift": step / 1200}
    known |= {"role": "previous", "letter": "P"} if step > 150 else {"role": None, "letter": "·"}
    return {"step": step, "heads": {"encoder.0.self.0": known}}


def _terms(name: str, rows: int, columns: int, heads: int, layer: int, rng: np.random.Generator) -> np.ndarray:
    """Six terms whose sum has a shape: each head prefers a distance of its own."""
    terms = rng.normal(0, 0.7, (heads, 6, rows, columns))
    gap = np.arange(columns)[None] - np.arange(rows)[:, None] * columns / rows
    for h in range(heads):
        terms[h, 5] -= np.abs(gap - (h - heads // 2)) * (0.5 + layer)
    if name == "decoder":
        terms[:, :, np.triu(np.ones((rows, columns), dtype=bool), 1)] = np.nan
    return terms


def _small(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [array.astype(np.float32) for array in value]
    return value
