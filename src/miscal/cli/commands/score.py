"""``miscal score``: ask a language model, and keep hidden state, confidence and outcome of every question."""

from typing import Annotated, Literal

import typer

from miscal.base.number_wording import decimal
from miscal.base.options import number
from miscal.cli.exit_status import Stopped
from miscal.cli.options import EngineOption, RayAddress, parsed
from miscal.runs.settings import DiscoverySettings

_COUNT = parsed(number(int, 1))


def command(
    model: Annotated[
        str, typer.Option(metavar="M", help="The model: a hub id, a short name, a folder or a .gguf file.")
    ],
    task: Annotated[
        str,
        typer.Option(metavar="T", help="The task: mmlu, mmlu-pro, medmcqa, hh-rlhf, or a file of questions or pairs."),
    ],
    sampling: Annotated[DiscoverySettings, "seed"],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder to write; an unfinished run there is resumed.")],
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    workers: Annotated[int | None, typer.Option(metavar="N", parser=_COUNT, help="Number of CPU processes.")] = None,
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16"],
        typer.Option(help="Precision of the weights; auto: bfloat16 on a GPU that has it, else float32."),
    ] = "auto",
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Where to compute: auto, cpu, cuda, cuda:1, ...")
    ] = "auto",
    revision: Annotated[str | None, typer.Option(metavar="REV", help="Commit, branch or tag of the model.")] = None,
    task_revision: Annotated[
        str | None, typer.Option(metavar="REV", help="Commit, branch or tag of the task's data set on the hub.")
    ] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Allow code that comes with the model to run.")
    ] = False,
    form: Annotated[
        Literal["letter", "text", "text_per_token", "text_per_byte"] | None,
        typer.Option(help="What the model is asked to weigh: the letters, or the texts of the answers."),
    ] = None,
    prompt_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="File with the prompt template. Default: the paper's prompt.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=_COUNT,
            help="Score a random sample of N rows, drawn by --seed, each category in proportion.",
        ),
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(metavar="N", parser=_COUNT, help="Tokens per batch, padding included.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", parser=_COUNT, help="Number of CPU threads per process.")
    ] = None,
    embed_only: Annotated[
        bool,
        typer.Option(
            "--embed-only", help="Only compute the hidden states of the texts in --text, without asking questions."
        ),
    ] = False,
    text: Annotated[str, typer.Option(metavar="COL", help="Column of texts, for --embed-only.")] = "text",
    layer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Hidden state to keep: last, middle, mean (over the prompt), or the number of a block, from 1.",
        ),
    ] = "last",
    embeddings_dtype: Annotated[
        Literal["float32", "float16"],
        typer.Option(
            help="Precision of the hidden states on disk. float16 takes half the space; where a number does not fit, "
            "all are stored in float32, and a sentence says so."
        ),
    ] = "float32",
    confidence_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Where confidence comes from: letters of multiple choice (the default), or, of open-ended questions, "
            "p-true, verbalized, frequency, likelihood. Several (with commas, or repeated) are kept side by side; the "
            "first of them is the column confidence.",
        ),
    ] = None,
    answer: Annotated[
        Literal["greedy", "most-frequent"] | None,
        typer.Option(help="Open-ended: which answer is judged. The default is greedy."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(metavar="N", parser=_COUNT, help="Open-ended: number of samples of each answer. Default: 10."),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(metavar="T", help="Open-ended: temperature of the samples. Default: 1.")
    ] = None,
    max_new_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", parser=_COUNT, help="Open-ended: tokens of an answer at most. Default: 32."),
    ] = None,
    verdict: Annotated[
        Literal["exact", "later"] | None,
        typer.Option(
            help="Open-ended: exact (the default) compares answers with the accepted ones; later leaves the column "
            "correct empty."
        ),
    ] = None,
    without_options: Annotated[
        bool,
        typer.Option("--without-options", help="Ask multiple-choice questions as open-ended ones, without options."),
    ] = False,
) -> None:
    """Ask a language model questions or preferences. Next: `miscal discover DIR`."""
    settings = locals() | {"confidence_from": confidence_from or "letters", "seed": sampling.seed}
    del settings["sampling"]
    from miscal.scoring.command import run

    try:
        done = run(**settings)
    except (Stopped, KeyboardInterrupt) as stop:
        stop.add_note("run the same command again to go on from here")
        raise
    print(f"{done.n_scored:,} rows scored, {done.n_failed:,} failed, {done.n_truncated:,} truncated: {done.out}")
    for note in done.notes:
        print(f"note: {note}")
    if done.confidence is not None or done.accuracy is not None:
        speed = done.questions_per_second
        told = {"accuracy": done.accuracy, **(done.confidences or {"confidence": done.confidence})}
        means = ", ".join(f"{name} {decimal(value, 3)}" for name, value in told.items() if value is not None)
        print(means + (f", {decimal(speed, 1)} questions per second" if speed else ""))
