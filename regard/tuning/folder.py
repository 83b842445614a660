"""Study folder: the one place that knows the name of every file in it.

study.toml            the complete study
study.db              claims and results of all trials (SQLite, unless another storage is given)
trials/0007/          the run of trial 7; trials/0007.seed2/ the same with another seed
report.html  charts/  the report
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StudyFolder:
    """A study on disk."""

    path: Path

    @property
    def study_file(self) -> Path:
        return self.path / "study.toml"

    @property
    def database(self) -> Path:
        return self.path / "study.db"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def charts(self) -> Path:
        return self.path / "charts"

    def trial_folder(self, number: int, seed_index: int = 0) -> Path:
        """The run folder of a trial; that of the first seed has no suffix."""
        return self.path / "trials" / (f"{number:04d}.seed{seed_index + 1}" if seed_index else f"{number:04d}")


def is_study_folder(folder: Path) -> bool:
    return StudyFolder(folder).study_file.is_file()
