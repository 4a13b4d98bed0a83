"""``miscal score``: ask a language model, and keep hidden state, confidence and outcome of every question."""

from typing import Annotated

import typer

from miscal.base.number_wording import decimal
from miscal.cli.exit_status import Stopped
from miscal.scoring.options import ScoringOptions

Model = Annotated[str, typer.Option(metavar="M", help="The model: a hub id, a short name, a folder or a .gguf file.")]
Task = Annotated[
    str,
    typer.Option(metavar="T", help="The task: mmlu, mmlu-pro, medmcqa, hh-rlhf, or a file of questions or pairs."),
]
Out = Annotated[str, typer.Option(metavar="DIR", help="Folder to write; an unfinished run there is resumed.")]


def command(model: Model, task: Task, out: Out, options: ScoringOptions) -> None:
    """Ask a language model questions or preferences. Next: `miscal discover DIR`."""
    from miscal.scoring.command import run

    try:
        done = run(model=model, task=task, out=out, **vars(options))
    except (Stopped, KeyboardInterrupt) as stop:
        stop.add_note("run the same command again to go on from here")
        raise
    print(f"{done.n_scored:,} rows scored, {done.n_failed:,} failed, {done.n_truncated:,} truncated: {done.out}")
    for note in done.notes:
        print(f"note: {note}")
    speed = f", {decimal(done.questions_per_second, 1)} questions per second" if done.questions_per_second else ""
    print(f"accuracy {decimal(done.accuracy, 3)}, confidence {decimal(done.confidence, 3)}{speed}")
