"""Every error that Regard raises on purpose.

    RegardError                 caught by the doors (cli, serve): one sentence, exit code 2, no traceback
    ├── ConfigError             a setting that does not exist, does not fit, or contradicts another
    ├── FormatError             a file that cannot be read as what it claims to be; names file and line
    ├── DataError               text that was read but cannot be trained on or evaluated
    ├── RunError                a run folder that is missing, occupied, half written or damaged
    │   ├── BusyError           a run that another process is training in
    │   └── WriteError          a file that could not be written; the one before it is whole
    └── ModelError              an input that this model cannot take (too long for its positions, say)

A message says what happened, where, what was expected and what to do.
"""


class RegardError(Exception):
    """Something a person can mend; the message says how."""


class ConfigError(RegardError):
    """A setting that does not exist, does not fit, or contradicts another."""


class FormatError(RegardError):
    """A file that cannot be read as what it claims to be."""


class DataError(RegardError):
    """Text that was read but cannot be trained on or evaluated."""


class RunError(RegardError):
    """A run folder that is missing, occupied, half written or damaged."""


class BusyError(RunError):
    """A run that another process is training in."""


class WriteError(RunError):
    """A file that could not be written; the one before it is whole."""


class ModelError(RegardError):
    """An input that this model cannot take."""
