"""Files tell what they are for only where there is no doubt."""

from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.formats.labeled.recognition import recognize
from regard.jobs.tasks.registry import guess_task

FILES = [
    ("a.csv", "text,label\nfine,pos\n", "labels"),
    ("a.csv", "Sentence1,sentence2,gold_label\na,b,c\n", "labels"),
    ("a.csv", "review,target\na,b\n", None),  # which may be a translation
    ("a.csv", "source,target,label\na,b,c\n", None),
    ("a.csv", "name,rating\na,b\n", None),
    ("a.csv", "", None),
    ("a.jsonl", '{"text": "a", "label": "b"}\n', "labels"),
    ("a.jsonl", '{"tokens": ["a"], "tags": ["O"]}\n', "tags"),
    ("a.jsonl", '{"source": "a", "target": "b"}\n', None),
    ("a.jsonl", "no JSON", None),
    ("a.conll", "Alex B-PER\nsings O\n", "tags"),
    ("a.conll", "Alex\n", None),
    ("a.tsv", "text\tlabel\na\tb\n", "labels"),
    ("a.tsv", "text\ttarget\na\tb\n", None),
    ("a.tsv", "the text\tthe label\na\tb\n", None),  # which is a pair of sentences
    ("train.txt", "\n__label__a __label__b A text.\n", "labels"),
    ("train.en", "It is a __label__a.\n", None),
    ("a.txt", "text,label\n", None),
]


@pytest.mark.parametrize(("name", "content", "kind"), FILES)
def test_a_file_is_recognized_by_its_columns(name: str, content: str, kind: str | None, tmp_path: Path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert recognize([tmp_path / name]) == kind


def test_files_of_two_kinds_are_in_doubt_and_missing_ones_too(tmp_path: Path):
    labels, tags = tmp_path / "a.csv", tmp_path / "b.conll"
    labels.write_text("text,label\na,b\n", encoding="utf-8")
    tags.write_text("a O\n", encoding="utf-8")
    assert recognize([labels, labels]) == "labels" and recognize([labels, tags]) is None
    assert recognize([labels, tmp_path / "none.csv"]) is None and recognize([]) is None


def test_what_only_labeled_text_has_needs_a_task_where_it_is_in_doubt(tmp_path: Path, request):
    path = tmp_path / "a.csv"
    path.write_text("name,rating\na,b\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="--task: translate, classify, tag, causal-lm, masked-lm"):
        guess_task([str(path)])
    request.getfixturevalue("example_plugin")  # which reads pairs from .csv
    assert guess_task([str(path)]) is None and guess_task(["train.en", "train.fr"]) is None


def test_a_text_without_a_partner_is_for_another_task_than_translation(tmp_path: Path):
    for name, content in (("a", "One.\n"), ("b", "Two.\n"), ("c", "Three.\n"), ("columns", "a\tb\n")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    one, *others, columns = (str(tmp_path / name) for name in ("a", "b", "c", "columns"))
    for files in ([one], [one, *others]):
        with pytest.raises(ConfigError, match="--task: translate, classify, tag, causal-lm, masked-lm"):
            guess_task(files)
    assert guess_task([one, others[0]]) is None  # two sides
    assert guess_task([columns]) is None and guess_task([str(tmp_path / "none")]) is None  # reading explains them
