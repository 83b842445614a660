"""The sources that a model was trained on, to detect test sentences that it may have memorized."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from regard.data.split import digest
from regard.data.store import Texts
from regard.progress import track
from regard.run import Run, is_run

DIGEST_SEED = 0  # these digests are compared only with each other


class TrainingSources:
    """The sources that a run was trained on, and the runs that it was initialized from: eight bytes each."""

    def __init__(self, sources: Iterable[str]):
        self._digests = np.unique(np.fromiter((digest(source, DIGEST_SEED) for source in sources), np.uint64))

    def __contains__(self, source: object) -> bool:
        if not len(self._digests):
            return False
        source_digest = np.uint64(digest(str(source), DIGEST_SEED))
        index = int(np.searchsorted(self._digests, source_digest))
        return index < len(self._digests) and bool(self._digests[index] == source_digest)

    def __len__(self) -> int:
        return len(self._digests)


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
