"""One model for both directions: tags choose, the training set is read twice, and translation stays what it was."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard import config as settings
from regard.config import Config
from regard.data.batch import DataPosition
from regard.data.tokenizers.tagged_tokenizer import TaggedTokenizer
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizer, train_tokenizer
from regard.decode import GreedySearch
from regard.errors import ConfigError, DataError
from regard.formats import Pair
from regard.inspection.example import build_pair_example
from regard.jobs.load import load, load_tokenizers
from regard.jobs.tasks.translation.data import build_batches, open_training_data
from regard.jobs.train.fit import resume_run, train_run
from regard.jobs.translate.engine import open_engine
from regard.jobs.translate.text import LengthLimit, LinePipeline, translate_texts
from regard.model.weights import read
from regard.run import Run
from tests.jobs.conftest import TINY

BOTH = ("data.both_directions=true", "data.source=en", "data.target=fr")
GREEDY = GreedySearch()


def train(folder: Path, config: Config) -> Run:
    assert list(train_run(folder, config, False, lambda: False))
    return Run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Sources are numbers in words, targets the same in capitals: soon learned."""
    folder = tmp_path_factory.mktemp("both")
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    rng = np.random.default_rng(1)
    lines = [" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(300)]
    for name, side in {"en": lines, "fr": [line.upper() for line in lines]}.items():
        (folder / f"train.{name}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    train_files = [str(folder / f"train.{name}") for name in ("en", "fr")]
    config = settings.build({"data": {"train": train_files}})
    changes = [*TINY, *BOTH, "train.steps=150", "train.learning_rate=0.02", "data.vocab_size=320"]
    return train(folder / "run", settings.override(config, changes))


def test_a_source_begins_with_the_tag_of_the_language_to_translate_into():
    joint = train_tokenizer(["a bb ccc"] * 20, 290, "bpe", [">>en<<", ">>fr<<"])
    tagged = TaggedTokenizer(joint, "fr")
    english, french = (joint.find_control_symbol(f">>{code}<<") for code in ("en", "fr"))
    (plain,) = joint.encode(["a bb"])
    assert tagged.encode(["a bb", ">>fr<< a bb", ">>en<<a bb", ">>en<< a bb"]) == [
        [french, *plain],
        [french, *plain],
        [english, *plain],
        [english, *plain],
    ]
    unknown = joint.encode([">>xx<< a"])[0]
    assert tagged.encode([">>xx<< a"]) == [[french, *unknown]] and english not in unknown
    assert tagged.decode([english, *plain]) == "a bb" and tagged.vocabulary is joint
    for text in ("a bb", ">>en<< a bb"):
        ids = tagged.encode([text])[0]
        spans = tagged.spans(text, ids)
        begin = len(text) - len("a bb")
        assert spans[0] == (0, begin) and len(spans) == len(ids)
        assert [text[a:b].strip() for a, b in spans[1:]] == [s.strip(" ▁") for s in joint.convert_ids_to_tokens(plain)]
    with pytest.raises(DataError, match=r"the vocabulary has no tag >>de<<, which data.both_directions=true needs"):
        TaggedTokenizer(joint, "de")


def test_every_pair_is_trained_on_in_both_directions(run: Run):
    config = run.load_config()
    data = open_training_data(run, config)
    tokenizers = load_tokenizers(run, config)
    assert tokenizers.joint and isinstance(tokenizers.source, TaggedTokenizer)
    tags = {code: tokenizers.source.tag_id(code) for code in ("en", "fr")}
    batches = build_batches(config, data)
    pairs: list[Pair] = []
    for number, group in enumerate(batches.plan_epoch(0)):
        batch = batches.make_batch(group, 0, number)
        for source, target in zip(batch.source.tolist(), batch.target_out.tolist(), strict=True):
            texts = [tokenizers.target.decode([i for i in ids if i != PAD]) for ids in (source[1:], target)]
            pairs.append(Pair(*texts) if source[0] == tags["fr"] else Pair(texts[1], texts[0], "reversed"))
            assert source[0] in tags.values() and target[0] not in tags.values() and BOS not in source
    expected = data.train.pairs()
    for location in ("", "reversed"):
        decoded = [(pair.source, pair.target) for pair in pairs if pair.location == location]
        assert sorted(decoded) == sorted((pair.source, pair.target) for pair in expected)
    position = DataPosition(1, 0)
    assert batches.count_epochs(position) == 1 and len(batches.corpus) == 2 * len(data.train)
    assert [data.dev.source_ids[i][0] for i in range(len(data.dev))] == [tags["fr"]] * len(data.dev)


def test_a_line_is_translated_as_trained_unless_its_tag_asks_for_the_reverse(run: Run):
    translator = load(run.folder, "cpu")
    pipeline = LinePipeline(LengthLimit(50))
    lines = ["one two", ">>fr<< one two", ">>en<< ONE TWO", ">>en<<ONE TWO"]
    outputs = [best[0].text for best in translate_texts(translator, lines, GREEDY, pipeline)]
    assert outputs[0] == outputs[1] == outputs[0].upper() and outputs[2] == outputs[3] == outputs[2].lower()
    assert outputs[0] != outputs[2]
    parts = LinePipeline(LengthLimit(9)).split(translator, ">>en<< ONE TWO. THREE FOUR FIVE.", "line 1").inputs()
    assert len(parts) > 1 and all(part.startswith(">>en<< ") for part in parts)
    engine = open_engine(run.folder, "none", 1)
    assert [row[0].text for row in engine.candidates(lines, GREEDY)] == translator.translate(lines, GREEDY)
    example = build_pair_example(translator.tokenizers, "one two", "ONE TWO")
    assert example.source.tokens[0] == ">>fr<<" and example.source.ids[-1] == EOS


def test_five_and_five_steps_are_ten_in_both_directions(tiny, tmp_path: Path):
    changes = (*BOTH, "train.schedule=constant", "data.subword_regularization=0.2", "train.validate_every=5")
    whole = train(tmp_path / "whole", tiny(*changes, "train.steps=10"))
    parted = train(tmp_path / "parted", tiny(*changes, "train.steps=5"))
    assert list(resume_run(parted.folder, {"train.steps": 10}, lambda: False))
    mine, other = (read(one.weights(10)) for one in (whole, parted))
    assert all(torch.equal(mine[name], other[name]) for name in mine)


def test_a_run_that_goes_on_from_one_of_both_directions_is_one(run: Run, tiny, tmp_path: Path):
    files = [str(run.folder.parent / f"train.{name}") for name in ("en", "fr")]
    config = settings.build({"data": {"train": files, "source": "en", "target": "fr"}, "train": {"steps": 2}})
    assert list(train_run(tmp_path / "tuned", config, False, lambda: False, init_from=run.folder))
    assert Run(tmp_path / "tuned").load_config().data.both_directions
    config = settings.override(config, ["data.both_directions=false"])
    with pytest.raises(ConfigError, match=r"data.both_directions=False contradicts --from"):
        list(train_run(tmp_path / "other", config, False, lambda: False, init_from=run.folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.joint_vocab=false", "data.both_directions=true needs data.joint_vocab=true"),
        ("data.source=", "needs two languages for its tags; got data.source=''"),
        ("data.source=fr", "needs two languages for its tags; got data.source='fr', data.target='fr'"),
        ("data.concat_augment=0.2", "data.both_directions and data.concat_augment: a target would be of two languages"),
        ("task=summarize", "data.both_directions=1: only of use for task=translate"),
    ],
)
def test_directions_that_have_no_tags_are_refused(change: str, message: str):
    with pytest.raises(ConfigError, match=message):
        settings.override(Config(), [*BOTH, change])


def test_without_it_no_tag_is_in_the_vocabulary(tiny, tmp_path: Path):
    run = train(tmp_path / "run", tiny("train.steps=1", "data.source=en", "data.target=fr"))
    assert Tokenizer(run.tokenizer().read_bytes()).find_control_symbol(">>fr<<") is None
    data = open_training_data(run, run.load_config())
    assert data.trained_on is data.train
