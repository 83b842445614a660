"""Text as it comes: joined, it is the whole; no character is split, and no stop string shows."""

import itertools
import random

import pytest

from regard.decode.text_stream import TextStream
from tests.data.byte_level import NASTY, SENTENCES

TEXTS = [*NASTY, *SENTENCES[:20]]


def cut(raw: bytes, chance: random.Random) -> list[bytes]:
    """Bytes in tokens of any length, also of none."""
    borders = sorted(chance.randint(0, len(raw)) for _ in range(len(raw) // 2 + 1))
    return [raw[a:b] for a, b in itertools.pairwise([0, *borders, len(raw)])]


def release(tokens: list[bytes], stop: tuple[str, ...] = ()) -> list[str]:
    """The pieces of a text, up to its end or a stop string."""
    stream, pieces = TextStream(stop), []
    for token in tokens:
        pieces.append(stream.add(token))
        if stream.stopped:
            break
    return [*pieces, stream.finish()]


def test_pieces_joined_are_the_text_wherever_tokens_end():
    chance = random.Random(3)
    for text in TEXTS:
        for tokens in ([bytes([byte]) for byte in text.encode()], cut(text.encode(), chance), [text.encode()]):
            pieces = release(tokens)
            assert "".join(pieces) == text
            assert "\ufffd" in text or not any("\ufffd" in piece for piece in pieces)


def test_what_is_complete_is_shown_at_once():
    pieces = release([bytes([byte]) for byte in "aé€🙂z".encode()])
    assert pieces == ["a", "", "é", "", "", "€", "", "", "", "🙂", "z", ""]


def test_an_unfinished_character_is_left_out_and_a_broken_one_is_marked():
    for text in ("né", "a€", "🙂"):
        raw = text.encode()
        assert "".join(release([raw[:-1]])) == text[:-1]
    assert "".join(release([b"a\xe2\x82", b"b"])) == "a\ufffdb"
    chance = random.Random(5)
    for _ in range(200):
        raw = bytes(chance.choice(b"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\xff") for _ in range(11))
        whole = raw.decode("utf-8", errors="replace")
        out = "".join(release(cut(raw, chance)))
        assert whole == out or whole == out + "\ufffd"


@pytest.mark.parametrize("stop", [("ab",), ("aab", "b"), ("aa", "aab", "ba"), ("\n\n", "é"), ("abc" * 7,)], ids=str)
def test_a_text_ends_before_its_first_stop_string(stop):
    chance = random.Random(7)
    for _ in range(300):
        text = "".join(chance.choice("aab\né") for _ in range(13)) + chance.choice(("", "abc" * 7))
        tokens = cut(text.encode(), chance)
        one_at_a_time = [bytes([byte]) for byte in text.encode()]
        out = "".join(release(one_at_a_time, stop))
        first_end = min((text.index(s) + len(s) for s in stop if s in text), default=None)
        if first_end is None:
            assert out == text
        else:  # at the first byte after which one is complete
            assert out == text[: min(text.index(s) for s in stop if s in text[:first_end])]
        for pieces in (release(one_at_a_time, stop), release(tokens, stop)):
            joined = "".join(pieces)
            assert text.startswith(joined) and not any(s in joined for s in stop)
            assert (joined == text) == (not any(s in text for s in stop))


def test_what_may_be_a_stop_string_is_held_back_until_it_is_not():
    stream = TextStream(("<end>", "dx"))
    assert [stream.add(token) for token in (b"a<e", b"n", b"d", b"b<", b"<")] == ["a", "", "", "<endb", "<"]
    assert stream.finish() == "<" and not stream.stopped and stream.finish() == ""
    assert stream.add(b"<end>more") == "" and stream.stopped and stream.finish() == ""
