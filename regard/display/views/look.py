"""What `regard look` prints: a sentence with its translation, alignment and heads; a corpus; position encodings."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from regard.display.console import is_plain
from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.display.views.heads import TRAINED, TRAINED_MARK, describe_roles, format_head_table, format_heads
from regard.inspection.positions import StackPositions
from regard.jobs.look.heads import HeadTable
from regard.jobs.look.inspections import Inspection
from regard.jobs.look.positions import tabulate_preferred_distances
from regard.report import format_alignment, format_shares
from regard.report.look.data import FlowData, LookData, MethodAgreement, ReferenceDivergence, TermArrays
from regard.report.text import isolate

DISTANCE_COLUMNS = (
    Column("head"),
    Column("preferred distance", wraps=True),
    Column("times uniform", right=True),
    Column("explained by distance", right=True, wraps=True),
)
MOST_CHANGED = 3
"""Heads that a comparison names."""


def format_inspection(inspection: Inspection, width: int, verbose: bool = False) -> list[str]:
    """What `regard look` has found: a sentence, the heads on a corpus, or the position encodings."""
    if inspection.sentence is not None:
        lines = format_sentence(inspection.sentence, inspection.heads, width, verbose)
    elif inspection.heads is not None:
        lines = format_heads(inspection.heads, width, verbose)
        lines += wrap_all(summarize_evidence(inspection.heads), width, "", "  ")
    else:
        lines = format_positions(inspection.positions, width)
    return [*lines, *wrap_all([*filter(None, [inspection.figure]), *inspection.notes], width, "", "  ")]


def format_sentence(data: LookData, table: HeadTable | None, width: int, verbose: bool = False) -> list[str]:
    """The sentence and its translation, its alignment, the heads, and where its words come from."""
    source, target = data.sides["source"], data.sides.get("target")
    lines = wrap(source.text, width)
    lines += [] if target is None else wrap(target.text, width, "→ ", "  ")
    if data.alignment is not None and target is not None:
        alignment = format_alignment(
            source.words, target.words, pairs=data.alignment.links, width=width, plain=is_plain()
        )
        lines += ["", *alignment.split("\n"), ""]
        trained = ", trained to align" if data.alignment.best == data.alignment.trained else ""
        lines += wrap(f"aligned by {data.alignment.best}{trained}: {data.alignment.pharaoh}", width, "", "  ")
    if table is not None:
        lines += ["", *wrap(describe_roles(table), width), *format_head_table(table.as_table(), width, verbose), ""]
        marks = [f"{TRAINED_MARK} {TRAINED}"] if table.trained_aligners else []
        lines += wrap_all([*marks, f"heads measured on {table.describe_sentences()}"], width, "", "  ")
    facts = [text for kind, attention in data.kinds.items() for text in _describe_terms(kind, attention.terms)]
    facts += [*_describe_flow(data.flow), *_describe_reference(data.reference)]
    return [*lines, *wrap_all(facts, width, "", "  ")]


def summarize_evidence(table: HeadTable) -> list[str]:
    """The best, median and worst sentence of every head with a role."""
    lines = []
    for facts in table.facts:
        if facts.role is not None and (evidence := table.find_evidence(facts)):
            sentences = "; ".join(
                f"{item.rank} {item.lift:.2f}: {isolate(table.examples[item.example_index].source.text)}"
                for item in evidence
            )
            lines.append(f"{facts.head} as {facts.role.name}: {sentences}")
    return lines


def format_positions(stack_positions: Sequence[StackPositions], width: int) -> list[str]:
    """What position encodings hold, and where each head attends with the same token at every position."""
    lines = wrap_all((line for positions in stack_positions for line in _describe_stack(positions)), width, "", "  ")
    table = tabulate_preferred_distances(stack_positions)
    rows = [
        [
            str(row["head"]),
            str(row["preferred distance"]),
            f"{row['times uniform']:.2f}",
            "–" if row["explained by distance"] is None else f"{row['explained by distance']:.0%}",
        ]
        for row in table.rows()
    ]
    lines += ["", *wrap("with the same token at every position:", width)]
    return [*lines, *format_table(DISTANCE_COLUMNS, rows, width)]


def _describe_stack(positions: StackPositions) -> Iterator[str]:
    yield f"{positions.stack}: positions {positions.scheme}"
    if not positions.tables:
        yield "no parameters or tables" + (
            ": only the causal mask distinguishes positions" if positions.stack == "decoder" else ""
        )
    for table in positions.tables:
        rows, columns = table.values.shape
        size = f"{table.name}: {rows} {table.row_axis}s × {columns} ({table.column_axis})"
        if math.isnan(table.distance_share):
            yield f"{size}; all rows are equal"
            continue
        explained_variance = (table.singular_values**2).cumsum() / (table.singular_values**2).sum()
        num_directions = int((explained_variance < 0.9).sum()) + 1
        yield (
            f"{size}; distance explains {table.distance_share:.0%} of their similarity; 90% of the variance in "
            f"{num_directions} of {len(explained_variance)} directions"
        )


def _describe_terms(kind: str, terms: TermArrays) -> list[str]:
    """The shares of the terms of a kind, over the layers where they are known."""
    known_shares = {
        layer: known
        for layer, shares in enumerate(terms.shares)
        if shares is not None and len(known := shares[~np.isnan(shares).any(axis=1)])
    }
    if not known_shares:
        return []
    mean = np.concatenate(list(known_shares.values())).mean(axis=0)
    layers_note = "" if len(known_shares) == len(terms.shares) else f", layer {', '.join(map(str, known_shares))} only"
    shares_text = format_shares(terms.names, mean.tolist())
    return [f"scores of {kind} attention{layers_note}: {shares_text}{_count_unknown(terms)}"] if shares_text else []


def _count_unknown(terms: TermArrays) -> str:
    """How many positions are left out of the shares, since too few sentences of the corpus reach them."""
    shapes = [values.shape[2:] for values in terms.values if values is not None]
    known = [positions for positions in terms.known_positions if positions is not None]
    (queries, keys), (known_queries, known_keys) = (map(min, zip(*counts, strict=True)) for counts in (shapes, known))
    unknown = [
        f"{total - known_count} of {total} {name}"
        for name, total, known_count in (("queries", queries, known_queries), ("keys", keys, known_keys))
        if known_count < total
    ]
    reason = "too few sentences of the corpus are that long"
    return f"; {' and '.join(unknown)} left out: {reason}" if unknown else ""


def _describe_flow(flow: FlowData) -> list[str]:
    lines = []
    if (share := flow.source_share) is not None:
        lines.append(f"source contribution to the output: {share.mean():.0%} ({share.min():.0%} to {share.max():.0%})")
    lines += [
        f"rollout of {kind} attention: rows differ by {contrast.observed:.2f} (total variation), "
        f"with permuted weights by {contrast.chance:.2f}"
        for kind, contrast in flow.contrast.items()
    ]
    return [*lines, *_describe_agreement(flow.agreement)]


def _describe_agreement(agreement: MethodAgreement) -> list[str]:
    names, correlation = agreement.names, agreement.correlation
    pairs = {(a, b): float(correlation[i, j]) for i, a in enumerate(names) for j, b in enumerate(names[:i])}
    known_pairs = {pair: value for pair, value in pairs.items() if value == value}
    if not known_pairs:
        return []
    best, worst = (_extreme_pair(known_pairs, sign) for sign in (1, -1))
    return [f"attribution methods agree best for {best}, worst for {worst}; rank correlation"]


def _extreme_pair(correlations: Mapping[tuple[str, str], float], sign: int) -> str:
    pair = max(correlations, key=lambda pair: sign * correlations[pair])
    return f"{' and '.join(pair)} ({correlations[pair]:.2f})"


def _describe_reference(reference: ReferenceDivergence | None) -> list[str]:
    """The heads that differ most from the reference model."""
    if reference is None:
        return []
    most_changed = sorted(reference.divergence, key=lambda head: -reference.divergence[head])[:MOST_CHANGED]
    heads = ", ".join(f"{head} ({reference.divergence[head]:.2f})" for head in most_changed)
    scale = "Jensen-Shannon divergence, 0 identical, 1 disjoint"
    return [f"compared with {reference.name}, most changed: {heads or 'no head in common'}; {scale}"]
