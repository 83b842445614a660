"""Files that are no text of sentences: refused by name, before their bytes are taken for words.

Any suffix that is not in the table may be plain text: `train.en`, `x.tok`, `notes.md`, none at all. Codes of languages
are therefore not in it (`.pt` is Portuguese, `.so` Somali); such files are recognized by their first bytes
(`binary`).
"""

from collections.abc import Iterable
from pathlib import Path

from regard.errors import FormatError
from regard.formats.files import format_suffix
from regard.formats.registry import FORMATS

COMMON_SUFFIXES = (".tsv", ".jsonl", ".po", ".tmx", ".xlf")
"""Those that messages name, besides the ones of plug-ins."""
_SUFFIXES = {
    "subtitles": "srt vtt ass sbv ttml dfxp",
    "a document": "doc docx docm dotx odt ott rtf pdf epub mobi azw3 djvu pages wpd xps",
    "a spreadsheet": "csv xls xlsx xlsm xlsb ods numbers",
    "a presentation": "ppt pptx pptm odp key",
    "markup": "html htm xhtml mhtml xml",
    "structured data": "json json5 geojson yaml yml toml ini conf properties plist strings stringsdict resx xcstrings",
    "a table or a database": "parquet arrow feather avro orc h5 hdf5 npy npz pkl pickle sqlite sqlite3 db sql dbf mdb",
    "a program": "py pyc ipynb js jsx tsx css c cc cpp h hpp java class jar rs go swift exe dll dylib wasm",
    "a compressed file": "zip 7z tar tgz tbz2 txz bz2 xz zst lz4 lzma iso dmg deb rpm apk",
    "an image": "png jpg jpeg gif bmp tif tiff webp svg ico heic psd",
    "sound or video": "mp3 wav flac ogg opus m4a aac mp4 mkv avi mov webm wmv",
    "a model": "safetensors pth onnx gguf ckpt model",
    "a font": "ttf otf woff woff2",
}
KINDS_OF_SUFFIX = {f".{suffix}": kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def list_supported() -> list[str]:
    """The suffixes of files of pairs, those of plug-ins included."""
    return [*COMMON_SUFFIXES, *(suffix for suffix, _ in FORMATS.parts())]


def require_text_suffix(path: Path, supported: Iterable[str] | None = None) -> None:
    """Refuse a file that would be read as plain text although its suffix, before .gz, names something else."""
    suffix = format_suffix(path)
    if suffix in KINDS_OF_SUFFIX and FORMATS.find(suffix) is None:
        raise FormatError(
            f"{path}: {KINDS_OF_SUFFIX[suffix]} ({suffix}), which is not supported; {_expected(supported)}"
        )


def _expected(supported: Iterable[str] | None) -> str:
    *others, last = list_supported() if supported is None else supported
    return f"expected plain text with one sentence per line, {', '.join(others)} or {last}"
