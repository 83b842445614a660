"""Lines in chunks: as many as are there, and never waiting for more once there is one."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
LINGER = 0.02  # seconds in which the rest of a burst of lines arrives


def as_they_come(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """Chunks of at most so many items; a slow source gives small ones at once, a fast one gives full ones.

    So somebody who types gets an answer to each line, and a file is read in large pieces, a few of them ahead.
    """
    waiting: queue.Queue[tuple[str, T | BaseException | None]] = queue.Queue(2 * most)
    leave = threading.Event()

    def read() -> None:
        try:
            for item in items:
                if not _put(waiting, ("item", item), leave):
                    return
            _put(waiting, ("end", None), leave)
        except BaseException as error:  # whatever reading raises belongs to whoever asked for the lines
            _put(waiting, ("error", error), leave)

    threading.Thread(target=read, daemon=True).start()
    try:
        ended = False
        while not ended:
            chunk: list[T] = []
            kind, value = waiting.get()
            while True:
                if kind == "item":
                    chunk.append(value)  # type: ignore[arg-type]
                else:
                    ended = True
                    break
                if len(chunk) == most:
                    break
                try:
                    kind, value = waiting.get(timeout=LINGER)
                except queue.Empty:
                    break
            if chunk:
                yield chunk
            if ended and kind == "error":
                assert isinstance(value, BaseException)
                raise value
    finally:
        leave.set()


def _put(
    waiting: "queue.Queue[tuple[str, T | BaseException | None]]",
    item: tuple[str, T | BaseException | None],
    leave: threading.Event,
) -> bool:
    """Whether there was room before the reader's work was no longer wanted."""
    while not leave.is_set():
        try:
            waiting.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False
