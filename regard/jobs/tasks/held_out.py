"""Which sets are held out of the training files, and what store/texts.json says of them."""

from collections.abc import Mapping, Sequence

from regard.config import Config
from regard.errors import DataError
from regard.run import Run

SMALL_CORPUS = 10_000  # examples
SMALL_CORPUS_FRACTION, LARGE_CORPUS_FRACTION = 0.1, 0.05


def list_held_out_sets(config: Config) -> list[str]:
    """The sets that are held out of the training files, because they have no files."""
    return [] if config.data.dev else ["dev"] if config.data.test else ["dev", "test"]


def write_manifest(run: Run, counts: Mapping[str, int], held_out: Sequence[str], notes: Sequence[str]) -> None:
    """Record the sets that were stored, and their notes."""
    sets = [name for name in ("train", "dev", "test") if name in counts]
    for name in sets:
        if not counts[name]:
            raise DataError(f"no example is left for {name}; `regard doctor` shows why; data.keep keeps what it drops")
    run.write_json(run.texts_manifest, {"notes": list(notes), "sets": sets, "held_out": list(held_out)})


def held_out_fractions(config: Config, num_examples: int) -> dict[str, float]:
    """The fraction of the training examples that each missing set gets."""
    fraction = SMALL_CORPUS_FRACTION if num_examples < SMALL_CORPUS else LARGE_CORPUS_FRACTION
    return dict.fromkeys(list_held_out_sets(config), fraction)
