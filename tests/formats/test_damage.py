"""Damaged files: whatever happens to their bytes, they are read or refused in a sentence, never with a traceback."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats import open_document, read_pairs

MUTATIONS = 200

PO = r"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 ? 1 : 2);\n"

#, python-format
msgctxt "ctx"
msgid "%d file \"é\"\n"
msgid_plural ""
"%d files\n"
msgstr[0] "%d fichier\n"
msgstr[1] "%d fichiers\n"
msgstr[2] ""

#, fuzzy
#~ msgid "gone"
#~ msgstr "parti"
msgid "empty"
msgstr ""
"""
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>A <bpt i="1">&lt;b></bpt>ca&#116;<ept i="1">&lt;/b></ept> é</seg></tuv>
<tuv xml:lang="fr"><seg>Un <hi>chat</hi> <![CDATA[<x>]]></seg></tuv></tu>
</body></tmx>
"""
XLIFF_12 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<file source-language="en" target-language="fr"><body>
<trans-unit id="1"><source>A <g id="1">cat</g> &amp; é</source>
<target state="final">Un <g id="1">chat</g></target></trans-unit>
<group><trans-unit id="2"><source>To do<x id="1"/></source><target state="new"/></trans-unit></group>
</body></file></xliff>
"""
XLIFF_20 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr">
<file id="f"><unit id="1"><segment state="final"><source>A <pc id="1">c<cp hex="0007"/></pc></source>
<target>Un <pc id="1">c</pc></target></segment>
<segment><source>To <ph id="2"/> do</source></segment></unit></file></xliff>
"""
WHOLE = {
    "x.tsv": "one\tun\ntwo\tdeux é\n".encode(),
    "x.jsonl": '{"source": "one", "target": "un"}\n{"translation": {"en": "two é", "fr": "\\u00e9"}}\n'.encode(),
    "x.po": PO.encode(),
    "x.tmx": TMX.encode(),
    "wide.tmx": TMX.replace("UTF-8", "UTF-16").encode("utf-16"),
    "x.tmx.gz": gzip.compress(TMX.encode(), mtime=0),
    "old.xlf": XLIFF_12.encode(),
    "new.xlf": XLIFF_20.encode(),
    "x.txt": "one\n\ntwo é\n".encode(),
}


def damaged(raw: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(raw) or 1)
        past = min(len(raw), start + rng.randint(1, 40))
        byte = bytes([rng.choice([rng.randrange(256), *b"<>&\"'\\[]%\n\r\0"])])
        raw = rng.choice(
            [
                raw[:start],
                raw[:start] + byte + raw[start + 1 :],
                raw[:start] + bytes([raw[start] ^ 1 << rng.randrange(8)]) + raw[start + 1 :] if raw else raw,
                raw[:start] + raw[past:],
                raw[:past] + raw[start:],
                raw[:start] + byte + raw[start:],
            ]
        )
    return raw


def read_all(path: Path) -> None:
    list(read_pairs([path, path] if path.suffix == ".txt" else [path], "en", "fr"))


def fill_all(path: Path) -> None:
    document = open_document(path, "en", "fr")
    document.fill([segment.source for segment in document.segments])
    document.write(path.with_name("out"))
    path.with_name("out").rename(path)
    read_all(path)


@pytest.mark.parametrize(
    ("name", "work"),
    [(name, read_all) for name in WHOLE] + [(name, fill_all) for name in ("x.po", "old.xlf", "new.xlf", "x.txt")],
)
def test_damage_is_read_or_refused(tmp_path: Path, name: str, work: Callable[[Path], None]):
    rng = random.Random(f"{name} {work.__name__}")
    path = tmp_path / name
    path.write_bytes(WHOLE[name])
    work(path)  # sound, it is read
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTATIONS):
        raw = damaged(WHOLE[name], rng)
        path.write_bytes(raw)
        try:
            work(path)
            outcomes["read"] += 1
        except FormatError as error:
            outcomes["refused"] += 1
            assert str(path) in str(error) and "\n" not in str(error), (raw, str(error))
            assert len(str(error)) < 600, str(error)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error} for {raw!r}")
    assert outcomes["read"] > 0 and outcomes["refused"] > 5, outcomes
