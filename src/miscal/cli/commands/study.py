"""``miscal study`` and ``synthetic``: many models on many sets, and the experiments of the paper."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from miscal.base.errors import InputError
from miscal.base.number_wording import duration
from miscal.base.options import given, number, numbers, parameter
from miscal.base.process import need
from miscal.cli.exit_status import DONE, OUR_FAULT, USERS_TO_FIX, one_line
from miscal.runs.shown_progress import display, time_left

if TYPE_CHECKING:
    from miscal.study.run import CellProgress


@contextmanager
def study_cells() -> Iterator["Callable[[CellProgress], None]"]:
    """Show the cells of a study: those that have ended, and how many are left.

    A terminal shows one moving line for the cell that began last, and above it a line for each that has ended. A log
    gets the lines of the cells that have ended, without control characters.

    Yields what is to be called with every :class:`~miscal.study.run.CellProgress`.
    """
    with display(True, log=True) as show:
        line = lambda step: "" if step.seconds is None else _cell_line(step)  # noqa: E731
        yield lambda step: show(step.says, step.done / max(step.of, 1), step.left, line(step))


def _cell_line(step: "CellProgress") -> str:
    """Return the line of a cell that has ended.

    Examples
    --------
    >>> from miscal.study.run import CellProgress
    >>> _cell_line(CellProgress("measure mmlu.m auto", 3, 12, 1.24, 95.0))
    '  3 of 12       1.2 s   measure mmlu.m auto   (about 1 min 35 s left)'
    >>> _cell_line(CellProgress("read mmlu.m", 0, 12, 0.0, None, "the data file a.csv does not exist"))
    '  0 of 12   FAILED      read mmlu.m: the data file a.csv does not exist'
    """
    count = f"{step.done:>3} of {step.of}"
    if step.message is not None:
        return f"{count:<12}{'FAILED':<12}" + one_line(f"{step.says}: {step.message}")
    left = f"   ({time_left(step.left, 0.0)})" if step.left else ""
    return f"{count:<12}{duration(step.seconds):>9}   {step.says}{left}"


PlanFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[PLAN]",
        help="A YAML file that lists the pairs, or paper48: the 48 pairs of the paper. Not needed with --from.",
    ),
]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _values(texts: list[str]) -> dict[str, str]:
    for one in texts:
        if "=" not in one:
            raise InputError(f"--set must be NAME=VALUE, for example DATA=/home/me/data; got {one!r}")
    return dict(one.split("=", 1) for one in texts)


@dataclass(frozen=True)
class StudyOptions:
    """What a study is made from, how it is done, and what is written of it."""

    out: str = parameter("Folder to write; an unfinished study of the same plan is resumed.", ..., metavar="DIR")
    from_: str | None = parameter(
        "Make the plan from a folder of scored folders, runs or tables, or from one file with a column of models. It "
        "is written into --out as plan.yaml.",
        metavar="DIR|FILE",
    )
    by: str | None = parameter(
        "With --from: the column that names the model. Default for a file: model.", metavar="COL"
    )
    set: Mapping[str, str] | None = parameter(
        "What stands for ${NAME} in the plan; with --from a key of the plan, for example embeddings=x.npy. May be "
        "given several times.",
        metavar="NAME=VALUE",
        repeat=_values,
    )
    paper: bool = parameter(
        "Draw paper.html, the paper's claims beside what is found, even if no pair is the paper's.", False
    )
    markdown: bool = parameter(
        "Write board.md and board.csv beside index.html, too: answers, ranks and groups for a README or a leaderboard, "
        "and a line of numbers for each pair.",
        False,
    )
    engine: Literal["local", "ray"] = parameter("Compute on this machine, or on a Ray cluster.", "local")
    ray_address: str | None = parameter("Address of an existing Ray cluster.", metavar="URL")
    jobs: int = parameter(
        "Cells computed at a time, each in a process of its own. With 1, one after another, and each fit takes all "
        "cores. No result depends on it.",
        1,
        metavar="N",
        parse=number(int, 1),
    )
    skip: tuple[str, ...] = parameter(
        "Leave kinds of cells to a later call, for example audit, which takes the longest. --dry-run lists them.",
        (),
        metavar="KIND,KIND",
        parse=_names,
    )
    dry_run: bool = parameter("List the cells that would be computed.", False)
    json: bool = parameter("Print the summary as JSON instead of text.", False)


def study(how: StudyOptions, plan: PlanFile = None) -> int:
    """Study many models on many sets.

    Each pair of a model and a set is scored or read and searched for hidden miscalibration. The page says which models
    promise more than they keep, where they fail together, and what correcting them leaves; tables hold every number.
    Exit status: 0 if every pair is done; 2 if some failed for a reason you can fix; 1 if some failed by a bug. The
    others are done all the same, and the same command tries again what failed.
    """
    asked, given = _asked(plan, how)
    if how.dry_run:
        from miscal.study.run import survey

        cells = survey(asked, how.out, sets=given)
        print(f"{len(cells):,} cells, {sum(done for _, done in cells):,} done")
        print("\n".join(f"{'done ' if done else '     '}{cell.says}" for cell, done in cells))
        return DONE
    # before hours of computing, not where the figures are drawn
    need("study", "miscal study")
    options = {name: getattr(how, name) for name in ("engine", "ray_address", "skip", "paper")}
    with study_cells() as progress:
        from miscal.study.run import study

        try:
            done = study(asked, how.out, sets=given, n_jobs=how.jobs, progress=progress, **options)
        except KeyboardInterrupt as stop:
            stop.add_note("run the same command again to go on from here")
            raise
    board: list[Path] = []
    if how.markdown:
        # draws nothing, but what it rests on does, and comes after hours of computing
        from miscal.study.pages import CSV, write_board

        page = write_board(done.folder)
        board = [page, page.with_name(CSV)]
    if how.json:
        print((done.folder / "summary.json").read_text(encoding="utf-8"), end="")
    else:
        print("\n".join(done.lines))
        print(f"{done.n_computed} of {done.n_cells} cells computed now, {done.n_done} done in all: {done.page}")
        print("\n".join(f"to hand on: {path}" for path in board), end="\n" if board else "")
    if not done.failures:
        return DONE
    return USERS_TO_FIX if all(failure.mendable for failure in done.failures) else OUR_FAULT


def _asked(plan: str | None, how: StudyOptions) -> tuple[str | dict[str, Any], dict[str, str]]:
    """Return the plan that is meant, and what is left to be filled in."""
    given = dict(how.set or {})
    if plan is None and how.from_ is not None:
        from miscal.base.document import parse_yaml
        from miscal.study.plan_file import plan_from

        keys = {name: parse_yaml(value, f"--set {name}") for name, value in given.items()}
        return plan_from(how.from_, how.by, keys=keys), {}
    if plan is None or how.from_ is not None:
        raise InputError(
            "name either a plan, PLAN.yaml or paper48, or --from DIR|FILE to make one: exactly one of them"
        )
    if how.by is not None:
        raise InputError("--by names the column of models for --from, which is not given")
    return plan, given


_COUNT = number(int, 1)
_MEANINGLESS = {"clusters": ("amplitudes", "frequencies", "capacities"), "resreg": ()}


@dataclass(frozen=True)
class SyntheticOptions:
    """How an experiment is done."""

    out: str = parameter("Folder to write; an unfinished experiment there is resumed.", ..., metavar="DIR")
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
        "Networks of residual regression: hidden layers x width, e.g. 2x256.", metavar="LxW,LxW", parse=_names
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


def synthetic(
    experiment: Annotated[
        Literal["clusters", "sinusoid", "interaction", "selection", "resreg"],
        typer.Argument(
            metavar="EXPERIMENT", help="The experiment: clusters, sinusoid, interaction, selection or resreg."
        ),
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

        asked = Settings(experiment, how.method, how.seeds, **given(chosen))
        done = run(asked, how.out, n_jobs=how.jobs, progress=progress)
    print("\n".join(done.lines))
    print(f"{done.n_computed} of {done.n_cells} cells computed now, {done.n_cells} done in all: {done.page}")
