"""A diagnosis in words, as JSON and as a table."""

from dataclasses import replace

import pytest

from regard.data.doctor import FINDING_KINDS, Action, DataFinding, Diagnosis, FindingExample, SplitSummary
from regard.data.doctor.diagnosis import MAX_EXAMPLE_CHARS, clip
from regard.data.doctor.repeats import BitSet
from regard.errors import DataError
from regard.formats import Pair


def finding(
    name: str, count: int = 1, split: str = "train", action: Action | None = None, examples: int = 0
) -> DataFinding:
    kind = FINDING_KINDS[name]
    shown = tuple(FindingExample(f"f:{n}", "a", "b", "why" if n == 1 else "") for n in range(1, examples + 1))
    return DataFinding(kind, split, action or kind.action, count, 1000, shown)


def diagnosis(*findings: DataFinding, splits=("train",), unit: str = "pairs", kept: int = 900) -> Diagnosis:
    summaries = tuple(SplitSummary(split, 1000, kept, "", "") for split in splits)
    return Diagnosis(findings, summaries, {split: BitSet() for split in splits}, unit=unit)


@pytest.mark.parametrize("length", [MAX_EXAMPLE_CHARS - 1, MAX_EXAMPLE_CHARS, MAX_EXAMPLE_CHARS + 1])
def test_a_long_text_is_clipped_to_its_greatest_length(length: int):
    found = clip("x" * length)
    assert found == ("x" * length if length <= MAX_EXAMPLE_CHARS else "x" * (MAX_EXAMPLE_CHARS - 1) + "…")
    example = FindingExample.from_pair(Pair("s" * length, "t" * length, "f:1"), "why")
    assert example == FindingExample("f:1", clip("s" * length), clip("t" * length), "why")


@pytest.mark.parametrize(
    ("count", "examples", "locations"),
    [
        (1, 0, ""),
        (1, 1, " (f:1: why)"),
        (3, 3, " (f:1: why, f:2, f:3)"),
        (4, 3, " (f:1: why, f:2, f:3)"),
        (4, 4, " (f:1: why, f:2, f:3, …)"),
        (3, 4, " (f:1: why, f:2, f:3)"),
    ],
)
def test_three_locations_are_named_and_more_are_told(count: int, examples: int, locations: str):
    one = finding("blank", count, examples=examples)
    amount = "1 pair" if count == 1 else f"{count} pairs"
    assert one.format_line() == (
        f"train: blank: {amount}, {count / 10:.1f}%: an empty side{locations}. "
        f'Dropped; to keep them, add "blank" to data.keep.'
    )


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [(0, 0, "0.0%"), (1, 1000, "0.1%"), (1, 1001, "below 0.1%"), (0, 7, "0.0%"), (1, 3, "33.3%")],
)
def test_a_small_share_is_not_none(count: int, total: int, text: str):
    one = replace(finding("blank", count), total=total)
    assert f", {text}: " in one.format_line() and one.fraction == pytest.approx(count / total if total else 0)


def test_advice_says_what_was_done_and_how_to_change_it():
    noted = next(k for k in FINDING_KINDS.values() if k.action is Action.NOTED and k.droppable and not k.remedy)
    fixable = next(k for k in FINDING_KINDS.values() if k.action is Action.NOTED and k.droppable and k.remedy)
    assert finding("swapped").format_advice() == (
        'Refused: name the two files in the other order, or swap data.source and data.target; or add "swapped" to '
        "data.keep to train anyway."
    )
    dropped = finding(noted.name, action=Action.DROPPED).format_advice()
    assert dropped == f'Dropped; to keep them, remove "{noted.name}" from data.drop.'
    assert finding(noted.name).format_advice() == (
        f'Kept; usually harmless; add "{noted.name}" to data.drop to drop it.'
    )
    assert finding(noted.name, split="dev").format_advice() == "Kept; usually harmless."
    assert finding(fixable.name).format_advice() == (
        f'Kept. To fix it: {fixable.remedy}; or add "{fixable.name}" to data.drop.'
    )
    assert finding(fixable.name, split="test").format_advice() == f"Kept. To fix it: {fixable.remedy}."


def test_what_is_stored_is_read_again():
    whole = replace(
        diagnosis(finding("swapped"), finding("blank", 3, examples=2), splits=("train", "dev")), unknown_codes=("xx",)
    )
    stored = whole.as_dict()
    assert Diagnosis.from_dict(stored) == whole and stored["refused"] is True and stored["unit"] == "pairs"
    assert stored["findings"][1]["examples"] == [
        {"note": "f:1", "source": "a", "target": "b", "detail": "why"},
        {"note": "f:2", "source": "a", "target": "b"},
    ]
    other = {**stored, "findings": [{**stored["findings"][0], "kind": "of a later version"}]}
    assert Diagnosis.from_dict(other).findings == () and not diagnosis(finding("blank")).as_dict()["refused"]


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ((), "No source of dev or test occurs in train (compared without case and blanks)."),
        (
            (finding("overlap"), finding("overlap", 2, "dev"), finding("overlap", 3, "test")),
            "Train shares 2 of 1,000 dev sources and 3 of 1,000 test sources (compared without case and blanks): the "
            "training pair with them is dropped, so that none of these sources is trained on.",
        ),
        (
            (finding("overlap", 1234, action=Action.NOTED), finding("overlap", 3, "test")),
            "Train shares 3 of 1,000 test sources (compared without case and blanks): the 1,234 training pairs with "
            "them are kept, so that their scores measure memorization.",
        ),
        (
            (finding("near_overlap", 5, "test"), finding("near_overlap", 4, "dev"), finding("near_overlap", 9)),
            "No source of dev or test occurs in train (compared without case and blanks). Nearly the same as a source "
            "of train: 4 of 1,000 dev sources and 5 of 1,000 test sources.",
        ),
    ],
)
def test_what_train_shares_is_told_whole(findings, text: str):
    found = diagnosis(*findings, splits=("train", "dev", "test"))
    assert found.describe_overlap() == text and text in found.format_lines() and text in str(found)
    assert diagnosis(*findings).describe_overlap() == ""


def test_a_split_is_told_with_all_that_is_known():
    pairs, texts = diagnosis(), diagnosis(unit="texts")
    assert pairs.describe_split(SplitSummary("dev", 1, 0, "", "")) == "dev: 1 pair read, 0 kept"
    assert pairs.describe_split(SplitSummary("train", 1234, 1000, "en", "", "new")) == (
        "train: 1,234 pairs read, 1,000 kept; new; detected languages: en to unknown"
    )
    assert texts.describe_split(SplitSummary("train", 1, 1, "", "fr")) == (
        "train: 1 text read, 1 kept; detected languages: unknown to fr"
    )
    assert repr(pairs) == "<Diagnosis: 900 of 1,000 pairs kept, 0 findings>"


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ((), ""),
        (("xx",), "“xx” is no code of a language that can be identified (as en and fr are), so the language of that "
         "side is not checked."),
        (("xx", "yy"), "“xx” and “yy” are no codes of languages that can be identified (as en and fr are), so the "
         "language of that side is not checked."),
    ],
)  # fmt: skip
def test_codes_that_are_not_known_are_named(codes, text: str):
    found = replace(diagnosis(), unknown_codes=codes)
    assert found.describe_unknown_codes() == text
    html = found._repr_html_()
    assert "train: 1,000 pairs read" in html and "No findings." in html and ("xx" in html) == bool(codes)


def test_a_table_has_a_row_for_each_finding():
    found = diagnosis(finding("blank", 3, examples=4), finding("tokenized", 1, "dev"), splits=("train", "dev"))
    html = found._repr_html_()
    assert "f:1, f:2, f:3" in html and "f:4" not in html and "0.3% of pairs" in html and "No findings." not in html
    assert [row["finding"] for row in found.as_table().rows()] == ["blank", "tokenized"]


def test_training_needs_pairs_and_nothing_that_is_refused():
    diagnosis(finding("blank")).require_trainable()
    with pytest.raises(DataError) as error:
        diagnosis(finding("swapped"), finding("blank")).require_trainable()
    assert str(error.value) == finding("swapped").format_line()
    with pytest.raises(DataError) as error:
        diagnosis(finding("blank", 1000), finding("tokenized"), kept=0, unit="texts").require_trainable()
    assert str(error.value) == "no texts remain to train on:\n" + finding("blank", 1000).format_line()


@pytest.mark.parametrize("count", [999, 1000, 1001])
def test_what_is_cleaned_is_what_was_examined(count: int):
    found = diagnosis()
    for index in (0, 7, 999):
        found.dropped_pairs["train"].add(index)
    cleaned = found.clean(range(count))
    if count == 1000:
        assert list(cleaned) == [n for n in range(1000) if n not in (0, 7, 999)]
    else:
        with pytest.raises(DataError) as error:
            list(cleaned)
        assert str(error.value) == f"train: 1,000 pairs were examined, now there are {count:,}; examine them again"
