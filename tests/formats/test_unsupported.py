"""What is no text of sentences is refused by its name; what may be text is not."""

from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats import open_document, read_lines, read_pairs
from regard.formats.document import is_plain_text
from regard.formats.registry import FORMATS, register_format
from regard.formats.unsupported import KINDS_OF_SUFFIX, require_text_suffix

LANGUAGES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj
kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv
ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu arb eng fra deu spa jpn zho ron ces ukr srp
"""
PLAIN = [
    "",
    ".txt",
    ".tok",
    ".bpe",
    ".src",
    ".tgt",
    ".out",
    ".hyp",
    ".ref",
    ".clean",
    ".1",
    ".en-US",
    ".zh_CN",
    ".TXT",
    ".md",
]
UNSUPPORTED = [".srt", ".docx", ".pdf", ".html", ".csv", ".xlsx", ".json", ".xml", ".zip", ".HTM", ".vtt"]


@pytest.mark.parametrize("suffix", PLAIN + [f".{code}" for code in LANGUAGES.split()])
def test_a_language_or_an_unknown_suffix_may_be_text(suffix: str):
    require_text_suffix(Path(f"train{suffix}"))
    require_text_suffix(Path(f"train{suffix}.gz"))


@pytest.mark.parametrize("suffix", UNSUPPORTED)
@pytest.mark.parametrize("gzip", ["", ".gz"])
def test_every_door_refuses_it_and_names_what_is_supported(tmp_path: Path, suffix: str, gzip: str):
    path, other = tmp_path / f"talk{suffix}{gzip}", tmp_path / "talk.fr"
    for file in (path, other):
        file.write_text("One sentence.\n")
    kind = KINDS_OF_SUFFIX[suffix.lower()]
    message = rf"talk{suffix}{gzip}: {kind} \({suffix.lower()}\), which is not supported; expected plain text with one"
    for door in (read_lines, open_document, is_plain_text):
        with pytest.raises(FormatError, match=message):
            door(path)
    for files in ([path], [path, other], [other, path]):
        with pytest.raises(FormatError, match=message + r" sentence per line, .tsv, .jsonl, .po, .tmx or .xlf"):
            read_pairs(files)
    with pytest.raises(FormatError, match=r"per line, .po or .xlf$"):
        open_document(path)


def test_a_plug_in_makes_it_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "pairs.csv"
    path.write_text("one,un\n")
    monkeypatch.setattr(FORMATS, "_registered", dict(FORMATS._registered))
    register_format(".csv")(lambda path, source, target: iter(()))
    assert list(read_lines(path)) == ["one,un"]


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl", ".tmx", ".TSV", ".tmx.gz"])
def test_pairs_are_refused_for_translation_before_an_output_is_asked_for(tmp_path: Path, suffix: str):
    path = tmp_path / f"pairs{suffix}"
    path.write_text("one\tun\n")
    for door in (is_plain_text, open_document):
        with pytest.raises(FormatError, match=r"holds translated pairs; expected \.po, \.xlf or plain text"):
            door(path)
