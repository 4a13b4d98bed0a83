"""``miscal verify``: what follows from the cells of a scan, or from the rows of a run, computed again."""

import json
import sys
from typing import Annotated

import typer

from miscal.cli.exit_status import DONE, USERS_TO_FIX

Folder = Annotated[str, typer.Argument(metavar="DIR", help="A folder written by `miscal scan` or `miscal discover`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of text.")]
SHOWN = 20


def command(folder: Folder, as_json: AsJson = False) -> int:
    """Compute a summary again from the cells of a scan, or from field.parquet of a run, and compare each number.

    Exit status: 0 if nothing differs; 2 if something does, which is named.
    """
    from miscal.runs.verify import verify

    found = verify(folder)
    if as_json:
        names = ("source", "numbers", "differences", "not_checked")
        print(json.dumps({"equal": found.equal} | {name: getattr(found, name) for name in names}, indent=1))
        return DONE if found.equal else USERS_TO_FIX
    if found.equal:
        print(f"{found.numbers:,} numbers and texts follow from {found.source}, to 1e-9")
    for said in found.differences[:SHOWN]:
        print(said, file=sys.stderr)
    if (more := len(found.differences) - SHOWN) > 0:
        print(f"{more:,} more places differ", file=sys.stderr)
    for said in found.not_checked:
        print(f"not checked: {said}")
    return DONE if found.equal else USERS_TO_FIX
