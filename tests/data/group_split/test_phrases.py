"""Groups of phrases, compared with a search that reads every pair of texts."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.data.group_split import phrases as phrases_room
from regard.data.group_split.phrases import PhraseGroups, WordEncoder

TEXTS = st.lists(st.text("abc", min_size=1, max_size=13).map(" ".join), min_size=1, max_size=23)


def is_part(short: str, long: str) -> bool:
    return short != long and f" {short} " in f" {long} "


@settings(deadline=None, max_examples=300)
@given(TEXTS)
@example(["a a a", "a a", "a", "a a a a"])
def test_groups_are_those_of_a_search_of_all_pairs(texts):
    encode = WordEncoder()
    groups = PhraseGroups([encode(text) for text in texts])
    distinct = {int(number): text for number, text in zip(groups.numbers, texts, strict=True)}
    maximal = {n for n, text in distinct.items() if not any(is_part(text, other) for other in texts)}
    assert set(groups) == maximal
    for number, text in distinct.items():
        containers = [m for m in maximal if is_part(text, distinct[m])]
        assert groups.num_containers[number] == len(containers)
        wanted = number if number in maximal else containers[0] if len(containers) == 1 else -1
        assert groups.groups[number] == wanted
        assert groups.sizes[number] == len(text.split())
    some = sorted(maximal)[::2]
    counts = groups.count_containers(some)
    assert all(counts[n] == sum(is_part(text, distinct[m]) for m in some) for n, text in distinct.items())


@settings(deadline=None)
@given(TEXTS)
def test_anchors_change_nothing_but_the_time(texts):
    encode = WordEncoder()
    encoded = [encode(text) for text in texts]
    anchors, phrases_room.ANCHORS = phrases_room.ANCHORS, (1,)
    try:
        simple = PhraseGroups(encoded)
    finally:
        phrases_room.ANCHORS = anchors
    assert simple.groups.tolist() == PhraseGroups(encoded).groups.tolist()


def test_words_are_compared_without_case_and_marks():
    encode = WordEncoder()
    assert encode("A good, film!") == encode("a  good film") != encode("good a film")
    assert encode("...") == encode("...") != encode("!")
    assert encode("") == encode(" ")


def test_no_text_has_no_group():
    assert list(PhraseGroups([])) == []
