"""Files -> a store and tokenisers inside the run. Done once; a run that is taken up again finds them there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from regard.config import Config
from regard.data import split, store
from regard.data import tokenizer as tokenizers_room
from regard.data.store import Corpus, Texts
from regard.data.tokenizer import Tokenizer, Tokenizers
from regard.errors import DataError
from regard.formats import Pair, read_pairs
from regard.jobs.load import load_tokenizers
from regard.run import Run, aside

ENOUGH_TO_LEARN_PIECES = 1_000_000


@dataclass(frozen=True)
class Data:
    """What a run trains and judges itself on."""

    train: Corpus
    dev: Corpus
    test: Corpus | None
    tokenizers: Tokenizers
    notes: tuple[str, ...]


def prepare(run: Run, config: Config) -> Data:
    """The run's data: made from the files the first time, found in its store afterwards."""
    ready = run.store / "ready.json"
    if not ready.exists():
        notes = _texts(run, config)
        tokenizers, more = _train_tokenizers(run, config)
        for name in _sets(run):
            store.write_ids(run.store, name, tokenizers)
        run.write_json(ready, {"notes": notes + more})
    tokenizers = load_tokenizers(run, config)
    corpora = {name: store.open_corpus(run.store, name, tokenizers) for name in _sets(run)}
    notes = run.read_json(ready)["notes"]
    return Data(corpora["train"], corpora["dev"], corpora.get("test"), tokenizers, tuple(notes))


def _texts(run: Run, config: Config) -> list[str]:
    """Write the texts of every set; what there is to say about them."""
    c = config.data
    notes: list[str] = []
    need_dev, need_test = not c.dev, not c.dev and not c.test
    held = split.Held(frozenset(), frozenset(), config.train.seed)
    if need_dev:
        sources = (pair.source for pair in read_pairs(c.train))
        held = split.hold_out(sources, config.train.seed, need_dev, need_test)
    given: dict[str, Sequence[str]] = {"train": c.train, "dev": c.dev, "test": c.test}
    drawn = {"train": True, "dev": need_dev, "test": need_test}
    for name, files in given.items():
        if not (files or drawn[name]):
            continue
        files = files or c.train
        blank = _Blank()
        pairs = blank.out_of(read_pairs(files))
        count = store.write_texts(run.store, name, split.only(pairs, held, name) if drawn[name] else pairs)
        if not count:
            raise DataError(f"{' '.join(files)}: no pair is left for {name}; more than that is needed to train")
        held_out = name != "train" and drawn[name]
        notes.append(f"{name}: {count:,} pairs" + held_out * " (held out of the training files, by source)")
        if blank.count and not held_out:
            notes.append(f"{name}: left out {blank.count:,} pairs with a blank side, the first at {blank.first}")
    return notes


class _Blank:
    """Leaves out pairs with nothing on one side, and remembers how many; the others keep their partners."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def out_of(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            if pair.source.strip() and pair.target.strip():
                yield pair
            else:
                self.count += 1
                self.first = self.first or pair.note


def _train_tokenizers(run: Run, config: Config) -> tuple[Tokenizers, list[str]]:
    sources, targets = Texts(run.store, "train.source"), Texts(run.store, "train.target")
    if config.data.joint:
        joint, notes = _train_one(run, config, lambda: chain(sources, targets), 2 * len(sources), "")
        return Tokenizers(joint, joint), notes
    source, notes = _train_one(run, config, lambda: sources, len(sources), "source")
    target, more = _train_one(run, config, lambda: targets, len(targets), "target")
    return Tokenizers(source, target), notes + more


def _train_one(
    run: Run, config: Config, texts: Callable[[], Iterable[str]], count: int, side: str
) -> tuple[Tokenizer, list[str]]:
    every = -(-count // ENOUGH_TO_LEARN_PIECES)
    wanted = config.data.vocabulary
    tokenizer = tokenizers_room.train(tokenizers_room.thin(texts(), every), wanted, config.data.tokenizer)
    with aside(run.tokenizer(side)) as path:
        path.write_bytes(tokenizer.model)
    run.seal(run.tokenizer(side))
    whose = f"{side} vocabulary" if side else "vocabulary"
    if tokenizer.size == wanted:
        return tokenizer, [f"{whose}: {wanted:,} pieces"]
    return tokenizer, [
        f"{whose}: {tokenizer.size:,} pieces instead of data.vocabulary={wanted:,}: the training text holds no more"
    ]


def _sets(run: Run) -> list[str]:
    found = {path.name.partition(".")[0] for path in run.store.glob("*.source.offsets")}
    return [name for name in ("train", "dev", "test") if name in found]
