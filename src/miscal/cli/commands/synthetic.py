"""``miscal synthetic``: the paper's synthetic experiments, run again."""

from enum import StrEnum
from typing import Annotated

import typer

from miscal.base.errors import InputError
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
    typer.Option("--out", metavar="DIR", help="Folder of cells, tables, figures and page; a run there is resumed."),
]
Numbers = Annotated[str | None, typer.Option(metavar="A,A", parser=numbers, help="Amplitudes of the sinusoid.")]


def command(
    experiment: Annotated[
        Experiment, typer.Argument(metavar="EXPERIMENT", help="clusters, sinusoid, interaction, selection or resreg.")
    ],
    out: Out,
    method: Annotated[
        Method, typer.Option("--method", help="Estimator; for resreg, the one beside it.")
    ] = Method.paper,
    seeds: Annotated[int, typer.Option(metavar="N", parser=whole(1), help="Seeds 0 to N - 1.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(metavar="J", parser=whole(1), help="Processes; default: the cores. Changes no number.")
    ] = None,
    rows: Annotated[int | None, typer.Option(metavar="N", parser=whole(1), help="Rows a world; paper: 10000.")] = None,
    amplitudes: Numbers = None,
    frequencies: Annotated[
        str | None, typer.Option(metavar="K,K", parser=numbers, help="Frequencies of the sinusoid.")
    ] = None,
    sigmas: Annotated[str | None, typer.Option(metavar="S,S", parser=numbers, help="Bandwidths of the grid.")] = None,
    lambdas: Annotated[str | None, typer.Option(metavar="L,L", parser=numbers, help="Mass penalties of it.")] = None,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", parser=whole(1), help="Most epochs of phi; paper: 100.")
    ] = None,
    capacities: Annotated[
        str | None, typer.Option(metavar="LxW,LxW", help="Hidden layers x width of residual regression.")
    ] = None,
    resreg_epochs: Annotated[
        int | None, typer.Option(metavar="N", parser=whole(1), help="Most epochs of residual regression; paper: 300.")
    ] = None,
    resreg_patience: Annotated[
        int | None,
        typer.Option(metavar="N", parser=whole(1), help="Epochs without improvement that end it; default: none do."),
    ] = None,
    resreg_rate: Annotated[
        float | None, typer.Option(metavar="R", parser=fraction, help="Learning rate of residual regression.")
    ] = None,
) -> None:
    """Run a synthetic experiment of the paper, its settings unless told otherwise, and set its result beside ours."""
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
    from miscal.cli.progress import stages

    for name in _MEANINGLESS.get(experiment.value, ("capacities",)):
        if chosen[name] is not None:
            raise InputError(f"--{name} means nothing to {experiment.value}: leave it out")
    with stages() as progress:
        progress("loading")
        from miscal.synthetic.run import run
        from miscal.synthetic.settings import Settings

        given = {name: value for name, value in chosen.items() if value is not None}
        done = run(Settings(experiment.value, method.value, seeds, **given), out, n_jobs=jobs, progress=progress)
    print("\n".join(done.lines))
    print(f"{done.n_computed} of {done.n_cells} cells computed now, the rest was there: {done.page}")
