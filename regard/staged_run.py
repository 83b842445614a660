"""A new run that is prepared beside its folder: it replaces what is there as a whole, or not at all."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard import config as settings
from regard.config import Config
from regard.errors import BusyError, RunError
from regard.exchange import StagedFolder, contains_current, is_occupied, recover, stage_folder
from regard.run import Run, is_run, lock, write_text, write_versions


def require_free(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something else, or a run that is not to be overwritten."""
    recover(folder)
    occupied = is_occupied(folder)
    if contains_current(folder):
        raise RunError(f"{folder}: is the current folder. Choose a folder of its own with --out.")
    if occupied and not is_run(folder):
        raise RunError(f"{folder}: already exists and is not a run. Choose another folder with --out.")
    if occupied and not overwrite:
        raise RunError(
            f"{folder}: already holds a run. Continue it with --resume {folder}, replace it with --overwrite, "
            f"or choose another folder with --out."
        )
    if occupied:
        with lock(Run(folder)):  # or another process is training there at this moment
            pass


@dataclass(frozen=True)
class StagedRun:
    """A new run beside the folder it is meant for: until it is committed, nothing there is changed."""

    run: Run
    folder: Path
    staged_folder: StagedFolder

    def write_settings(self, config: Config) -> None:
        """The first files of the run."""
        write_text(self.run.config, settings.dump(config, only_explicit=True))  # the rest is chosen by the data
        write_versions(self.run)

    def commit(self) -> Run:
        """Move the complete run to its folder. Of an old run there, only the files of a run are removed."""
        names = {path.name for path in self.run.paths()}
        self.staged_folder.commit(names.__contains__)
        return Run(self.folder)


@contextlib.contextmanager
def stage_run(folder: Path, overwrite: bool = False) -> Iterator[StagedRun]:
    """A new run. Inside the block no other process uses it, nor the old one in its folder that it is to replace."""
    require_free(folder, overwrite)
    with contextlib.ExitStack() as exit_stack:
        if recover(folder):
            raise BusyError(
                f"{folder}: another process is preparing a run there. Wait until it ends, or choose another with --out."
            )
        replace = overwrite and is_run(folder)
        if replace:
            exit_stack.enter_context(lock(Run(folder)))
        staged_folder = exit_stack.enter_context(stage_folder(folder, replace))
        run = Run(staged_folder.path)
        exit_stack.enter_context(lock(run))
        yield StagedRun(run, folder, staged_folder)
