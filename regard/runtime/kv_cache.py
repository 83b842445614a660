"""Where decoding keeps what it looks at: places made ahead, so that little is copied when rows come and go."""

from torch import Tensor

from regard.model.attention import Attention, KeyValues

SPARE_ROWS = 0.25  # of the rows: room for others to come
COLUMN_SLACK = 1.25  # columns in store for each that is in use: gaps between rows cost time


class KVCache:
    """Keys and values of one layer: the first rows and columns of stores that may have more of both."""

    def __init__(self, attention: Attention, like: Tensor):
        empty = like.new_empty(0, attention.heads, 0, attention.head_dim)  # (rows, H, columns, K)
        self._stores = [empty, empty]

    def reserve(self, rows: int, columns: int, drop_first: int = 0) -> None:
        """Room for so many rows and columns, and not for many more columns; the first ones may be forgotten.

        What stands in new places is not known.
        """
        old_rows, _, old_columns, _ = self._stores[0].shape
        if rows <= old_rows and columns <= old_columns <= columns * COLUMN_SLACK and not drop_first:
            return
        capacity = rows + int(SPARE_ROWS * old_rows) if rows > old_rows else rows
        self._stores = [_resize(store[:rows, :, drop_first:], capacity, columns) for store in self._stores]

    def put(self, rows: slice, columns: slice, k: Tensor, v: Tensor) -> None:
        """Keys and values (rows, H, columns, K), for which there must be room."""
        for store, new in zip(self._stores, (k, v), strict=True):
            store[rows, :, columns] = new

    def clear(self, rows: slice, columns: slice) -> None:
        """Nothing stands there. Nobody may look at it, but a mask is a weight of 0, and 0 · nan is nan."""
        for store in self._stores:
            store[rows, :, columns] = 0

    def view(self, rows: int, position_ids: Tensor) -> KeyValues:
        """The first rows, of which the first keys stand at `at` (1 or rows, t)."""
        k, v = (store[:rows, :, : position_ids.shape[1]] for store in self._stores)
        return KeyValues(k, v, position_ids)

    def select(self, rows: Tensor, moved_rows: Tensor) -> None:
        """These rows, in this order, of which those numbered `moved` stood elsewhere before."""
        if 2 * len(moved_rows) > len(rows):
            self._stores = [store.index_select(0, rows) for store in self._stores]
        elif len(moved_rows):
            for store in self._stores:
                store.index_copy_(0, moved_rows, store.index_select(0, rows[moved_rows]))


def _resize(store: Tensor, rows: int, columns: int) -> Tensor:
    """The same in a store of so many rows and columns, which may be fewer columns, but not fewer rows."""
    old_rows, heads, old_columns, width = store.shape
    shared_columns = min(columns, old_columns)
    resized = store.new_empty(rows, heads, columns, width)
    resized[:old_rows, :, :shared_columns] = store[:, :, :shared_columns]
    return resized
