"""Files that others may have written: regular ones only, of bounded size, and JSON of the right shape."""

import gzip
import os
import struct
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest

from regard import files
from regard.atomic import MAX_CHECKED_BYTES, sha256
from regard.errors import FormatError, ModelError, RunError
from regard.files import Count, Finite, LineTooLongError, iter_lines, open_regular, parse_json, read_bytes
from regard.formats import read_pairs
from regard.model import weights
from regard.run import Run


@dataclass(frozen=True)
class Sized:
    """A record of a run."""

    name: str
    size: Count
    cost: Finite | None = None


def test_a_value_of_the_shape_is_read(tmp_path: Path):
    (tmp_path / "x.json").write_text('{"name": "é\\ud83d\\ude00", "size": 7, "cost": 0.5}')
    assert files.read_json(tmp_path / "x.json", Sized) == Sized("é😀", 7, 0.5)
    assert files.read_json(tmp_path / "x.json")["size"] == 7
    assert parse_json("[1, NaN]", finite=False)[0] == 1


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        ("[" * 100_000, object),
        ('{"a":' * 100_000, object),
        ("9" * 5000, object),
        ("1e999", object),
        ("[[-1e999]]", object),
        ("NaN", object),
        ('"\\ud800"', object),
        ('"\\udc00x"', object),
        ("{", object),
        ("", object),
        (b"\xff\xfe{\x00}\x00", object),
        ("[]", Sized),
        ('{"name": "a"}', Sized),
        ('{"name": 1, "size": 1}', Sized),
        ('{"name": "a", "size": -1}', Sized),
        ('{"name": "a", "size": 1.5}', Sized),
        ('{"name": "a", "size": true}', Sized),
        ('{"name": "a", "size": 1' + "0" * 30 + "}", Sized),
        ('{"name": "a", "size": 1, "cost": "0.5"}', Sized),
        ('["a", 1]', list[str]),
    ],
)
def test_other_json_is_a_value_error(raw, shape):
    with pytest.raises(ValueError) as caught:
        parse_json(raw, shape)
    assert len(str(caught.value)) < 300 and str(caught.value).isprintable()


def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    for name, problem in {"pipe": "is a pipe", "zeros": "is a device", "folder": "is a folder"}.items():
        for read in (open_regular, read_bytes, files.read_json, sha256):
            with pytest.raises(OSError, match=problem):
                read(tmp_path / name)
        with pytest.raises(ModelError, match=problem):
            weights.read(tmp_path / name)
        with pytest.raises(ModelError, match=problem):
            weights.read_shapes(tmp_path / name)


def test_a_link_that_leads_to_itself_is_a_path_like_any_other(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("file")
    assert files.resolve(tmp_path / "loop").name == "loop"
    assert files.resolve(tmp_path / "link") == files.resolve(tmp_path) / "file"


def test_a_number_that_is_not_finite_is_not_written(tmp_path: Path):
    with pytest.raises(RunError, match=r"pruning.json: not written, since a number is not finite"):
        Run(tmp_path).write_json(tmp_path / "pruning.json", {"loss": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_sizes_are_bounded(tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(bytes(101))
    assert len(read_bytes(path, limit=101)) == 101
    with pytest.raises(OSError, match="more than 100 bytes"):
        read_bytes(path, limit=100)
    os.truncate(path, MAX_CHECKED_BYTES + 1)  # of which nothing is on the disk
    with pytest.raises(OSError, match="has more than 8,589,934,592 bytes"):
        sha256(path)


def test_a_line_that_is_too_long_is_refused_by_number(tmp_path: Path):
    path = tmp_path / "lines"
    path.write_bytes(b"12345\n12345\r\n12345")
    with open_regular(path) as file:
        assert list(iter_lines(file, 5)) == [b"12345\n", b"12345\r\n", b"12345"]
    path.write_bytes(b"12345\n123456\n1\n")
    with open_regular(path) as file, pytest.raises(LineTooLongError, match="line 2 has more than 5 bytes"):
        list(iter_lines(file, 5))


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "po", "en"])
def test_a_compressed_bomb_of_one_line_costs_no_memory(tmp_path: Path, suffix: str):
    size = 100_000_000
    path = tmp_path / f"bomb.{suffix}.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(size // 1_000_000):
            file.write(b"x" * 1_000_000)
    (tmp_path / "bomb.fr").write_text("un\n")
    assert path.stat().st_size < size / 500
    names = [path, tmp_path / "bomb.fr"] if suffix == "en" else [path]
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"more than [\d,]+ bytes|times its size"):
            list(read_pairs(names))
        assert tracemalloc.get_traced_memory()[1] < size / 3
    finally:
        tracemalloc.stop()


def test_the_limit_of_a_line_is_a_setting(tmp_path: Path):
    path = tmp_path / "a.tsv"
    path.write_text("one\tun\n" + "x" * 1009 + "\ty\n")
    assert len(list(read_pairs([path], max_line_bytes=2003))) == 2
    with pytest.raises(FormatError, match=r"a.tsv:2: line 2 has more than 997 bytes.*data.max_line_bytes"):
        list(read_pairs([path], max_line_bytes=997))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_weights_that_are_not_finite_are_refused(tmp_path: Path, number: str):
    import torch

    tensor = torch.ones(5, 7)
    weights.write({"a.weight": tensor}, tmp_path / "good.safetensors")
    assert weights.read(tmp_path / "good.safetensors")["a.weight"].shape == (5, 7)
    tensor[3, 2] = float(number)
    weights.write({"a.weight": tensor}, tmp_path / "bad.safetensors")
    with pytest.raises(ModelError, match=r"bad.safetensors: damaged: a.weight holds NaN or infinity"):
        weights.read(tmp_path / "bad.safetensors")


def test_a_header_that_promises_what_the_file_has_not_is_refused(tmp_path: Path):
    header = b'{"a":{"dtype":"F32","shape":[100000,100000],"data_offsets":[0,40000000000]}}'
    path = tmp_path / "short.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
    for read in (weights.read, weights.read_shapes):
        with pytest.raises(ModelError, match="not a readable safetensors file"):
            read(path)
