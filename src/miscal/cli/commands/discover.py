"""``miscal discover``: from a file of predictions to a run folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miscal.cli import class_options, judge_options, options
from miscal.cli.form import Markdown, check_form, print_result
from miscal.cli.options import Device, Method, OnInvalid

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.discovery.discover import Discovery

Out = Annotated[str, typer.Option("--out", metavar="DIR", help="Run folder to write.")]


def command(
    data: options.DataFile,
    out: Out,
    confidence: options.Confidence = None,
    correct: options.Correct = None,
    probability: options.Probability = None,
    event: options.Event = None,
    positive: options.Positive = None,
    judge: judge_options.Judge = None,
    human: judge_options.Human = None,
    labelling_probability: judge_options.LabellingProbability = None,
    probabilities: class_options.Probabilities = None,
    label: class_options.Label = None,
    classes: class_options.Classes = None,
    embeddings: options.Embeddings = None,
    embedding_rows: options.EmbeddingRows = None,
    features: options.Features = None,
    text: options.Text = None,
    metadata: options.Metadata = None,
    names_only: options.NamesOnly = None,
    method: options.MethodOption = Method["auto"],
    option: options.MethodSettings = None,
    seed: options.Seed = 0,
    epsilon: options.Epsilon = None,
    min_rows: options.MinRows = 30,
    split: options.Split = None,
    evidence: options.EvidenceOption = None,
    sample: options.Sample = None,
    adjustment: options.AdjustmentOption = options.Adjustment.family_wise,
    where: options.Where = None,
    allow_leak: options.AllowLeak = None,
    leave_out: options.LeaveOut = None,
    group: options.GroupOrAuto = "auto",
    weight: options.Weight = None,
    time: options.Time = None,
    on_invalid: options.OnInvalidOption = OnInvalid.error,
    encoding: options.Encoding = "utf-8",
    csv_escape: options.CsvEscape = None,
    embed_model: options.EmbedModel = None,
    threshold: options.Threshold = None,
    cost: options.Cost = None,
    map_method: options.MapOption = options.Map.auto,
    redact_text: options.RedactText = False,
    device: options.DeviceOption = Device["auto"],
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    markdown: Markdown = False,
) -> None:
    """Find where a model is over- and under-confident.

    What is found is tested with outcomes that nothing has learned from, corrected, and drawn in a report.
    """
    columns = {
        "confidence": confidence,
        "correct": correct,
        "probability": probability,
        "event": event,
        "positive": positive,
        "judge": judge,
        "human": human,
        "labelling_probability": labelling_probability,
        "probabilities": probabilities,
        "label": label,
        "classes": classes,
        "embeddings": embeddings,
        "embedding_rows": embedding_rows,
        "features": features,
        "text": text,
        "metadata": metadata or (),
        "names_only": options.several(names_only),
        "split": split,
        "where": where,
        "allow_leak": allow_leak or (),
        "leave_out": leave_out or (),
        "group": group,
        "weight": weight,
        "time": time,
        "on_invalid": on_invalid.value,
        "encoding": encoding,
        "csv_escape": csv_escape,
        "embed_model": embed_model,
    }
    settings = {
        "method": method.value,
        "options": options.method_settings(option) or None,
        "seed": seed,
        "epsilon": epsilon,
        "min_rows": min_rows,
        "evidence": None if evidence is None else evidence.value,
        "sample": sample,
        "adjustment": adjustment.value,
        "device": device.value,
        "map_method": map_method.value,
        "redact_text": redact_text,
        "threshold": threshold or (),
        "cost": cost,
    }

    check_form(json=json, markdown=markdown)

    from miscal.runs.discover import check_method, read_rows

    check_method(method.value, settings["options"], device.value)

    def read() -> "Triples":
        return read_rows(data, method=method.value, seed=seed, **columns)

    reads = [data, *columns.values()]
    run_discovery(read, out, settings, overwrite=overwrite, reads=reads, json=json, markdown=markdown)


def run_discovery(
    read: Callable[[], "Triples"],
    out: str,
    settings: dict,
    *,
    overwrite: bool,
    json: bool,
    markdown: bool,
    reads: Sequence[Any] = (),
) -> None:
    """Read, discover, write and print, with the output folder owned from the start.

    Parameters
    ----------
    read : callable
        Returns the triples.
    out : str
        The run folder to make.
    settings : dict
        Options of :func:`miscal.discovery.discover.discover`.
    overwrite, json, markdown : bool
        Replace an existing run; print the summary as JSON or as markdown.
    reads : sequence
        Paths that are read; the others are ignored.
    """
    import time

    from miscal.discovery.progress import Progress
    from miscal.report import write_run
    from miscal.runs.shown_progress import stages

    start = time.monotonic()

    def make() -> "Discovery":
        nonlocal start
        progress(Progress("reading"))
        triples = read()
        # the heavy import comes after the folder is known to be writable and the data to be sound
        from miscal.discovery.discover import discover

        size = f"{len(triples):,} rows, each with {triples.X.shape[1]:,} numbers as inputs."
        progress(Progress("reading", 1.0, time.monotonic() - start, found=size))
        found = discover(triples, progress=progress, **settings)
        progress(Progress("report"))
        start = time.monotonic()
        return found

    with stages(True) as progress:
        found = write_run(make, out, overwrite=overwrite, reads=reads)
        progress(Progress("report", 1.0, time.monotonic() - start))
    print_discovery(found, Path(out), json=json, markdown=markdown)


def print_discovery(found: "Discovery", out: Path, *, json: bool, markdown: bool) -> None:
    """Print what was found: the summary as JSON or markdown, or a few lines for people.

    Parameters
    ----------
    found : Discovery
        The result.
    out : Path
        Where it was written.
    json, markdown : bool
        Which of them.
    """
    from miscal.base.markdown import markdown as as_markdown
    from miscal.report.printed_summary import summary_lines
    from miscal.report.shown_run import shown_run

    print_result(
        lambda: summary_lines(found.summary, out),
        found.summary.to_json,
        lambda: as_markdown(shown_run(found.summary, out)),
        json=json,
        markdown=markdown,
    )
