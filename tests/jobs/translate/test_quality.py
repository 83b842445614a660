"""What a translation has lost, and what only looks like it."""

import pytest

from regard.data.text_statistics import TextStatistics, measure_texts
from regard.data.tokenizer import train_tokenizer
from regard.errors import DataError
from regard.jobs.translate.quality import QualityCheck
from regard.tasks.translate import Translation

TEXT = "the cat sees the dog 0 1 2 3 4 5 6 7 8 9"
TOKENIZER = train_tokenizer([TEXT] * 9, 300, "bpe")


def issues(source: str, text: str, truncated: bool = False, characters: str | None = None) -> list[tuple[str, str]]:
    statistics = TextStatistics(source_characters=None if characters is None else frozenset(characters))
    checked = QualityCheck(TOKENIZER, statistics).check(source, Translation(text, -1.0, truncated))
    return [(issue.kind, issue.message) for issue in checked.issues]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("1,000.5 cats", "1 000,5 chats"),
        ("1,000.5 cats", "1\u202f000,5 chats"),
        ("1000000 cats", "1.000.000 chats"),
        ("on 05/12", "12/5"),
        ("3 cats", "٣ cats"),
        ("３ cats", "3 chats"),
        ("at 3:30", "3 h 30"),
        ("two cats", "2 chats"),
        ("%1$s of {0} <g1>cats</g1>", "chats de bla"),
    ],
)
def test_numbers_that_are_written_otherwise_are_not_lost(source: str, text: str):
    assert [kind for kind, _ in issues(source, text) if kind == "numbers"] == []


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("3 cats", "the cats", "it lacks 3"),
        ("3 cats", "5 chats", "it has 5 instead of 3"),
        ("1,000.5 cats", "1.000 chats", "it has 1.000 instead of 1,000.5"),
        ("3 of 3 cats", "3 chats", "it lacks 3"),
    ],
)
def test_lost_numbers_are_named(source: str, text: str, message: str):
    assert ("numbers", message) in issues(source, text)


def test_far_too_short_is_an_omission_and_so_is_what_was_cut():
    long = "the cat sees the dog " * 5
    assert [kind for kind, _ in issues(long, "the cat")] == ["omission"]
    assert issues(long, long) == [] and issues("the cat", "cat") == []
    assert [kind for kind, _ in issues("the cat", "the cat", truncated=True)] == ["omission"]
    assert issues("  ", "  ") == []


def test_characters_are_those_of_the_training_text_or_of_the_vocabulary():
    assert issues("the 犬", "the dog") == [("characters", "its source has 犬, which the model has never seen")]
    assert issues("the cat", "the cat", characters="the") == [
        ("characters", "its source has c, a, which the model has never seen")
    ]
    assert issues("the 犬", "the dog", characters="the犬") == []
    assert "U+00A0" in issues("a\u00a0cat", "the cat")[0][1]


def test_the_ratio_is_learned_from_the_training_text():
    sources = ["the cat sees the dog and the bird"] * 1000
    half, same = (measure_texts(sources, [source[::step] for source in sources], "en") for step in (2, 1))
    assert half.min_length_ratio < 0.6 < same.min_length_ratio < 1
    assert TextStatistics.from_dict(same.as_dict()) == same
    assert measure_texts(["One. Two.", "One."], ["Un. Deux.", "Un."], "en").multi_sentence_share == 0.5


@pytest.mark.parametrize("table", [[], {}, {"min_length_ratio": "x"}, {"min_length_ratio": float("nan")}])
def test_damaged_statistics_are_refused(table: object):
    with pytest.raises(DataError, match="expected"):
        TextStatistics.from_dict(table)
