"""The doctor on real text: what is wrong is found, and next to nothing else is."""

import shutil
from pathlib import Path

import pytest

from regard.data.doctor import Diagnosis, Doctor, DoctorSettings, PairStream
from regard.formats import read_pairs

pytestmark = pytest.mark.corpora


def files(folder: Path, name: str, *codes: str) -> PairStream:
    return PairStream.from_files([folder / f"{name}.{code}" for code in codes])


def seen(diagnosis: Diagnosis, where: str = "train") -> dict[str, int]:
    return {finding.kind.name: finding.count for finding in diagnosis.findings if finding.split == where}


def test_talks(corpora: Path):
    ted = corpora / "ted_en_fr"
    sets = [files(ted, name, "en", "fr") for name in ("train", "dev", "test")]
    diagnosis = Doctor(DoctorSettings(source="en", target="fr")).examine(*sets)
    train, dev, test = (seen(diagnosis, name) for name in ("train", "dev", "test"))
    assert train["metadata"] == 1928
    assert (train["overlap"], dev["overlap"], test["overlap"]) == (178, 13, 20)
    assert (train["near_overlap"], dev["near_overlap"], test["near_overlap"]) == (15, 2, 1)
    assert 30 < train["near_duplicate"] < 60
    assert dev["no_newline"] == test["no_newline"] == 2 and "no_newline" not in train
    assert train["language"] + train["ratio"] <= 5 and "identical" not in train and "blank" not in train
    assert not diagnosis.refused_findings
    kept = list(diagnosis.clean(read_pairs(sets[0].files)))
    assert len(kept) == diagnosis.pairs_kept and not any(pair.source.startswith("<") for pair in kept)


def test_swapped_talks_are_noticed(corpora: Path):
    train, test = (files(corpora / "ted_en_fr", name, "fr", "en") for name in ("dev", "test"))
    diagnosis = Doctor(DoctorSettings(source="en", target="fr")).examine(train, test=test)
    assert [(finding.kind.name, finding.split) for finding in diagnosis.refused_findings] == [
        ("swapped", "train"),
        ("swapped", "test"),
    ]


@pytest.mark.parametrize(("code", "lost"), [("de", [16510, 16664]), ("fr", [])])
def test_captions(corpora: Path, code: str, lost: list[int]):
    raw = corpora / "multi30k" / "raw"
    diagnosis = Doctor().examine(files(raw, "train", "en", code), files(raw, "val", "en", code))
    notes = [example.note for f in diagnosis.findings if f.kind.name == "wordless" for example in f.examples]
    assert notes == [f"{raw / 'train.en'}:{line}" for line in lost]
    assert diagnosis.pairs_kept == 29_000 - len(lost) - seen(diagnosis).get("overlap", 0)


def test_short_sentences_are_left_in_peace(corpora: Path, tmp_path: Path):
    table = tmp_path / "fra.tsv"
    shutil.copyfile(corpora / "tatoeba_en_fr" / "fra.txt", table)
    diagnosis = Doctor().examine(PairStream.from_files([table]))
    assert diagnosis.pairs_kept == diagnosis.pairs_read == 178_009
    assert 4000 < seen(diagnosis)["near_duplicate"] < 5500  # "I just don't know." and "I don't know."
    assert seen(diagnosis) == {"variant": 178_009 - 125_045, "same": 1} | seen(diagnosis)
