"""What is printed holds no control character but tab and line feed, and headings in bold."""

import io

import pytest

from regard.display.escape import EscapedStream, escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc é 😀 \u2067אב\u2069", "a\tb\nc é 😀 \u2067אב\u2069"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x1b[1mbold", r"\x1b[1mbold"),
        ("--alpha \x1b[1mb:\x1b[0m", r"--alpha \x1b[1mb:\x1b[0m"),
        ("\x1b[1mFiles:\x1b[0m\n  --out", "\x1b[1mFiles:\x1b[0m\n  --out"),
        ("a\rb\x00\x7f\x9b", r"a\x0db\x00\x7f\x9b"),
        ("\u202etxt.exe", r"\u202etxt.exe"),
        (b"\xff.en".decode("utf-8", "surrogateescape"), r"\xff.en"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str):
    stream = io.StringIO()
    EscapedStream(stream).write(text)
    assert escape(text) == shown == stream.getvalue()
