"""``miscal study``: many models on many sets, and what their owner wants to know of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from miscal.base.errors import InputError
from miscal.base.extras import need
from miscal.base.options import number, parameter
from miscal.cli.exit_status import DONE, OUR_FAULT, USERS_TO_FIX, Stopped

PlanFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[PLAN]",
        help="A YAML file that lists the pairs, or paper48: the 48 pairs of the paper. Not needed with --from.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="DIR|FILE",
        help="Make the plan from a folder of scored folders, runs or tables, or from one file with a column of models. "
        "It is written into --out as plan.yaml.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="COL", help="With --from: the column that names the model. Default for a file: model."
    ),
]
Out = Annotated[
    str, typer.Option("--out", metavar="DIR", help="Folder to write; an unfinished study of the same plan is resumed.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="What stands for ${NAME} in the plan; with --from a key of the plan, for example embeddings=x.npy. May be "
        "given several times.",
    ),
]


def _kinds(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True)
class StudyOptions:
    """How a study is done, and what is written of it."""

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
        parse=_kinds,
    )
    dry_run: bool = parameter("List the cells that would be computed.", False)
    json: bool = parameter("Print the summary as JSON instead of text.", False)


def command(
    out: Out,
    how: StudyOptions,
    plan: PlanFile = None,
    source: From = None,
    by: By = None,
    sets: Sets = None,
) -> int:
    """Study many models on many sets.

    Each pair of a model and a set is scored or read and searched for hidden miscalibration. The page says which models
    promise more than they keep, where they fail together, and what correcting them leaves; tables hold every number.
    Exit status: 0 if every pair is done; 2 if some failed for a reason you can fix; 1 if some failed by a bug. The
    others are done all the same, and the same command tries again what failed.
    """
    for one in sets or []:
        if "=" not in one:
            raise InputError(f"--set must be NAME=VALUE, for example DATA=/home/me/data; got {one!r}")
    asked, given = _asked(plan, source, by, dict(one.split("=", 1) for one in sets or []))
    if how.dry_run:
        from miscal.study.run import survey

        cells = survey(asked, out, sets=given)
        print(f"{len(cells):,} cells, {sum(done for _, done in cells):,} done")
        print("\n".join(f"{'done ' if done else '     '}{cell.says}" for cell, done in cells))
        return DONE
    # before hours of computing, not where the figures are drawn
    need("study", "miscal study")
    from miscal.cli.progress import study_cells

    with study_cells() as progress:
        from miscal.study.run import study

        try:
            done = study(
                asked,
                out,
                sets=given,
                engine=how.engine,
                n_jobs=how.jobs,
                ray_address=how.ray_address,
                skip=how.skip,
                paper=how.paper,
                progress=progress,
            )
        except (Stopped, KeyboardInterrupt) as stop:
            stop.add_note("run the same command again to go on from here")
            raise
    board: list[Path] = []
    if how.markdown:
        # draws nothing, but what it rests on does, and comes after hours of computing
        from miscal.study.pages.board import CSV, write_board

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


def _asked(
    plan: str | None, source: str | None, by: str | None, given: dict[str, str]
) -> tuple[str | dict[str, Any], dict[str, str]]:
    """Return the plan that is meant, and what is left to be filled in."""
    if (plan is None) == (source is None):
        raise InputError(
            "name either a plan, PLAN.yaml or paper48, or --from DIR|FILE to make one: exactly one of them"
        )
    if source is None:
        if by is not None:
            raise InputError("--by names the column of models for --from, which is not given")
        return plan, given
    from miscal.base.document import parse_yaml
    from miscal.study.plan_from import plan_from

    keys = {name: parse_yaml(value, f"--set {name}") for name, value in given.items()}
    return plan_from(source, by, keys=keys), {}
