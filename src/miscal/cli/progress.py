"""Progress of a study on standard error: a moving line on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from miscal.base.number_wording import duration
from miscal.cli.exit_status import one_line
from miscal.runs.shown_progress import time_left

if TYPE_CHECKING:
    from miscal.study.run import CellProgress


@contextmanager
def study_cells() -> Iterator["Callable[[CellProgress], None]"]:
    """Show the cells of a study: those that have ended, and how many are left.

    A terminal shows one moving line for the cell that began last, and above it a line for each that has ended. A log
    gets the lines of the cells that have ended, without control characters.

    Yields what is to be called with every :class:`~miscal.study.run.CellProgress`.
    """
    if not sys.stderr.isatty():
        yield _write_cell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True, highlight=False, markup=False)
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None, left="")

        def show(step: "CellProgress") -> None:
            if step.seconds is not None:
                console.print(_cell_line(step))
            bar.update(task, description=step.says, completed=step.done, total=step.of, left=time_left(step.left, 0.0))

        yield show


def _write_cell(step: "CellProgress") -> None:
    if step.seconds is not None:
        print(_cell_line(step), file=sys.stderr, flush=True)


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
