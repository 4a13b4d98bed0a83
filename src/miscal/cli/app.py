"""The commands, and which of them this installation offers."""

from collections.abc import Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Annotated

import typer

COMMANDS = {
    "demo": ("demo", "miscal.scoring.demo"),
    "discover": ("discover", "miscal.discovery.discover"),
    "calibrate": ("calibrate", "miscal.discovery.discover"),
    "audit": ("audit", "miscal.discovery.audit"),
    "compare": ("compare", "miscal.discovery.compare"),
    "monitor": ("monitor", "miscal.discovery.monitoring"),
    "report": ("report", "miscal.report"),
    "score": ("score", "miscal.scoring.command"),
    "import": ("import_", "miscal.data.importers"),
    "synthetic": ("synthetic", "miscal.synthetic"),
    "study": ("study", "miscal.study.run"),
}
"""Command: its module in ``cli.commands``, and the part of miscal without which it is not offered."""


def run(argv: Sequence[str]) -> object:
    """Parse the arguments and run the command they name.

    Parameters
    ----------
    argv : sequence of str
        The arguments.

    Returns
    -------
    object
        An exit status, or None.
    """
    return build()(list(argv), prog_name="miscal", standalone_mode=False)


def build() -> typer.Typer:
    """Return the application with every command whose part of miscal is installed.

    Returns
    -------
    typer.Typer
        The application; errors are left to the caller, so that none is boxed or wrapped.

    Examples
    --------
    >>> isinstance(build(), typer.Typer)
    True
    """
    app = typer.Typer(
        name="miscal",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        invoke_without_command=True,
        callback=_root,
    )
    for name, (module, needed) in COMMANDS.items():
        if find_spec(needed) is not None:
            app.command(name)(import_module(f"miscal.cli.commands.{module}").command)
    return app


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Find where a model is wrong about its own confidence, prove it, correct it and explain it.

    Exit status: 0 if all went well; 3 if `miscal monitor` raised an alarm; 2 for an error you can fix; 130 or 143 if a
    signal stopped it; 1 for a bug in miscal.
    With --debug, every command prints the traceback of an error.
    """
    if version:
        print(f"miscal {metadata.version('miscal')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
