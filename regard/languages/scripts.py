"""Unicode blocks of scripts, and the scripts that languages are written in."""

from types import MappingProxyType

SCRIPT_BLOCKS = MappingProxyType(
    {
        "latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F), (0x1E00, 0x1EFF)),
        "greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
        "cyrillic": ((0x400, 0x52F),),
        "armenian": ((0x530, 0x58F),),
        "hebrew": ((0x590, 0x5FF),),
        "arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)),
        "thaana": ((0x780, 0x7BF),),
        "devanagari": ((0x900, 0x97F),),
        "bengali": ((0x980, 0x9FF),),
        "gurmukhi": ((0xA00, 0xA7F),),
        "gujarati": ((0xA80, 0xAFF),),
        "oriya": ((0xB00, 0xB7F),),
        "tamil": ((0xB80, 0xBFF),),
        "telugu": ((0xC00, 0xC7F),),
        "kannada": ((0xC80, 0xCFF),),
        "malayalam": ((0xD00, 0xD7F),),
        "sinhala": ((0xD80, 0xDFF),),
        "thai": ((0xE00, 0xE7F),),
        "lao": ((0xE80, 0xEFF),),
        "tibetan": ((0xF00, 0xFFF),),
        "myanmar": ((0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)),
        "georgian": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF)),
        "hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
        "ethiopic": ((0x1200, 0x139F),),
        "khmer": ((0x1780, 0x17FF),),
        "kana": ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D)),
        "han": ((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),
    }
)

UNSPACED_SCRIPTS = ("kana", "han", "thai", "lao", "khmer", "myanmar", "tibetan")
"""Scripts that put no blanks between words."""

_LANGUAGES_OF = {
    "cyrillic": "ru uk be bg kk mk ky mn tg av ba bxr ce cv krc kv lez mhr mrj myv os rue sah tt tyv xal",
    "arabic": "ar fa ur ps ug arz azb ckb lrc mzn pnb sd",
    "hebrew": "he yi",
    "devanagari": "hi mr ne sa bh dty gom mai new",
    "bengali": "bn as bpy",
    "georgian": "ka xmf",
    "han": "zh wuu yue",
    "greek": "el",
    "armenian": "hy",
    "thaana": "dv",
    "gurmukhi": "pa",
    "gujarati": "gu",
    "oriya": "or",
    "tamil": "ta",
    "telugu": "te",
    "kannada": "kn",
    "malayalam": "ml",
    "sinhala": "si",
    "thai": "th",
    "lao": "lo",
    "tibetan": "bo",
    "myanmar": "my",
    "ethiopic": "am",
    "khmer": "km",
}
_SEVERAL = {
    "ja": ("kana", "han"),
    "ko": ("hangul", "han"),
    "sr": ("cyrillic", "latin"),
    "sh": ("latin", "cyrillic"),
    "bs": ("latin", "cyrillic"),
    "az": ("latin", "cyrillic"),
    "uz": ("latin", "cyrillic"),
    "tk": ("latin", "cyrillic"),
    "kk": ("cyrillic", "latin"),
    "ku": ("latin", "arabic"),
    "pa": ("gurmukhi", "arabic"),
}
_SCRIPTS_OF = {code: (script,) for script, codes in _LANGUAGES_OF.items() for code in codes.split()} | _SEVERAL
DEFAULT_LANGUAGE = MappingProxyType(
    {script: codes.split()[0] for script, codes in _LANGUAGES_OF.items()} | {"kana": "ja", "hangul": "ko"}
)
"""The language of most text in a script; none for Latin."""

UNIQUE_SCRIPTS = frozenset({script for script, codes in _LANGUAGES_OF.items() if " " not in codes} | {"kana", "hangul"})
"""Scripts of a single language that can be identified."""


def scripts_of(code: str) -> tuple[str, ...]:
    """The scripts that a language is written in, the usual one first."""
    return _SCRIPTS_OF.get(code, ("latin",))


class _ScriptCache(dict[str, str]):
    """The script of a character; "" for punctuation and digits."""

    def __missing__(self, char: str) -> str:
        code = ord(char)
        matches = (name for name, blocks in SCRIPT_BLOCKS.items() if any(low <= code <= high for low, high in blocks))
        self[char] = name = next(matches, "") if char.isalpha() else ""
        return name


SCRIPT_OF_CHAR = _ScriptCache()
