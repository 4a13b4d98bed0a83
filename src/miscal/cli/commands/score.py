"""``miscal score``: ask a language model, and keep hidden state, confidence and outcome of every question."""

from enum import StrEnum
from typing import Annotated

import typer

from miscal.cli.options import Seed, whole
from miscal.cli.outcome import Stopped


class Engine(StrEnum):
    """Who does the work."""

    local = "local"
    ray = "ray"


class Dtype(StrEnum):
    """Precision of the model."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"


class Form(StrEnum):
    """What a candidate is."""

    letter = "letter"
    text = "text"
    text_per_token = "text_per_token"  # noqa: S105  a way to score, no password
    text_per_byte = "text_per_byte"


def command(
    model: Annotated[str, typer.Option(metavar="M", help="Hub id, short name, folder or .gguf file.")],
    task: Annotated[
        str, typer.Option(metavar="T", help="mmlu, mmlu-pro, medmcqa, hh-rlhf, or a file of questions or pairs.")
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder to score into; a run broken off there is resumed.")],
    engine: Annotated[Engine, typer.Option(help="This machine, or Ray.")] = Engine.local,
    ray_address: Annotated[str | None, typer.Option(metavar="URL", help="Of an existing Ray cluster.")] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", parser=whole(1), help="CPU processes.")] = None,
    dtype: Annotated[Dtype, typer.Option(help="Precision.")] = Dtype.auto,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    revision: Annotated[str | None, typer.Option(metavar="REV", help="Commit, branch or tag of the model.")] = None,
    task_revision: Annotated[str | None, typer.Option(metavar="REV", help="Of a data set of the hub.")] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    form: Annotated[Form | None, typer.Option(help="Candidate: the letter, or the answer's text.")] = None,
    prompt_file: Annotated[str | None, typer.Option(metavar="FILE", help="Prompt template.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", parser=whole(1), help="The first N rows only.")] = None,
    seed: Seed = 0,
    batch_tokens: Annotated[int | None, typer.Option(metavar="N", parser=whole(1), help="Tokens per batch.")] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", parser=whole(1), help="CPU threads per process.")] = None,
    embed_only: Annotated[bool, typer.Option("--embed-only", help="Hidden states of the texts alone.")] = False,
    text: Annotated[str, typer.Option(metavar="COL", help="Column of texts for --embed-only.")] = "text",
) -> None:
    """Score a language model on multiple choice or preferences; `miscal discover DIR` takes it from there."""
    settings = {name: getattr(value, "value", value) for name, value in locals().items()}
    from miscal.scoring.command import run

    try:
        told = run(**settings)
    except (Stopped, KeyboardInterrupt) as stop:
        stop.add_note("the same command goes on from here")
        raise
    print(f"{told.n_scored:,} rows scored, {told.n_failed:,} failed, {told.n_truncated:,} truncated: {told.out}")
    if told.accuracy is not None:
        speed = told.questions_per_second
        means = f"accuracy {told.accuracy:.3f}, confidence {told.confidence:.3f}"
        print(means + (f", {speed:.1f} questions per second" if speed else ""))
