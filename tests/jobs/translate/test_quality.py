"""What a translation has lost, and what only looks like it."""

from dataclasses import replace
from pathlib import Path

import pytest

from regard.data.text_statistics import TextStatistics, measure_texts
from regard.data.tokenizers.tokenizer import train_tokenizer
from regard.errors import DataError
from regard.formats import read_lines
from regard.jobs.translate.quality import QualityCheck
from regard.tasks.translate.translator import Translation

TEXT = "the cat sees the dog 0 1 2 3 4 5 6 7 8 9"
TOKENIZER = train_tokenizer([TEXT] * 9, 300, "bpe")


def issues(
    source: str, text: str, truncated: bool = False, characters: str | None = None, target: str = ""
) -> list[tuple[str, str]]:
    statistics = TextStatistics(source_characters=None if characters is None else frozenset(characters))
    checked = QualityCheck(TOKENIZER, statistics, target).check(source, Translation(text, -1.0, truncated))
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


@pytest.mark.parametrize(
    ("source", "text", "target"),
    [
        ("I love 3 dogs.", "J'aime trois chiens.", "fr"),
        ("I love 3 dogs.", "J'aime trois chiens.", "fra_Latn"),
        ("in her 20s", "dans sa vingtaine", "fr"),
        ("the 19th century", "le XIXe siècle", "fr"),
        ("13,000 amps", "13 mille ampères", "fr"),
        ("70 kilos", "soixante-dix kilos", "fr"),
        ("25 Hunde", "twenty-five dogs", "en"),
        ("25 dogs", "fünfundzwanzig Hunde", "de"),
        ("300 dogs", "dreihundert Hunde", "de"),
        ("the 1970s", "die 70er", "de"),
        ("the 70s", "les années 1970", "fr"),
        ("at 2:30", "à 14 h 30", "fr"),
        ("à 22 h", "at 10:00 p.m.", "en"),
    ],
)
def test_numbers_in_words_and_by_another_clock_are_not_lost(source: str, text: str, target: str):
    assert [kind for kind, _ in issues(source, text, target=target) if kind == "numbers"] == []


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("I love 3 dogs.", "J'adore.", "it lacks 3"),
        ("I love 3 dogs.", "J'aime deux chiens.", "it lacks 3"),
        ("page 1", "une page", "it lacks 1"),
        ("10 of 10 dogs", "10 chiens", "it lacks 10"),
        ("3.5 dogs", "trois chiens", "it lacks 3.5"),
        ("13,000 dogs", "mille chiens", "it lacks 13,000"),
        ("at 2:30", "à 15 h 30", "it has 15 instead of 2"),
        ("1234567890123456789012345 dogs", "un chien", "it lacks 1234567890123456789012345"),
    ],
)
def test_words_for_other_numbers_do_not_hide_a_loss(source: str, text: str, message: str):
    assert ("numbers", message) in issues(source, text, target="fr")


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


@pytest.mark.corpora
@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("fr", "en")])
def test_hardly_any_translation_by_people_is_reported(corpora: Path, source: str, target: str):
    """Of the references of TED talks fewer than 2 % are; nearly all of those are shorter or have other numbers."""
    folder = corpora / "ted_en_fr"
    train, held_out = (
        [
            [line for number, line in enumerate(read_lines(folder / f"{name}.{code}")) if number < 5000]
            for code in (source, target)
        ]
        for name in ("train", "test")
    )
    check = QualityCheck(TOKENIZER, replace(measure_texts(*train, source), source_characters=None), target)
    pairs = list(zip(*held_out, strict=True))
    reported = [
        issue
        for text, reference in pairs
        for issue in check.check(text, Translation(reference, 0.0)).issues
        if issue.kind != "characters"
    ]
    assert len(pairs) == 1305 and 0 < len(reported) < 0.02 * len(pairs)
