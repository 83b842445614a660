import pytest

from regard.errors import RegardError
from regard.report import format_alignment
from regard.report.text import display_width

SOURCE = ["Die", "kleine", "Katze", "schläft", "heute"]
TARGET = ["The", "little", "cat", "is", "sleeping", "today"]
PAIRS = [(0, 0), (1, 1), (2, 2), (3, 3), (3, 4), (4, 5)]


def linked(text: str, source: list[str], target: list[str]) -> set[tuple[int, int]]:
    """Read the picture as a person would: down from each source word, right from each target word."""
    lines = text.split("\n")
    corners = [line.index("┌") for line in lines[: len(source)]]
    rows = lines[len(source) : len(source) + len(target)]
    # A wide character takes two cells of the terminal but one place in the string.
    shift = [display_width(word) - len(word) for word in target]
    return {(s, t) for t, row in enumerate(rows) for s, corner in enumerate(corners) if row[corner - shift[t]] == "█"}


def test_every_aligned_pair_is_shown_and_no_other():
    text = format_alignment(SOURCE, TARGET, pairs=PAIRS)
    assert linked(text, SOURCE, TARGET) == set(PAIRS)
    for word, line in zip(SOURCE, text.split("\n"), strict=False):
        assert line.endswith(f"┌ {word}")
    assert "sleeping  · · · █ ·  schläft" in text


def test_weights_become_shades_and_the_heaviest_are_named_first():
    text = format_alignment(
        ["a", "b", "c", "d", "e"], ["x", "y"], weights=[[0.05, 0.1, 0.25, 0.5, 0.8], [0.01, 0.02, 0, 0, 0]]
    )
    assert "x  · ░ ▒ ▓ █  e, d, c" in text
    assert "y  · · · · ·  b" in text
    assert text.split("\n")[-1].startswith("█ 0.75")


def test_wide_and_combining_characters_keep_the_columns_straight():
    source, target = ["猫", "が", "寝ている"], ["cafe\u0301", "猫さん", "x"]
    pairs = [(0, 1), (1, 0), (2, 2)]
    assert linked(format_alignment(source, target, pairs=pairs), source, target) == set(pairs)
    assert display_width("猫さん") == 6
    assert display_width("cafe\u0301") == 4


@pytest.mark.parametrize("count", [1, 7, 38, 41, 97])
def test_no_line_is_wider_than_the_terminal_and_no_pair_is_lost(count):
    source = [f"wort{n}" + "lang" * (n % 9) for n in range(count)]
    target = [f"word{n}" for n in range(count)]
    pairs = [(n, count - 1 - n) for n in range(count)]
    text = format_alignment(source, target, pairs=pairs)
    assert max(map(display_width, text.split("\n"))) <= 100
    if "┌" in text:
        assert linked(text, source, target) == set(pairs)
    else:
        for s, t in pairs:
            assert any(line.split()[0] == target[t] and f" {s + 1}:wort{s}" in line for line in text.split("\n"))


def test_a_long_list_of_links_wraps_below_itself():
    source = [f"wort{n}" for n in range(60)]
    text = format_alignment(source, ["all"], pairs=[(s, 0) for s in range(60)])
    assert max(map(display_width, text.split("\n"))) <= 100
    assert text.split() == ["all", "←", *(f"{s + 1}:wort{s}" for s in range(60))]


def test_words_that_would_break_the_lines_are_tamed():
    text = format_alignment(["a\nb", "\u2028", "\x1b[31m"], ["t\tu", "v" * 50], pairs=[(0, 0), (1, 1), (2, 1)])
    assert len(text.split("\n")) == 5
    assert len(text.splitlines()) == 5
    assert "\x1b" not in text
    assert "v" * 21 + "…" in text


def test_empty_sentences_are_no_trouble():
    assert format_alignment([], [], pairs=[]) == ""
    assert format_alignment([], ["a"], pairs=[]) == "a"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs either weights or pairs"),
        ({"weights": [[1.0]], "pairs": []}, "needs either weights or pairs"),
        ({"pairs": [(0, 2)]}, "pair 0-2 points outside 3 source words and 2 target words"),
        ({"pairs": [(-1, 0)]}, "pair -1-0 points outside"),
        (
            {"weights": [[0.1, 0.2, 0.3]]},
            r"must be 2 rows \(target words\) of 3 \(source words\); got 1 of \[3\]",
        ),
        ({"weights": [[0.1], [0.2]]}, r"got 2 of \[1\]"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(RegardError, match=message):
        format_alignment(["a", "b", "c"], ["x", "y"], **options)


@pytest.mark.parametrize("plain", [False, True])
def test_right_to_left_words_are_isolated_and_keep_the_columns(plain):
    """A terminal that reorders text would else turn the whole line round, numbers and shades with it."""
    target = ["הילד", "קורא", "CD"]
    text = format_alignment(["The", "שלום", "reads"], target, pairs=[(0, 0), (1, 1), (2, 2)], plain=plain)
    assert "\u2068הילד\u2069" in text and "\u2068שלום\u2069" in text and "\u2068CD" not in text
    rows = text.split("\n")[-3:]
    starts = [display_width(row[: row.index("←" if plain else "█") + 1]) for row in rows]
    assert starts == ([6, 6, 6] if plain else [7, 9, 11])
