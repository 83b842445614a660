"""Codes of languages match by language and region; a file is read in the direction that was requested."""

import itertools

import pytest

from regard.errors import FormatError
from regard.formats.languages import closest_matches, is_reversed, match_score

CODES = ("", "en", "en-US", "en_gb", "EN", "e", "fr", "fr-ca")


def plain_score(requested: str, candidate: str) -> int:
    one, two = (code.replace("_", "-").lower().split("-") for code in (requested, candidate))
    if one == two:
        return 3
    if two[: len(one)] == one:
        return 2
    return 1 if one[: len(two)] == two else 0


def test_a_code_matches_itself_its_regions_and_its_language():
    for requested, candidate in itertools.product(CODES, CODES):
        assert match_score(requested, candidate) == plain_score(requested, candidate)
        assert match_score(f" {requested} ", candidate) == match_score(requested, candidate)


def test_the_closest_codes_are_all_that_match_best():
    assert closest_matches("en", ["fr", "en-US", "en", "EN"]) == [2, 3]
    assert closest_matches("en", ["en-US", "fr", "en-GB"]) == [0, 2]
    assert closest_matches("en-US", ["en", "en-GB"]) == [0]
    assert closest_matches("en", ["fr"]) == closest_matches("en", []) == []


@pytest.mark.parametrize(
    ("requested", "declared", "expected"),
    [
        (("en", "fr"), ("en", "fr"), False),
        (("fr", "en"), ("en", "fr"), True),
        (("", ""), ("en", "fr"), False),
        (("en", ""), ("fr", "en"), True),
        (("", "en"), ("en", "fr"), True),
        (("en", "fr"), ("", "fr"), False),
        (("fr", "en"), ("", "fr"), True),
        (("en", "fr"), ("", ""), False),
        (("en-US", "fr"), ("en", "fr-CA"), False),
    ],
)
def test_a_file_is_reversed_where_only_that_fits(requested, declared, expected: bool):
    assert is_reversed("x", requested, declared) is expected


def test_languages_that_fit_in_no_direction_are_named():
    for requested, declared, words in (
        (("en", "de"), ("en", "fr"), "x: holds en to fr, but en to de was requested. Do this."),
        (("de", "fr"), ("en", "fr"), "x: holds en to fr, but de to fr was requested. Do this."),
        (("", "de"), ("en", "fr"), "x: holds en to fr, but (unknown) to de was requested. Do this."),
    ):
        with pytest.raises(FormatError) as error:
            is_reversed("x", requested, declared, "Do this.")
        assert str(error.value) == words
