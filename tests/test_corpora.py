"""On real text."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from regard.data.tokenizers.tokenizer import train_tokenizer
from regard.formats import read_pairs

pytestmark = pytest.mark.corpora


@pytest.mark.parametrize(
    ("folder", "name", "count"),
    [
        ("ted_en_fr", "train", 30_000),
        ("ted_en_fr", "dev", 887),  # neither this nor the next ends in a line feed
        ("ted_en_fr", "test", 1305),
        ("multi30k/raw", "train", 29_000),
        ("multi30k/raw", "test_2016_flickr", 1000),
    ],
)
def test_every_pair_of_a_real_corpus_is_read(corpora: Path, folder: str, name: str, count: int):
    sides = [corpora / folder / f"{name}.{language}" for language in ("en", "fr")]
    assert sum(1 for _ in read_pairs(sides)) == count


def test_real_text_comes_back_from_its_pieces(corpora: Path):
    texts = [pair.target for pair in read_pairs([corpora / "ted_en_fr" / f"dev.{x}" for x in ("en", "fr")])]
    tokenizer = train_tokenizer(texts, 2000, "bpe")
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == texts
    assert any("\u00a0" in text for text in texts)


@pytest.mark.slow
def test_ten_minutes_translate_captions_recognisably(corpora: Path, tmp_path: Path):
    raw = corpora / "multi30k" / "raw"
    regard = [sys.executable, "-m", "regard"]

    def sides(name: str) -> list[str]:
        return [str(raw / f"{name}.{language}") for language in ("en", "fr")]

    command = [*regard, "train", *sides("train"), "--dev", *sides("val"), "--out", "run", "--minutes", "10"]
    subprocess.run(command, cwd=tmp_path, check=True)
    command = [*regard, "evaluate", "run", *sides("test_2016_flickr"), "--json"]
    out = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(out.stdout)["bleu"]["value"] >= 25
