"""``miscal discover``: from a file of predictions to a run folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miscal.cli.options import DataFile, Form, Overwrite, draws_blocks
from miscal.data.columns import Columns
from miscal.runs.settings import DiscoverySettings

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.discovery.run import RunContent
    from miscal.discovery.summary_parts import Answer

Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Run folder to write.")]


def command(
    data: DataFile,
    out: Out,
    columns: Columns,
    settings: DiscoverySettings,
    form: Form,
    overwrite: Overwrite = False,
) -> None:
    """Find where a model is over- and under-confident.

    What is found is tested with outcomes that nothing has learned from, corrected, and drawn in a report.
    """
    from miscal.base.extras import import_without_pandas

    import_without_pandas()
    from miscal.runs.discover import read_rows

    run_discovery(
        lambda: read_rows(data, settings, **vars(columns)),
        out,
        settings,
        form,
        overwrite=overwrite,
        reads=[data, *vars(columns).values()],
    )


def run_discovery(
    read: Callable[[], "Triples"],
    out: str,
    settings: DiscoverySettings,
    form: Form,
    *,
    overwrite: bool,
    reads: Sequence[Any] = (),
) -> None:
    """Read, discover, write and print, with the output folder owned from the start; `reads` holds paths, and more.

    The answer is printed as soon as it is known, the rest once the folder is complete.
    """
    import time
    from contextlib import ExitStack

    from miscal.discovery.progress import Progress
    from miscal.report import write_run
    from miscal.runs.discover import check_settings
    from miscal.runs.shown_progress import stages

    check_settings(settings)
    start = time.monotonic()
    said: list[str] = []

    with ExitStack() as shown:
        show = shown.enter_context(stages(True))

        def answered(answer: "Answer") -> None:
            nonlocal show
            # a moving line would stand in the way of what stays, and lines of stages between the answer and the rest
            from miscal.report.opening import opening_lines

            shown.close()
            said.extend(opening_lines(answer, "…" if draws_blocks() else "..."))
            form.begin(said)
            show = shown.enter_context(stages(True, kept=False))

        def make() -> "RunContent":
            nonlocal start
            show(Progress("reading"))
            triples = read()
            # the heavy import comes after the folder is known to be writable and the data to be sound
            from miscal.discovery.discover import discover

            size = f"{len(triples):,} rows, each with {triples.X.shape[1]:,} numbers as inputs."
            show(Progress("reading", 1.0, time.monotonic() - start, found=size))
            found = discover(triples, progress=lambda now: show(now), answered=answered, **settings.of_discovery())
            show(Progress("map"))
            found = found.with_map()
            show(Progress("map", 1.0, found.summary.timing["map"]))
            show(Progress("report"))
            start = time.monotonic()
            return found

        found = write_run(make, out, overwrite=overwrite, reads=reads)
        show(Progress("report", 1.0, time.monotonic() - start))

    from miscal.report.brief import brief_lines, brief_markdown

    place = Path(out)
    form.print(
        lambda: brief_lines(found.summary, place, bars=draws_blocks())[len(said) :],
        found.summary.to_json,
        lambda: brief_markdown(found.summary, place),
    )
