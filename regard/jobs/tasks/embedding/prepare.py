"""Files of texts that belong together -> a store of texts inside the run. Done once; a resumed run finds them there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from regard.config import Config
from regard.data import store
from regard.data.group_split import hold_out_related
from regard.data.normalization import hash_source
from regard.errors import ConfigError, DataError
from regard.formats.related import RelatedColumns, RelatedTexts, read_related_texts
from regard.jobs.tasks.held_out import held_out_fractions, write_manifest
from regard.metrics.vectors.correlation import MIN_PAIRS
from regard.progress import stage, track
from regard.run import Run
from regard.tasks.embed.examples import store_example
from regard.tasks.embed.rows import MAX_SIMILARITY

USUAL_MAXIMA = (1.0, 5.0, 10.0, MAX_SIMILARITY)
OVERLAP = "overlap"
SIMILARITY_METRIC, RETRIEVAL_METRIC = "spearman", "mrr"
"""What dev is scored by: where its pairs have similarities, and where they have none."""


def read_files(files: Sequence[str], config: Config) -> Iterator[RelatedTexts]:
    """The examples of files, by the columns that the settings name."""
    c = config.embed
    return read_related_texts(files, RelatedColumns(c.text, c.text_pair, c.similarity), config.data.max_line_bytes)


def write_texts(run: Run, config: Config) -> None:
    """Read every file, hold out the missing sets, and store the texts of each set in the run."""
    if run.texts_manifest.exists():
        return
    _require_known_findings(config)
    c = config.data
    train = list(track(read_files(c.train, config), "reading train"))
    maximum = find_maximum(train, config.embed.max_similarity)
    _require_usable(train, "train", train, maximum)
    fractions = held_out_fractions(config, len(train))
    sets = _hold_out(train, config.split_seed, fractions) if fractions else {"train": train}
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            sets[name] = list(track(read_files(files, config), f"reading {name}"))
    notes = [] if OVERLAP in c.keep else _drop_overlap(sets)
    if train[0].positive is None:
        sets, view_notes = _make_views(sets, config)
        notes += view_notes
    for name, examples in sets.items():
        _require_usable(examples, name, train, maximum)
    require_metric(config, sets["dev"][0].similarity is not None)
    pairs = ((name, store_example(example)) for name, examples in sets.items() for example in examples)
    counts = store.write_sets(run.store, tuple(sets), pairs)
    write_manifest(run, counts, list(fractions), notes)


def _require_known_findings(config: Config) -> None:
    if config.data.drop or not {*config.data.keep} <= {OVERLAP}:
        raise ConfigError(
            f"data.keep={list(config.data.keep)}, data.drop={list(config.data.drop)}: of pairs of texts, only those "
            f"that dev or test have, too, are dropped; data.keep={OVERLAP} keeps them"
        )


def require_one_kind(examples: Sequence[RelatedTexts]) -> None:
    """Refuse examples that are not all pairs, all pairs with similarities, or all single texts."""
    first = examples[0]
    for example in examples:
        if (example.similarity is None) != (first.similarity is None):
            raise DataError(
                f"{example.location}: similarities of some pairs, and none of others; expected one kind of file"
            )
        if (example.positive is None) != (first.positive is None) or len(example.negatives) != len(first.negatives):
            raise DataError(
                f"{example.location}: has {_count_texts(example)} texts in a row, but {first.location} has "
                f"{_count_texts(first)}; expected as many in all files"
            )


def _count_texts(example: RelatedTexts) -> int:
    return 1 + (example.positive is not None) + len(example.negatives)


def require_different(examples: Sequence[RelatedTexts]) -> None:
    """Refuse pairs on which every model has the same score: they have one similarity, or one second text, for all."""
    first = examples[0]
    if first.similarity is not None and {one.similarity for one in examples} == {first.similarity}:
        raise DataError(
            f"{first.location}: this pair and all others have the similarity {first.similarity:g}; expected pairs that "
            f"differ in it"
        )
    if first.positive is not None and {text for one in examples for text in (one.positive, *one.negatives)} == {
        first.positive
    }:
        raise DataError(
            f"{first.location}: this pair and all others have the same second text; expected several, so that each can "
            f"be found among others"
        )


def find_maximum(examples: Sequence[RelatedTexts], requested: float | None) -> float:
    """The largest possible similarity: the one that was requested, or the first usual one that none exceeds."""
    if requested is not None:
        return requested
    largest = max((example.similarity or 0.0 for example in examples), default=0.0)
    return next((maximum for maximum in USUAL_MAXIMA if largest <= maximum), MAX_SIMILARITY)


def require_range(examples: Iterable[RelatedTexts], maximum: float) -> None:
    """Refuse a similarity that is negative, or larger than possible."""
    for example in examples:
        if example.similarity is not None and not 0 <= example.similarity <= maximum:
            raise DataError(
                f"{example.location}: the similarity is {example.similarity:g}; expected 0 to {maximum:g}; set "
                f"embed.max_similarity if it may be larger (up to {MAX_SIMILARITY:g})"
            )


def require_metric(config: Config, has_similarities: bool) -> None:
    """Refuse a metric that dev cannot be scored by."""
    metric = config.train.metric
    if metric not in ("loss", SIMILARITY_METRIC if has_similarities else RETRIEVAL_METRIC):
        content = "similarities" if has_similarities else "no similarities"
        raise ConfigError(f"train.metric={metric}: dev has {content}; leave it out")


def _hold_out(
    examples: Sequence[RelatedTexts], seed: int, fractions: dict[str, float]
) -> dict[str, list[RelatedTexts]]:
    with stage("holding out whole groups"):
        texts = [[one.text, *([] if one.positive is None else [one.positive])] for one in examples]
        split = hold_out_related(texts, seed, fractions)
    return {name: [examples[row] for row in rows.tolist()] for name, rows in split.rows.items()}


def _drop_overlap(sets: dict[str, list[RelatedTexts]]) -> list[str]:
    """Leave pairs out of train that dev or test have, too; what was left out."""
    held_out = {_hash_pair(example) for name, examples in sets.items() if name != "train" for example in examples}
    training = [example for example in sets["train"] if _hash_pair(example) not in held_out]
    num_dropped = len(sets["train"]) - len(training)
    sets["train"] = training
    return [f"{num_dropped:,} training pairs are also in dev or test, and are left out"] if num_dropped else []


def _hash_pair(example: RelatedTexts) -> tuple[int, int]:
    first, second = sorted((hash_source(example.text), hash_source(example.positive or "")))
    return first, second


def _make_views(sets: dict[str, list[RelatedTexts]], config: Config) -> tuple[dict[str, list[RelatedTexts]], list[str]]:
    """Single texts: two views of each in training; of dev and test, where views are the same, the halves of each."""
    if config.model.dropout == 0 and "dropout" in config.model.model_fields_set:
        raise ConfigError(
            "model.dropout=0: single texts are learned from by two views of each, which differ by dropout alone; raise "
            "it, or give pairs of texts"
        )
    views, notes = (
        {"train": sets["train"]},
        ["train has single texts: the positive of each is itself, with other dropout"],
    )
    for name, examples in sets.items():
        if name != "train":
            is_single = examples[0].positive is None
            views[name] = [half for one in examples for half in split_halves(one)] if is_single else examples
            if is_single:
                notes.append(f"{name} has single texts: the first half of each must find its second half")
    return views, notes


def split_halves(example: RelatedTexts) -> Iterator[RelatedTexts]:
    """A text of two words or more as a pair of its halves."""
    words = example.text.split()
    if len(words) > 1:
        middle = len(words) // 2
        yield replace(example, text=" ".join(words[:middle]), positive=" ".join(words[middle:]))


def _require_usable(examples: Sequence[RelatedTexts], name: str, train: Sequence[RelatedTexts], maximum: float) -> None:
    """Refuse a set that nothing can be learned from, or chosen by."""
    noun = "text" if train[0].positive is None else "pair"
    least = MIN_PAIRS if name != "train" and examples and examples[0].similarity is not None else 2
    if len(examples) < least:
        raise DataError(
            f"{name} has {len(examples)} {noun}{'' if len(examples) == 1 else 's'}; a text is compared with others: "
            f"expected {least} at least, and hundreds to learn from"
        )
    require_range(examples, maximum if train[0].similarity is not None else MAX_SIMILARITY)
    require_one_kind(examples)
    require_different(examples)
    if name != "train" and examples[0].positive is None:
        raise DataError(f"{examples[0].location}: has single texts; {name} needs pairs of texts")
    if name != "train" and train[0].similarity is not None and examples[0].similarity is None:
        raise DataError(f"{examples[0].location}: has no similarity, as the training pairs have; add a column of them")
