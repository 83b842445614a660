"""Where decoding keeps what it looks at: places made ahead, so that little is copied when rows come and go."""

from torch import Tensor

from regard.model.attention import Attention, KeyValues

SPARE = 0.25  # of the rows: room for others to come
SLACK = 1.25  # columns in store for each that is in use: gaps between rows cost time


class Shelf:
    """Keys and values of one layer: the first rows and columns of stores that may have more of both."""

    def __init__(self, attention: Attention, like: Tensor):
        empty = like.new_empty(0, attention.heads, 0, attention.width)  # (rows, H, columns, K)
        self._sides = [empty, empty]

    def make_room(self, rows: int, columns: int, forget: int = 0) -> None:
        """Room for so many rows and columns, and not for many more columns; the first ones may be forgotten.

        What stands in new places is not known.
        """
        had_rows, _, had_columns, _ = self._sides[0].shape
        if rows <= had_rows and columns <= had_columns <= columns * SLACK and not forget:
            return
        room = rows + int(SPARE * had_rows) if rows > had_rows else rows
        self._sides = [_resized(side[:rows, :, forget:], room, columns) for side in self._sides]

    def put(self, rows: slice, columns: slice, k: Tensor, v: Tensor) -> None:
        """Keys and values (rows, H, columns, K), for which there must be room."""
        for side, new in zip(self._sides, (k, v), strict=True):
            side[rows, :, columns] = new

    def clear(self, rows: slice, columns: slice) -> None:
        """Nothing stands there. Nobody may look at it, but a mask is a weight of 0, and 0 · nan is nan."""
        for side in self._sides:
            side[rows, :, columns] = 0

    def seen(self, rows: int, at: Tensor) -> KeyValues:
        """The first rows, of which the first keys stand at `at` (1 or rows, t)."""
        k, v = (side[:rows, :, : at.shape[1]] for side in self._sides)
        return KeyValues(k, v, at)

    def select(self, rows: Tensor, moved: Tensor) -> None:
        """These rows, in this order, of which those numbered `moved` stood elsewhere before."""
        if 2 * len(moved) > len(rows):
            self._sides = [side.index_select(0, rows) for side in self._sides]
        elif len(moved):
            for side in self._sides:
                side.index_copy_(0, moved, side.index_select(0, rows[moved]))


def _resized(side: Tensor, rows: int, columns: int) -> Tensor:
    """The same in a store of so many rows and columns, which may be fewer columns, but not fewer rows."""
    had_rows, heads, had_columns, width = side.shape
    both = min(columns, had_columns)
    fresh = side.new_empty(rows, heads, columns, width)
    fresh[:had_rows, :, :both] = side[:, :, :both]
    return fresh
