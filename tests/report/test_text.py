import pytest

from regard.report.text import escape_html, format_column, format_label, replace_forbidden, slugify


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([31.4212, 8.5], ["31.42", "8.50"]),
        ([0.93121, 0.5], ["0.9312", "0.5000"]),
        ([30.0, 2.5], ["30.0", "2.5"]),
        ([12345.678], ["12,346"]),
        ([3e-4], ["0.0003"]),
        ([2.4e-8], ["2.40e-08"]),
        ([1234567, None, True, "x"], ["1,234,567", "–", "yes", "x"]),
        ([float("nan"), float("-inf"), 0.0], ["nan", "-∞", "0.0"]),
        ([], []),
    ],
)
def test_numbers_get_sensible_digits(values, texts):
    assert format_column(values) == texts


def test_what_xml_forbids_is_replaced_and_all_else_kept():
    assert replace_forbidden("a\x00b\x1fc\ud800d\uffff") == "a\ufffdb\ufffdc\ufffdd\ufffd"
    kept = "tab\t line\n <b>&\"' ▁ 😀 \u2028 שלום"
    assert replace_forbidden(kept) == kept


def test_escaping_covers_text_and_attributes():
    assert escape_html("<a href=\"x\" b='y'>&\x00") == "&lt;a href=&quot;x&quot; b=&#x27;y&#x27;&gt;&amp;\ufffd"


def test_blank_labels_are_made_visible_and_empty_ones_stay_empty():
    assert format_label("  ") == "␣␣"
    assert format_label("") == ""
    assert format_label(3) == "3"


def test_names_of_files_are_plain_and_never_empty():
    assert slugify("Loss — Übung & Prüfung: 3/5") == "loss-ubung-prufung-3-5"
    assert slugify("注意") != slugify("注目")
    assert slugify("注意").startswith("chart-")


def test_nothing_has_no_sign():
    assert format_column([-0.00001, 0.25, -0.5]) == ["0.00", "0.25", "-0.50"]
