"""Lines in chunks: of those that have arrived, or full ones."""

import itertools
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
BURST_SECONDS = 0.02  # time to wait for the rest of a burst of lines


def read_chunks(items: Iterable[T], max_items: int) -> Iterator[list[T]]:
    """Chunks of at most `max_items` items; a slow source gives small ones at once, a fast one gives full ones.

    So each line that is typed is answered at once, and a file is read in large chunks, a few of them in advance.
    """
    buffer: queue.Queue[tuple[str, T | BaseException | None]] = queue.Queue(2 * max_items)
    cancelled = threading.Event()

    def read() -> None:
        try:
            for item in items:
                if not _put(buffer, ("item", item), cancelled):
                    return
            _put(buffer, ("end", None), cancelled)
        except BaseException as error:  # raised again in the thread that consumes the chunks
            _put(buffer, ("error", error), cancelled)

    threading.Thread(target=read, daemon=True).start()
    try:
        ended = False
        while not ended:
            chunk: list[T] = []
            kind, value = buffer.get()
            while True:
                if kind == "item":
                    chunk.append(value)  # type: ignore[arg-type]
                else:
                    ended = True
                    break
                if len(chunk) == max_items:
                    break
                try:
                    kind, value = buffer.get(timeout=BURST_SECONDS)
                except queue.Empty:
                    break
            if chunk:
                yield chunk
            if ended and kind == "error":
                assert isinstance(value, BaseException)
                raise value
    finally:
        cancelled.set()


def full_chunks(items: Iterable[T], max_items: int) -> Iterator[list[T]]:
    """Chunks of `max_items` items and one of the rest: for a file, which is cut at the same places every time."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, max_items)):
        yield chunk


def _put(
    buffer: "queue.Queue[tuple[str, T | BaseException | None]]",
    item: tuple[str, T | BaseException | None],
    cancelled: threading.Event,
) -> bool:
    """Put an item into the queue; False if reading was cancelled before there was room."""
    while not cancelled.is_set():
        try:
            buffer.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
