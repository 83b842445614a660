"""Files that people work with: what is read of them, and that they come back from a translation as they were."""

import re
import shutil
import subprocess
from pathlib import Path

import polib
import pytest

from regard.errors import FormatError
from regard.formats import check_translation, open_document, read_pairs
from regard.formats.po import PoCatalog

pytestmark = pytest.mark.corpora
needs_gettext = pytest.mark.skipif(
    not (shutil.which("msgfmt") and shutil.which("msgcat")), reason="msgfmt and msgcat are not here: install gettext"
)


def test_the_documentation_of_python(corpora: Path):
    folder = corpora / "l10n" / "po_python_docs_fr"
    pairs = list(read_pairs([folder], "en", "fr"))
    assert len(pairs) == 26_627
    assert all(pair.source and pair.target for pair in pairs)
    entries = [entry for path in folder.rglob("*.po") for entry in PoCatalog(path).entries]
    assert sum("fuzzy" in entry.flags for entry in entries if not entry.is_header) == 4_459
    # The marks that translators keep are those that we would insist on.
    some = pairs[::5]
    assert sum(bool(check_translation(pair.source, pair.target)) for pair in some) / len(some) < 0.02


def test_the_messages_of_django(corpora: Path):
    folder = corpora / "l10n" / "po_django"
    entries = [
        entry for path in sorted(folder.glob("*.po")) for entry in PoCatalog(path).entries if not entry.is_header
    ]
    assert len(entries) == 944
    assert len(list(read_pairs([folder], "en", "fr"))) == 1_002  # plural entries give two


@pytest.mark.parametrize("folder", ["po_django", "po_python_docs_fr/library"])
def test_another_parser_finds_the_same(corpora: Path, folder: str):
    for path in sorted((corpora / "l10n" / folder).glob("*.po"))[:60]:
        theirs = [
            (e.msgctxt, e.msgid, e.msgid_plural or None, list(e.msgstr_plural.values()) or [e.msgstr], e.flags)
            for e in polib.pofile(str(path))
            if not e.obsolete
        ]
        ours = [
            (e.context, e.source, e.plural, list(e.targets.values()), list(e.flags))
            for e in PoCatalog(path).entries
            if not e.is_header
        ]
        assert ours == theirs


def test_the_messages_of_symfony(corpora: Path):
    pairs = list(read_pairs([corpora / "l10n" / "xliff_symfony"], "en", "fr"))
    assert len(pairs) == 168
    assert not any(check_translation(pair.source, pair.target) for pair in pairs)


def test_memories_are_read_or_refused_in_a_sentence(corpora: Path):
    paths = sorted((corpora / "l10n" / "tmx_omegat").glob("*.tmx"))
    found = {}
    for path in paths:
        try:
            found[path.name] = len(list(read_pairs([path])))
        except FormatError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            found[path.name] = str(error).removeprefix(str(path))
    assert found["test-match-stat-en-ca.tmx"] == 259
    assert found["ImportTest1F.tmx"] == found["ImportTest1G.tmx"] == 3  # UTF-16
    assert "no translated pair" in found["empty.tmx"]
    assert "a third language; the file holds EN-US, ES, ES-AR" in found["test-multiple-tuv14.tmx"]
    assert sum(isinstance(value, int) for value in found.values()) == len(paths) - 8


def test_several_variants_of_a_real_memory(corpora: Path):
    path = corpora / "l10n" / "tmx_omegat" / "test-multiple-tuv14.tmx"
    french = [pair.target for pair in read_pairs([path], "en", "fr")]
    assert french == ["fr Bonjour tout le monde\u00a0!", "fr 2 Bonjour les mondes."]  # never those of fr-CA
    canadian = [pair.target[:5] for pair in read_pairs([path], "en", "fr-ca")]
    assert canadian == ["fr_CA", "fr_CA", "fr 2 "]  # the general variant where there is none for the region
    with pytest.raises(FormatError, match=r"has no 'ja', only EN-US, ES, ES-AR, ES-BO, FR-CA, FR, DE"):
        list(read_pairs([path], "en", "ja"))


# there and back


def emptied(text: str) -> str:
    """A PO file without its translations and fuzzy marks; the header stays."""
    text = re.sub(r"^#, fuzzy\n", "", text, flags=re.MULTILINE).replace("#, fuzzy, ", "#, ")
    header, blank, rest = text.partition("\n\n")
    rest = re.sub(r'^msgstr\[[2-9]\] "(?:.*)"\n(?:".*"\n)*', "", rest, flags=re.MULTILINE)
    return header + blank + re.sub(r'^(msgstr(?:\[\d\])?) ".*"\n(?:".*"\n)*', r'\1 ""\n', rest, flags=re.MULTILINE)


def dummy(text: str) -> str:
    return "\n".join(line and f"«{line}»" for line in text.split("\n"))


def normal(path: Path) -> str:
    return subprocess.run(["msgcat", path], capture_output=True, text=True, check=True).stdout


@needs_gettext
def test_django_comes_back_as_it_was(corpora: Path, tmp_path: Path):
    count = 0
    for original in sorted((corpora / "l10n" / "po_django").glob("*.po")):
        path, out = tmp_path / original.name, tmp_path / f"out.{original.name}"
        path.write_text(emptied(original.read_text(encoding="utf-8")), encoding="utf-8")
        document = open_document(path, "en", "fr")
        texts = [dummy(segment.source) for segment in document.segments]
        assert not any(
            check_translation(s.source, text, s.flags) for s, text in zip(document.segments, texts, strict=True)
        )
        document.fill(texts)
        document.write(out)
        count += sum(entry.is_translated and not entry.is_header for entry in PoCatalog(out).entries)
        checked = subprocess.run(
            ["msgfmt", "--check", "--use-fuzzy", "-o", tmp_path / "x.mo", out], capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stderr
        assert emptied(out.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8")
        again = tmp_path / "again.po"
        again.write_text(emptied(out.read_text(encoding="utf-8")), encoding="utf-8")
        assert normal(again) == normal(path)
    assert count == 944


def test_symfony_comes_back_as_it_was(corpora: Path, tmp_path: Path):
    count = 0
    for original in sorted((corpora / "l10n" / "xliff_symfony").glob("*.xlf")):
        text = original.read_text(encoding="utf-8")
        targets = re.findall(r"\n *<target>(.*?)</target>", text)
        path = tmp_path / original.name
        path.write_text(re.sub(r"\n *<target>.*?</target>", "", text), encoding="utf-8")
        document = open_document(path, "en", "fr")
        document.fill([re.sub("&(lt|gt|amp);", lambda m: {"lt": "<", "gt": ">", "amp": "&"}[m[1]], t) for t in targets])
        document.write(path)
        assert path.read_text(encoding="utf-8").replace(' state="needs-review-translation"', "") == text
        count += len(targets)
    assert count == 168
