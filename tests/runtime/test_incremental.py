"""One token at a time equals the whole, for every scheme, through reordering, leaving and entering late."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.model.build import build_decoder
from regard.model.single_stack import DecoderOnly
from regard.model.transformer import EncoderDecoder
from regard.runtime import attention, source_cache
from regard.runtime.incremental import COLUMNS_PER_RESERVE, IncrementalDecoder
from regard.runtime.padding_free import PaddingFreeForward
from tests.model.conftest import REGISTERED, SCHEMES, V, make, padded_rows, positions


@pytest.fixture(autouse=True)
def _new_memory_is_nan():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(autouse=True, params=[(0, 1), (1000, 32)], ids=["as-many", "as-few"])
def _all_rows_are(request, monkeypatch):
    """As if there were many of them, in buckets by their lengths; or few, all together."""
    monkeypatch.setattr(attention, "MIN_UNFUSED_ROWS", request.param[0])
    monkeypatch.setattr(source_cache, "MIN_BUCKET_SIZE", request.param[1])


def make_language_model(name: str) -> DecoderOnly:
    config = ModelConfig(dim=22, heads=2, ffn=13, layers=3, positions=positions(name))
    model = build_decoder(config, V, PAD).double().eval()
    for parameter in model.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def logits(model: EncoderDecoder, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return model.output(model(source, target))


def test_steps_equal_the_whole(model: EncoderDecoder, ids):
    source, target = padded_rows([3, 11, 7]), ids(3, COLUMNS_PER_RESERVE + 5)
    whole = logits(model, source, target)
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(source)
        for t in range(target.shape[1]):
            assert_close(batch.step(target[:, t]), whole[:, t])


def test_rows_may_be_reordered_and_left(model: EncoderDecoder, ids):
    source, ways = padded_rows([3, 11, 7]), ids(6, 13)
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch(rows_per_sentence=2)
        batch.admit(source)  # rows 0 0 1 1 2 2
        for t in range(5):
            batch.step(ways[:, t])
        rows = torch.tensor([5, 4, 0, 0])  # the sentence in the middle leaves; another keeps one of its ways, twice
        batch.select(rows)
        ways = ways[rows]
        ways[:, 5:] = ids(4, 8)
        expected = logits(model, source[torch.tensor([2, 2, 0, 0])], ways)
        for t in range(5, 13):
            assert_close(batch.step(ways[:, t]), expected[:, t])


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("lengths", [([3, 11], [7, 5]), ([3, 5], [11, 2]), ([5, 5], [5])], ids=str)
def test_sentences_that_enter_late_are_as_if_alone(model: EncoderDecoder, ids, width: int, lengths):
    first, second = padded_rows(lengths[0]), padded_rows(lengths[1])
    early, late = ids(len(first) * width, 19), ids(len(second) * width, 13)
    alone = [logits(model, x.repeat_interleave(width, dim=0), y) for x, y in ((first, early), (second, late))]
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch(width)
        batch.admit(first)
        for t in range(4):
            batch.step(early[:, t])
        batch.admit(second)
        for t in range(5):
            new = batch.step(torch.cat((early[:, 4 + t], late[:, t])))
            assert_close(new, torch.cat((alone[0][:, 4 + t], alone[1][:, t])))
        stay = torch.arange(width, len(early) + len(late))  # the first sentence leaves, and another one comes again
        batch.select(stay)
        batch.admit(first[:1])
        for t in range(5, 9):
            again = early[:width, t - 5]
            new = batch.step(torch.cat((early[width:, 4 + t], late[:, t], again)))
            assert_close(new, torch.cat((alone[0][width:, 4 + t], alone[1][:, t], alone[0][:width, t - 5])))


def test_one_of_many_rows_may_take_a_place_that_is_left(model: EncoderDecoder, ids):
    source, target = padded_rows([11, 3, 7, 5, 2]), ids(5, 7)
    whole = logits(model, source, target)
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(source)
        for t in range(3):
            batch.step(target[:, t])
        stay = torch.tensor([0, 4, 2, 3])
        batch.select(stay)
        for t in range(3, 7):
            assert_close(batch.step(target[stay, t]), whole[stay, t])


def test_rows_that_have_left_take_up_no_room_for_long(model: EncoderDecoder, ids):
    target = ids(1, COLUMNS_PER_RESERVE + 1)
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(padded_rows([3, 11, 7, 5, 2]))
        batch.select(torch.tensor([0]))
        for t in range(COLUMNS_PER_RESERVE + 1):
            batch.step(target[:, t])
    assert [len(store) for cache in batch._kv_caches for store in cache._stores] == [1] * 2 * len(batch._kv_caches)
    assert [kv.k.shape[::2] for bucket in batch._source_cache._buckets for kv in bucket._kv] == [(1, 3)] * len(
        batch._kv_caches
    )


def test_the_last_of_a_bucket_are_seen_right_before_and_after_it_is_compacted(model: EncoderDecoder, ids):
    source, target = padded_rows([7, 6, 7, 6, 7]), ids(5, 6)
    whole = logits(model, source, target)
    with torch.no_grad():
        batch, stay = IncrementalDecoder(model).new_batch(), torch.arange(5)
        batch.admit(source)
        for t, order in enumerate(([0, 1, 2, 3, 4], [4, 1, 2, 3], [2, 0, 1], [1, 2], [1, 0], [1])):
            batch.select(torch.tensor(order))
            stay = stay[order]
            assert_close(batch.step(target[stay, t]), whole[stay, t])


def test_sources_stand_with_those_of_like_length(monkeypatch):
    monkeypatch.setattr(source_cache, "MIN_BUCKET_SIZE", 2)
    assert source_cache._bucket_by_length([3, 20, 16, 4, 15, 14, 9]) == [[1, 2, 4], [5, 6], [0, 3]]


def test_many_sources_are_read_a_few_at_a_time(model: EncoderDecoder, ids, monkeypatch):
    source, target = padded_rows([3, 11, 7, 5, 2]), ids(5, 3)
    whole = logits(model, source, target)
    read: list[int] = []
    reader = PaddingFreeForward.encode
    monkeypatch.setattr(source_cache, "TOKENS_PER_ENCODE", 23)
    monkeypatch.setattr(source_cache, "MIN_BUCKET_SIZE", 32)
    monkeypatch.setattr(
        PaddingFreeForward, "encode", lambda self, rows: (read.append(len(rows)), reader(self, rows))[1]
    )
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(source)
        for t in range(3):
            assert_close(batch.step(target[:, t]), whole[:, t])
    assert read == [2, 2, 1]


def test_who_enters_an_empty_walk_begins_anew(model: EncoderDecoder, ids):
    source, target = padded_rows([3, 7]), ids(2, 5)
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(source)
        batch.step(target[:, 0])
        batch.select(torch.arange(0))
        assert len(batch) == 0
        batch.admit(source.flip(0))
        assert_close(batch.step(target[:, 0]), logits(model, source.flip(0), target)[:, 0])


@pytest.mark.usefixtures("example_plugin")
@pytest.mark.parametrize("name", [*SCHEMES, *REGISTERED])
def test_a_language_model_is_decoded_step_by_step(name: str, ids):
    model = make_language_model(name)
    text = ids(3, COLUMNS_PER_RESERVE + 5)
    whole = model.output(model(text))
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(text[:, :0])
        for t in range(5):
            assert_close(batch.step(text[:, t]), whole[:, t])
        stay = torch.tensor([2, 0])
        batch.select(stay)
        for t in range(5, text.shape[1]):
            assert_close(batch.step(text[stay, t]), whole[stay, t])


@pytest.mark.parametrize("name", [*SCHEMES, *REGISTERED])
@pytest.mark.parametrize("lengths", [[7], [5, 5, 5], [3, 11, 1, 7], [2, COLUMNS_PER_RESERVE + 3]], ids=str)
def test_a_prompt_in_one_pass_equals_the_whole(name: str, lengths, ids, example_plugin):
    torch.manual_seed(3)
    model = make_language_model(name)
    texts = [ids(1, length + 6) for length in lengths]  # a prompt and what is generated after it
    prompts = [text[0, :length].tolist() for text, length in zip(texts, lengths, strict=True)]
    with torch.no_grad():
        alone = [model.output(model(text))[0, length - 1 :] for text, length in zip(texts, lengths, strict=True)]
        batch = IncrementalDecoder(model).new_batch()
        assert_close(batch.prefill(prompts), torch.stack([logits[0] for logits in alone]))
        rows = list(range(len(lengths)))
        for t in range(6):
            if t == 3 and len(rows) > 1:  # one leaves, and the last one takes its place
                rows = [rows[-1], *rows[1:-1]]
                batch.select(torch.tensor(rows))
            tokens = torch.stack([texts[i][0, lengths[i] + t] for i in rows])
            assert_close(batch.step(tokens), torch.stack([alone[i][t + 1] for i in rows]))


@pytest.mark.parametrize(("name", "width"), [("learned", 1), ("bias", 2)])
def test_those_who_stay_are_the_same_however_often_the_others_change(name: str, ids, width: int):
    """Every sentence enters, is decoded for a while and leaves; columns that nobody uses any more are dropped."""
    model = make(positions=positions(name))
    plan = [([3, 11], 4, [1]), ([7], 3, [1]), ([5, 2], 2, [0, 2]), ([], 2, [1]), ([3], 5, [])]
    sources: list[torch.Tensor] = []
    targets: list[torch.Tensor] = []
    done: list[int] = []
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch(width)
        for lengths, steps, stay in plan:
            if lengths:
                batch.admit(padded := padded_rows(lengths))
                sources += [row[row != PAD][None] for row in padded]
                targets += [ids(width, 19) for _ in lengths]
                done += [0] * len(lengths)
            wholes = [logits(model, x.expand(width, -1), y) for x, y in zip(sources, targets, strict=True)]
            for _ in range(steps):
                found = batch.step(torch.cat([y[:, t] for y, t in zip(targets, done, strict=True)]))
                assert_close(found, torch.cat([whole[:, t] for whole, t in zip(wholes, done, strict=True)]))
                done = [t + 1 for t in done]
            assert len(batch) == len(sources)
            batch.select(torch.tensor([i * width + beam for i in stay for beam in range(width)], dtype=torch.long))
            sources, targets, done = ([kept[i] for i in stay] for kept in (sources, targets, done))


def test_who_enters_late_needs_no_more_positions_than_its_own(ids):
    """Columns before its start are not part of it: a scheme with a limit does not count them."""
    model = make_language_model("bias")
    early, late = ids(1, 20), ids(1, 29)
    whole = model.output(model(late))
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(early[:, :0])
        for t in range(20):
            batch.step(early[:, t])
        batch.admit(late[:, :0])
        batch.select(torch.tensor([1]))
        for t in range(29):
            assert_close(batch.step(late[:, t]), whole[:, t])
