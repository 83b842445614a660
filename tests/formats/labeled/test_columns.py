"""Which column is which: by name, by number, or by content that leaves no doubt, on both sides of every threshold."""

import itertools

import pytest

from regard.errors import FormatError
from regard.formats.labeled import ColumnNames
from regard.formats.labeled.columns import LABEL_NAMES, PAIR_NAMES, TEXT_NAMES, Columns, choose_columns, choose_names


def choose(rows, **names: str) -> Columns:
    return choose_columns(rows, ColumnNames(**names), "x.csv")


def table(count: int, labels: int) -> list[list[str]]:
    """Rows without a header: a label, and a text that never comes again."""
    return [[f"class{n % labels}", f"text {n}"] for n in range(count)]


def test_every_usual_name_is_recognized_in_any_case_and_order():
    for text, label in itertools.product(TEXT_NAMES, LABEL_NAMES):
        assert choose([["id", label.upper(), text.title(), "x"]]) == Columns(2, 1, None, has_header=True)
    for (first, second), label in itertools.product(PAIR_NAMES, LABEL_NAMES):
        assert choose([[second, label, "x", first]]) == Columns(3, 1, 0, has_header=True)
        assert choose([[first, "x", label, second]], text=first) == Columns(0, 2, None, has_header=True)
        assert choose([[first, "x", label, second]], text=first, text_pair=second) == Columns(0, 2, 3, has_header=True)


def test_the_first_of_several_usual_names_is_taken_and_the_only_other_column_is_the_text():
    assert choose_names(["body", "sentence", "label"], ColumnNames(), "x") == ("sentence", "", "label")
    assert choose_names(["category", "Whatever"], ColumnNames(), "x") == ("Whatever", "", "category")
    assert choose_names(["Label", "label", "text"], ColumnNames(label="label"), "x") == ("text", "", "label")
    assert choose_names(["Text", "TEXT", "label"], ColumnNames(text="text"), "x") == ("Text", "", "label")
    assert choose([[" text ", "label "]]) == Columns(0, 1, None, has_header=True)


@pytest.mark.parametrize(
    ("header", "names", "message"),
    [
        (["id", "title", "label"], {}, "x.csv: which column is the text? It has: 'id', 'title', 'label'. Name it with "
         "--text-column."),
        (["text", "body"], {"text": "text"}, "x.csv: which column is the label? It has: 'text', 'body'. Name it with "
         "--label-column."),
        (["text", "label"], {"text_pair": "other"}, "x.csv: has no column 'other'; it has: 'text', 'label'"),
    ],
)  # fmt: skip
def test_a_column_that_is_not_there_is_asked_for(header, names, message):
    with pytest.raises(FormatError) as error:
        choose([header], **names)
    assert str(error.value) == message


@pytest.mark.parametrize(("length", "is_header"), [(40, True), (41, False)])
def test_a_name_has_forty_characters_at_most(length: int, is_header: bool):
    rows = [["label", "x" * length], *table(20, 4)]
    if is_header:
        assert choose(rows) == Columns(1, 0, None, has_header=True)
    else:
        assert choose(rows) == Columns(1, 0, None, has_header=False)
    unusual = [["kind of", "x" * length], *table(20, 4)]
    assert choose(unusual).has_header == is_header


def test_ten_rows_of_labels_that_come_twice_leave_no_doubt():
    assert choose(table(10, 5)) == Columns(1, 0, None, has_header=False)
    for rows in (table(9, 3), table(10, 6), [[label] for label, _ in table(10, 2)]):
        with pytest.raises(FormatError, match=r"x\.csv: cannot tell which column is the text"):
            choose(rows)
    both = [[label, label] for label, _ in table(12, 3)]
    with pytest.raises(FormatError, match="cannot tell which column is the text"):
        choose(both)
    three = [[str(n), *row] for n, row in enumerate(table(12, 3))]
    with pytest.raises(FormatError) as error:
        choose(three)
    assert str(error.value) == (
        "x.csv: cannot tell which column is the text and which the label (its first row has 1: '0', 2: 'class0', "
        "3: 'text 0'); give their names, or in a file without a header their numbers, with --text-column and "
        "--label-column"
    )
    assert choose(three, text="3") == Columns(2, 1, None, has_header=False)


def test_a_first_row_whose_label_never_comes_again_is_a_header():
    assert choose([["kind", "said"], *table(12, 3)]).has_header
    assert not choose([["kind", "said"], ["sort", "x"], *table(24, 3)]).has_header  # two that come once
    assert not choose([*table(12, 3), ["kind", "said"]]).has_header


@pytest.mark.parametrize("number", ["0", "3", "9" * 41])
def test_columns_are_numbered_from_one_to_the_width(number: str):
    assert choose([["a", "b"]], text="2", label="1") == Columns(1, 0, None, has_header=False)
    assert choose([["a", "b", "c"]], text="3", text_pair="1", label="2") == Columns(2, 1, 0, has_header=False)
    with pytest.raises(FormatError) as error:
        choose([["a", "b"]], text="1", label=number)
    assert str(error.value) == f"x.csv: has no column {number[:40]}; its first row has 2 columns, and no header"


@pytest.mark.parametrize(
    ("header", "names", "message"),
    [
        (["a", "b"], {"text": "a", "label": "A"}, "the column 'a' would be both the text and the label; name two "
         "different columns (it has: 'a', 'b')"),
        (["a", "label"], {"text": "label"}, "the column 'label' would be both the text and the label"),
        (["text", "a", "label"], {"text_pair": "text"}, "the column 'text' would be both the text and the second text"),
        (["a", "b", "label"], {"text": "a", "text_pair": "label"}, "the column 'label' would be both the second"),
        (["a", "b"], {"text": "2", "label": "2"}, "column 2 would be both the text and the label"),
        (["text", "label", "label"], {}, "has 2 columns 'label', and the label is one of them; rename the others (it "
         "has: 'text', 'label', 'label')"),
    ],
)  # fmt: skip
def test_one_column_has_one_part_and_a_name_one_column(header, names, message):
    with pytest.raises(FormatError) as error:
        choose([header], **names)
    assert str(error.value).startswith(f"x.csv: {message}")


def test_a_second_text_by_number_leaves_the_first_in_doubt():
    with pytest.raises(FormatError, match="which column is the text and which the label"):
        choose(table(10, 2), text_pair="2")
    assert choose(table(10, 2), label="1") == Columns(1, 0, None, has_header=False)


def test_a_row_needs_cells_up_to_the_last_column_that_is_read():
    assert [Columns(0, 4).minimum_cells, Columns(2, 1, 5).minimum_cells, Columns(3, 1, 0).minimum_cells] == [5, 6, 4]


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (
            [["q", "a", "label"]],
            {"text": "q", "text_pair": "q"},
            "the column 'q' would be both the text and the second",
        ),
        (
            [["text", "label", "x"]],
            {"label": "text"},
            "the column 'text' would be both the text and the label; name two",
        ),
        (table(10, 2), {"text": "1", "label": "1"}, "column 1 would be both the text and the label"),
    ],
)
def test_no_column_is_two_things(rows, names, message):
    with pytest.raises(FormatError) as error:
        choose(rows, **names)
    assert message in str(error.value)
