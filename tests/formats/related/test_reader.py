"""Texts that belong together, by the order, the names or the numbers of columns; each mistake in one sentence."""

import json
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats.related import RelatedColumns, RelatedTexts, read_related_texts


def read(path: Path, content: str, **names: str) -> list[RelatedTexts]:
    path.write_text(content, encoding="utf-8")
    return list(read_related_texts([path], RelatedColumns(**names)))


def contents(examples: list[RelatedTexts]) -> list[tuple]:
    return [(one.text, one.positive, one.negatives, one.similarity) for one in examples]


def test_columns_without_names_are_text_positive_and_hard_negatives(tmp_path: Path):
    assert contents(read(tmp_path / "a.tsv", "one\tuno\ntwo\tdos\n")) == [
        ("one", "uno", (), None),
        ("two", "dos", (), None),
    ]
    triple = read(tmp_path / "b.tsv", "one\tuno\tdos\t7\n\ntwo\tdos\tuno\t8\n")
    assert contents(triple)[1] == ("two", "dos", ("uno", "8"), None) and triple[1].location.endswith("b.tsv:3")
    assert contents(read(tmp_path / "c.txt", "one\n\n two \n")) == [("one", None, (), None), ("two", None, (), None)]


def test_a_third_column_of_numbers_has_similarities(tmp_path: Path):
    rows = read(tmp_path / "a.csv", '"A girl, here.",A girl.,2.5\nA man.,A dog.,0\n')
    assert contents(rows) == [("A girl, here.", "A girl.", (), 2.5), ("A man.", "A dog.", (), 0.0)]
    assert contents(read(tmp_path / "b.tsv", "a\tb\t1\nc\td\te\n"))[0] == ("a", "b", ("1",), None)
    assert contents(read(tmp_path / "c.tsv", "a\tb\t1\te\n")) == [("a", "b", ("1", "e"), None)]  # not the last one
    long = "an answer " * 20
    assert contents(read(tmp_path / "d.tsv", f"question\tanswer\t{long}\n"))[0][0] == "question"  # no header


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("anchor,positive,negative", "a,b,c", ("a", "b", ("c",), None)),
        ("id,question,answer,negative_1,negative_2", "7,a,b,c,d", ("a", "b", ("c", "d"), None)),
        ("sentence1,sentence2,score", "a,b,3.5", ("a", "b", (), 3.5)),
        ("Title,Abstract", "a,b", ("a", "b", (), None)),
        ("text", "a", ("a", None, (), None)),
        ("query,document,hard_negative", "a,b,c", ("a", "b", ("c",), None)),
        ("text,positive,negative,similarity", "a,b,c,0.5", ("a", "b", (), 0.5)),
        ("Text,text,positive", "a,x,b", ("a", "b", (), None)),
    ],
)
def test_columns_are_recognized_by_usual_names(tmp_path: Path, header: str, row: str, expected: tuple):
    assert contents(read(tmp_path / "a.csv", f"{header}\n{row}\n")) == [expected]
    objects = dict(zip(header.split(","), row.split(","), strict=True))
    assert contents(read(tmp_path / "a.jsonl", json.dumps(objects) + "\n")) == [expected]


def test_columns_are_named_or_numbered_by_the_user(tmp_path: Path):
    named = read(tmp_path / "a.csv", "kind,q,a\nx,one,uno\n", text="q", text_pair="a")
    numbered = read(tmp_path / "b.tsv", "x\tone\tuno\t4\n", text="2", text_pair="3", similarity="4")
    assert contents(named) == [("one", "uno", (), None)] and contents(numbered) == [("one", "uno", (), 4.0)]
    assert contents(read(tmp_path / "c.tsv", "one\tuno\tx\t4\n", similarity="4")) == [("one", "uno", (), 4.0)]


def test_negatives_of_json_may_be_a_list(tmp_path: Path):
    line = json.dumps({"text": "a", "positive": "b", "negatives": ["c", "d"]})
    assert contents(read(tmp_path / "a.jsonl", line + "\n")) == [("a", "b", ("c", "d"), None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\tc\nd\te\n", r":2: has 2 columns; expected 3, as in the first row"),
        ("a\tb\tc\nd\te\tf\tg\n", r":2: has 4 columns; expected 3, as in the first row"),
        ("a\tb\nc\t \n", r":2: the positive is empty; complete the row, or remove it"),
        ("a\tb\tc\n\te\tf\n", r":2: the text is empty"),
        ("a\tb\tc\nd\te\t\n", r":2: the hard negative 1 is empty"),
        ("", r": is empty; expected a text and its positive"),
    ],
)
def test_rows_that_are_not_complete_are_refused(tmp_path: Path, content: str, message: str):
    with pytest.raises(FormatError, match=r"a\.tsv" + message):
        read(tmp_path / "a.tsv", content)


def test_other_mistakes_are_refused(tmp_path: Path):
    with pytest.raises(FormatError, match=r"a\.csv:3: the similarity is 'high'; expected a number"):
        read(tmp_path / "a.csv", "sentence1,sentence2,score\na,b,1\nc,d,high\n")
    with pytest.raises(FormatError, match=r":1: the similarity is nan; expected a finite number"):
        read(tmp_path / "a.csv", "a,b,nan\n")
    with pytest.raises(FormatError, match=r":2: the similarity is -inf; expected a finite number"):
        read(tmp_path / "a.csv", "a,b,1\nc,d,-inf\n")
    for row in ({"text": ["a", "b"], "positive": "c"}, {"text": "a", "positive": ["b", "c"]}):
        with pytest.raises(FormatError, match=r":1: 'text' and its positive are one text each; got a list"):
            read(tmp_path / "a.jsonl", json.dumps(row) + "\n")
    lines = [{"text": "a", "positive": "b", "negatives": ["c"]}, {"text": "d", "positive": "e", "negatives": []}]
    with pytest.raises(FormatError, match=r":2: has 0 hard negatives; expected 1, as in the first row"):
        read(tmp_path / "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(FormatError, match=r"has no column 'x'; it has: 'q', 'a'"):
        read(tmp_path / "b.csv", "q,a\none,uno\n", text="x")
    with pytest.raises(FormatError, match="is a folder"):
        list(read_related_texts([tmp_path]))
    with pytest.raises(FormatError, match=r"sound or video \(\.mp3\)"):
        read(tmp_path / "a.mp3", "a\n")


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("a.csv", "q,a\none,uno\n", {"text": "q", "text_pair": "Q"}, "the column 'q' would be both the text and the"),
        ("a.jsonl", '{"q": "a", "s": 1}\n', {"text": "q", "text_pair": "q"}, "both the text and the second text"),
        ("a.tsv", "one\tuno\t1\n", {"text": "2", "text_pair": "2"}, "column 2 would be both the text and the second"),
        ("a.tsv", "one\tuno\t1\n", {"text_pair": "3", "similarity": "3"}, "both the second text and the similarity"),
        ("a.csv", "text,positive,n\na,b,1\n", {"similarity": "text"}, "both the text and the similarity"),
        ("a.csv", "q,n\na,1\n", {"text": "q", "similarity": "n"}, "which column is the second text? A similarity is"),
        ("a.tsv", "a\t1\n", {"similarity": "2"}, "which column is the second text? A similarity is that of two texts"),
        ("a.tsv", "a\ta\nx\ty\n", {"text": "a"}, "has 2 columns 'a', and the text is one of them; rename the others"),
    ],
)
def test_no_column_is_two_things(tmp_path: Path, name: str, content: str, columns: dict, message: str):
    with pytest.raises(FormatError) as error:
        read(tmp_path / name, content, **columns)
    assert message in str(error.value) and name in str(error.value) and "\n" not in str(error.value)


def test_a_text_without_a_number_is_the_first_column_that_is_left(tmp_path: Path):
    assert contents(read(tmp_path / "a.tsv", "one\tuno\n", text="2")) == [("uno", "one", (), None)]
    assert contents(read(tmp_path / "a.tsv", "one\tuno\n", text_pair="1")) == [("uno", "one", (), None)]
    assert contents(read(tmp_path / "a.tsv", "one\t4\tuno\n", similarity="2")) == [("one", "uno", (), 4.0)]
    assert contents(read(tmp_path / "a.tsv", "one\n", text="1")) == [("one", None, (), None)]
    named = read(tmp_path / "a.csv", "title,text\na,b\n", text_pair="title")
    assert contents(named) == [("b", "a", (), None)]


def test_single_texts_have_no_similarity(tmp_path: Path):
    rows = read(tmp_path / "a.jsonl", '{"text": "a", "score": 7}\n')
    assert contents(rows) == [("a", None, (), None)]


def test_texts_with_labels_do_not_belong_together(tmp_path):
    content = "sentence\tlabel\na good film\t1\n"
    with pytest.raises(FormatError, match=r"has texts with labels \(its columns are 'sentence', 'label'\); expected a"):
        read(tmp_path / "a.tsv", content)
    assert contents(read(tmp_path / "a.tsv", content, text="sentence", text_pair="label")) == [
        ("a good film", "1", (), None)
    ]
