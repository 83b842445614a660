"""Language codes: one form for those that people write, and groups of languages that are easily confused."""

import re
from types import MappingProxyType

_ALIASES = MappingProxyType(
    # Codes of countries and older codes that are often written for a language; then ISO 639-2 and 639-3.
    {"nb": "no", "cz": "cs", "ua": "uk", "jp": "ja", "cn": "zh", "kr": "ko", "iw": "he", "in": "id", "ji": "yi"}
    | {"gr": "el", "dk": "da", "se": "sv", "fil": "tl", "cmn": "zh", "lzh": "zh", "zho": "zh", "chi": "zh"}
    | {"jpn": "ja", "kor": "ko", "tha": "th", "lao": "lo", "khm": "km", "mya": "my", "bur": "my", "bod": "bo"}
    | {"tib": "bo", "dzo": "dz", "eng": "en", "fra": "fr", "fre": "fr", "deu": "de", "ger": "de", "spa": "es"}
    | {"ita": "it", "por": "pt", "nld": "nl", "dut": "nl", "rus": "ru", "ukr": "uk", "pol": "pl", "ces": "cs"}
    | {"cze": "cs", "slk": "sk", "slo": "sk", "ron": "ro", "rum": "ro", "hun": "hu", "fin": "fi", "swe": "sv"}
    | {"dan": "da", "nor": "no", "nob": "no", "nno": "nn", "tur": "tr", "ell": "el", "gre": "el", "ara": "ar"}
    | {"arb": "ar", "heb": "he", "hin": "hi", "vie": "vi", "ind": "id", "fas": "fa", "per": "fa", "urd": "ur"}
    | {"cat": "ca", "bul": "bg", "hrv": "hr", "srp": "sr", "slv": "sl", "lit": "lt", "lav": "lv", "est": "et"}
    | {"isl": "is", "ice": "is", "ben": "bn", "tam": "ta", "tel": "te", "msa": "ms", "may": "ms", "zsm": "ms"}
    | {"pes": "fa", "swa": "sw", "swh": "sw", "kat": "ka", "geo": "ka", "hye": "hy", "arm": "hy", "gle": "ga"}
)

_VARIANTS = (
    "no nn",
    "hr sr bs sh",
    "id ms",
    "ar arz",
    "fa mzn lrc",
    "ur pnb",
    "pa pnb",
    "zh wuu yue",
    "hi bh mai",
    "ne dty",
    "de als bar pfl",
    "en sco",
    "it scn lmo vec nap pms eml",
    "es ast an",
)
_NEIGHBORS = (
    "no nn da sv",
    "hr sr bs sh sl mk",
    "cs sk",
    "id ms min jv su",
    "es gl ast an ca oc mwl pt cbk",
    "it scn lmo vec nap pms eml co sc",
    "fr wa oc",
    "de als bar nds lb pfl frr",
    "nl af li vls fy nds",
    "fa mzn lrc azb ps ckb ku",
    "ur pnb pa sd",
    "he yi",
    "fr it es ia ie",
    "hi bh mai mr ne dty new sa gom",
    "bn bpy as",
    "ru be uk rue bg mk",
    "tl ceb war ilo pam bcl",
    "tr az",
    "ga gd gv",
    "la ia ie io eo",
)


def normalize_code(code: str) -> str:
    """The code of a language without region and script: `zh-TW`, `zho_Hant` and `cn` are all `zh`."""
    short = re.split("[-_]", code.strip().lower())[0]
    return _ALIASES.get(short, short)


def are_variants(one: str, other: str) -> bool:
    """Whether two codes mean the same language or variants of it, such as Bokmål and Nynorsk."""
    return one == other or any(one in group and other in group for group in _VARIANT_SETS)


def are_confusable(one: str, other: str) -> bool:
    """Whether two languages are taken for each other in a single sentence: variants and close neighbors."""
    return are_variants(one, other) or any(one in group and other in group for group in _NEIGHBOR_SETS)


_VARIANT_SETS = tuple(frozenset(group.split()) for group in _VARIANTS)
_NEIGHBOR_SETS = tuple(frozenset(group.split()) for group in _NEIGHBORS)
