"""The recipes and the corpora of speedrun.toml, and the settings that they stand for."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard import config as settings
from regard.config import Config
from regard.data.split import hold_out
from regard.formats import Pair, read_pairs
from regard.jobs.train.estimate import estimate_files
from regard.metrics import Tokenization
from regard.run import write_text

TABLE = Path(__file__).parent / "speedrun.toml"
BASE = "default"
"""The recipe that the others are compared with: what Regard chooses by itself."""
OWN = frozenset({"train.validate_every", "train.save_every", "train.threads"})
"""Settings that the harness chooses."""
LINE_ENDS = re.compile(r"[\t\r\n]+ *")
Values = Mapping[str, Any]


@dataclass(frozen=True)
class SpeedCorpus:
    """Where the files of a corpus are, and how its translations are scored."""

    name: str
    train: tuple[str, ...]
    languages: tuple[str, str]
    dev: tuple[str, ...] = ()
    """Unset: held out of the training pairs, once for all recipes."""
    lowercase: bool = False
    tokenize: str = "13a"

    def settings(self, data: Path, folder: Path) -> list[str]:
        """The settings that name its files; a dev set that is missing is written into a folder."""
        train, dev = ([str(data / path) for path in paths] for paths in (self.train, self.dev))
        if missing := [path for path in (*train, *dev) if not Path(path).exists()]:
            raise SystemExit(f"{self.name}: {missing[0]} does not exist; name the folder with --data or REGARD_DATA")
        if not dev:
            train, dev = ([str(path)] for path in _split(folder, train, self.languages))
        source, target = self.languages
        files = [f"data.train={json.dumps(train)}", f"data.dev={json.dumps(dev)}"]
        return [*files, f"data.source={source}", f"data.target={target}"]

    def make_bleu(self):
        """sacreBLEU's metric for its translations."""
        return Tokenization(self.tokenize).make_bleu(lowercase=self.lowercase)


@dataclass(frozen=True)
class Recipe:
    """Settings on top of what Regard chooses for a corpus and its minutes."""

    name: str
    settings: tuple[str, ...] = ()
    factors: Mapping[str, float] | None = None
    """What chosen values are multiplied by."""
    parts: int = 1
    """Parts of a training whose steps cost differently."""
    teacher: float = 0.0
    """Share of the minutes in which the base recipe trains a model whose translations are added to the pairs."""

    def overrides(self, base: Values) -> list[str]:
        """The settings over those of the base recipe."""
        flat = settings.flatten(Config().model_dump(mode="json")) | dict(base)
        scaled = [f"{name}={_scale(flat[name], factor)}" for name, factor in (self.factors or {}).items()]
        return [*self.settings, *scaled]


def load_table(path: Path = TABLE) -> tuple[dict[str, SpeedCorpus], dict[str, Recipe]]:
    """The corpora and the recipes of a file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    corpora = {name: SpeedCorpus(name, **_tuples(fields)) for name, fields in table["corpora"].items()}
    return corpora, {name: Recipe(name, **_tuples(fields)) for name, fields in table["recipes"].items()}


def choose_base(files: Sequence[str], minutes: float, more: Sequence[str]) -> dict[str, Any]:
    """What Regard chooses for these files and minutes."""
    config = settings.override(Config(), [*files, f"train.minutes={minutes}", "train.seed=1", *more])
    return {choice.name: choice.value for choice in estimate_files(config).choices if choice.name not in OWN}


def describe_base(base: Values, more: Sequence[str]) -> str:
    """The sizes that a step costs by."""
    sizes = {**base, **dict(setting.split("=", 1) for setting in more)}
    names = ("data.vocab_size", "model.layers", "model.dim", "model.ffn", "train.batch_tokens")
    return " ".join(f"{name.partition('.')[2]}={sizes.get(name, 'default')}" for name in names)


def make_config(files: Sequence[str], base: Values, recipe: Recipe, more: Sequence[str]) -> Config:
    """The settings of a training."""
    values = [f"{name}={json.dumps(value)}" for name, value in base.items()]
    return settings.override(Config(), [*files, *values, "train.patience=0", *recipe.overrides(base), *more])


def _scale(value: float, factor: float) -> float | int:
    return round(value * factor) if isinstance(value, int) else value * factor


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _split(folder: Path, files: Sequence[str], languages: tuple[str, str]) -> tuple[Path, Path]:
    """Train and dev as .tsv: no source is in both."""
    train, dev = folder / "train.tsv", folder / "dev.tsv"
    if not dev.exists():
        folder.mkdir(parents=True, exist_ok=True)
        pairs = list(_on_one_line(read_pairs(files, *languages)))
        assigned = list(hold_out((pair.source for pair in pairs), 1, dev=True, test=False).assign(pairs))
        for path, name in ((train, "train"), (dev, "dev")):
            write_text(path, "".join(f"{pair.source}\t{pair.target}\n" for split, pair in assigned if split == name))
    return train, dev


def _on_one_line(pairs: Iterator[Pair]) -> Iterator[Pair]:
    for pair in pairs:
        sides = [LINE_ENDS.sub(" ", text).strip() for text in (pair.source, pair.target)]
        if all(sides):
            yield Pair(*sides)
