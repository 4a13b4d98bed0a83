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

A message may name an argument (:func:`argument`): one error then speaks of arguments to those who call from Python, and
of options to those at a shell.
"""

import re
from typing import Any

# characters of private use around the two forms; no text of a user's is taken for one of them
_OPEN, _BETWEEN, _CLOSE = "\ue000", "\ue001", "\ue002"
_FORMS = re.compile(f"{_OPEN}([^{_BETWEEN}]*){_BETWEEN}([^{_CLOSE}]*){_CLOSE}")


def argument(name: str, value: Any = None, *, takes: str = "") -> str:
    """Name an argument in the message of an error, which is an option at a shell.

    Parameters
    ----------
    name : str
        In Python.
    value : object, optional
        What to give; True for an option that is given by its name alone at a shell.
    takes : str, optional
        What the option takes, such as COL, where no value is named.

    Returns
    -------
    str
        To be put into the message.

    >>> error = InputError(f"bad rows: drop them with {argument('on_invalid', 'drop')}")
    >>> print(error)
    bad rows: drop them with on_invalid='drop'
    >>> print(error.in_shell())
    bad rows: drop them with --on-invalid drop
    """
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return either(f"{flag} {takes}".rstrip(), f"`{name}`")
    return either(flag if value is True else f"{flag} {value}", f"{name}={value!r}")


def either(shell: str, python: str) -> str:
    """Say something in two ways in the message of an error: to those at a shell, and to those who call from Python."""
    return f"{_OPEN}{shell}{_BETWEEN}{python}{_CLOSE}"


def command(name: str) -> str:
    """Name a command in the message of an error, which is a function in Python.

    >>> error = CorruptFile(f"summary.json is damaged: run {command('discover')} again")
    >>> print(error), print(error.in_shell())
    summary.json is damaged: run `miscal.discover` again
    summary.json is damaged: run `miscal discover` again
    (None, None)
    """
    return either(f"`miscal {name}`", f"`miscal.{name}`")


class MiscalError(Exception):
    """Base of all errors raised by miscal.

    Its text speaks to those who call from Python; :meth:`in_shell` says the same to those at a shell.

    Examples
    --------
    >>> import miscal
    >>> try:
    ...     miscal.load("no/such/run")
    ... except miscal.MiscalError as error:
    ...     print(type(error).__name__)
    FileError
    """

    def __str__(self) -> str:
        return _FORMS.sub(r"\2", super().__str__())

    def in_shell(self) -> str:
        """Return the message with options of the command line in place of arguments."""
        return _FORMS.sub(r"\1", super().__str__())


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
