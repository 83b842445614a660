"""Examine a corpus, and write a clean copy of it."""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.config import Config
from regard.data.doctor import Diagnosis
from regard.formats import Pair
from regard.jobs.prepare import diagnose, stream
from regard.run import aside


def examine(config: Config) -> Diagnosis:
    """What is wrong with the files that the settings name."""
    return diagnose(config)


def write_clean(config: Config, diagnosis: Diagnosis, folder: Path) -> list[Path]:
    """Every set without what the doctor drops: two text files stay two, anything else becomes JSON lines."""
    written: list[Path] = []
    for name, files in (("train", config.data.train), ("dev", config.data.dev), ("test", config.data.test)):
        if files:
            pairs = list(diagnosis.clean(stream(config, files).read(), name))
            written += _write(folder, name, files, pairs)
    return written


def _write(folder: Path, name: str, files: Sequence[str], pairs: list[Pair]) -> list[Path]:
    if len(files) == 2 and all("\n" not in pair.source + pair.target for pair in pairs):
        names = [Path(file).name.removesuffix(".gz") for file in files]
        paths = [folder / names[0], folder / (names[1] if names[1] != names[0] else names[1] + ".target")]
        _lines(paths[0], [pair.source for pair in pairs])
        _lines(paths[1], [pair.target for pair in pairs])
        return paths
    path = folder / f"{name}.jsonl"
    _lines(path, [json.dumps({"source": p.source, "target": p.target}, ensure_ascii=False) for p in pairs])
    return [path]


def _lines(path: Path, lines: list[str]) -> None:
    with aside(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)
