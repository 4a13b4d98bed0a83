"""Choose the rows of a pool whose labels say most, and tell what these labels will show."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import column_of
from miscal.base.errors import InputError
from miscal.base.files import check_target, write_new
from miscal.base.shown import first_words
from miscal.base.vocabulary import Kind
from miscal.data.readers.new_rows import NewRows
from miscal.data.readers.outcomes import blank
from miscal.data.readers.rows import TableRows, metadata_of, missing, texts
from miscal.data.writing import defused, part_bytes, table_format
from miscal.discovery.answer import MOST_WORDS
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.saved_model import SavedModel, correct_rows
from miscal.discovery.summary_parts import Answer
from miscal.evidence.judged_rows import JudgedRows
from miscal.evidence.label_planning import (
    LabelsNeeded,
    detectable_shift,
    draw_labels,
    labelling_probabilities,
    labels_to_halve,
)
from miscal.findings.ledger.groups import frame_of_rows
from miscal.findings.verdict import in_points

PROBABILITY = "labelling_probability"
"""Column of the probability by which a row was chosen, which ``--labelling-probability`` reads again."""

_TENTH = 10
"""One in so many labelled rows: a group of which it is said what the labels would show."""


@dataclass(frozen=True)
class PlannedFinding:
    """A finding of the run among the rows of the pool: its rows, and those that are to be labelled."""

    description: str
    n: int
    chosen: int


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """Which rows to label next, and what that will show.

    Attributes
    ----------
    table : polars.DataFrame
        A row for each row of the pool without a label: ``row`` (its number in the source, from 0), ``chosen``,
        ``labelling_probability`` in (0, 1], ``corrected`` (the corrected probability) and ``finding`` (the first
        finding that holds it, from 1; null where none does).
    kind : {"answer", "event", "judge"}
    findings : tuple of PlannedFinding
    halved : LabelsNeeded or None
        Labels, drawn at random, that would halve the interval of the overall rate; None where it has no interval.
    detectable : float or None
        By how much a tenth of the labelled rows, those of the run and those chosen, must differ to be found with 80 %
        power in as many tests as the run made; None where no difference would be found.
    already : int
        Rows of the pool that have a label and were left out.
    texts : dict of int to str
        Of the chosen rows, by their number in the source; empty where there are none.
    """

    table: pl.DataFrame
    kind: Kind
    findings: tuple[PlannedFinding, ...]
    halved: LabelsNeeded | None
    detectable: float | None
    already: int = 0
    texts: dict[int, str] = field(default_factory=dict)

    @property
    def answer(self) -> Answer:
        """What the labels will show, where most of them go, and how they are to be used."""
        chosen, n = int(self.table["chosen"].sum()), self.table.height
        shows = "even so, no group of a tenth would be found"
        if self.detectable is not None:
            shows = f"a group of a tenth is then found if it is off by {in_points(self.detectable)}"
        most = max(self.findings, key=lambda one: one.chosen, default=None)
        reason = "The run has no finding in these rows: labels go where outcomes are least certain, and at random."
        if most is not None:
            name = first_words(most.description, MOST_WORDS)
            reason = f"Most of a finding, {name}: {most.chosen:,} of {most.n:,} rows."
        return Answer(
            headline=f"Label {chosen:,} of {n:,} rows: {shows}.",
            reason=reason,
            action=f"Label the chosen rows: keep {PROBABILITY} with them, and give it to miscal discover "
            "--labelling-probability.",
        )


def label_next(
    run: str | Path | RunContent, pool: Any, *, labels: int = 100, seed: int = 0, out: str | Path | None = None,
    overwrite: bool = False, **options: Any,
) -> LabelPlan:  # fmt: skip
    """Choose rows of a pool to be labelled next.

    A third of the labels is spent at random. Of the others, one half is divided evenly among the findings of the run
    and the rest of the rows, and one half goes where outcomes, and estimates of their probabilities, are least certain.

    Parameters
    ----------
    run : path or RunContent
        Of ``miscal discover``.
    pool : path or table
        Rows like those of the run, mostly without labels. Rows that have one are left out.
    labels : int, default 100
        How many rows to choose.
    seed : int, default 0
        Of the draw.
    out : path, optional
        Table to write: .parquet, .csv or .jsonl.
    overwrite : bool, default False
    **options
        Where the columns are, as for ``miscal calibrate``.

    Raises
    ------
    InputError
        If the pool does not offer what the model needs, no row is without a label, or there are fewer than `labels`.
    """
    if out is not None:
        target = {"overwrite": overwrite, "reads": [pool, *options.values()]}
        ending = table_format(check_target(out, **target))
    content = run if isinstance(run, RunContent) else read_run(run)
    model = content.load_model()
    columns = content.summary.data.columns
    opened = model.open(pool, on_invalid="drop", beside=columns.metadata, **options)
    # none that is kept is invalid
    new = opened.read(opened.whole)
    rows = opened.beside(new, (*columns.metadata, columns.correct, columns.text))
    free = _without_label(rows, content)
    if labels > free.sum():
        raise InputError(f"labels: the pool has {int(free.sum()):,} rows without a label; got {labels:,} to be chosen")
    found = _findings(content, model, new, rows)
    corrected = correct_rows(model.estimator.fitted, new, model.classes)["corrected"].to_numpy()
    error = np.nan_to_num(model.field.estimate(new.X, new.confidence).standard_error)
    p, place, spread = corrected[free], found[free], error[free]
    chance = labelling_probabilities(p, labels, standard_error=spread, finding=place)
    chosen = draw_labels(chance, seed, order=place)
    table = {"row": rows.row[free], "chosen": chosen, PROBABILITY: chance, "corrected": p}
    planned = [
        PlannedFinding(one.description, int((place == number).sum()), int(chosen[place == number].sum()))
        for number, one in enumerate(content.summary.findings, start=1)
        if (place == number).any()
    ]
    known = content.table.filter(pl.col("corrected").is_not_null())
    labelled, outcome = known["corrected"].to_numpy(), known["correct"].to_numpy()
    everything = JudgedRows.of(np.r_[labelled, p], np.r_[outcome, np.full(len(p), np.nan)])
    method, then = content.summary.findings_method, np.r_[labelled, p[chosen]]
    tenth = np.arange(len(then)) % _TENTH == 0
    tests = 1 if method is None else max(method.candidates, 1)
    shown: dict[int, str] = {}
    if columns.text in rows.frame.columns:
        every = texts(rows.frame, columns.text)
        shown = {int(rows.row[place]): every[place] for place in np.flatnonzero(free)[chosen].tolist()}
    plan = LabelPlan(
        pl.DataFrame(table).with_columns(pl.Series("finding", place).replace(0, None)),
        content.summary.kind,
        tuple(planned),
        labels_to_halve(everything),
        detectable_shift(then, tenth, np.ones(len(then)), n_tests=tests),
        int((~free).sum()),
        shown,
    )
    if out is not None:
        table = defused(plan.table) if ending == ".csv" else plan.table
        write_new(out, part_bytes(table, ending, header=True), **target)
    return plan


def _without_label(rows: TableRows, run: RunContent) -> NDArray[np.bool_]:
    """Mark the rows that have no label."""
    outcome = run.summary.data.columns.correct
    if outcome is None or outcome not in rows.frame.columns:
        return np.full(len(rows.row), True)
    free = missing(rows, outcome) | blank(column_of(rows.frame, outcome))
    if not free.any():
        raise InputError(
            f"every row of the pool has a label in the column {outcome!r}: give rows that nobody has labelled, or take "
            "that column out"
        )
    return free


def _findings(run: RunContent, model: SavedModel, new: NewRows, rows: TableRows) -> NDArray[np.int64]:
    """Return the first finding that holds each row, from 1; 0 where none does."""
    named = run.summary.data.columns
    columns = {name: metadata_of(rows, name) for name in named.metadata if name in rows.frame.columns}
    text = texts(rows.frame, named.text) if named.text in rows.frame.columns else None
    place = np.zeros(len(new), np.int64)
    frame = frame_of_rows(columns, new.X, model.encoder, text=text, clusters=run.load_clusters())
    for number, one in reversed(list(enumerate(run.summary.findings, start=1))):
        if not one.condition.on_field and one.condition.lacks(frame) is None:
            place[one.condition.rows(frame)] = number
    return place
