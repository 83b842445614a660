"""An error in XML names the line that an editor shows."""

from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats import read_pairs

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
UNIT = '<tu>\n<tuv xml:lang="en"><seg>a</seg></tuv>\n<tuv xml:lang="fr"><seg>b</seg></tuv>\n</tu>\n'
BROKEN = {
    "<tu></tuv></tu>\n": "broken XML",
    '<tu><tuv xml:lang="en"><seg>&nothing;</seg></tuv></tu>\n': "nothing",
    '<tu><tuv xml:lang="en"/></tu>\n': "has no <seg>",
    "<tu><tuv><seg>a</seg></tuv></tu>\n": "has no xml:lang",
}


@pytest.mark.parametrize("units", [0, 1, 3])
@pytest.mark.parametrize("broken", BROKEN)
def test_the_line_of_an_error_is_counted_from_one(tmp_path: Path, broken: str, units: int):
    path = tmp_path / "a.tmx"
    path.write_text(HEAD + UNIT * units + broken + UNIT + "</body></tmx>\n", encoding="utf-8")
    line = 3 + 4 * units
    with pytest.raises(FormatError, match=rf"a\.tmx:{line}: .*{BROKEN[broken]}"):
        list(read_pairs([path], source="en", target="fr"))


@pytest.mark.parametrize("lines", [0, 2])
def test_the_line_of_bytes_that_are_no_text(tmp_path: Path, lines: int):
    path = tmp_path / "a.tmx"
    path.write_bytes(HEAD.encode() + UNIT.encode() * lines + b"<tu>\xff</tu>\n</body></tmx>\n")
    with pytest.raises(FormatError, match=rf"a\.tmx:{3 + 4 * lines}: "):
        list(read_pairs([path], source="en", target="fr"))
