"""Word alignment read from cross-attention, and its error rate against gold."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import Head
from regard.errors import DataError
from regard.inspection.example import Example, TokenizedText
from regard.inspection.trace import attention_sites, attention_weights
from regard.model.transformer import EncoderDecoder
from regard.progress import track

Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class AlignmentCounts:
    """Agreement of an alignment with gold, summed over sentences."""

    links: int = 0
    sure_links: int = 0
    sure_matches: int = 0
    """Predicted links that are sure in gold: |A ∩ S|."""
    possible_matches: int = 0
    """Predicted links that are at least possible in gold: |A ∩ P|."""

    def __add__(self, other: "AlignmentCounts") -> "AlignmentCounts":
        own_counts, other_counts = astuple(self), astuple(other)
        return AlignmentCounts(*(a + b for a, b in zip(own_counts, other_counts, strict=True)))

    @property
    def aer(self) -> float:
        """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), links A, sure ones S, possible ones P.  Och and Ney 2003."""
        return (
            1 - (self.sure_matches + self.possible_matches) / (self.links + self.sure_links)
            if self.links + self.sure_links
            else 0.0
        )

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|"""
        return self.possible_matches / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|"""
        return self.sure_matches / self.sure_links if self.sure_links else 0.0


Pairs = Iterable[tuple[int, int]]


def compare_links(links: Pairs, gold: Pairs, possible: Pairs = ()) -> AlignmentCounts:
    """Compare the links (source word, target word) of one sentence with gold; sure links are possible as well."""
    link_set, sure_links = set(links), set(gold)
    return AlignmentCounts(
        len(link_set), len(sure_links), len(link_set & sure_links), len(link_set & (sure_links | set(possible)))
    )


def extract_links(word_weights: Tensor) -> Links:
    """Link each target word to the source word with the largest weight: (target words, source words) -> links.

    A target word that attends to no source word, but to the end token alone, has no link.
    """
    if not word_weights.numel():
        return frozenset()
    largest, sources = word_weights.max(dim=1)
    return frozenset((s, t) for t, (s, w) in enumerate(zip(sources.tolist(), largest.tolist(), strict=True)) if w > 0)


def merge_subwords(weights: Tensor, target: TokenizedText, source: TokenizedText) -> Tensor:
    """Token weights (…, T, S) -> word weights (…, target words, source words); rows sum to 1, without special tokens.

    Attention to a word is the sum over its tokens, attention from a word the mean over its tokens.  Clark et al. 2019.
    A token that covers several words, as in scripts without spaces, is divided by its characters in each of them.
    """
    source_shares, target_shares = _word_share_table(source).to(weights), _word_share_table(target).to(weights)
    word_weights = target_shares @ weights @ source_shares.T  # sums over tokens, of which the rows below are means
    return word_weights / word_weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)


def _word_share_table(side: TokenizedText) -> Tensor:
    """The share of each word in each token: (words, tokens)."""
    table = torch.zeros(len(side.words), len(side))
    for token, shares in enumerate(side.covered_words()):
        for word, share in shares.items():
            table[word, token] = share
    return table


@dataclass(frozen=True)
class HeadAlignment:
    """Word alignment by one cross-attention head, or by the average of all."""

    counts: AlignmentCounts
    """Agreement with gold, where it is known."""
    penalty: float
    """Without gold: the deviation from a one-to-one alignment."""
    links: tuple[Links, ...]
    """The links of every sentence."""


@dataclass(frozen=True)
class AlignmentRanking:
    """The alignments of all cross-attention heads, best first, and of their average."""

    heads: Mapping[Head, HeadAlignment]
    average: HeadAlignment
    judged_by_gold: bool
    """Whether heads are ranked by AER, and not by the penalty."""

    @property
    def best(self) -> tuple[Head, HeadAlignment]:
        return next(iter(self.heads.items()))

    def best_without(self, trained: Collection[Head]) -> tuple[Head, HeadAlignment] | None:
        """The best head but for those that guided alignment has trained; None if there is no other."""
        return next(((head, alignment) for head, alignment in self.heads.items() if head not in trained), None)


def alignment_penalty(word_weights: Tensor) -> float:
    """Coverage and absentmindedness penalties of word weights (T, S); 0 if one-to-one.  Rikters and Fishel 2017."""
    if not word_weights.numel():
        return 0.0
    coverage = -(1 + (1 - word_weights.sum(dim=0)).abs().pow(6)).log().mean()
    absentmindedness = (word_weights * word_weights.clamp(min=1e-30).log()).sum(dim=1).mean()
    return -float(coverage + absentmindedness)


def rank_alignment_heads(model: EncoderDecoder, examples: Sequence[Example]) -> AlignmentRanking:
    """Rank cross-attention heads as word aligners, by AER if gold is known, else by the alignment penalty.

    A target word is aligned by the row that predicts it. The average is of the heads' weights, not of their links.
    """
    cross_sites = [site for site in attention_sites(model) if site.kind == "cross"]
    heads = [head for site in cross_sites for head in site.heads]
    word_weights: list[Tensor] = []  # for each sentence (heads, target words, source words)
    for example, attn_weights in zip(examples, attention_weights(model, examples), strict=True):
        assert example.target is not None
        head_weights = torch.cat([attn_weights[site.name].float() for site in cross_sites])
        word_weights.append(merge_subwords(head_weights, example.target, example.source))
    gold = has_gold(examples)
    alignments = {
        head: _align([sentence_weights[i] for sentence_weights in word_weights], examples)
        for i, head in enumerate(track(heads, "ranking alignment heads"))
    }
    order = sorted(alignments, key=lambda head: alignments[head].counts.aer if gold else alignments[head].penalty)
    average = _align([sentence_weights.mean(dim=0) for sentence_weights in word_weights], examples)
    return AlignmentRanking({head: alignments[head] for head in order}, average, gold)


def _align(word_weights: Sequence[Tensor], examples: Sequence[Example]) -> HeadAlignment:
    links = tuple(extract_links(sentence_weights) for sentence_weights in word_weights)
    total = AlignmentCounts()
    for sentence_links, example in zip(links, examples, strict=True):
        if example.alignment is not None:
            total += compare_links(sentence_links, example.alignment, example.possible_alignment)
    return HeadAlignment(total, sum(map(alignment_penalty, word_weights)) / len(word_weights), links)


def has_gold(examples: Iterable[Example]) -> bool:
    """Whether any example has gold links, so that aligners can be ranked by AER."""
    return any(example.alignment or example.possible_alignment for example in examples)


class PharaohLinks(NamedTuple):
    """The links of one line in Pharaoh format."""

    sure: Links
    possible: Links


def parse_pharaoh(line: str, where: str) -> PharaohLinks:
    """Sure and possible links of a line in Pharaoh format: `0-0 1-2 3p1`, source word and target word."""
    links_by_mark: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for text in line.split():
        match = re.fullmatch(r"(\d+)([-p])(\d+)", text)
        if match is None:
            raise DataError(f"{where}: '{text}' is not a link; expected 0-0 for a sure link, 0p0 for a possible one")
        links_by_mark[match[2]].add((int(match[1]), int(match[3])))
    return PharaohLinks(frozenset(links_by_mark["-"]), frozenset(links_by_mark["p"]))


def format_pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links in Pharaoh format: `0-0 1-2`, source word and target word."""
    return " ".join(f"{s}-{t}" for s, t in sorted(links))
