"""What is wrong on either side is wrong, and a majority is one from its threshold on."""

import pytest

from regard.data.doctor import near_duplicates
from regard.data.doctor.checks import blank, metadata, same, tokenized, wordless
from regard.data.doctor.examination import find_unterminated, select_line_files
from regard.data.doctor.profile import MIN_SAMPLE_SIZE, _LanguageVotes, profile_corpus
from regard.formats import Pair


@pytest.mark.parametrize(
    ("check", "text", "fine"),
    [
        (metadata, "<p></p>", "A sentence of words."),
        (metadata, "<url>https://x.org</url>", "A sentence of words."),
        (blank, " \t", "A sentence of words."),
        (wordless, "?!", "A sentence of words."),
        (tokenized, "A sentence of words .", "A sentence of words."),
    ],
)
def test_one_side_is_enough(check, text: str, fine: str):
    assert check(text, fine) and check(fine, text) and not check(fine, fine)


def test_a_translated_element_is_content_and_a_copied_one_is_not():
    assert not metadata("<greeting>Hello</greeting>", "<greeting>Bonjour</greeting>")
    assert metadata("<greeting>Hello</greeting>", "<greeting>Hello</greeting>")
    assert metadata("<one>Hello</one>", "<two>Bonjour</two>")
    assert not metadata("<greeting>Hello</greeting>", "Bonjour") and not metadata("<b>Hello</b>", "<b>Hello</b>")
    assert same("42", " 42 ") and same(" 42", "42") and not same("42", "43")


@pytest.mark.parametrize(
    ("others", "unknown", "found"),
    [(0, 0, "fr"), (25, 0, "fr"), (26, 0, ""), (0, 200, "fr"), (0, 201, "")],
)
def test_a_language_needs_four_fifths_of_what_a_third_is_known_of(others: int, unknown: int, found: str):
    votes = _LanguageVotes()
    votes.num_sentences = 100 + others + unknown
    votes.label_counts.update({"fr": 100, "en": others})
    assert votes.majority_label() == found


def test_few_sentences_have_no_language():
    for count, found in ((MIN_SAMPLE_SIZE - 1, ""), (MIN_SAMPLE_SIZE, "fr")):
        votes = _LanguageVotes(count)
        votes.label_counts["fr"] = count
        assert votes.majority_label() == found


def test_an_empty_file_lacks_no_line_feed(tmp_path):
    for name, raw in (("empty", b""), ("good", b"a\n"), ("bad", b"a\nb")):
        (tmp_path / name).write_bytes(raw)
    files = [tmp_path / name for name in ("empty", "good", "bad")]
    assert find_unterminated(files) == [tmp_path / "bad"]
    for name in ("x.gz", "x.tmx"):
        (tmp_path / name).write_bytes(b"a")
    assert select_line_files([*files, tmp_path / "x.gz", tmp_path / "x.tmx", tmp_path, tmp_path / "no"]) == files


def test_hashes_are_multiplied_one_to_one():
    """By odd numbers: an even one would let half of all hashes collide."""
    assert (near_duplicates._FACTORS % 2 == 1).all() and len(set(near_duplicates._FACTORS.tolist())) > 10


def test_a_profile_is_that_of_its_pairs():
    english, french = "The old man saw that the house was by the river.", "Le vieil homme vit que la maison était là."
    pairs = [Pair(english, french)] * MIN_SAMPLE_SIZE
    profile = profile_corpus([*pairs, *[Pair(english, english)] * MIN_SAMPLE_SIZE])
    assert profile.identical_fraction == 0.5
    alone = profile_corpus(pairs)
    assert alone.identical_fraction == 0 and 0.8 < alone.length_ratio < 1
    assert alone.length_ratio == pytest.approx(1 / profile_corpus([Pair(french, english)] * 99).length_ratio)
    assert profile_corpus(pairs[1:]).length_ratio == 1 and profile_corpus([]).identical_fraction == 0
