"""Progress on standard error: a moving line on a terminal; elsewhere nothing, or plain lines for long commands."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from miscal.base.number_wording import duration, percent
from miscal.cli.exit_status import one_line

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

    from miscal.discovery.progress import Progress
    from miscal.study.run import CellProgress


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show which stage is running and for how long; silence where standard error is no terminal.

    Yields
    ------
    callable
        To be called with the name of each stage as it starts.
    """
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda name: bar.update(task, description=name)


@contextmanager
def discovery_stages() -> Iterator["Callable[[Progress], None]"]:
    """Show the stages of a discovery, the time that is left and what was found so far.

    A terminal shows one moving line for the stage that runs, and above it a line for each that has ended. A log gets
    the lines of the stages that have ended, without control characters.

    Yields
    ------
    callable
        To be called with every :class:`~miscal.discovery.progress.Progress`.
    """
    if not sys.stderr.isatty():
        yield _write_line
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left, counted down from the last estimate."""

        def render(self, task: "Task") -> "Text":
            return Text(_left(task.fields["left"], time.monotonic() - task.fields["since"]))

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), Left())
    console = Console(stderr=True, highlight=False, markup=False)
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None, left=None, since=time.monotonic())

        def show(now: "Progress") -> None:
            if now.share == 1.0:
                console.print(_line(now))
            share = f" {percent(now.share)}" if 0.0 < now.share < 1.0 else ""
            bar.update(task, description=f"{now.stage}{share}", left=now.left, since=time.monotonic())

        yield show


@contextmanager
def study_cells() -> Iterator["Callable[[CellProgress], None]"]:
    """Show the cells of a study: those that have ended, and how many are left.

    A terminal shows one moving line for the cell that began last, and above it a line for each that has ended. A log
    gets the lines of the cells that have ended, without control characters.

    Yields
    ------
    callable
        To be called with every :class:`~miscal.study.run.CellProgress`.
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
            bar.update(task, description=step.says, completed=step.done, total=step.of, left=_left(step.left, 0.0))

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
    left = f"   ({_left(step.left, 0.0)})" if step.left else ""
    return f"{count:<12}{duration(step.seconds):>9}   {step.says}{left}"


def _write_line(now: "Progress") -> None:
    if now.share == 1.0:
        print(_line(now), file=sys.stderr, flush=True)


def _line(now: "Progress") -> str:
    """Return the line of a stage that has ended.

    Examples
    --------
    >>> from miscal.discovery.progress import Progress
    >>> _line(Progress("field", 1.0, 9.31, 4.2, "The model says 75 % on average."))
    'field        9.3 s   The model says 75 % on average.'
    """
    return f"{now.stage:<10}{now.seconds:>6.1f} s   {now.found}".rstrip()


def _left(left: float | None, since: float) -> str:
    """Say how much time is left, `since` seconds after it was estimated.

    Examples
    --------
    >>> _left(95.0, 2.0), _left(1.0, 3.0), _left(None, 0.0)
    ('about 1 min 35 s left', 'nearly done', '')
    """
    if left is None:
        return ""
    seconds = left - since
    if seconds < 1.0:
        return "nearly done"
    # no estimate is better than to a tenth
    step = 1 if seconds < 20 else 5
    minutes, rest = divmod(round(seconds / step) * step, 60)
    return f"about {f'{minutes} min ' if minutes else ''}{rest} s left"
