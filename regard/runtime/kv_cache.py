"""The key-value cache of decoding: memory is reserved ahead, so that little is copied when rows enter and leave."""

from torch import Tensor

from regard.model.attention import Attention, KeyValues

SPARE_ROWS = 0.25  # of the rows, reserved for others to enter
COLUMN_SLACK = 1.25  # columns reserved for each one in use: gaps between rows cost time


class KVCache:
    """Keys and values of one layer: the first rows and columns of tensors that may have more of both."""

    def __init__(self, attention: Attention, like: Tensor):
        empty = like.new_empty(0, attention.heads, 0, attention.head_dim)  # (rows, H, columns, K)
        self._stores = [empty, empty]

    def reserve(self, rows: int, columns: int, drop_first: int = 0) -> None:
        """Make the tensors large enough for this many rows and columns, without the first `drop_first` columns.

        New cells are not initialized.
        """
        old_rows, _, old_columns, _ = self._stores[0].shape
        if rows <= old_rows and columns <= old_columns <= columns * COLUMN_SLACK and not drop_first:
            return
        capacity = rows + int(SPARE_ROWS * old_rows) if rows > old_rows else rows
        self._stores = [_resize(store[:rows, :, drop_first:], capacity, columns) for store in self._stores]

    def put(self, rows: slice, columns: slice, k: Tensor, v: Tensor) -> None:
        """Write keys and values (rows, H, columns, K), for which memory was reserved."""
        for store, new in zip(self._stores, (k, v), strict=True):
            store[rows, :, columns] = new

    def repeat(self, rows: int, times: int) -> None:
        """Replace the first rows by as many copies of each."""
        self._stores = [store[:rows].repeat_interleave(times, dim=0) for store in self._stores]

    def clear(self, rows: slice, columns: slice) -> None:
        """Zero cells that are masked: a masked weight is 0, but 0 · nan is nan."""
        for store in self._stores:
            store[rows, :, columns] = 0

    def view(self, rows: int, position_ids: Tensor) -> KeyValues:
        """The first rows and their keys, which have these positions (1 or rows, t)."""
        k, v = (store[:rows, :, : position_ids.shape[1]] for store in self._stores)
        return KeyValues(k, v, position_ids)

    def select(self, rows: Tensor, moved_rows: Tensor) -> None:
        """Continue with these rows in this order; `moved_rows` are those that change their index."""
        if 2 * len(moved_rows) > len(rows):
            self._stores = [store.index_select(0, rows) for store in self._stores]
        elif len(moved_rows):
            for store in self._stores:
                store.index_copy_(0, moved_rows, store.index_select(0, rows[moved_rows]))


def _resize(store: Tensor, rows: int, columns: int) -> Tensor:
    """A copy with this many rows and columns, which may be fewer columns, but not fewer rows."""
    old_rows, heads, old_columns, width = store.shape
    shared_columns = min(columns, old_columns)
    resized = store.new_empty(rows, heads, columns, width)
    resized[:old_rows, :, :shared_columns] = store[:, :, :shared_columns]
    return resized
