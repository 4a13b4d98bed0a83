"""The commands, the module of each, and their options: made of the fields of dataclasses, or shared."""

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from miscal.base.errors import InputError
from miscal.base.options import parameter

if TYPE_CHECKING:
    from miscal.report.sheet import Sheet

DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .jsonl file, or a folder written by `miscal score`.")
]
RunDir = Annotated[str, typer.Argument(metavar="RUN_DIR", help="A folder written by `miscal discover`.")]


@dataclass(frozen=True)
class Target:
    """What a command writes; those that write something else name it anew."""

    out: str = parameter("Folder to write.", ..., metavar="DIR")
    overwrite: bool = parameter("Replace what --out names, if it exists.", False)


@dataclass(frozen=True)
class Form:
    """How a command prints its result: text for people, JSON, or markdown."""

    json: bool = parameter("Print the result as JSON instead of text.", False)
    markdown: bool = parameter(
        "Print GitHub-flavoured markdown instead of text, for an issue or the summary of a job.", False
    )

    def __post_init__(self) -> None:
        if self.json and self.markdown:
            raise InputError("give one of --json and --markdown; got both")

    def begin(self, lines: Sequence[str]) -> None:
        """Print the first lines of a result for people, before the rest is known."""
        if not (self.json or self.markdown):
            # what cannot be written is still there when the rest is printed: by then, the work is done
            with suppress(OSError):
                print("\n".join(lines), flush=True)

    def print(
        self, lines: Callable[[], Sequence[str]], as_json: Callable[[], str], as_markdown: Callable[[], str]
    ) -> None:
        """Print a result that these return: as lines, as JSON that ends with a line break, or as markdown."""
        if self.json:
            print(as_json(), end="")
        else:
            print(as_markdown() if self.markdown else "\n".join(lines()))

    def show(self, sheet: Callable[[], "Sheet"], as_json: Callable[[], str], **files: Path) -> None:
        """Print a sheet, and on a terminal where its files are."""
        places = [(about.replace("_", " "), str(path)) for about, path in files.items()]
        self.print(lambda: sheet().lines(places, bars=draws_blocks()), as_json, lambda: sheet().markdown())


def draws_blocks() -> bool:
    """Whether the terminal's encoding has the characters that bars are drawn with."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


# --- options that are fields --------------------------------------------------------------------------------------


def with_options(command: Callable) -> Callable:
    """Return a command with an option for each field of the dataclasses that its parameters are.

    A parameter annotated with ``Annotated[SomeDataclass, "seed", "map"]`` takes these fields alone.
    """
    parameters: list[inspect.Parameter] = []
    taken: dict[str, tuple[type, list[Field]]] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, one in inspect.signature(command).parameters.items():
        kind, *chosen = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if is_dataclass(kind):
            taken[name] = kind, [field for field in fields(kind) if not chosen or field.name in chosen]
            parameters += [_parameter(kind, field) for field in taken[name][1]]
        else:
            parameters.append(one.replace(annotation=hints[name], kind=one.KEYWORD_ONLY))

    def run(**given: Any) -> Any:
        made = {
            name: kind(**{field.name: _value(field, given.pop(field.name)) for field in chosen})
            for name, (kind, chosen) in taken.items()
        }
        return command(**given, **made)

    run.__doc__, run.__signature__ = command.__doc__, inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _parameter(kind: type, field: Field) -> inspect.Parameter:
    said, hint = field.metadata, get_type_hints(kind)[field.name]
    kinds = {hint} if get_origin(hint) is Literal else {*get_args(hint)} or {hint}
    plain = all(one in (bool, int, float, str, NoneType) or get_origin(one) is Literal for one in kinds)
    taken: Any = list[str] | None if said["repeat"] else hint if plain else str | None
    info = typer.Option(
        # some names are words of Python
        f"--{field.name.rstrip('_').replace('_', '-')}",
        metavar=said["metavar"],
        help=said["help"],
        parser=said["parse"] and parser_of(said["parse"]),
    )
    default = None if said["repeat"] or field.default == () else field.default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[taken, info]
    )


def _value(field: Field, given: Any) -> Any:
    if field.metadata["repeat"]:
        return field.metadata["repeat"](given or [])
    return field.default if given is None else given


def parser_of(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser whose ValueError says at a shell what is allowed."""

    def parse_text(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse_text


COMMANDS = {
    "demo": "discover",
    "discover": "discover",
    "calibrate": "discover",
    "audit": "runs",
    "card": "runs",
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
