"""``miscal synthetic``: the paper's synthetic experiments, run again."""

from enum import StrEnum
from typing import Annotated

import typer

from miscal.base.errors import InputError
from miscal.base.extras import need
from miscal.cli.options import Method, fraction, numbers, whole

_MEANINGLESS = {"clusters": ("amplitudes", "frequencies", "capacities"), "resreg": ()}


class Experiment(StrEnum):
    """Experiments with a known field."""

    clusters = "clusters"
    sinusoid = "sinusoid"
    interaction = "interaction"
    selection = "selection"
    resreg = "resreg"


Out = Annotated[
    str,
    typer.Option("--out", metavar="DIR", help="Folder to write; an unfinished experiment there is resumed."),
]
Numbers = Annotated[
    str | None, typer.Option(metavar="A,A", parser=numbers, help="Amplitudes of the sinusoid, separated by commas.")
]


def command(
    experiment: Annotated[
        Experiment,
        typer.Argument(
            metavar="EXPERIMENT", help="The experiment: clusters, sinusoid, interaction, selection or resreg."
        ),
    ],
    out: Out,
    method: Annotated[
        Method, typer.Option("--method", help="How to estimate the field; for resreg, what it is compared with.")
    ] = Method.paper,
    seeds: Annotated[int, typer.Option(metavar="N", parser=whole(1), help="Number of seeds; they are 0 to N - 1.")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="J", parser=whole(1), help="Number of processes. Default: one per core. No result depends on it."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", parser=whole(1), help="Rows per world. The paper has 10000.")
    ] = None,
    amplitudes: Numbers = None,
    frequencies: Annotated[
        str | None,
        typer.Option(metavar="K,K", parser=numbers, help="Frequencies of the sinusoid, separated by commas."),
    ] = None,
    sigmas: Annotated[
        str | None, typer.Option(metavar="S,S", parser=numbers, help="Bandwidths in the grid, separated by commas.")
    ] = None,
    lambdas: Annotated[
        str | None, typer.Option(metavar="L,L", parser=numbers, help="Mass penalties in the grid, separated by commas.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", parser=whole(1), help="Most epochs of phi. The paper has 100.")
    ] = None,
    capacities: Annotated[
        str | None,
        typer.Option(metavar="LxW,LxW", help="Networks of residual regression: hidden layers x width, e.g. 2x256."),
    ] = None,
    resreg_epochs: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole(1), help="Most epochs of residual regression. The paper has 300."),
    ] = None,
    resreg_patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole(1),
            help="Stop residual regression after N epochs without improvement. Default: never.",
        ),
    ] = None,
    resreg_rate: Annotated[
        float | None, typer.Option(metavar="R", parser=fraction, help="Learning rate of residual regression.")
    ] = None,
) -> None:
    """Run a synthetic experiment of the paper.

    The result is compared with the paper's. Settings that are not given are as the paper states them. It states no
    grid of sigma and lambda: the default one is ours.
    """
    chosen = {
        "rows": rows,
        "amplitudes": amplitudes,
        "frequencies": frequencies,
        "sigmas": sigmas,
        "lambdas": lambdas,
        "epochs": epochs,
        "capacities": tuple(name.strip() for name in capacities.split(",")) if capacities else None,
        "resreg_epochs": resreg_epochs,
        "resreg_patience": resreg_patience,
        "resreg_rate": resreg_rate,
    }
    from miscal.runs.shown_progress import steps

    for name in _MEANINGLESS.get(experiment.value, ("capacities",)):
        if chosen[name] is not None:
            raise InputError(f"--{name} has no effect on {experiment.value}: leave it out")
    # before hours of computing, not where the figures are drawn
    need("paper", "miscal synthetic")
    with steps() as progress:
        progress("loading")
        from miscal.study.synthetic.run import run
        from miscal.study.synthetic.settings import Settings

        given = {name: value for name, value in chosen.items() if value is not None}
        done = run(Settings(experiment.value, method.value, seeds, **given), out, n_jobs=jobs, progress=progress)
    print("\n".join(done.lines))
    print(f"{done.n_computed} of {done.n_cells} cells computed now, the others had been before: {done.page}")
