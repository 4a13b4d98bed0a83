"""Progress on standard error, when that is a terminal; silence when it is not."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show which stage is running and for how long.

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
