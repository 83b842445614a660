"""Summaries of inspections as lines of text."""

from collections.abc import Iterator, Mapping, Sequence

from regard.inspection.heads.patterns import RELATIONS
from regard.inspection.positions import StackPositions
from regard.jobs.look.heads import HeadTable
from regard.jobs.look.positions import tabulate_preferred_distances
from regard.report import Table, format_alignment, format_head_table, format_shares
from regard.report.look.data import FlowData, LookData, MethodAgreement, ReferenceDivergence, TermArrays

MOST_CHANGED = 3
"""Heads that a comparison names."""


def summarize_sentence(data: LookData, table: HeadTable | None) -> list[str]:
    """The sentence, its alignment, its heads, and where its words come from."""
    source, target = data.sides["source"], data.sides.get("target")
    lines = [source.text] if target is None else [source.text, target.text, ""]
    if data.alignment is not None and target is not None:
        lines += [f"alignment by {data.alignment.best}: {data.alignment.pharaoh}"]
        lines += [format_alignment(source.words, target.words, pairs=data.alignment.links), ""]
    if table is not None:
        lines += [format_head_table(table.as_table()), "", f"heads measured on {table.describe_sentences()}"]
    for kind, attention in data.kinds.items():
        lines += _describe_terms(kind, attention.terms)
    return [*lines, *_describe_flow(data.flow), *_describe_reference(data.reference)]


def summarize_heads(table: HeadTable) -> list[str]:
    """The table of heads, with a legend and the best alignment head."""
    assigned_roles = {facts.role.name for facts in table.facts if facts.role}
    measured_roles = {role.name for facts in table.facts for role in facts.roles}
    lines = [
        format_head_table(table.as_table()),
        "",
        f"measured on {table.describe_sentences()}; lift: 1 is perfect, 0 is chance;",
        "role in parentheses: not reliable, only the nearest; importance: gradient of the head's gate;",
        "cost: increase of the loss without the head, in nats per token",
    ]
    if table.keep_only_costs:
        lines.append("keep only: increase of the loss without all other heads of its attention, in nats per token")
    if measured_roles & set(RELATIONS) and not assigned_roles & set(RELATIONS):
        lines.append("grammar: no head has an agreement role that a fixed distance could not explain")
    lines += [
        f"grammar: {facts.head} attends from {facts.role.name}"
        for facts in table.facts
        if facts.role and facts.role.name in RELATIONS
    ]
    return [*lines, *_describe_aligner(table)]


def summarize_evidence(table: HeadTable) -> list[str]:
    """The best, median and worst sentence of every head with a role."""
    lines = []
    for facts in table.facts:
        if facts.role is not None and (evidence := table.find_evidence(facts)):
            sentences = "; ".join(
                f"{item.rank} {item.lift:.2f}: {table.examples[item.example_index].source.text}" for item in evidence
            )
            lines.append(f"{facts.head} as {facts.role.name}: {sentences}")
    return lines


def summarize_positions(stack_positions: Sequence[StackPositions]) -> list[str]:
    """What position encodings hold, and where each head attends with the same token at every position."""
    lines = [line for positions in stack_positions for line in _describe_stack(positions)]
    table = tabulate_preferred_distances(stack_positions)
    return [*lines, "", "with the same token at every position:", *_format_distances(table)]


def _describe_stack(positions: StackPositions) -> Iterator[str]:
    yield f"{positions.stack}: positions {positions.scheme}"
    if not positions.tables:
        yield "  no parameters or tables" + (
            ": only the causal mask distinguishes positions" if positions.stack == "decoder" else ""
        )
    for table in positions.tables:
        rows, columns = table.values.shape
        explained_variance = (table.singular_values**2).cumsum() / (table.singular_values**2).sum()
        num_directions = int((explained_variance < 0.9).sum()) + 1
        yield (
            f"  {table.name}: {rows} {table.row_axis}s × {columns} ({table.column_axis}); distance explains "
            f"{table.distance_share:.0%} of their similarity; 90% of the variance in {num_directions} of "
            f"{len(explained_variance)} directions"
        )


def _format_distances(table: Table) -> Iterator[str]:
    yield f"{'head':18} {'preferred distance':18} {'times uniform':>13} {'explained by distance':>21}"
    for row in table.rows():
        share = "–" if row["explained by distance"] is None else f"{row['explained by distance']:.0%}"
        yield f"{row['head']:18} {row['preferred distance']:18} {row['times uniform']:13.2f} {share:>21}"


def _describe_aligner(table: HeadTable) -> list[str]:
    if table.aligners is None:
        return []
    (head, best), mean = table.aligners.best, table.aligners.average
    if not table.aligners.judged_by_gold:
        return [f"best alignment head: {head} (no gold alignments; ranked by deviation from a one-to-one alignment)"]
    recall = f", recall {best.counts.recall:.2f}" if best.counts.sure_links else ""
    quality = f"AER {best.counts.aer:.3f} against gold, precision {best.counts.precision:.2f}{recall}"
    return [f"best alignment head: {head} ({quality}; all heads averaged {mean.counts.aer:.3f})"]


def _describe_terms(kind: str, terms: TermArrays) -> list[str]:
    """The shares of the terms of a kind, over the layers where they are known."""
    known_shares = {layer: shares for layer, shares in enumerate(terms.shares) if shares is not None}
    if not known_shares:
        return []
    mean = sum(shares.sum(axis=0) for shares in known_shares.values()) / sum(map(len, known_shares.values()))
    layers_note = "" if len(known_shares) == len(terms.shares) else f", layer {', '.join(map(str, known_shares))} only"
    shares_text = format_shares(terms.names, mean.tolist())
    return [f"scores of {kind} attention{layers_note}: {shares_text}"] if shares_text else []


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
