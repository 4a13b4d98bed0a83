"""``miscal synthetic``: the paper's synthetic experiments, run again."""

from typing import Annotated, Literal

import typer

from miscal.base.errors import InputError
from miscal.base.extras import need
from miscal.base.options import number, numbers
from miscal.cli.options import parsed

_COUNT = parsed(number(int, 1))
_MEANINGLESS = {"clusters": ("amplitudes", "frequencies", "capacities"), "resreg": ()}


Out = Annotated[
    str,
    typer.Option("--out", metavar="DIR", help="Folder to write; an unfinished experiment there is resumed."),
]
Numbers = Annotated[
    str | None,
    typer.Option(metavar="A,A", parser=parsed(numbers), help="Amplitudes of the sinusoid, separated by commas."),
]


def command(
    experiment: Annotated[
        Literal["clusters", "sinusoid", "interaction", "selection", "resreg"],
        typer.Argument(
            metavar="EXPERIMENT", help="The experiment: clusters, sinusoid, interaction, selection or resreg."
        ),
    ],
    out: Out,
    method: Annotated[
        Literal["auto", "paper"],
        typer.Option("--method", help="How to estimate the field; for resreg, what it is compared with."),
    ] = "paper",
    seeds: Annotated[int, typer.Option(metavar="N", parser=_COUNT, help="Number of seeds; they are 0 to N - 1.")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="J", parser=_COUNT, help="Number of processes. Default: one per core. No result depends on it."
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", parser=_COUNT, help="Rows per world. The paper has 10000.")
    ] = None,
    amplitudes: Numbers = None,
    frequencies: Annotated[
        str | None,
        typer.Option(metavar="K,K", parser=parsed(numbers), help="Frequencies of the sinusoid, separated by commas."),
    ] = None,
    sigmas: Annotated[
        str | None,
        typer.Option(metavar="S,S", parser=parsed(numbers), help="Bandwidths in the grid, separated by commas."),
    ] = None,
    lambdas: Annotated[
        str | None,
        typer.Option(metavar="L,L", parser=parsed(numbers), help="Mass penalties in the grid, separated by commas."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", parser=_COUNT, help="Most epochs of phi. The paper has 100.")
    ] = None,
    capacities: Annotated[
        str | None,
        typer.Option(metavar="LxW,LxW", help="Networks of residual regression: hidden layers x width, e.g. 2x256."),
    ] = None,
    resreg_epochs: Annotated[
        int | None,
        typer.Option(metavar="N", parser=_COUNT, help="Most epochs of residual regression. The paper has 300."),
    ] = None,
    resreg_patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=_COUNT,
            help="Stop residual regression after N epochs without improvement. Default: never.",
        ),
    ] = None,
    resreg_rate: Annotated[
        float | None,
        typer.Option(
            metavar="R", parser=parsed(number(float, 0, below=1)), help="Learning rate of residual regression."
        ),
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

    for name in _MEANINGLESS.get(experiment, ("capacities",)):
        if chosen[name] is not None:
            raise InputError(f"--{name} has no effect on {experiment}: leave it out")
    # before hours of computing, not where the figures are drawn
    need("paper", "miscal synthetic")
    with steps() as progress:
        progress("loading")
        from miscal.study.synthetic.experiments import Settings
        from miscal.study.synthetic.run import run

        given = {name: value for name, value in chosen.items() if value is not None}
        done = run(Settings(experiment, method, seeds, **given), out, n_jobs=jobs, progress=progress)
    print("\n".join(done.lines))
    print(f"{done.n_computed} of {done.n_cells} cells computed now, the others had been before: {done.page}")
