"""Files <-> Pairs. Strings only: nothing here knows of tokens, ids or models.

Every format is a file with `read(…) -> Iterator[Pair]`. Errors carry file and line.
"""

from regard.formats.pair import Pair
from regard.formats.reader import read_lines, read_pairs

__all__ = ["Pair", "read_lines", "read_pairs"]
