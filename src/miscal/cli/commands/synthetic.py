"""``miscal synthetic``: the paper's synthetic experiments, run again."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from miscal.base.errors import InputError
from miscal.base.extras import need
from miscal.base.options import given, number, numbers, parameter

_COUNT = number(int, 1)
_MEANINGLESS = {"clusters": ("amplitudes", "frequencies", "capacities"), "resreg": ()}


def _capacities(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


@dataclass(frozen=True)
class SyntheticOptions:
    """How an experiment is done."""

    method: Literal["auto", "paper"] = parameter(
        "How to estimate the field; for resreg, what it is compared with.", "paper"
    )
    seeds: int = parameter("Number of seeds; they are 0 to N - 1.", 1, metavar="N", parse=_COUNT)
    jobs: int | None = parameter(
        "Number of processes. Default: one per core. No result depends on it.", metavar="J", parse=_COUNT
    )


@dataclass(frozen=True)
class Chosen:
    """Settings of an experiment that are given."""

    rows: int | None = parameter("Rows per world. The paper has 10000.", metavar="N", parse=_COUNT)
    amplitudes: Any = parameter("Amplitudes of the sinusoid, separated by commas.", metavar="A,A", parse=numbers)
    frequencies: Any = parameter("Frequencies of the sinusoid, separated by commas.", metavar="K,K", parse=numbers)
    sigmas: Any = parameter("Bandwidths in the grid, separated by commas.", metavar="S,S", parse=numbers)
    lambdas: Any = parameter("Mass penalties in the grid, separated by commas.", metavar="L,L", parse=numbers)
    epochs: int | None = parameter("Most epochs of phi. The paper has 100.", metavar="N", parse=_COUNT)
    capacities: Any = parameter(
        "Networks of residual regression: hidden layers x width, e.g. 2x256.", metavar="LxW,LxW", parse=_capacities
    )
    resreg_epochs: int | None = parameter(
        "Most epochs of residual regression. The paper has 300.", metavar="N", parse=_COUNT
    )
    resreg_patience: int | None = parameter(
        "Stop residual regression after N epochs without improvement. Default: never.", metavar="N", parse=_COUNT
    )
    resreg_rate: float | None = parameter(
        "Learning rate of residual regression.", metavar="R", parse=number(float, 0, below=1)
    )


def command(
    experiment: Annotated[
        Literal["clusters", "sinusoid", "interaction", "selection", "resreg"],
        typer.Argument(
            metavar="EXPERIMENT", help="The experiment: clusters, sinusoid, interaction, selection or resreg."
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Folder to write; an unfinished experiment there is resumed.")
    ],
    how: SyntheticOptions,
    chosen: Chosen,
) -> None:
    """Run a synthetic experiment of the paper.

    The result is compared with the paper's. Settings that are not given are as the paper states them. It states no
    grid of sigma and lambda: the default one is ours.
    """
    from miscal.runs.shown_progress import steps

    for name in _MEANINGLESS.get(experiment, ("capacities",)):
        if getattr(chosen, name) is not None:
            raise InputError(f"--{name} has no effect on {experiment}: leave it out")
    # before hours of computing, not where the figures are drawn
    need("paper", "miscal synthetic")
    with steps() as progress:
        progress("loading")
        from miscal.study.synthetic.experiments import Settings
        from miscal.study.synthetic.run import run

        done = run(
            Settings(experiment, how.method, how.seeds, **given(chosen)), out, n_jobs=how.jobs, progress=progress
        )
    print("\n".join(done.lines))
    print(f"{done.n_computed} of {done.n_cells} cells computed now, the others had been before: {done.page}")
