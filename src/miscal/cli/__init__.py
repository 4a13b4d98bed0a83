"""The command line: it parses, calls the library and prints, and computes nothing.

In: arguments of a shell.
Out: printed lines and an exit status.

Heavy modules are imported by the commands that need them, so that ``miscal --help`` answers at once.
"""

import os
from collections.abc import Sequence

from miscal.cli.signals import on_signals

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ``miscal`` command.

    `argv`: the arguments, without the program's name; ``sys.argv`` by default. Returns exit status: 0 if all went well;
    3 if ``miscal monitor`` raised an alarm, or ``miscal compare --fail-if-worse`` found a worse run; 2 for an error the
    user can fix; 130 or 143 if stopped by a signal; 1 for a bug in miscal.
    """
    import gc
    import sys

    # imports and templates make objects by the hundred thousand and leave no garbage: to look for it every 700 objects
    # takes a sixth of their time
    gc.set_threshold(50_000)
    with on_signals(_end):
        from miscal.cli.exit_status import guarded

        arguments = list(sys.argv[1:] if argv is None else argv)
        debug = "--debug" in arguments
        return guarded(lambda: _run([item for item in arguments if item != "--debug"]), debug=debug)


def _end(number: int, frame: object) -> None:
    """End the process with one line while there is nothing yet that could end it more gently."""
    os.write(2, b"miscal: stopped; no file was left half-written\n")
    os._exit(128 + number)


def _run(arguments: Sequence[str]) -> object:
    # here, where signals are guarded: these imports take most of a short command's time
    from miscal.cli.app import run

    return run(arguments)
