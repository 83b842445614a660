"""Generation is the plain loop without a cache; a text depends on no other prompt; a stream is the text."""

import codecs
import dataclasses
import math

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.errors import ConfigError, DataError, ModelError
from regard.model.build import build_decoder
from regard.tasks import generate
from regard.tasks.generate import GenerationOptions, LanguageModel
from tests.model.conftest import REGISTERED, SCHEMES, positions

PAD, BOS, EOS = 0, 1, 2
BYTES = [bytes([byte]) for byte in "abc é€🙂\n".encode()]
TOKENS = [b"", b"", b"", *dict.fromkeys([*BYTES, b"ab", b"ca", b" \n", "€é".encode(), b"\x82\xac"])]
ROWS = len(TOKENS) + 4  # of the embedding: more than there are tokens
LIMIT = 29
GREEDY = GenerationOptions(max_new_tokens=17, temperature=0)
SAMPLE = GenerationOptions(max_new_tokens=17, temperature=1.3, seed=5)
PROMPTS = ["", "abc", "a € é", "🙂", "ab\nab\nab\nab", "c"]


class Bytes:
    """A tokenizer of a few bytes and some longer tokens, which encoding never uses."""

    bos_id, eos_id, vocab_size = BOS, EOS, len(TOKENS)

    def encode(self, texts):
        return [[TOKENS.index(bytes([byte])) for byte in text.encode()] for text in texts]

    def byte_decoder(self, prompt):
        return lambda token_id: TOKENS[token_id]


def make(name: str = "rotary", max_length: int = LIMIT, seed: int = 3) -> LanguageModel:
    torch.manual_seed(seed)
    config = ModelConfig(dim=22, heads=2, ffn=13, layers=3, positions=positions(name), tie_embeddings=False)
    model = build_decoder(config, ROWS, PAD).double().eval()
    for parameter in model.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.1 * torch.randn_like(parameter)
    return LanguageModel(model, Bytes(), max_length)


@torch.no_grad()
def plain_loop(language_model: LanguageModel, prompt: str, max_new_tokens: int) -> tuple[str, float, str]:
    """The most probable token after the whole text so far, again and again."""
    model, ids, log_probs = language_model.model, [BOS, *Bytes().encode([prompt])[0]], []
    start, reason = len(ids), "length"
    while len(ids) < min(start + max_new_tokens, language_model.max_length):
        log_p = model.output(model(torch.tensor([ids])))[0, -1].log_softmax(dim=-1)
        allowed = [i for i in range(len(TOKENS)) if i not in (PAD, BOS)]
        token = max(allowed, key=lambda i: float(log_p[i]))
        log_probs.append(float(log_p[token]))
        if token == EOS:
            reason = "eos"
            break
        ids.append(token)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(b"".join(TOKENS[i] for i in ids[start:]))
    return text, sum(log_probs) / len(log_probs), reason


@pytest.mark.parametrize("name", [*SCHEMES, *REGISTERED])
def test_generation_is_the_plain_loop(name: str, example_plugin):
    model = make(name)
    results = model.generate(PROMPTS, GREEDY)
    for prompt, result in zip(PROMPTS, results, strict=True):
        text, score, reason = plain_loop(model, prompt, GREEDY.max_new_tokens)
        assert (result.text, result.finish_reason) == (text, reason)
        assert result.score == pytest.approx(score, abs=1e-12)
    assert len({result.text for result in results}) > 1


def wanting_eos(language_model: LanguageModel, amount: float) -> LanguageModel:
    """The same model, to which the end is more probable."""
    language_model.model.output.bias = torch.nn.Parameter(torch.zeros(ROWS).double())
    language_model.model.output.bias.data[EOS] = amount
    return language_model


@pytest.mark.parametrize("options", [GREEDY, SAMPLE, dataclasses.replace(SAMPLE, stop=("a", "\n"))], ids=str)
def test_a_text_depends_on_no_other_prompt(options, monkeypatch):
    model = wanting_eos(make(), 1.0)
    prompts = PROMPTS * 3
    together = model.generate(prompts, options)
    if options.temperature:
        assert {result.finish_reason for result in together} == {"eos", "stop" if options.stop else "length"}
    alone = [model.generate([prompt], options, [i])[0] for i, prompt in enumerate(prompts)]
    shuffled = model.generate(prompts[::-1], options, range(len(prompts))[::-1])[::-1]
    monkeypatch.setattr(generate, "MAX_CACHE_ELEMENTS", 1)
    one_by_one = model.generate(prompts, options)
    monkeypatch.setattr(generate, "MAX_CACHE_ELEMENTS", 5 * LIMIT * 3 * 22)
    five_by_five = model.generate(prompts, options)
    for others in (alone, shuffled, one_by_one, five_by_five):
        for one, other in zip(together, others, strict=True):
            assert (one.text, one.finish_reason) == (other.text, other.finish_reason)
            assert one.score == pytest.approx(other.score, abs=1e-12)


def test_the_same_prompt_is_continued_in_many_ways_and_again_in_the_same():
    model = make()
    first, again = (model.generate(["ab"] * 7, SAMPLE) for _ in range(2))
    assert first == again and len({result.text for result in first}) == 7
    assert model.generate(["ab"] * 7, dataclasses.replace(SAMPLE, seed=6)) != first
    shorter = model.generate(["ab"] * 7, dataclasses.replace(SAMPLE, max_new_tokens=5))
    assert all(long.text.startswith(short.text) for long, short in zip(first, shorter, strict=True))


@pytest.mark.parametrize(
    "changes", [{"temperature": 1e-6}, {"top_k": 1}, {"min_p": 1.0}, {"top_p": 1e-9}, {"top_k": 1, "temperature": 9.0}],
    ids=str,
)  # fmt: skip
def test_what_leaves_one_token_is_greedy_search(changes):
    model = make()
    texts = [result.text for result in model.generate(PROMPTS, GREEDY)]
    assert [result.text for result in model.generate(PROMPTS, dataclasses.replace(SAMPLE, **changes))] == texts
    assert [result.text for result in model.generate(PROMPTS, SAMPLE)] != texts


def test_samples_follow_the_probabilities_of_the_model():
    model = make()
    with torch.no_grad():
        logits = model.model.output(model.model(torch.tensor([[BOS, 3]])))[0, -1]
    logits[[PAD, BOS, *range(len(TOKENS), ROWS)]] = -math.inf
    count = 4000
    options = GenerationOptions(max_new_tokens=1, temperature=1.0)
    texts = [(result.finish_reason, result.text) for result in model.generate(["a"] * count, options)]
    for token in (TOKENS.index(b"b"), TOKENS.index(b" \n")):
        p = float(logits.softmax(dim=-1)[token])
        drawn = texts.count(("length", TOKENS[token].decode())) / count
        assert abs(drawn - p) < 4 * math.sqrt(p * (1 - p) / count)


@pytest.mark.parametrize("stop", [("ab",), ("\n", "b€"), (" ", "é", "cab"), ("€é",)], ids=str)
def test_a_stop_string_is_never_in_a_text_and_what_comes_before_stays(stop):
    model = make()
    for options in (GREEDY, SAMPLE):
        whole = model.generate(PROMPTS * 4, options)
        stopped = model.generate(PROMPTS * 4, dataclasses.replace(options, stop=stop))
        for all_of_it, result in zip(whole, stopped, strict=True):
            found = [s for s in stop if s in all_of_it.text]
            assert all_of_it.text.startswith(result.text)
            assert not any(s in result.text for s in stop)
            assert result.finish_reason == ("stop" if found else all_of_it.finish_reason)
            assert result.text == all_of_it.text or found
        assert {result.finish_reason for result in stopped} >= ({"stop"} if options is SAMPLE else set())


@pytest.mark.parametrize("name", ["learned", "rotary", "t5"])
@pytest.mark.parametrize("stop", [(), ("ab", "\n ")], ids=str)
def test_a_stream_is_the_text_piece_by_piece(name: str, stop):
    model = make(name)
    for prompt in PROMPTS:
        for options in (GREEDY, SAMPLE):
            options = dataclasses.replace(options, stop=stop)
            (result,) = model.generate([prompt], options)
            pieces = list(model.stream(prompt, options))
            assert "".join(pieces) == result.text and all(pieces)
    assert len(list(model.stream("", SAMPLE))) > 5


def test_a_stream_leaves_its_reader_alone_and_may_be_left():
    model = make()
    model.model.train()
    stream = model.stream("ab", SAMPLE)
    next(stream)
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled() and model.model.training
    stream.close()
    model.generate(["ab"], SAMPLE)
    assert model.model.training


def test_what_no_text_has_is_never_generated():
    model = wanting_eos(make(), -9.0)
    model.model.output.bias.data[[PAD, BOS, *range(len(TOKENS), ROWS)]] = 50.0
    results = model.generate(PROMPTS, GREEDY) + model.generate(PROMPTS, SAMPLE)
    assert all(result.finish_reason == "length" and result.score < -30 for result in results)  # the model wants others


def test_the_end_may_be_the_same_token_as_the_beginning():
    class OneBorder(Bytes):
        bos_id = EOS

    model = wanting_eos(make(), 50.0)
    model.tokenizer = OneBorder()
    assert [(result.text, result.finish_reason) for result in model.generate(["a", "bc"], GREEDY)] == [("", "eos")] * 2


def test_as_many_prompts_are_continued_together_as_fit(monkeypatch):
    sizes = []

    class Recorded(generate._ContinuationBatch):
        def __init__(self, decoder, tokenizer, continuations, options):
            super().__init__(decoder, tokenizer, continuations, options)
            sizes.append([len(continuation.prompt) for continuation in continuations])

    model, options = make(), dataclasses.replace(GREEDY, max_new_tokens=2)
    monkeypatch.setattr(generate, "_ContinuationBatch", Recorded)
    prompts = ["a" * 9, "a", "a" * 9, "a", "a"]
    model.generate(prompts, options)
    monkeypatch.setattr(generate, "MAX_CACHE_ELEMENTS", 2 * 12 * 3 * 22)
    model.generate(prompts, options)
    monkeypatch.setattr(generate, "MAX_CACHE_ELEMENTS", 1 << 20)
    monkeypatch.setattr(generate, "MAX_ATTENTION_ELEMENTS", 2 * 10 * 10)
    model.generate(prompts, options)
    assert sizes == [[10, 10, 2, 2, 2], [10, 10], [2, 2, 2], [10], [10], [2, 2, 2]]


def test_prompt_and_text_fill_the_context_and_no_more():
    for name, limit in (("learned", LIMIT), ("rotary", 13), ("bias", 1000)):
        model = wanting_eos(make(name, limit), -50.0)
        assert model.max_length == min(limit, LIMIT) if name != "rotary" else 13
        options = GenerationOptions(max_new_tokens=1000, temperature=0)
        for prompt in ("", "abc", "a" * (model.max_length - 2)):
            (result,) = model.generate([prompt], options)
            assert result.finish_reason == "length"
            assert result == model.generate([prompt], dataclasses.replace(options, max_new_tokens=LIMIT))[0]
            text, score, _ = plain_loop(model, prompt, 1000)
            assert result.text == text and result.score == pytest.approx(score)
        with pytest.raises(DataError, match=rf"prompt 2 has {model.max_length} tokens, but the model's context is"):
            model.generate(["a", "a" * (model.max_length - 1)], options)
        with pytest.raises(DataError, match=r"shorten the prompt"):
            model.stream("a" * 100, options)
    assert make().generate([], GREEDY) == []


def test_a_score_is_the_mean_of_what_the_tokens_cost():
    model = wanting_eos(make(), 1.0)
    broken = [i for i, token in enumerate(TOKENS) if len(token) > 1 or not token.isascii()]
    model.model.output.bias.data[broken] = -50.0  # so that a text has the tokens that it was generated from
    results = [result for result in model.generate(["ab"] * 30, SAMPLE) if result.finish_reason == "eos"]
    assert len({result.text for result in results}) > 7
    for result in results:
        (nats,) = model.token_nats(["ab" + result.text])
        assert result.score == pytest.approx(-nats[2:].mean(), abs=1e-12)


def test_weights_that_overflow_are_an_error_not_a_text():
    model = make()
    model.model.decoder.layers[1].feed_forward.down.weight.data[:] = math.inf
    for options in (GREEDY, SAMPLE):
        with pytest.raises(ModelError, match=r"gives no token a finite probability"):
            model.generate(["ab"], options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens=0: must be 1 or more"),
        ({"temperature": -1.0}, r"temperature=-1.0: must be 0 \(greedy search\) or more"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"top_k": -1}, "top_k=-1"),
        ({"top_p": 0.0, "temperature": 0}, "top_p=0.0"),
        ({"min_p": 2.0}, "min_p=2.0"),
        ({"stop": ("a", "")}, "--stop is empty"),
        ({"stop": "abc"}, "expected a tuple of strings"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_wrong_options_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        GenerationOptions(**changes)


def test_weights_that_changed_are_used_at_the_next_call():
    model = make()
    before = model.generate(PROMPTS, GREEDY)
    model.model.decoder.layers[0].self_attn.v_proj.weight.data.mul_(-3)
    after = model.generate(PROMPTS, GREEDY)
    assert before != after
    assert_close(after[1].score, plain_loop(model, PROMPTS[1], 17)[1])
