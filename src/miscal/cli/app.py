"""The commands of the command line, and the module of each."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from miscal.cli.options import with_options

COMMANDS = {
    "demo": "discover",
    "discover": "discover",
    "calibrate": "discover",
    "audit": "runs",
    "compare": "runs",
    "monitor": "runs",
    "report": "runs",
    "scan": "discover",
    "show": "runs",
    "score": "answers",
    "import": "answers",
    "export": "runs",
    "synthetic": "study",
    "study": "study",
}
"""Command: its module in ``cli.commands``, where it is the function of its name."""

_PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
"""How every application is made."""


def run(argv: Sequence[str]) -> object:
    """Parse the arguments and run the command they name.

    `argv`: the arguments. Returns an exit status, or None.
    """
    if argv and argv[0] in COMMANDS:
        # alone: to import and to build all the others takes longer than a short command does
        app, name, options = typer.Typer(**_PLAIN), f"miscal {argv[0]}", argv[1:]
        app.command()(_command(argv[0]))
    else:
        app, name, options = build(), "miscal", argv
    return app(list(options), prog_name=name, standalone_mode=False)


def build() -> typer.Typer:
    """Return the application with every command.

    Returns the application; errors are left to the caller, so that none is boxed or wrapped.

    Examples
    --------
    >>> isinstance(build(), typer.Typer)
    True
    """
    app = typer.Typer(name="miscal", no_args_is_help=False, invoke_without_command=True, callback=_root, **_PLAIN)
    for name in COMMANDS:
        app.command(name)(_command(name))
    return app


def _command(name: str) -> Callable:
    module = import_module(f"miscal.cli.commands.{COMMANDS[name]}")
    return with_options(getattr(module, "import_" if name == "import" else name))


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Find where a model is wrong about its own confidence, prove it, correct it and explain it.

    Exit status: 0 if all went well; 3 if `miscal monitor` raised an alarm, or `miscal compare --fail-if-worse` found
    a worse run; 2 for an error you can fix; 130 or 143 if a signal stopped it; 1 for a bug in miscal.
    With --debug, every command prints the traceback of an error.
    """
    if version:
        # it imports a parser of e-mails
        from importlib import metadata

        print(f"miscal {metadata.version('miscal')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())
