"""Look into a model: what it attends to while it reads and writes, as plain numbers for pages, figures and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.data.batch import collate
from regard.data.corpora import word_spans
from regard.inspection.example import Example, Side
from regard.inspection.flow import decompose, norms
from regard.inspection.flow.attribution import NAMES, Flow, answers, disagreement, flow, gradients, slopes
from regard.inspection.flow.rollout import contrast
from regard.inspection.heads.alignment import by_words, link, pharaoh, to_words
from regard.inspection.heads.patterns import LETTERS, NO_ROLE
from regard.inspection.heads.roles import HeadFacts, Spread
from regard.inspection.trace import Look, Trace, cross_weights, trace
from regard.jobs.look.compare_attention import Other, moved
from regard.jobs.look.faithfulness import trusted
from regard.jobs.look.heads import HeadTable, letter
from regard.jobs.look.inspected_run import Subject
from regard.report import Table, Value
from regard.run import Run
from regard.tasks.translate import Translator
from regard.training import log

BATCH = 64
BESIDE = ("signed", "then", "change")
"""What stands in the last columns of a head's table, where it is known."""
CAVEATS = (
    "A weight says where a head looks, not that the output depends on it: see cost of removal.",
    "Roles are measured on a corpus; a sentence may be an exception, and a head may do several things.",
    "Removing one head at a time hides what heads do for each other.",
)


@dataclass(frozen=True)
class Attention:
    """Cross-attention averaged over all layers and heads, by pieces and by words."""

    source_pieces: list[str]
    target_pieces: list[str]
    pieces: Tensor  # (target pieces with eos, source pieces with eos)
    source_words: list[str]
    target_words: list[str]
    words: Tensor  # (target words, source words)


def attention(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Attention]:
    """What was looked at when each source is translated as its target."""
    found = []
    for start in range(0, len(sources), BATCH):
        found += _attention(translator, sources[start : start + BATCH], targets[start : start + BATCH])
    return found


def _attention(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Attention]:
    read, write = translator.tokenizers.source, translator.tokenizers.target
    source_ids, target_ids = read.encode(sources), write.encode(targets)
    weights = cross_weights(translator.model, collate(source_ids, target_ids))
    found = []
    for i, all_heads in enumerate(weights):
        mean = all_heads.float().mean(dim=(0, 1)).cpu()  # (layers, H, T, S) -> (T, S)
        ends = (word_spans(sources[i]), word_spans(targets[i]))
        pieces = (read.spans(sources[i], source_ids[i]), write.spans(targets[i], target_ids[i]))
        found.append(
            Attention(
                source_pieces=[*read.convert_ids_to_tokens(source_ids[i]), "</s>"],
                target_pieces=[*write.convert_ids_to_tokens(target_ids[i]), "</s>"],
                pieces=mean,
                source_words=[sources[i][a:b] for a, b in ends[0]],
                target_words=[targets[i][a:b] for a, b in ends[1]],
                words=by_words(mean, *pieces, words=ends) if ends[0] and ends[1] else torch.zeros(0, 0),
            )
        )
    return found


def look_data(
    subject: Subject,
    example: Example,
    table: HeadTable | None = None,
    means: decompose.Common | None = None,
    other: Other | None = None,
) -> dict[str, Any]:
    """Everything that a page shows of one sentence, as plain numbers and arrays: see docs/look_contract.md."""
    seen, model = trace(subject.model, example), subject.model
    slope = slopes(model, example)
    found = flow(seen)
    names = {"encoder": ("source", "source"), "decoder": ("read", "read"), "cross": ("target", "source")}
    present = {kind: looks for kind in names if (looks := seen.kind(kind))}
    sides = {"source": example.source, "target": example.target, "read": example.read}
    m = subject.config.model
    places = {"encoder": m.encoder.positions or m.positions, "decoder": m.decoder.positions or m.positions}
    return {
        "version": 1,
        "run": subject.run.folder.resolve().name,
        "architecture": m.architecture,
        "norm": m.norm,
        "positions": {stack: own.kind for stack, own in places.items() if stack in present},
        "pruned": list(m.pruned),
        "sides": {name: _side(side) for name, side in sides.items() if side is not None},
        "kinds": {
            kind: _kind(subject, seen, names[kind], looks, (slope, table, means)) | _then(looks, other)
            for kind, looks in present.items()
        },
        "against": None if other is None else {"name": other.name, "moved": moved(list(seen.looks.values()), other)},
        "flow": _flow(seen, found, gradients(seen, slope)),
        "corpus": {
            "sentences": len(table.examples) if table else 0,
            "costed": table.costed if table else 0,
            "what": table.what if table else "",
            "baseline": "the same model with random weights",
        },
        "alignment": _aligned(seen, table),
        "history": history(subject.run),
        "caveats": list(CAVEATS),
    }


def common_of(subject: Subject, examples: Sequence[Example], most: int = 50) -> decompose.Common:
    """What tokens have in common over some sentences: what position and content are told apart by."""
    return decompose.common(subject.model, [trace(subject.model, example) for example in examples[:most]])


def history(run: Run) -> list[dict[str, Any]]:
    """What was measured of heads through training, with the letter of each one's role then."""
    moments = list(log.read(run.head_history)) if run.head_history.exists() else []
    for moment in moments:
        for own in moment["heads"].values():
            own["letter"] = LETTERS.get(own["role"], NO_ROLE)
    return moments


def arrays(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of `look_data` by flat names, for an NPZ file: cross.2.weights, flow.source …"""
    found: dict[str, Any] = {}
    for kind, own in data["kinds"].items():
        for what in ("weights", "scores", "value_norms", "norms", "signed", "gradient", "then", "change"):
            for layer, array in enumerate(own.get(what) or ()):
                found[f"{kind}.{layer}.{what}"] = array
        for layer, (values, shares) in enumerate(zip(own["terms"]["values"], own["terms"]["shares"], strict=True)):
            if values is not None:
                found[f"{kind}.{layer}.terms"], found[f"{kind}.{layer}.shares"] = values, shares
        found[f"{kind}.apart"] = own["apart"]
    found["flow.disagreement"] = data["flow"]["disagreement"]["correlation"]
    found |= {f"flow.{name}": array for name, array in data["flow"].items() if isinstance(array, np.ndarray)}
    for name, side in data["sides"].items():
        found[f"pieces.{name}"] = np.array(side["pieces"])
    return found


def cells(data: Mapping[str, Any], kind: str, layer: int, row: int) -> Table:
    """One head as a table: a row for each query and key that it may look at."""
    own = data["kinds"][kind]
    queries, keys = (data["sides"][own[side]]["pieces"] for side in ("rows", "columns"))
    every = own["terms"]["values"][layer]
    names = own["terms"]["names"] if every is not None else ()
    rows: list[dict[str, Value]] = []
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            score = float(own["scores"][layer][row, i, j])
            if math.isnan(score):
                continue
            terms = every[row, :, i, j].tolist() if names else ()
            rows.append(
                {
                    "query": i,
                    "key": j,
                    "from": query,
                    "to": key,
                    "weight": float(own["weights"][layer][row, i, j]),
                    "score": score,
                    "norm": float(own["norms"][layer][row, i, j]),
                    **dict(zip(names, terms, strict=True)),
                    **{what: float(own[what][layer][row, i, j]) for what in BESIDE if what in own},
                }
            )
    return Table.of(rows)


def _side(side: Side) -> dict[str, Any]:
    return {
        "text": side.text,
        "pieces": list(side.pieces),
        "word": list(side.word),
        "words": list(side.words),
        "special": list(side.special),
    }


def _kind(
    subject: Subject,
    seen: Trace,
    sides: tuple[str, str],
    looks: Sequence[Look],
    given: tuple[Mapping[str, Tensor], HeadTable | None, decompose.Common | None],
) -> dict[str, Any]:
    slope, table, means = given
    gradient = gradients(seen, slope)
    terms = [
        decompose.terms(subject.model, seen, look, means) if decompose.told_apart(look, means) else None
        for look in looks
    ]
    apart, trust = trusted(subject.model, seen, looks, terms, slope, shake=table is not None)
    kind = looks[0].site.kind
    data: dict[str, Any] = {
        "rows": sides[0],
        "columns": sides[1],
        "causal": kind == "decoder",
        "weights": [_array(look.weights) for look in looks],
        "scores": [_array(_hidden(look.scores, decompose.allowed(look))) for look in looks],
        "value_norms": [_array(norms.value_norms(look)) for look in looks],
        "norms": [_array(norms.norms(look)) for look in looks],
        "signed": [_array(norms.signed(look)) for look in looks],
        "terms": {
            "names": list(decompose.NAMES),
            "values": [one and _array(_hidden(one.six, one.keep[:, None])) for one in terms],
            "shares": [one and _array(decompose.shares(one.six, one.keep)) for one in terms],
        },
        "gradient": [_array(gradient[look.site.name]) for look in looks] if gradient else None,
        "heads": [[_head(head, table) | {"trust": trust[str(head)]} for head in look.site.heads] for look in looks],
        "apart": apart.astype(np.float32),
    }
    if kind != "cross":
        data["toeplitz"] = [decompose.distance_share(look).astype(np.float32) for look in looks]
    return data


def _then(looks: Sequence[Look], other: Other | None) -> dict[str, Any]:
    """What the same heads looked at in another model, and what has changed since."""
    if other is None:
        return {}
    then = [other.of(look) for look in looks]
    change = [look.weights - weights for look, weights in zip(looks, then, strict=True)]
    return {"then": [_array(one) for one in then], "change": [_array(one) for one in change]}


def _head(head: Head, table: HeadTable | None) -> dict[str, Any]:
    facts = next((one for one in table.facts if one.head == head), None) if table else None
    found: dict[str, Any] = {"name": str(head), "layer": head.layer, "head": head.number}
    best, other = (facts.best, facts.runner_up) if facts else (None, None)
    cost = table.costs.get(head) if table else None
    return found | {
        "role": facts.role.name if facts and facts.role else None,
        "letter": letter(facts) if facts else NO_ROLE,
        "best": best.name if best else None,
        "lift": best.lift if best else None,
        "by_sentence": best.by_sentence if best else None,
        "low": best.low if best else None,
        "high": best.high if best else None,
        "argmax": best.argmax if best else None,
        "baseline": best.baseline if best else None,
        "runner_up": other.name if other else None,
        "runner_up_lift": other.lift if other else None,
        "margin": facts.margin if facts else None,
        **(facts.numbers._asdict() if facts else dict.fromkeys(Spread._fields)),
        "importance": table.importance.get(head) if table else None,
        "cost": cost.cost if cost else None,
        "cost_low": cost.low if cost else None,
        "cost_high": cost.high if cost else None,
        "aer": table.error_rate(head) if table else None,
        "copying": facts.copying if facts else None,
        "note": facts.note() if facts else "heads were not measured",
        "evidence": _evidence(head, facts, table) if facts and table else [],
    }


def _evidence(head: Head, facts: HeadFacts, table: HeadTable) -> list[dict[str, Any]]:
    found = []
    kind = "cross" if head.kind == "cross" else head.stack
    for one in table.evidence(facts):
        example = table.examples[one.example]
        found.append(
            {
                "which": one.which,
                "lift": one.lift,
                "rows": list(example.named(kind).pieces),
                "columns": list(example.columns(kind).pieces),
                "weights": _array(table.shown[head, one.example]),
            }
        )
    return found


def _flow(seen: Trace, found: Flow, gradient: Mapping[str, Tensor]) -> dict[str, Any]:
    encoder, across = found.rolled.encoder, found.rolled.across
    by_chance = [way.encoder for way in found.chance]
    data: dict[str, Any] = {"encoder": _array(encoder), "beyond": _array(encoder - _mean(by_chance))}
    data["contrast"] = {"encoder": _contrast(encoder, by_chance)}
    if across is not None:
        ways = [way.across for way in found.chance if way.across is not None]
        sources = [way.source for way in ways]
        data["contrast"]["cross"] = _contrast(across.source, sources)
        data |= {
            "source": _array(across.source),
            "target": _array(across.target),
            "source_share": _array(across.source_share),
            "beyond_source": _array(across.source - _mean(sources)),
            "beyond_target": _array(across.target - _mean([way.target for way in ways])),
            "max_flow_source": None if found.max_flow_source is None else _array(found.max_flow_source),
        }
    return data | {
        "max_flow": None if found.max_flow is None else _array(found.max_flow),
        "mixing": {kind: [_array(one) for one in own] for kind, own in found.mixing.items()},
        "disagreement": {
            "names": list(NAMES),
            "correlation": disagreement(answers(seen, found, gradient)).astype(np.float32),
        },
    }


def _contrast(rolled: Tensor, by_chance: Sequence[Tensor]) -> list[float]:
    """How differently rows come about, in truth and by chance."""
    return [contrast(rolled), sum(map(contrast, by_chance)) / len(by_chance)]


def _mean(matrices: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(matrices)).mean(dim=0)


def _aligned(seen: Trace, table: HeadTable | None) -> dict[str, Any]:
    """What the best head of cross-attention aligns in this sentence."""
    if not seen.kind("cross") or table is None or table.aligners is None:
        return {"best": None, "links": [], "pharaoh": "", "aer": None}
    best, judged = table.aligners.best
    look, example = seen.looks[best.attention_name], seen.example
    assert example.target is not None
    weights = look.weights[look.site.heads.index(best)].float()
    links = sorted(link(to_words(weights, example.target, example.source)))
    return {
        "best": str(best),
        "links": [list(pair) for pair in links],
        "pharaoh": pharaoh(links),
        "aer": judged.counts.error_rate if table.aligners.gold else None,
    }


def _hidden(x: Tensor, keep: Tensor) -> Tensor:
    return x.masked_fill(~keep, math.nan)


def _array(x: Tensor) -> Any:
    return x.detach().float().cpu().numpy()
