"""Event files: every event is on disk once it is written, and a checkpoint decides what of them stays."""

from contextlib import closing
from pathlib import Path

import pytest
import torch

event_accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="TensorBoard is not installed (the extra `track`)",
)

from regard.training.tracking.event_file import EventFile, scalar_value  # noqa: E402
from regard.training.tracking.histograms import compute_histogram  # noqa: E402
from regard.training.tracking.tracker import FILE_PREFIX, drop_later_events  # noqa: E402


def read_steps(folder: Path) -> list[int]:
    events = event_accumulator.EventAccumulator(str(folder), {"scalars": 0}, purge_orphaned_data=False)
    return [event.step for event in events.Reload().Scalars("train/loss")]


def write_session(folder: Path, start: int, end: int, keep_bytes: int = 0) -> dict[int, int]:
    """The size of the file of a session after each of its steps."""
    drop_later_events(folder, start, keep_bytes)
    events, sizes = EventFile(folder, start), {}
    for step in range(start + 1, end + 1):
        events.write(step, [scalar_value("train/loss", 1 / step)])
        sizes[step] = events.size_bytes
        assert sizes[step] == (folder / f"{FILE_PREFIX}{start:08d}").stat().st_size  # a kill would lose nothing
    events.close()
    return sizes


def test_what_was_written_after_the_checkpoint_is_dropped(tmp_path: Path):
    sizes = write_session(tmp_path, 0, 7)
    write_session(tmp_path, 5, 11, sizes[5])
    assert read_steps(tmp_path) == list(range(1, 12))
    write_session(tmp_path, 3, 4, sizes[3])  # a checkpoint that was restored from a copy
    assert read_steps(tmp_path) == [1, 2, 3, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{FILE_PREFIX}{step:08d}" for step in (0, 3)]


def test_a_file_that_was_damaged_is_not_made_longer(tmp_path: Path):
    sizes = write_session(tmp_path, 0, 7)
    path = tmp_path / f"{FILE_PREFIX}{0:08d}"
    path.write_bytes(path.read_bytes()[: sizes[4]])
    write_session(tmp_path, 7, 9, sizes[7])
    assert path.stat().st_size == sizes[4] and read_steps(tmp_path) == [1, 2, 3, 4, 8, 9]


@pytest.mark.parametrize(
    "name", ["1700000000.host.1.0", "1700000000", "7", "00000007.host", "00000007.profile-empty", "00000007~"]
)
def test_files_of_other_programs_stay(tmp_path: Path, name: str):
    path = tmp_path / f"{FILE_PREFIX}{name}"
    path.write_bytes(b"not ours")
    sizes = write_session(tmp_path, 0, 7)
    write_session(tmp_path, 5, 6, sizes[5])
    assert path.read_bytes() == b"not ours"
    path.unlink()
    assert read_steps(tmp_path) == [1, 2, 3, 4, 5, 6]


def test_an_open_reader_drops_the_steps_that_are_repeated(tmp_path: Path):
    sizes = write_session(tmp_path, 0, 7)
    reader = event_accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in reader.Scalars("train/loss")] == [1, 2, 3, 4, 5, 6, 7]
    drop_later_events(tmp_path, 5, sizes[5])
    with closing(EventFile(tmp_path, 5)) as events:
        events.write(6, [scalar_value("train/loss", 0.5)])
    assert [event.step for event in reader.Reload().Scalars("train/loss")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_histogram_counts_every_element(dtype: torch.dtype):
    tensor = torch.tensor([[-2.0, 0.0, 1.0], [1.0, 1.0, 3.0]], dtype=dtype)
    histogram = compute_histogram(tensor)
    assert (histogram.edges[0], histogram.edges[-1], histogram.counts.sum()) == (-2, 3, 6)
    assert (histogram.total, histogram.total_squares) == (4, 16)
    assert compute_histogram(torch.zeros(7, dtype=dtype)).counts.sum() == 7
