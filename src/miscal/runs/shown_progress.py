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
    """Show which step is running and for how long; silence where nobody can see it, or where `wanted` is False.

    What is yielded is to be called with the name of each step as it starts.
    """
    with _display(wanted, log=False) as show:
        yield show


@contextmanager
def stages(wanted: bool | None = None, *, kept: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Show the stages of a discovery, the time that is left and what was found so far.

    A notebook shows one bar, which goes when the work is done. A terminal shows one moving line for the stage that
    runs, and, where they are `kept`, above it a line for each that has ended. A log gets those lines where they are
    wanted, without control characters. What is yielded is to be called with every
    :class:`~miscal.discovery.progress.Progress`.
    """
    with _display(wanted, log=bool(wanted), kept=kept) as show:

        def tell(now: Progress) -> None:
            share = f" {percent(now.share)}" if 0.0 < now.share < 1.0 else ""
            show(now.stage, share, now.left, now if now.share == 1.0 else None)

        yield tell


@contextmanager
def _display(wanted: bool | None, *, log: bool, kept: bool = True) -> Iterator[Callable[..., None]]:
    """Yield what shows a name, the share that is done, the seconds left, and the stage that has ended, if one has."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    if wanted is False:
        yield lambda *now: None
    elif hasattr(get_ipython(), "kernel"):
        yield from _notebook_bar()
    elif sys.stderr.isatty():
        yield from _moving_line(kept)
    else:
        yield _logged if log else lambda *now: None


def _logged(name: str, share: str = "", left: float | None = None, ended: Progress | None = None) -> None:
    if ended is not None:
        print(_line(ended), file=sys.stderr, flush=True)


def _notebook_bar() -> Iterator[Callable[..., None]]:
    from IPython.display import HTML, display

    start, lines, place = time.monotonic(), [], display(HTML(""), display_id=True)

    def show(name: str, share: str = "", left: float | None = None, ended: Progress | None = None) -> None:
        if ended is not None and ended.found:
            lines.append(html.escape(ended.found))
        passed = time.monotonic() - start
        done = "" if left is None else f' value="{passed / max(passed + left, 1e-9):.3f}"'
        running = f"<progress{done}></progress> {html.escape(name)} {time_left(left, 0.0)}".rstrip()
        place.update(HTML("<br>".join([*lines, running])))

    try:
        yield show
    finally:
        place.update(HTML(""))


def _moving_line(kept: bool) -> Iterator[Callable[..., None]]:
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

        def show(name: str, share: str = "", left: float | None = None, ended: Progress | None = None) -> None:
            if ended is not None and kept:
                console.print(_line(ended))
            bar.update(task, description=f"{name}{share}", left=left, since=time.monotonic())

        yield show


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
