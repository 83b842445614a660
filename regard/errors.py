"""Every error that Regard raises on purpose.

    RegardError                 caught by the command line: one sentence, exit code 2, no traceback
    ├── ConfigError             a setting that does not exist, is invalid, or contradicts another
    ├── FormatError             a file that cannot be read as what it claims to be; names file and line
    ├── DataError               text that was read but cannot be trained on or evaluated
    │   └── DivergedError       training whose loss is no longer a finite number
    ├── RunError                a run folder that is missing, occupied, incomplete or damaged
    │   ├── BusyError           a run that another process is training in
    │   └── WriteError          a file that could not be written; its previous version is intact
    ├── SearchIndexError        a search index that is missing, damaged, or of another encoder
    ├── LabError                a lab that does not exist, or whose file is not one; a knob that it does not have
    └── ModelError              an input that the model cannot process, for example one longer than its positions

    RegardWarning               not an error: training that goes wrong, in a program that shows no progress

A message says what happened, where, what was expected and what to do.
"""


class RegardError(Exception):
    """A problem that the user can fix; the message says how."""


class RegardWarning(UserWarning):
    """Training that goes wrong, in a program that shows no progress."""


class ConfigError(RegardError):
    """A setting that does not exist, is invalid, or contradicts another."""


class FormatError(RegardError):
    """A file that cannot be read as what it claims to be."""


class DataError(RegardError):
    """Text that was read but cannot be trained on or evaluated."""


class DivergedError(DataError):
    """Training whose loss is no longer a finite number."""


class RunError(RegardError):
    """A run folder that is missing, occupied, incomplete or damaged."""


class BusyError(RunError):
    """A run that another process is training in."""


class WriteError(RunError):
    """A file that could not be written; its previous version is intact."""


class SearchIndexError(RegardError):
    """A search index that is missing, damaged, or of another encoder."""


class LabError(RegardError):
    """A lab that does not exist, or whose file is not one; a knob that it does not have."""


class ModelError(RegardError):
    """An input that the model cannot process."""
