"""What a model has been trained on, so that nobody is flattered by sentences it remembers."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from regard.data.split import digest
from regard.data.store import Texts
from regard.run import Run, is_run

SEED = 0  # of digests that are compared with each other and nothing else


class Seen:
    """The sources that a run was trained on, and the runs that it began with: eight bytes for each."""

    def __init__(self, sources: Iterable[str]):
        self._marks = np.unique(np.fromiter((digest(source, SEED) for source in sources), np.uint64))

    def __contains__(self, source: object) -> bool:
        if not len(self._marks):
            return False
        mark = np.uint64(digest(str(source), SEED))
        at = int(np.searchsorted(self._marks, mark))
        return at < len(self._marks) and bool(self._marks[at] == mark)

    def __len__(self) -> int:
        return len(self._marks)


def seen_by(folder: str | Path) -> Seen:
    """By the run in a folder; an imported one does not tell what it was trained on."""
    return Seen(source for run in _line(Path(folder)) for source in _sources(run))


def _line(folder: Path) -> list[Run]:
    """A run and those before it, as far as they are still there."""
    found: list[Run] = []
    name = str(folder)
    while name and is_run(Path(name)) and Path(name) not in [run.folder for run in found]:
        found.append(Run(Path(name)))
        name = found[-1].load_config().train.init_from
    return found


def _sources(run: Run) -> Iterable[str]:
    return Texts(run.store, "train.source") if run.texts_manifest.exists() else ()
