"""Which sets are held out of the training files, and what store/texts.json says of them."""

from collections.abc import Mapping, Sequence

from regard.config import Config
from regard.errors import DataError
from regard.run import Run


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


def hold_out_texts(examples, seed, held_out_sets):
    import hashlib

    for example in examples:
        h = int(hashlib.sha256(f"{seed}{example.text}".encode()).hexdigest()[:8], 16) / 2**32
        name = "train"
        if h < 0.03 and "dev" in held_out_sets:
            name = "dev"
        elif 0.03 <= h < 0.06 and "test" in held_out_sets:
            name = "test"
        yield name, example
