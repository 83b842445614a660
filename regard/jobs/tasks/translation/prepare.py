"""Files -> a store of texts and tokens, and tokenizers, inside the run. Done once; a resumed run finds them there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from regard.config import Config
from regard.data import split, store
from regard.data.both_directions import write_both_directions
from regard.data.doctor import Diagnosis, Doctor, DoctorSettings, PairStream
from regard.data.store import Texts
from regard.data.tokenizers import tokenizer as tokenizer_module
from regard.data.tokenizers.tagged_tokenizer import TaggedTokenizer, tag_of
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.data.tokenizers.tokenizer import Tokenizer, Tokenizers
from regard.errors import ConfigError, DataError
from regard.formats import Pair, read_pairs
from regard.jobs.contamination import TrainingSources, describe_contamination, load_trained_sources
from regard.jobs.load import load_tokenizer, load_tokenizers, share_tokenizer
from regard.jobs.tasks.task import TextSize
from regard.jobs.train.training_data import read_texts_manifest
from regard.progress import stage, track
from regard.run import Run, atomic_write

MAX_TOKENIZER_SENTENCES = 1_000_000
ReadTexts = Callable[[], Iterable[str]]
"""Texts that can be read several times."""


def stream_pairs(config: Config, files: Sequence[str]) -> PairStream:
    """The pairs of some files, which can be read several times."""
    c = config.data
    return PairStream(
        lambda: read_pairs(files, c.source, c.target, c.max_line_bytes), PairStream.from_files(files).files
    )


def diagnose(config: Config) -> Diagnosis:
    """The diagnosis of the files that the settings name."""
    c = config.data
    doctor_settings = DoctorSettings(source=c.source, target=c.target, keep=frozenset(c.keep), drop=frozenset(c.drop))
    require_training_files(config)
    dev, test = (stream_pairs(config, files) if files else None for files in (c.dev, c.test))
    return Doctor(doctor_settings).examine(stream_pairs(config, c.train), dev, test)


def require_training_files(config: Config) -> None:
    """Refuse settings without training files."""
    if not config.data.train:
        raise ConfigError("nothing to train on: give two aligned text files, a .tsv, .tmx or .po, or set data.train")


def write_texts(run: Run, config: Config) -> None:
    """Read every file, drop what the doctor diagnoses, hold out the missing sets, and store the texts in the run."""
    if run.texts_manifest.exists():
        return
    diagnosis = diagnose(config)
    diagnosis.require_trainable()
    run.write_json(run.doctor, diagnosis.as_dict())
    c = config.data
    trained_sources = _load_initial_sources(config)
    held_out_sets = _list_held_out_sets(config)
    held_out = _hold_out(config, diagnosis, held_out_sets, trained_sources)
    clean_pairs = track(diagnosis.clean(stream_pairs(config, c.train).read()), "storing train", diagnosis.pairs_kept)
    counts = store.write_sets(run.store, ("train", *held_out_sets), held_out.assign(clean_pairs))
    for name, files in (("dev", c.dev), ("test", c.test)):
        if files:
            counts[name] = store.write_texts(run.store, name, diagnosis.clean(stream_pairs(config, files).read(), name))
    sets = [name for name in ("train", "dev", "test") if name in counts]
    for name in sets:
        if not counts[name]:
            raise DataError(f"no pair is left for {name}; `regard doctor` shows why; data.keep keeps what it drops")
    repeated = diagnosis.pairs_kept - sum(counts[name] for name in ("train", *held_out_sets))
    notes = (
        [f"{repeated:,} pairs repeat a source of {' or '.join(held_out_sets)}, and are in no set"] if repeated else []
    )
    notes += [
        note
        for name in sets
        if name != "train"
        for note in _contamination_notes(run, name, trained_sources, config.train.init_from)
    ]
    run.write_json(run.texts_manifest, {"notes": notes, "sets": sets, "held_out": held_out_sets})


def read_training_pairs(config: Config) -> Iterator[Pair]:
    """The pairs that training would store: without what the doctor drops, and without dev and test."""
    diagnosis = diagnose(config)
    diagnosis.require_trainable()
    held_out = _hold_out(config, diagnosis, _list_held_out_sets(config), _load_initial_sources(config))
    clean_pairs = track(diagnosis.clean(stream_pairs(config, config.data.train).read()), "reading pairs")
    return (pair for name, pair in held_out.assign(clean_pairs) if name == "train")


def _list_held_out_sets(config: Config) -> list[str]:
    """The sets that are held out of the training files, because they have no files."""
    return [] if config.data.dev else ["dev"] if config.data.test else ["dev", "test"]


def _load_initial_sources(config: Config) -> TrainingSources:
    """The sources that the run was trained on from which this one is initialized."""
    return load_trained_sources(config.train.init_from) if config.train.init_from else TrainingSources(())


def _hold_out(
    config: Config, diagnosis: Diagnosis, held_out_sets: Sequence[str], trained_sources: TrainingSources
) -> split.HeldOutSources:
    """What is held out of the training files for the sets that have no files."""
    if not held_out_sets:
        return split.HeldOutSources(frozenset(), frozenset(), config.split_seed)
    pairs = diagnosis.clean(stream_pairs(config, config.data.train).read())
    sources = (pair.source for pair in track(pairs, "choosing held-out pairs", diagnosis.pairs_kept))
    return split.hold_out(sources, config.split_seed, "dev" in held_out_sets, "test" in held_out_sets, trained_sources)


def _contamination_notes(run: Run, name: str, trained_sources: TrainingSources, init_from: str) -> Iterator[str]:
    """A note on sentences of a held-out set that the initial run was trained on."""
    sources = Texts(run.store, f"{name}.source")
    count = sum(source in trained_sources for source in sources) if len(trained_sources) else 0
    if note := describe_contamination(count, len(sources), f"{init_from}, from which this run is initialized"):
        yield f"{name}: {note}. Give --dev and --test files that are new to it."


def tokenize_corpora(run: Run, config: Config) -> None:
    """Train the tokenizers, and store the texts as token ids in the run."""
    if run.tokens_manifest.exists():
        return
    sources, targets = (Texts(run.store, f"train.{side}") for side in store.SIDES)
    tokenizers, notes = train_tokenizers(run, config, lambda: sources, lambda: targets, len(sources))
    for name in read_texts_manifest(run).sets:
        store.write_ids(run.store, name, tokenizers)
    if isinstance(tokenizers.source, TaggedTokenizer):
        source_tag = tokenizers.source.tag_id(config.data.source)
        write_both_directions(run.store, store.open_corpus(run.store, "train", tokenizers), source_tag, tokenizers)
    run.write_json(run.tokens_manifest, {"notes": notes})


def train_tokenizers(
    run: Run, config: Config, sources: ReadTexts, targets: ReadTexts, num_pairs: int
) -> tuple[Tokenizers, list[str]]:
    """One tokenizer for both sides or one for each, and notes; those of an initial run are used as they are."""
    if config.train.init_from:  # whose tokenizers were copied into this run
        return load_tokenizers(run, config), []
    if config.data.joint_vocab:
        joint, notes = _train_tokenizer(run, config, lambda: chain(sources(), targets()), 2 * num_pairs, "")
        return share_tokenizer(joint, config), notes
    source, notes = _train_tokenizer(run, config, sources, num_pairs, "source")
    target, target_notes = _train_tokenizer(run, config, targets, num_pairs, "target")
    return Tokenizers(source, target), notes + target_notes


def _train_tokenizer(run: Run, config: Config, texts: ReadTexts, count: int, side: str) -> tuple[Tokenizer, list[str]]:
    """Train a tokenizer, unless that was done before a kill."""
    path = run.tokenizer(side)
    if run.has_checksum(path):
        return load_tokenizer(run, side), []
    stride = -(-count // MAX_TOKENIZER_SENTENCES)
    vocab_size = config.data.vocab_size
    with stage("training the tokenizer"):
        tokenizer = tokenizer_module.train_tokenizer(
            tokenizer_module.subsample(texts(), stride),
            vocab_size,
            config.data.tokenizer,
            _list_control_symbols(config),
        )
    with atomic_write(path) as temporary:
        temporary.write_bytes(tokenizer.model)
    run.record_checksums(path)
    label = f"{side} vocabulary" if side else "vocabulary"
    if tokenizer.vocab_size == vocab_size:
        return tokenizer, []
    reason = "the training text has no more" if tokenizer.vocab_size < vocab_size else "its characters alone need more"
    return tokenizer, [f"{label}: {tokenizer.vocab_size:,} tokens instead of data.vocab_size={vocab_size:,}: {reason}"]


def _list_control_symbols(config: Config) -> list[str]:
    """The tokens that no text is encoded with: tags of languages where both directions are trained, and a mask."""
    c = config.data
    tags = [tag_of(code) for code in (c.source, c.target)] if c.both_directions else []
    return [*tags, MASK_TOKEN] if c.denoise_targets else tags


def measure_training_text(run: Run) -> TextSize:
    """The number of pairs, and of bytes of each side, of the training texts."""
    sides = [Texts(run.store, f"train.{side}") for side in ("source", "target")]
    return TextSize(len(sides[0]), sides[0].num_bytes, sides[1].num_bytes)


def count_directions(size: TextSize, config: Config) -> TextSize:
    """The size of a text that is trained on in the directions of the settings."""
    num_bytes = size.source_bytes + size.target_bytes
    return TextSize(2 * size.examples, num_bytes, num_bytes) if config.data.both_directions else size
