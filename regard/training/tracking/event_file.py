"""The event files of TensorBoard, in its own messages and record format.

Its SummaryWriter is not used: it writes from a thread of its own, imports TensorFlow where that is installed, and puts
the name of the machine into the name of the file.

A session of training has one file, named after the step that it starts from. TensorBoard reads files in the order of
their names and never returns to an earlier one, so a resumed run can cut the file before it while TensorBoard is open.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from regard.training.tracking.tracker import FILE_PREFIX

FORMAT = "brain.Event:2"


class Histogram(NamedTuple):
    """The distribution of the elements of a tensor."""

    counts: np.ndarray
    edges: np.ndarray
    """One more than the counts."""
    total: float
    total_squares: float


class EventFile:
    """Writes the events of one session, which starts from the checkpoint of this step."""

    def __init__(self, folder: Path, step: int):
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{FILE_PREFIX}{step:08d}").open("wb")
        self._records = RecordWriter(self._file)
        self._write(Event(file_version=FORMAT))
        # An open TensorBoard drops the steps that are now repeated.
        self._write(Event(step=step + 1, session_log=SessionLog(status=SessionLog.START)))

    @property
    def size_bytes(self) -> int:
        return self._file.tell()

    def write(self, step: int, values: Iterable[Summary.Value]) -> None:
        """Write all values of a step as one event."""
        self._write(Event(step=step, summary=Summary(value=values)))

    def close(self) -> None:
        self._file.close()

    def _write(self, event: Event) -> None:
        event.wall_time = time.time()
        self._records.write(event.SerializeToString())
        self._records.flush()  # so that TensorBoard shows every step, and a kill loses none


def scalar_value(tag: str, value: float) -> Summary.Value:
    """A point of a curve."""
    return Summary.Value(tag=tag, simple_value=value)


def text_value(tag: str, text: str) -> Summary.Value:
    """Markdown, which TensorBoard shows among its texts."""
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=DT_STRING, string_val=[text.encode("utf-8", "backslashreplace")], tensor_shape=shape)
    return Summary.Value(tag=tag, metadata=metadata, tensor=tensor)


def histogram_value(tag: str, histogram: Histogram) -> Summary.Value:
    """A histogram of one step."""
    message = HistogramProto(
        min=histogram.edges[0],
        max=histogram.edges[-1],
        num=histogram.counts.sum(),
        sum=histogram.total,
        sum_squares=histogram.total_squares,
        bucket_limit=histogram.edges[1:],
        bucket=histogram.counts,
    )
    return Summary.Value(tag=tag, histo=message)
