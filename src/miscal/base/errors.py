"""Every error miscal raises on purpose.

::

    MiscalError
    |-- InputError (also ValueError)   an argument, column or value the caller can fix
    |   `-- FileError                  a file that cannot be used
    |       |-- CorruptFile            truncated, damaged or not what its name says
    |       `-- MissingColumn          a column that is not there
    |-- LockedError                    another process owns the folder
    |-- MismatchError                  resumed with other settings or other data
    |-- ResourceError                  memory or disk ran out
    |-- TrustError                     a file that could run code, or is not ours
    `-- InternalError                  our fault: please report it

The command line maps all but ``InternalError`` to exit status 2.
"""


class MiscalError(Exception):
    """Base of all errors raised by miscal."""


class InputError(MiscalError, ValueError):
    """An argument, column or value that the caller can fix."""


class FileError(InputError):
    """A file that cannot be used."""


class CorruptFile(FileError):
    """A file that is truncated, damaged or not what its name says."""


class MissingColumn(FileError):
    """A column that is not in the table."""


class LockedError(MiscalError):
    """Another process owns the folder."""


class MismatchError(MiscalError):
    """A run resumed or read with other settings or other data."""


class ResourceError(MiscalError):
    """Memory or disk ran out."""


class TrustError(MiscalError):
    """A file that could run code, or that miscal did not write."""


class InternalError(MiscalError):
    """A fault of miscal itself."""
