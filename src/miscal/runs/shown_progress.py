"""Show how far long work is: in a notebook, on a terminal, or as plain lines in a log."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from miscal.base.number_wording import percent

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

    from miscal.discovery.progress import Progress


@contextmanager
def steps(wanted: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Show which step is running and for how long; silence where nobody can see it.

    Parameters
    ----------
    wanted : bool, optional
        False shows nothing.

    Yields
    ------
    callable
        To be called with the name of each step as it starts.
    """
    if wanted is False:
        yield lambda name: None
    elif _in_notebook():
        with _shown_in_notebook() as show:
            yield lambda name: show(f"<progress></progress> {html.escape(name)}")
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=None)
            yield lambda name: bar.update(task, description=name)
    else:
        yield lambda name: None


@contextmanager
def stages(wanted: bool | None = None) -> Iterator[Callable[[Progress], None]]:
    """Show the stages of a discovery, the time that is left and what was found so far.

    A notebook shows one bar, which goes when the work is done. A terminal shows one moving line for the stage that
    runs, and above it a line for each that has ended. A log gets those lines where they are wanted, without control
    characters.

    Parameters
    ----------
    wanted : bool, optional
        True shows them in a log, too; False shows nothing.

    Yields
    ------
    callable
        To be called with every :class:`~miscal.discovery.progress.Progress`.
    """
    if wanted is False:
        yield lambda now: None
    elif _in_notebook():
        yield from _notebook_bar()
    elif sys.stderr.isatty():
        yield from _moving_line()
    else:
        yield _write_line if wanted else lambda now: None


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, as IPython says."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return hasattr(get_ipython(), "kernel")


@contextmanager
def _shown_in_notebook() -> Iterator[Callable[[str], None]]:
    from IPython.display import HTML, display

    place = display(HTML(""), display_id=True)
    try:
        yield lambda text: place.update(HTML(text))
    finally:
        place.update(HTML(""))


def _notebook_bar() -> Iterator[Callable[[Progress], None]]:
    start, lines = time.monotonic(), []
    with _shown_in_notebook() as show:

        def tell(now: Progress) -> None:
            if now.share == 1.0 and now.found:
                lines.append(html.escape(now.found))
            passed = time.monotonic() - start
            done = "" if now.left is None else f' value="{passed / max(passed + now.left, 1e-9):.3f}"'
            show("<br>".join([*lines, f"<progress{done}></progress> {now.stage} {time_left(now.left, 0.0)}"]))

        yield tell


def _moving_line() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left, counted down from the last estimate."""

        def render(self, task: Task) -> Text:
            return Text(time_left(task.fields["left"], time.monotonic() - task.fields["since"]))

    columns: tuple[Any, ...] = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), Left())
    console = Console(stderr=True, highlight=False, markup=False)
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None, left=None, since=time.monotonic())

        def show(now: Progress) -> None:
            if now.share == 1.0:
                console.print(_line(now))
            share = f" {percent(now.share)}" if 0.0 < now.share < 1.0 else ""
            bar.update(task, description=f"{now.stage}{share}", left=now.left, since=time.monotonic())

        yield show


def _write_line(now: Progress) -> None:
    if now.share == 1.0:
        print(_line(now), file=sys.stderr, flush=True)


def _line(now: Progress) -> str:
    """Return the line of a stage that has ended.

    Examples
    --------
    >>> from miscal.discovery.progress import Progress
    >>> _line(Progress("field", 1.0, 9.31, 4.2, "The model says 75 % on average."))
    'field        9.3 s   The model says 75 % on average.'
    """
    return f"{now.stage:<10}{now.seconds:>6.1f} s   {now.found}".rstrip()


def time_left(left: float | None, since: float) -> str:
    """Say how much time is left, `since` seconds after it was estimated.

    Examples
    --------
    >>> time_left(95.0, 2.0), time_left(1.0, 3.0), time_left(None, 0.0)
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
