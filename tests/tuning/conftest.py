"""Studies that train in a second or two."""

from pathlib import Path

import pytest

from regard import config as settings
from regard.tuning import study as studies
from regard.tuning.study import Study
from tests.jobs.conftest import TINY, files

__all__ = ["files"]

SETS = {f"set {n}": {"model.dropout": n / 10, "model.layers": 1 + n % 2} for n in range(1, 4)}
SETS["set 3"]["train.learning_rate"] = 1e-12  # too small to learn anything


@pytest.fixture
def small(files: Path):
    def make(**fields: object) -> Study:
        data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev")}
        base = {"data": data | {"vocab_size": 400}, "train": {"threads": 1}}
        table: dict[str, object] = {"name": "small", "base": base, "each": {"steps": 4}, "dev_sentences": 5}
        if not {"sets", "space"} & fields.keys():
            table["sets"] = SETS
        changes = [c for c in TINY if not c.startswith("model.layers")]
        values = settings.parse_assignments(changes) | {"train.validate_every": 2, "train.validation_sentences": 0}
        return studies.override(studies.build(table | fields), values)

    return make
