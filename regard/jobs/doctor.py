"""Write a clean copy of a corpus that the doctor has examined."""

from collections.abc import Sequence
from pathlib import Path

from regard.config import Config
from regard.data.doctor import Diagnosis
from regard.errors import DataError
from regard.exchange import write_folder
from regard.files import resolve
from regard.formats import Pair, are_two_texts, jsonl, text
from regard.jobs.train.prepare import stream_pairs
from regard.progress import track


def write_clean_corpus(config: Config, diagnosis: Diagnosis, folder: Path) -> list[Path]:
    """Write every split without dropped pairs: two text files stay two, other formats become JSON lines."""
    with write_folder(folder) as staged:
        return _write_splits(config, diagnosis, folder, staged)


def _write_splits(config: Config, diagnosis: Diagnosis, folder: Path, staged: Path) -> list[Path]:
    """Write the files of a folder into another one that will replace it; returns their final paths."""
    written_paths: list[Path] = []
    for name, files in (("train", config.data.train), ("dev", config.data.dev), ("test", config.data.test)):
        if files:
            pairs = list(track(diagnosis.clean(stream_pairs(config, files).read(), name), f"reading {name}"))
            paths = _output_paths(folder, name, files, pairs)
            input_paths = {resolve(file) for file in (*config.data.train, *config.data.dev, *config.data.test)}
            for path in paths:
                if resolve(path) in input_paths | {resolve(other) for other in written_paths}:
                    raise DataError(f"{path}: would be overwritten; choose another folder with --fix")
            staged_paths = [staged / path.relative_to(folder) for path in paths]
            if len(paths) == 2:
                text.write(staged_paths[0], staged_paths[1], pairs)
            else:
                jsonl.write(staged_paths[0], pairs)
            written_paths += paths
    return written_paths


def _output_paths(folder: Path, name: str, files: Sequence[str], pairs: list[Pair]) -> list[Path]:
    """The files of a split: named as its two input files, in a folder of its own for dev and test."""
    if not are_two_texts(files) or any("\n" in pair.source + pair.target for pair in pairs):
        return [folder / f"{name}.jsonl"]
    directory = folder if name == "train" else folder / name
    source, target = (Path(file).name.removesuffix(".gz") for file in files)
    return [directory / source, directory / (target if target != source else f"{target}.target")]
