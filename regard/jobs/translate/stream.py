"""Lines in chunks: as many as are there, and never waiting for more once there is one."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
BURST_SECONDS = 0.02  # seconds in which the rest of a burst of lines arrives


def read_chunks(items: Iterable[T], max_items: int) -> Iterator[list[T]]:
    """Chunks of at most so many items; a slow source gives small ones at once, a fast one gives full ones.

    So somebody who types gets an answer to each line, and a file is read in large pieces, a few of them ahead.
    """
    buffer: queue.Queue[tuple[str, T | BaseException | None]] = queue.Queue(2 * max_items)
    cancelled = threading.Event()

    def read() -> None:
        try:
            for item in items:
                if not _put(buffer, ("item", item), cancelled):
                    return
            _put(buffer, ("end", None), cancelled)
        except BaseException as error:  # whatever reading raises belongs to whoever asked for the lines
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


def _put(
    buffer: "queue.Queue[tuple[str, T | BaseException | None]]",
    item: tuple[str, T | BaseException | None],
    cancelled: threading.Event,
) -> bool:
    """Whether there was room before the reader's work was no longer wanted."""
    while not cancelled.is_set():
        try:
            buffer.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
