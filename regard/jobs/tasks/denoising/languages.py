"""Which language a file is in, where there are several: what its texts are marked with."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regard.config import Config
from regard.errors import ConfigError
from regard.formats.document_texts import DocumentText
from regard.formats.files import format_suffix
from regard.languages.codes import normalize_code
from regard.languages.identify import is_identifiable


@dataclass(frozen=True)
class MarkedLanguages:
    """The languages of the training files; empty where they have no more than one."""

    codes: tuple[str, ...]

    @classmethod
    def of(cls, config: Config) -> "MarkedLanguages":
        """The languages that the suffixes of the training files name."""
        codes = {file: read_code(file) for file in config.data.train}
        if len(set(codes.values())) < 2:
            return cls(())
        for file, code in codes.items():
            if not code:
                others = ", ".join(sorted(set(filter(None, codes.values()))))
                raise ConfigError(
                    f"{file}: its suffix names no language, but those of other files do ({others}); each text is "
                    f"marked with its language, so name the files like text.fr"
                )
        return cls(tuple(sorted(set(codes.values()))))

    def find(self, document: DocumentText) -> str:
        """The language that a document is marked with; empty where there is only one."""
        if not self.codes:
            return ""
        file = document.location.rpartition(":")[0]
        code = read_code(file)
        if code not in self.codes:
            raise ConfigError(
                f"{file}: its suffix names none of the languages that the model is trained on: {', '.join(self.codes)}"
            )
        return code


def read_code(file: str) -> str:
    """The code of a language that the suffix of a file names, .gz aside; empty where it names none."""
    code = normalize_code(format_suffix(Path(file)).removeprefix("."))
    return code if len(code) in (2, 3) and is_identifiable(code) else ""


def name_codes(targets: Iterable[str]) -> list[str]:
    """The languages of stored examples."""
    return sorted({code for code in targets if code})
