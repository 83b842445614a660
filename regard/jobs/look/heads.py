"""The table of heads: the role of each, how reliable it is, its importance and its cost of removal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from regard.config import Head
from regard.errors import ConfigError
from regard.files import resolve
from regard.inspection.example import Example, count_pharaoh_words
from regard.inspection.heads.alignment import AlignmentRanking, format_pharaoh, rank_alignment_heads
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
from regard.jobs.look.inspected_run import (
    DEFAULT_EXAMPLES,
    InspectedRun,
    load_aligned_examples,
    load_default_examples,
    load_file_examples,
    make_grammar_examples,
    reject_options,
)
from regard.jobs.run_kind import describe
from regard.model.transformer import EncoderDecoder
from regard.progress import track
from regard.report import Table, TableView, Value, render_fragment
from regard.run import Run
from regard.tasks.translate.guided_alignment import guided_heads

ABLATION_SENTENCES = 60
"""Sentences on which each head is ablated: one forward pass per head and sentence."""


@dataclass(frozen=True, repr=False)
class HeadTable:
    """What is known about the heads of a model on a corpus."""

    facts: list[HeadAnalysis]
    importance: dict[Head, float]
    costs: dict[Head, AblationCost]
    keep_only_costs: dict[Head, AblationCost]
    """The cost of removing all other heads of the same attention; empty unless requested."""
    ablation_sentences: int
    """The number of sentences that costs were measured on, from the first; 0: no costs."""
    aligners: AlignmentRanking | None
    """Heads of cross-attention as aligners, best first; None for an encoder-only model."""
    trained_aligners: tuple[Head, ...]
    """The head that guided alignment has trained to align; None without guided alignment."""
    examples: list[Example]
    corpus_name: str
    """The source of the sentences, for display."""
    fits: PatternFitTable
    model: Model

    def find_evidence(self, facts: HeadAnalysis) -> list[EvidenceSentence]:
        """The sentences that fit a head's pattern best, median and worst.

        Empty for roles that are measured on random tokens, and for copying, which is no pattern of weights.
        """
        if facts.best is None or facts.best.name in (*PROBE_ROLES, "copy"):
            return []
        attention_heads = [other.head for other in self.facts if other.head.attention_name == facts.head.attention_name]
        return find_evidence(
            self.fits.by_site[facts.head.attention_name][facts.best.name], attention_heads.index(facts.head)
        )

    @cached_property
    def evidence_weights(self) -> dict[tuple[Head, int], Tensor]:
        """The weights (Tq, Tk) of each head in its evidence; one forward pass per sentence serves all heads."""
        heads_by_example: dict[int, list[Head]] = {}
        for facts in self.facts:
            for item in self.find_evidence(facts):
                heads_by_example.setdefault(item.example_index, []).append(facts.head)
        rows = {head: h for site in attention_sites(self.model) for h, head in enumerate(site.heads)}
        weights_by_head: dict[tuple[Head, int], Tensor] = {}
        for example, heads in track(heads_by_example.items(), "collecting evidence"):
            weights = attention_weights(self.model, [self.examples[example]])[0]
            weights_by_head |= {(head, example): weights[head.attention_name][rows[head]].clone() for head in heads}
        return weights_by_head

    def describe_sentences(self) -> str:
        """The sentences that heads were measured on, in words."""
        ablation_note = (
            f" (costs on {self.ablation_sentences:,} of them)"
            if 0 < self.ablation_sentences < len(self.examples)
            else ""
        )
        return f"{len(self.examples):,} sentences of {self.corpus_name}{ablation_note}"

    def error_rate(self, head: Head) -> float | None:
        """AER of a cross-attention head where gold alignments are known."""
        if self.aligners is None or not self.aligners.judged_by_gold or head not in self.aligners.heads:
            return None
        return self.aligners.heads[head].counts.aer

    def format_links(self) -> str:
        """The links of the best alignment head in Pharaoh format, words as `count_pharaoh_words` counts them.

        One line per pair of the files; empty for a pair that could not be measured.
        """
        assert self.aligners is not None
        links_by_line: dict[int, str] = {}
        sources = count_pharaoh_words([example.source for example in self.examples])
        targets = count_pharaoh_words([example.target or example.source for example in self.examples])
        rows = zip(self.examples, sources, targets, self.aligners.best[1].links, strict=True)
        for example, source, target, links in rows:
            if example.line is not None and example.target is not None:
                links_by_line[example.line] = format_pharaoh({(source[s], target[t]) for s, t in links})
        return "".join(f"{links_by_line.get(line, '')}\n" for line in range(max(links_by_line, default=-1) + 1))

    def as_table(self) -> Table:
        """One row per head."""
        return Table.from_rows(self._row(facts) for facts in self.facts)

    def __str__(self) -> str:
        return str(
            self.as_table().select("head", "role", "best", "lift", "low", "high", "entropy", "importance", "cost")
        )

    def __repr__(self) -> str:
        return f"<HeadTable of {len(self.facts)} heads, measured on {self.describe_sentences()}>"

    def _repr_html_(self) -> str:
        return render_fragment([TableView(self.as_table(), caption=f"Heads, measured on {self.describe_sentences()}")])

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
            "macro lift": best.macro_lift if best else None,
            "argmax rate": best.argmax_rate if best else None,
            "random lift": best.baseline if best else None,
            "runner-up": runner_up.name if runner_up else None,
            "margin": facts.margin,
            **{name.replace("_", " "): value for name, value in facts.statistics._asdict().items()},
            "importance": self.importance.get(facts.head),
            "cost": cost.cost if cost else None,
            "cost low": cost.low if cost else None,
            "cost high": cost.high if cost else None,
            "keep only": keep_only_cost.cost if keep_only_cost else None,
            "keep only low": keep_only_cost.low if keep_only_cost else None,
            "keep only high": keep_only_cost.high if keep_only_cost else None,
            "AER": self.error_rate(facts.head),
            "trained to align": "yes" if facts.head in self.trained_aligners else "no",
            "copying": facts.copying_score,
        }


@dataclass(frozen=True)
class HeadOptions:
    """What `regard heads` measures."""

    files: Sequence[str] = ()
    """Pairs to measure on; empty: the run's dev set."""
    sentences: int = DEFAULT_EXAMPLES
    grammar: bool = False
    """Whether sentences of the built-in corpus, whose grammar is known, are added."""
    ablation: str = "zero"
    keep_only: bool = False
    gold: Path | None = None
    links: bool = False
    """Whether the links of the best alignment head are needed."""


def inspect_heads(inspected_run: InspectedRun, options: HeadOptions) -> HeadTable:
    """The table of heads of a run."""
    if not inspected_run.translates:
        translation_options = {
            "--pharaoh": options.links,
            "--gold": options.gold,
            "--keep-only": options.keep_only,
            "--ablate": options.ablation != "zero",
        }
        reason = f"needs a translator, and {inspected_run.run.folder} is {describe(inspected_run.config)}; leave it out"
        reject_options(translation_options, reason)
    examples, corpus_name = _select_examples(inspected_run, options)
    return measure_heads(inspected_run, examples, corpus_name, options.ablation, keep_only=options.keep_only)


def _select_examples(inspected_run: InspectedRun, options: HeadOptions) -> tuple[list[Example], str]:
    if options.gold is not None:
        if not options.files:
            raise ConfigError(
                "--gold needs the pairs that the links belong to, as in regard heads RUN test.en test.fr --gold …"
            )
        examples, corpus_name = load_aligned_examples(inspected_run, options.files, options.gold, options.sentences)
    elif options.files:
        examples, corpus_name = load_file_examples(inspected_run, options.files, options.sentences)
    else:
        examples, corpus_name = load_default_examples(inspected_run, options.sentences)
    if not options.grammar:
        return examples, corpus_name
    grammar_examples = make_grammar_examples(inspected_run)
    if options.gold is not None:  # aligners are judged by one gold standard only
        grammar_examples = [replace(example, alignment=None) for example in grammar_examples]
    return examples + grammar_examples, f"{corpus_name} and the built-in corpus"


def measure_heads(
    inspected_run: InspectedRun,
    examples: Sequence[Example],
    corpus_name: str,
    ablation: str = "zero",
    ablation_sentences: int = ABLATION_SENTENCES,
    keep_only: bool = False,
) -> HeadTable:
    """Every measure of every head on these sentences; `keep_only` adds the cost of removing all other heads."""
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
        trained_aligners=find_trained_aligners(inspected_run.run),
        examples=examples,
        corpus_name=corpus_name,
        fits=pattern_fits,
        model=model,
    )


def find_trained_aligners(run: Run) -> tuple[Head, ...]:
    """The heads that guided alignment has trained in this run, or in one that it was initialized from."""
    folders: set[Path] = set()
    while run.config.exists() and resolve(run.folder) not in folders:
        config = run.load_config()
        if (heads := guided_heads(config)) or not config.train.init_from:
            return tuple(head for head in heads if str(head) not in config.model.pruned)
        folders.add(resolve(run.folder))
        run = Run(Path(config.train.init_from))
    return ()


def role_letter(facts: HeadAnalysis) -> str:
    """The letter of a head's role."""
    return ROLE_LETTERS[facts.role.name] if facts.role else NO_ROLE_LETTER
