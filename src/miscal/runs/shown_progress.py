"""Show how far long work is: in a notebook, on a terminal, or as plain lines in a log."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from miscal.base.number_wording import percent
from miscal.base.process import progress_to

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

    from miscal.base.process import Progress


@contextmanager
def steps(wanted: bool | None = None) -> Iterator[Callable[[str], None]]:
    """Show which step is running and for how long; silence where nobody can see it, or where `wanted` is False.

    What is yielded is to be called with the name of each step as it starts.
    """
    with display(wanted, log=False) as show, _shares(show) as told:
        yield told


@contextmanager
def stages(wanted: bool | None = None, *, kept: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Show the stages of a discovery, the time that is left and what was found so far.

    A notebook shows one bar, which goes when the work is done. A terminal shows one moving line with a bar for the
    stage that runs, and, where they are `kept`, above it a line for each that has ended. A log gets those lines where
    they are wanted, without control characters. What is yielded is to be called with every
    :class:`~miscal.base.process.Progress`.
    """
    with display(wanted, log=bool(wanted), kept=kept) as show, _shares(show) as told:
        ended = lambda now: (_line(now), now.found) if now.share == 1.0 else ()  # noqa: E731
        yield lambda now: told(now.stage, now.share, now.left, *ended(now))


@contextmanager
def _shares(show: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Show beside the name of a step the share that is told from within it."""
    name = ""

    def told(step: str, *more: Any) -> None:
        nonlocal name
        name = step
        show(step, *more)

    with progress_to(lambda share: show(name, share)):
        yield told


@contextmanager
def display(wanted: bool | None, *, log: bool, kept: bool = True) -> Iterator[Callable[..., None]]:
    """Yield what shows a name, the share that is done, the seconds left, and the line of what has ended, if it has.

    A fifth argument is what a notebook says of it.
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    if wanted is False:
        yield lambda *now: None
    elif hasattr(get_ipython(), "kernel"):
        yield from _notebook_bar()
    elif sys.stderr.isatty():
        yield from _moving_line(kept)
    else:
        yield _logged if log else lambda *now: None


def _logged(name: str, share: float = 0.0, left: float | None = None, ended: str = "", found: str = "") -> None:
    if ended:
        print(ended, file=sys.stderr, flush=True)


def _notebook_bar() -> Iterator[Callable[..., None]]:
    from IPython.display import HTML, display

    start, lines, place = time.monotonic(), [], display(HTML(""), display_id=True)

    def show(name: str, share: float = 0.0, left: float | None = None, ended: str = "", found: str = "") -> None:
        if found:
            lines.append(html.escape(found))
        passed = time.monotonic() - start
        done = share if left is None else passed / max(passed + left, 1e-9)
        done = f' value="{done:.3f}"' if done else ""
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
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class Left(ProgressColumn):
        """The time left, counted down from the last estimate."""

        def render(self, task: Task) -> Text:
            return Text(time_left(task.fields["left"], time.monotonic() - task.fields["since"]))

    class Done(ProgressColumn):
        """The share of the time that has passed, or of the step that is done; a moving bar where neither is known."""

        def render(self, task: Task) -> ProgressBar:
            left, passed = task.fields["left"], task.elapsed or 0.0
            if left is None:
                done, total = task.fields["share"], 1.0 if task.fields["share"] else None
            else:
                done, total = passed, passed + max(left - (time.monotonic() - task.fields["since"]), 1.0)
            return ProgressBar(total, done, width=20, animation_time=task.get_time())

    columns: tuple[Any, ...] = (SpinnerColumn(), TextColumn("{task.description}"), Done(), TimeElapsedColumn(), Left())
    console = Console(stderr=True, highlight=False, markup=False)
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None, left=None, share=0.0, since=time.monotonic())

        def show(name: str, share: float = 0.0, left: float | None = None, ended: str = "", found: str = "") -> None:
            if ended and kept:
                console.print(ended)
            said = f"{name} {percent(share)}" if 0.0 < share < 1.0 else name
            bar.update(task, description=said, share=share, left=left, since=time.monotonic())

        yield show


def _line(now: Progress) -> str:
    """Return the line of a stage that has ended.

    Examples
    --------
    >>> from miscal.base.process import Progress
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
