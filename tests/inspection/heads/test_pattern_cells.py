"""Patterns cell by cell, and the choice among the roles of a head."""

import math

import numpy as np
import pytest

from regard.config import Head
from regard.data.corpora import Link
from regard.inspection.example import Example, TokenizedText, tokens_from_ids
from regard.inspection.heads import patterns
from regard.inspection.heads.patterns import (
    OFFSETS,
    RELATIONS,
    ROLE_LETTERS,
    ROLE_ORDER,
    TokenCounts,
    best_offset_accuracy,
    block_pattern,
    build_patterns,
    diagonal_pattern,
    repeated_random_probes,
)
from regard.inspection.heads.roles import (
    BASELINE_MARGIN,
    MIN_LIFT,
    NEAR_BEST_RATIO,
    OFFSET_MARGIN,
    AttentionStatistics,
    HeadAnalysis,
    RandomBaseline,
    RoleScore,
    _nan_mean,
    _score_roles,
    _subsample,
    find_evidence,
    make_attn_mask,
)
from regard.inspection.heads.statistics import PatternFit
from regard.inspection.trace import attention_sites
from tests.inspection.conftest import config_of, model_of


def side(tokens: str, special: str = "") -> TokenizedText:
    """Tokens between blanks; those of the same word are joined by +."""
    words = tokens.split()
    pieces = [piece for word in words for piece in word.split("+")]
    word_ids = [n for n, word in enumerate(words) for _ in word.split("+")]
    mask = tuple(piece in special.split() for piece in pieces)
    ids = tuple(10 + sum(map(ord, piece)) % 89 for piece in pieces)
    return TokenizedText("", ids, tuple(pieces), tuple(word_ids), tuple(words), mask)


SOURCE = side("the cat+s , the dog . </s>", "</s>")
TARGET = side("le+s chat , le chien </s>", "</s>")
EXAMPLE = Example(
    SOURCE,
    side("<s> le+s chat , le chien", "<s>"),
    TARGET,
    alignment=((0, 0), (1, 1)),
    possible_alignment=((4, 4),),
    source_links=(Link("determiner-noun", 1, 0), Link("determiner-noun", 4, 3)),
)
COUNTS = TokenCounts.from_examples([EXAMPLE])


def cells(matrix: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.argwhere(matrix)}


def test_patterns_within_a_sentence_are_their_definitions():
    found = build_patterns(EXAMPLE, "encoder", COUNTS)
    n, ids = len(SOURCE), SOURCE.ids
    for offset, name in OFFSETS.items():
        assert cells(found[name]) == {(i, i + offset) for i in range(n) if 0 <= i + offset < n}
    assert cells(found["local"]) == {(i, j) for i in range(n) for j in range(n) if abs(i - j) <= 2}
    assert cells(found["duplicate"]) == {(i, j) for i in range(n) for j in range(i) if ids[i] == ids[j]} == {(4, 0)}
    assert cells(found["induction"]) == {(i, j) for i in range(n) for j in range(1, i + 1) if ids[j - 1] == ids[i]}
    assert cells(found["separator"]) == {(i, j) for i in range(n - 1) for j in (3, 6, 7)}
    assert cells(found["block"]) == {(i, j) for part in (range(4), range(4, 7)) for i in part for j in part}
    assert cells(found["determiner to noun"]) == {(0, 1), (0, 2), (4, 5)}
    assert cells(found["noun to determiner"]) == {(1, 0), (2, 0), (5, 4)}
    assert not found["adjective to noun"].any() and set(RELATIONS) < set(found)
    assert cells(build_patterns(EXAMPLE, "decoder", COUNTS)["determiner to noun"]) == set()


def test_patterns_between_sentences_are_their_definitions():
    found = build_patterns(EXAMPLE, "cross", COUNTS)
    assert set(found) == {"separator", "rare", "diagonal", "alignment"}
    assert cells(found["alignment"]) == {(0, 0), (1, 0), (2, 1), (2, 2), (5, 5)}
    rows, columns = len(TARGET), len(SOURCE)
    middle = [round(i * (columns - 1) / (rows - 1)) for i in range(rows)]
    assert cells(found["diagonal"]) == {(i, j) for i in range(rows) for j in range(columns) if abs(j - middle[i]) <= 1}
    assert cells(diagonal_pattern(1, 4)) == {(0, 0), (0, 1)}
    assert not build_patterns(Example(SOURCE, EXAMPLE.decoder_input, TARGET), "cross", COUNTS)["alignment"].any()


def test_a_clause_ends_at_punctuation_that_something_follows():
    assert not block_pattern(side("a b c")).any() and not block_pattern(side("a b .")).any()
    assert not block_pattern(side("a b . </s>", "</s>")).any()
    assert cells(block_pattern(side("a , b c"))) == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)}


def test_the_rarest_token_is_attended_to_unless_it_is_frequent(monkeypatch):
    counts = TokenCounts(dict.fromkeys(SOURCE.ids, 5) | {SOURCE.ids[5]: 1}, {})
    assert cells(build_patterns(EXAMPLE, "encoder", counts)["rare"]) == {(i, 5) for i in range(len(SOURCE) - 1)}
    monkeypatch.setattr(patterns, "NUM_FREQUENT", 3)
    common = TokenCounts({i: 10 - n for n, i in enumerate(dict.fromkeys(SOURCE.ids))}, {})
    assert common.frequent_ids["source"] == frozenset(list(dict.fromkeys(SOURCE.ids))[:3])
    assert build_patterns(EXAMPLE, "encoder", common)["rare"].any()
    first = Example(tokens_from_ids(list(dict.fromkeys(SOURCE.ids))[:3]))
    assert not build_patterns(first, "encoder", common)["rare"].any()
    few = TokenCounts(dict.fromkeys(first.source.ids, 1), {})
    assert build_patterns(first, "encoder", few)["rare"].any()  # where all tokens are few, none is frequent


def test_counts_are_those_of_the_examples():
    counts = TokenCounts.from_examples([EXAMPLE, Example(SOURCE)])
    the = SOURCE.ids[0]
    assert counts.source[the] == 4 and counts.target[TARGET.ids[0]] == TARGET.ids.count(TARGET.ids[0])
    assert sum(counts.target.values()) == len(TARGET)


def test_the_best_fixed_distance_is_that_of_most_links():
    links = tuple(Link("determiner-noun", d, 0) for d in (1, 1, 2, 3))
    example = Example(SOURCE, source_links=(*links, Link("verb-object", 9, 0)), target_links=links)
    assert best_offset_accuracy([example], "determiner to noun", "encoder") == 0.5
    assert best_offset_accuracy([example], "noun to determiner", "encoder") == 0.5
    assert best_offset_accuracy([example], "determiner to noun", "decoder") == 0  # the noun is in the future
    assert best_offset_accuracy([example], "noun to determiner", "decoder") == 0.5
    assert best_offset_accuracy([], "noun to determiner", "encoder") == 0


def test_a_distance_is_the_same_wherever_the_words_stand():
    """Three links of one distance in three places, one of another; the sums of their positions all differ."""
    pairs = ((1, 0), (6, 5), (9, 8), (2, 5))
    example = Example(SOURCE, source_links=tuple(Link("determiner-noun", head, other) for head, other in pairs))
    turned = Example(SOURCE, target_links=tuple(Link("determiner-noun", other, head) for head, other in pairs))
    for role in ("determiner to noun", "noun to determiner"):
        assert best_offset_accuracy([example], role, "encoder") == 3 / 4
    for role in ("determiner to noun", "noun to determiner"):  # what is in the future is not counted
        assert best_offset_accuracy([turned], role, "decoder") == 1


def test_probes_are_random_tokens_twice():
    probes = repeated_random_probes(1000, 5, 11, has_decoder=True)
    for probe in probes:
        ids = probe.source.ids
        assert len(ids) == 22 and ids[:11] == ids[11:] and len(set(ids)) == 11 and min(ids) >= 300 and max(ids) < 1000
        assert probe.decoder_input is probe.target is probe.source
    assert len({probe.source.ids for probe in probes}) == 5
    (small,) = repeated_random_probes(20, 1, 11, has_decoder=False)
    assert len(small.source.ids) == 20 and min(small.source.ids) >= 10 and small.target is None
    assert repeated_random_probes(1000, 5, 11, True) == probes != repeated_random_probes(1000, 5, 11, True, seed=2)


def test_a_mask_of_a_decoder_is_causal():
    assert make_attn_mask("encoder", 2, 3).all() and make_attn_mask("cross", 2, 3).all()
    assert make_attn_mask("decoder", 3, 3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def score(name: str, lift: float, reliable: bool = True) -> RoleScore:
    return RoleScore(name, lift, lift - 0.1, lift + 0.1, lift, lift, 0.0, reliable)


def analysis(*roles: RoleScore) -> HeadAnalysis:
    return HeadAnalysis(Head.parse("encoder.0.self.1"), AttentionStatistics(1, 1, 1, 1, 1, 1), roles)


def test_the_most_specific_of_the_roles_near_the_best_is_chosen():
    local, previous = score("local", 0.8), score("previous", NEAR_BEST_RATIO * 0.8)
    one = analysis(local, previous)
    assert one.role is one.best is previous and one.runner_up is local
    assert one.margin == pytest.approx(previous.lift - 0.8)
    far = analysis(local, score("previous", NEAR_BEST_RATIO * 0.8 - 0.01))
    assert far.role is local and far.runner_up is far.roles[1]
    unsure = analysis(score("local", 0.8, reliable=False))
    assert unsure.role is None and unsure.best is unsure.roles[0] and unsure.margin is None
    copy = RoleScore("copy", 0.9, None, None, None, None, None, True)
    assert analysis(local, copy).role is local and analysis(unsure.roles[0], copy).role is copy
    assert analysis(local, copy).copying_score == 0.9 and one.copying_score is None
    assert analysis().best is None and analysis().describe() == "nothing could be measured"
    assert one.describe() == "previous, lift 0.60 (0.50 to 0.70), runner-up local 0.80"
    assert unsure.describe() == "no reliable role; nearest local, lift 0.80 (0.70 to 0.90)"
    assert copy.format_interval() == "by its weights" and set(ROLE_ORDER) == set(ROLE_LETTERS)


def fit(lift: float, hits: float, sentences: int = 20) -> PatternFit:
    """Ten rows in each sentence, uniform chance of one in ten, and this lift."""
    mass = np.full((sentences, 1), 10 * (0.1 + 0.9 * lift))
    mass += np.linspace(-0.01, 0.01, sentences)[:, None]
    return PatternFit(mass, np.full((sentences, 1), 10 * hits), np.full(sentences, 1.0), np.full(sentences, 10.0))


@pytest.fixture(scope="module")
def site():
    model = model_of(config_of({"kind": "sinusoidal"}, dim=8, heads=1))
    return attention_sites(model)[0]


def reliable(site, lift: float, name: str = "previous", bound: float = 0.0, hits: float = 1.0, **more) -> bool:
    examples = [Example(SOURCE, source_links=tuple(Link("determiner-noun", d, 0) for d in (1, 1, 2, 3)))]
    baseline = RandomBaseline(np.array([0.0]), np.array([bound]))
    (found,) = _score_roles(name, fit(lift, hits, **more), site, examples, baseline)
    assert found.lift == pytest.approx(lift) and found.macro_lift == pytest.approx(lift)
    assert found.argmax_rate == pytest.approx(hits) and found.name == name and found.baseline == 0
    return found.is_reliable


def test_a_role_is_reliable_above_three_thresholds(site):
    assert reliable(site, MIN_LIFT + 0.01) and not reliable(site, MIN_LIFT - 0.01)
    assert reliable(site, 0.6, bound=0.6 - BASELINE_MARGIN - 0.02)
    assert not reliable(site, 0.6, bound=0.6 - BASELINE_MARGIN + 0.02)
    assert not reliable(site, 0.9, bound=math.inf) and not reliable(site, 0.9, sentences=9)
    grammar = "determiner to noun"  # half of its links have one distance
    assert reliable(site, 0.9, grammar, hits=0.5 + OFFSET_MARGIN)
    assert not reliable(site, 0.9, grammar, hits=0.5 + OFFSET_MARGIN - 0.05) and reliable(site, 0.9, hits=0.0)
    nothing = PatternFit(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros(3), np.zeros(3))
    assert _score_roles("previous", nothing, site, [], RandomBaseline(None, np.zeros(1))) == []


def test_evidence_is_the_best_the_median_and_the_worst_sentence():
    mass = np.array([[5.0], [9.0], [1.0], [7.0], [3.0], [0.0]])
    one = PatternFit(mass, mass, np.array([1.0, 1, 1, 1, 1, 0]), np.array([10.0, 10, 10, 10, 10, 0]))
    found = find_evidence(one, 0)
    assert [(e.rank, e.example_index) for e in found] == [("best", 1), ("median", 0), ("worst", 2)]
    assert [e.lift for e in found] == pytest.approx([8 / 9, 4 / 9, 0])
    none = PatternFit(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(2), np.zeros(2))
    assert find_evidence(none, 0) == []


def test_means_leave_out_what_is_unknown_and_samples_are_spread():
    table = np.array([[[1.0, math.nan]], [[3.0, math.nan]], [[math.nan, math.nan]]])
    found = _nan_mean(table)
    assert found[0, 0] == 2 and math.isnan(found[0, 1])
    assert list(_subsample(range(10), 3)) == [0, 3, 6, 9] and list(_subsample(range(3), 64)) == [0, 1, 2]  # type: ignore[arg-type]
