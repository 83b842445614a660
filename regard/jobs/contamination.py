"""The sources that a model was trained on, to detect test sentences that it may have memorized."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from regard.data.normalization import hash_source
from regard.data.store import Texts
from regard.progress import track
from regard.run import Run, is_run


class TrainingSources:
    """The sources that a run was trained on, and the runs that it was initialized from: eight bytes each.

    Sources are compared after `normalize_source`, as they are when dev and test are held out.
    """

    def __init__(self, sources: Iterable[str]):
        self._hashes = np.unique(np.fromiter(map(hash_source, sources), np.uint64))

    def __contains__(self, source: object) -> bool:
        if not len(self._hashes):
            return False
        source_hash = np.uint64(hash_source(str(source)))
        index = int(np.searchsorted(self._hashes, source_hash))
        return index < len(self._hashes) and bool(self._hashes[index] == source_hash)

    def __len__(self) -> int:
        return len(self._hashes)


def describe_contamination(count: int, total: int, run: str = "this run", noun: str = "sources") -> str:
    """How many sources of a set were trained on, in one sentence; empty if none were."""
    if not count:
        return ""
    verb = "occurs" if count == 1 else "occur"
    return (
        f"{count:,} of {total:,} {noun} {verb} in the training text of {run} (compared without case and blanks): "
        f"there, scores measure memorization"
    )


def load_trained_sources(folder: str | Path) -> TrainingSources:
    """The training sources of the run in a folder; those of an imported run are unknown."""
    sources = (source for run in _ancestor_runs(Path(folder)) for source in _read_sources(run))
    return TrainingSources(track(sources, "reading training sources"))


def _ancestor_runs(folder: Path) -> list[Run]:
    """A run and the runs that it was initialized from, as far as they still exist."""
    ancestors: list[Run] = []
    name = str(folder)
    while name and is_run(Path(name)) and Path(name) not in [run.folder for run in ancestors]:
        ancestors.append(Run(Path(name)))
        name = ancestors[-1].load_config().train.init_from
    return ancestors


def _read_sources(run: Run) -> Iterable[str]:
    return Texts(run.store, "train.source") if run.texts_manifest.exists() else ()
