import pytest

from regard.errors import RegardError
from regard.report import Table


def test_unequal_columns_are_refused_by_name_and_length():
    with pytest.raises(RegardError, match=r"equally long: 'step' has 3, 'loss' has 2"):
        Table({"step": [1, 2, 3], "loss": [0.5, 0.4]})


def test_what_is_not_plain_is_refused_with_its_place():
    with pytest.raises(RegardError, match=r"column 'loss', row 1: list is not a plain value"):
        Table({"loss": [0.5, [0.4]]})


def test_rows_with_other_columns_are_refused():
    with pytest.raises(RegardError, match=r"row 1 has columns \['a'\], but row 0 has \['a', 'b'\]"):
        Table.from_rows([{"a": 1, "b": 2}, {"a": 3}])


def test_rows_come_back_as_they_went_in():
    rows = [{"b": 2, "a": "x", "c": None}, {"b": 3.5, "a": "", "c": "▁"}]
    table = Table.from_rows(iter(rows))
    assert list(table.rows()) == rows
    assert list(table.columns) == ["b", "a", "c"]
    assert len(table) == 2


def test_an_empty_table_has_no_rows():
    assert len(Table({})) == 0
    assert list(Table.from_rows([]).rows()) == []
    assert len(Table({"a": []})) == 0


def test_a_table_does_not_change_with_the_lists_it_was_made_of():
    values = [1, 2]
    table = Table({"a": values})
    values.append(3)
    assert list(table["a"]) == [1, 2]


def test_a_missing_column_is_named_with_a_hint():
    with pytest.raises(RegardError, match=r"no column 'los'; did you mean 'loss'\?"):
        Table({"loss": [1]})["los"]
    with pytest.raises(RegardError, match=r"no column 'q'; it has \['loss'\]"):
        Table({"loss": [1]})["q"]


def test_numbers_keep_ints_and_turn_what_is_not_finite_into_none():
    numbers = Table({"a": [1, 2.5, None, float("nan"), float("inf"), -float("inf")]}).numbers("a")
    assert numbers == [1, 2.5, None, None, None, None]
    assert isinstance(numbers[0], int)
    with pytest.raises(RegardError, match=r"column 'a', row 0: expected a number, got 'x'"):
        Table({"a": ["x"]}).numbers("a")
