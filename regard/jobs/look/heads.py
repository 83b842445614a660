"""The table of heads: what each is for, how surely, and what it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from regard.config import Head
from regard.inspection.example import Example
from regard.inspection.heads.alignment import AlignmentRanking, rank_alignment_heads
from regard.inspection.heads.importance import AblationCost, ablate_all_but_one, ablate_heads, head_importance
from regard.inspection.heads.patterns import NO_ROLE_LETTER, PROBE_ROLES, ROLE_LETTERS, TokenCounts
from regard.inspection.heads.roles import (
    EvidenceSentence,
    HeadAnalysis,
    PatternFitTable,
    analyze_heads,
    find_evidence,
    fit_all_patterns,
)
from regard.inspection.trace import Model, attention_sites, attention_weights
from regard.jobs.look.inspected_run import InspectedRun
from regard.model.transformer import EncoderDecoder
from regard.report import Table, Value

ABLATION_SENTENCES = 60
"""Sentences on which each head is taken away: one pass for every head and sentence."""


@dataclass(frozen=True)
class HeadTable:
    """All that is known of a model's heads on a corpus."""

    facts: list[HeadAnalysis]
    importance: dict[Head, float]
    costs: dict[Head, AblationCost]
    keep_only_costs: dict[Head, AblationCost]
    """What it costs if a head is the only one of its attention that is left; empty where nobody asked."""
    ablation_sentences: int
    """Sentences that costs were measured on: the first so many; 0 where nothing was."""
    aligners: AlignmentRanking | None
    """Heads of cross-attention as aligners, best first; None where there is none."""
    examples: list[Example]
    corpus_name: str
    """Where the sentences come from."""
    fits: PatternFitTable
    model: Model

    def find_evidence(self, facts: HeadAnalysis) -> list[EvidenceSentence]:
        """The sentences that fit a head's pattern best, middling and worst; none where it was asked on random tokens,
        or is no pattern."""
        if facts.best is None or facts.best.name in (*PROBE_ROLES, "copy"):
            return []
        attention_heads = [other.head for other in self.facts if other.head.attention_name == facts.head.attention_name]
        return find_evidence(
            self.fits.by_site[facts.head.attention_name][facts.best.name], attention_heads.index(facts.head)
        )

    @cached_property
    def evidence_weights(self) -> dict[tuple[Head, int], Tensor]:
        """What each head looked at (Tq, Tk) in the sentences of its evidence; a sentence is read once for all heads."""
        heads_by_example: dict[int, list[Head]] = {}
        for facts in self.facts:
            for item in self.find_evidence(facts):
                heads_by_example.setdefault(item.example_index, []).append(facts.head)
        rows = {head: h for site in attention_sites(self.model) for h, head in enumerate(site.heads)}
        weights_by_head: dict[tuple[Head, int], Tensor] = {}
        for example, heads in heads_by_example.items():
            weights = attention_weights(self.model, [self.examples[example]])[0]
            weights_by_head |= {(head, example): weights[head.attention_name][rows[head]].clone() for head in heads}
        return weights_by_head

    def describe_sentences(self) -> str:
        """What everything was measured on, in words."""
        ablation_note = (
            f" (costs on {self.ablation_sentences:,} of them)"
            if 0 < self.ablation_sentences < len(self.examples)
            else ""
        )
        return f"{len(self.examples):,} sentences of {self.corpus_name}{ablation_note}"

    def error_rate(self, head: Head) -> float | None:
        """AER of a head of cross-attention, where gold is known."""
        if self.aligners is None or not self.aligners.judged_by_gold or head not in self.aligners.heads:
            return None
        return self.aligners.heads[head].counts.aer

    def as_table(self) -> Table:
        """A row a head."""
        return Table.from_rows(self._row(facts) for facts in self.facts)

    def _row(self, facts: HeadAnalysis) -> dict[str, Value]:
        best, runner_up, cost = facts.best, facts.runner_up, self.costs.get(facts.head)
        keep_only_cost = self.keep_only_costs.get(facts.head)
        return {
            "head": str(facts.head),
            "role": facts.role.name if facts.role else None,
            "best": best.name if best else None,
            "lift": best.lift if best else None,
            "low": best.low if best else None,
            "high": best.high if best else None,
            "lift by sentence": best.macro_lift if best else None,
            "argmax": best.argmax_rate if best else None,
            "random": best.baseline if best else None,
            "runner-up": runner_up.name if runner_up else None,
            "margin": facts.margin,
            **facts.statistics._asdict(),
            "importance": self.importance.get(facts.head),
            "cost": cost.cost if cost else None,
            "cost low": cost.low if cost else None,
            "cost high": cost.high if cost else None,
            "alone": keep_only_cost.cost if keep_only_cost else None,
            "alone low": keep_only_cost.low if keep_only_cost else None,
            "alone high": keep_only_cost.high if keep_only_cost else None,
            "AER": self.error_rate(facts.head),
            "copying": facts.copying_score,
        }


def measure_heads(
    inspected_run: InspectedRun,
    examples: Sequence[Example],
    corpus_name: str,
    ablation: str = "zero",
    ablation_sentences: int = ABLATION_SENTENCES,
    keep_only: bool = False,
) -> HeadTable:
    """Every measure of every head on these sentences; `others`: what each is worth without the others, too."""
    model, examples = inspected_run.model, list(examples)
    counts = inspected_run.count_tokens() or TokenCounts.from_examples(examples)
    pattern_fits = fit_all_patterns(model, examples, counts)
    facts = analyze_heads(
        model, examples, inspected_run.build_random_model(), counts, pattern_fits, inspected_run.joint_vocab
    )
    translates = isinstance(model, EncoderDecoder)
    ablation_examples = examples[:ablation_sentences] if translates else []
    costs = ablate_heads(model, ablation_examples, ablation=ablation) if ablation_examples else []
    return HeadTable(
        facts=facts,
        importance=head_importance(model, examples) if translates else {},
        costs={cost.head: cost for cost in costs},
        keep_only_costs={cost.head: cost for cost in ablate_all_but_one(model, ablation_examples)}
        if keep_only and ablation_examples
        else {},
        ablation_sentences=len(ablation_examples),
        aligners=rank_alignment_heads(model, examples) if isinstance(model, EncoderDecoder) else None,
        examples=examples,
        corpus_name=corpus_name,
        fits=pattern_fits,
        model=model,
    )


def role_letter(facts: HeadAnalysis) -> str:
    """One letter for a badge."""
    return ROLE_LETTERS[facts.role.name] if facts.role else NO_ROLE_LETTER
