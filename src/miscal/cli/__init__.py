"""The command line: it parses, calls the library and prints. It computes nothing, and nothing imports it.

A command is one module in ``commands`` and its line in ``app.COMMANDS``.
Heavy modules are imported by the commands that need them, so that ``miscal --help`` answers at once.
"""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ``miscal`` command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the program's name; ``sys.argv`` by default.

    Returns
    -------
    int
        Exit status: 0 if all went well; 3 if ``miscal monitor`` raised an alarm; 2 for an error the user can fix; 130
        or 143 if stopped by a signal; 1 for a bug in miscal.
    """
    import sys

    from miscal.cli.app import run
    from miscal.cli.outcome import guarded

    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    return guarded(lambda: run([item for item in arguments if item != "--debug"]), debug=debug)
