"""End a command with an exit status, and with one plain line on standard error if it failed."""

import contextlib
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable

from miscal.base.errors import InternalError, MiscalError
from miscal.cli.signals import on_signals

DONE, OUR_FAULT, USERS_TO_FIX, ALARM = 0, 1, 2, 3
REPORT = "this is a bug in miscal; please run the same command with --debug and report what it prints"
_SECRET_NAMES = re.compile(r"TOKEN|API_?KEY|ENDPOINT_KEY|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_URL_USER = re.compile(r"(?:(?<=://)|(?<=:/))[^/\s@]+@")  # paths lose one of the slashes
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_UNDECODED = re.compile("[\udc80-\udcff]+")


class Stopped(KeyboardInterrupt):
    """A signal asked the process to end.

    Of Python's errors only KeyboardInterrupt passes everywhere: the compiler, which runs as a module is imported,
    clears any other that comes while it folds constants, and the run would go on.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def guarded(action: Callable[[], object], *, debug: bool = False) -> int:
    """Run an action and turn every way it can end into an exit status.

    `action`: what to do; it may return an exit status; `debug`: print the traceback of a failure, and the libraries'
    warnings. Returns the exit status.

    Examples
    --------
    >>> guarded(lambda: None)
    0
    """
    # a stream that the caller closed leaves its number to the next file that is opened, and prints would go there
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    sys.stdout, sys.stderr = (one or open(os.devnull, "w") for one in (sys.stdout, sys.stderr))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    received: list[Stopped] = []

    def stop(number: int, frame: object) -> None:
        received.append(Stopped(number))
        raise received[-1]

    ended: BaseException | None = None
    # around the handlers too: a signal may come as they are set
    try:
        with on_signals(stop), warnings.catch_warnings():
            if not debug:
                warnings.simplefilter("ignore")
            status = action()
            sys.stdout.flush()
    except BaseException as error:  # every end has its status here, signals included
        ended = error
    if received:  # typer makes a status of it, and a library interrupted in the middle perhaps an error of its own
        for note in getattr(ended, "__notes__", ()) if ended is not received[0] else ():
            received[0].add_note(note)
        ended = received[0]
    elif isinstance(ended, SystemExit) and isinstance(ended.__context__, BrokenPipeError):
        ended = ended.__context__  # typer turns a closed pipe into an exit of its own
    if ended is not None:
        return _failed(ended, debug=debug)
    return status if isinstance(status, int) else DONE


def _failed(error: BaseException, *, debug: bool) -> int:
    status, message = verdict_on(error)
    if isinstance(error, BrokenPipeError):
        # the interpreter flushes standard output once more at its end, and would complain again
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if debug:
        import traceback

        print(_redacted("".join(traceback.format_exception(error))), file=sys.stderr, end="")
    if message:
        with contextlib.suppress(OSError, ValueError):
            print(one_line(f"miscal: {message}"), file=sys.stderr, flush=True)
    return status


def verdict_on(error: BaseException) -> tuple[int, str]:
    """Say which exit status and which line an error leads to.

    `error`: what ended the command. Returns `status`: exit status; `message`: one line, empty where nothing needs to be
    said.

    Examples
    --------
    >>> verdict_on(MemoryError())[0], verdict_on(KeyError("x"))[0], verdict_on(KeyboardInterrupt())[0]
    (2, 1, 130)
    """
    notes = getattr(error, "__notes__", ())
    if isinstance(error, Stopped | KeyboardInterrupt):
        number = getattr(error, "number", signal.SIGINT)
        return 128 + number, "; ".join(["stopped; no file was left half-written", *notes])
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else OUR_FAULT, ""
    if isinstance(error, BrokenPipeError):
        return 128 + 13, ""
    message = _fixable(error)
    if message:
        return USERS_TO_FIX, message
    return OUR_FAULT, "; ".join([f"{type(error).__name__}: {error}", *notes, REPORT])


def _fixable(error: BaseException) -> str | None:
    if isinstance(error, InternalError):
        return None
    if isinstance(error, MiscalError):
        return error.in_shell()
    if hasattr(error, "format_message"):  # a usage error: typer's own classes have moved between its versions
        context = getattr(error, "ctx", None)
        words = error.format_message().replace("Value error, ", "").strip().rstrip(".")  # type: ignore[attr-defined]
        return f"{words}; see `{context.command_path if context else 'miscal'} --help`"
    if isinstance(error, MemoryError):
        return "memory ran out: give fewer rows or features, or use a larger machine"
    # what writes files is imported by what does
    from miscal.base.files import NO_ROOM, system_error

    cause = system_error(error)
    if cause is None or not cause.strerror:
        return None
    if cause.errno in NO_ROOM:
        return f"{cause.filename or 'writing'!s}: {NO_ROOM[cause.errno]}"
    return f"{cause.strerror}{f' at {cause.filename!s}' if cause.filename else ''}: check the path and its permissions"


def one_line(text: str) -> str:
    r"""Flatten a message to one printable line, secrets of the environment taken out.

    `text`: any message.

    Examples
    --------
    >>> one_line("no such\n  file: https://me:pw@host/x")
    'no such file: https://***@host/x'
    """
    # names of files that the locale could not decode; they are mostly UTF-8
    text = _UNDECODED.sub(lambda run: run[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace"), text)
    return re.sub(r" {2,}", " ", _CONTROL.sub(" ", _redacted(text))).strip()


def _redacted(text: str) -> str:
    for name, value in os.environ.items():
        if len(value) >= 6 and _SECRET_NAMES.search(name):
            text = text.replace(value, "***")
    return _URL_USER.sub("***@", text)
