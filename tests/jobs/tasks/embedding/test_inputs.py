"""Lines of two texts -> cosines; what is wrong with a line names it."""

import pytest

from regard.errors import FormatError
from regard.formats.related import RelatedTexts
from regard.jobs.tasks.embedding import inputs
from regard.jobs.tasks.embedding.inputs import compare_lines, compare_rows
from regard.progress import report_progress_to
from regard.tasks.embed.embedder import Embedder
from tests.notes import NoteListener
from tests.tasks.conftest import TOKENIZER, make_stack

PAIRS = [("the kings sleep", "cats"), ("a dog", "cats see"), ("Paris", "a b"), ("cats", "cats")]


@pytest.mark.parametrize("size", [1, 3, 1024])
def test_lines_are_compared_in_order_and_named_by_their_number(size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inputs, "CHUNK", size)
    embedder = Embedder(make_stack(3, architecture="encoder"), TOKENIZER, 64)
    lines = ["\t".join(pair) for pair in PAIRS]
    compared = list(compare_lines(embedder, [lines[0], " ", *lines[1:]], lambda number: f"line:{number}"))
    assert compared[1] is None and [one[:2] for one in compared if one] == PAIRS
    expected = [embedder.similarities([pair])[0] for pair in PAIRS]
    assert [one.similarity for one in compared if one] == pytest.approx(expected, abs=1e-6)
    rows = compare_rows(embedder, (RelatedTexts(*pair) for pair in PAIRS))
    assert [one.similarity for one in rows] == pytest.approx(expected, abs=1e-6)
    for wrong in ("one text", "one\t", "one\ttwo\tthree"):
        with pytest.raises(FormatError, match=r"line:6: expected two texts, separated by a tab; got 'one"):
            list(compare_lines(embedder, [*lines, "", wrong], lambda number: f"line:{number}"))


def test_texts_that_are_not_read_to_their_end_are_said():
    embedder = Embedder(make_stack(3, architecture="encoder"), TOKENIZER, 7)
    notes: list[str] = []
    texts = (" ".join(["a"] * number) for number in range(1, 9))
    fits = next(text for text in texts if len(TOKENIZER.encode([text], 64)[0]) == 7)
    long = f"{fits} a"
    assert embedder.count_truncated([fits, long]) == 1
    pairs = [("a", long), (long, "b"), (fits, "a"), (f"{long} a", long)]
    with report_progress_to(NoteListener(notes)):
        list(compare_lines(embedder, map("\t".join, pairs), str))
        list(compare_rows(embedder, (RelatedTexts(*pair) for pair in pairs[1:2])))
        list(compare_rows(embedder, (RelatedTexts(*pair) for pair in pairs[2:3])))
    assert notes == [
        "2 texts are longer than the 7 tokens that the model reads: the rest is not compared",
        "1 text is longer than the 7 tokens that the model reads: the rest is not compared",
    ]
