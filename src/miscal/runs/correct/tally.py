"""What is said of corrected rows: counts of each piece, which add up, and the sentences made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

import numpy as np
import polars as pl

from miscal.base.arrays import SHOWN_IN_WARNING, quoted
from miscal.base.checks import CLIP_TOLERANCE
from miscal.base.errors import InputError
from miscal.base.vocabulary import vocabulary
from miscal.data.encoders.features import Encoder
from miscal.data.readers.new_rows import NewRows, NewSource
from miscal.discovery.saved_model import FAR, only_blank
from miscal.estimators.input_profile import MOST_ROWS, Likeness, refusal, rows_to_look_at, warning
from miscal.estimators.registry import Estimator, SavedEstimator

# values of one kind that are counted by name in a piece; a column of ids would else fill the disk
_MOST_NAMED = 1_000
# a share of rows with far values below this is what long tails bring
_FAR_SHARE = 0.01


@dataclass(frozen=True)
class Tally:
    """Counts of rows.

    In the source (``read``) are rows that meet the condition (``asked``) and rows for which it could not be decided; in
    the table (``written``) are rows without a value (``empty``). ``clipped`` confidences were outside [0, 1] by
    rounding; of the rows with the global map's value, ``far`` are far from all rows learned from. ``blank`` is by the
    columns taken as blank, ``unknown`` by what values the model never saw, ``far_values`` and ``changed`` by column.
    ``looked_at`` holds a place in a random order and the measures of the inputs' profile, the first ones whatever the
    pieces. ``digest`` is of everything that was read for a piece; empty of several pieces.
    """

    read: int = 0
    asked: int = 0
    undecided: int = 0
    written: int = 0
    dropped: int = 0
    empty: int = 0
    clipped: int = 0
    global_only: int = 0
    far: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    blank: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, dict[str, int]] = field(default_factory=dict)
    unknown_rows: dict[str, int] = field(default_factory=dict)
    far_values: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    looked_at: list[list[float]] = field(default_factory=list)
    digest: str = ""

    def __post_init__(self) -> None:
        named = {what: dict(Counter(values).most_common(_MOST_NAMED)) for what, values in self.unknown.items()}
        object.__setattr__(self, "unknown", named)
        object.__setattr__(self, "looked_at", sorted(self.looked_at)[:MOST_ROWS])

    def __add__(self, other: Tally) -> Tally:
        """Add tallies up.

        >>> (Tally(read=2, faults={"a": 1}) + Tally(read=1, faults={"a": 2})).faults
        {'a': 3}
        """
        # through a tally each time: it keeps no more of the rows looked at than it needs
        names = (one.name for one in fields(self) if one.name != "digest")
        return Tally(**{name: _plus(getattr(self, name), getattr(other, name)) for name in names})  # type: ignore[arg-type]

    @property
    def measures(self) -> np.ndarray:
        """Measures of the rows that are looked at, float32 (n, K + 2)."""
        return np.array(self.looked_at, np.float32)[:, 1:]


def tally_of(rows: NewRows, table: pl.DataFrame, saved: SavedEstimator, encoder: Encoder, n: int) -> Tally:
    """Count the rows of a piece and of its table from `correct_rows`; `n` are the rows of all pieces together."""
    far, changed = _differences(rows, saved.fitted, encoder)
    blank = only_blank(table, rows)
    return Tally(
        **rows.counts,
        written=len(table),
        far=int((table["reason"] == FAR).sum()),
        # every row without a local estimate has a reason
        global_only=int((table["reason"].is_not_null() & table["corrected"].is_not_null() & ~blank).sum()),
        blank=dict(Counter(words for words in rows.blank if words is not None)),
        empty=table["corrected"].null_count(),
        faults=rows.faults,
        unknown={one.what: dict(Counter(one.values)) for one in rows.unknown},
        unknown_rows={one.what: len(one.rows) for one in rows.unknown},
        far_values=far,
        changed=changed,
        looked_at=_looked_at(rows, saved, encoder, n),
        digest=rows.digest,
    )


def _differences(rows: NewRows, field: Estimator, encoder: Encoder) -> tuple[dict[str, int], dict[str, int]]:
    """Rows by named column with far or changed values."""
    types = getattr(encoder, "column_types", None) or {}
    names = {i: name for i, name in enumerate(encoder.names or ()) if types.get(name) == "number"}
    unlike = getattr(field, "unlike", None)
    if unlike is None or not names or not len(rows.X):
        return {}, {}
    tally = unlike(rows.X)
    far, changed = ({name: int(of[i]) for i, name in names.items() if of[i]} for of in (tally.far, tally.changed))
    return far, changed


def _looked_at(rows: NewRows, saved: SavedEstimator, encoder: Encoder, n: int) -> list[list[float]]:
    """Measure some rows, by the profile of the fit's inputs: a random order, then the measures, for each."""
    # texts are put into numbers by the model itself, from words that the rows of the fit held
    if saved.inputs is None or encoder.kind.startswith("text"):
        return []
    at, order = rows_to_look_at(rows.row[rows.whole], n)
    # columns that are taken as blank differ from what they were, as was asked for
    at, order = (values[rows.blank[at] == None] for values in (at, order))  # noqa: E711  element by element
    measures = saved.inputs.measures(rows.X[at])
    return [[float(place), *values] for place, values in zip(order, measures.tolist(), strict=True)]


def _plus(a: object, b: object) -> object:
    if not isinstance(a, dict):
        return a + b  # type: ignore[operator]
    return {key: a[key] if key not in b else b[key] if key not in a else _plus(a[key], b[key]) for key in {**a, **b}}  # type: ignore[operator,index]


def warnings(tally: Tally, source: NewSource, saved: SavedEstimator) -> list[str]:
    """Say in sentences what whoever uses the table must know, by the tally of all rows."""
    return [*source.roles.notes, *_warnings(tally, source, saved)]


def _warnings(tally: Tally, source: NewSource, saved: SavedEstimator) -> Iterator[str]:
    words, asked, of = vocabulary(source.roles.kind), f"of {tally.asked:,} rows", saved.fitted
    if tally.undecided:
        rows = f"{tally.undecided:,} rows were" if tally.undecided > 1 else "1 row was"
        yield f"where: {rows} left out, because the value that decides is missing"
    if tally.clipped:
        yield f"{tally.clipped:,} {words.probabilities} were up to {CLIP_TOLERANCE} outside [0, 1] and were clipped"
    for reason, n in tally.faults.items():
        # without a probability there is nothing to correct
        empty = reason.startswith((f"the {words.probability} ", "the probabilities "))
        done = "left out" if tally.dropped else "kept without a value" if empty else "kept"
        what = "" if tally.dropped or empty else " with the global correction only"
        yield f"{reason} in {n:,} {asked}; {'they are' if n > 1 else 'it is'} {done}{what}"
    for said, n in tally.blank.items():
        yield f"{said} in {n:,} {asked}: their correction does without"
    for what, values in tally.unknown.items():
        blank = what.startswith("cat")
        most = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
        named = ", ".join(f"{quoted(value)} ({n:,})" for value, n in most[:SHOWN_IN_WARNING])
        more = f", ... ({len(most):,} different)" if len(most) > SHOWN_IN_WARNING else ""
        yield (
            f"{tally.unknown_rows[what]:,} {asked} hold {'an unseen' if blank else 'only unseen'} {what}: "
            f"{named}{more}; {'it is taken as blank' if blank else 'they get the global correction only'}"
        )
    if tally.far:
        far = f"{tally.far:,} {asked} are far from all rows the model was fitted on"
        yield f"{far}; they get the global correction only"
    names = list(source.encoder.names or ())
    for name, n in tally.far_values.items():
        if n > _FAR_SHARE * tally.written:
            mean, deviation = of.spread(names.index(name))  # type: ignore[attr-defined]
            yield (
                f"column {name!r} lies more than 10 standard deviations from its mean in {n:,} {asked} "
                f"(mean {mean:.4g}, standard deviation {deviation:.4g} in the rows the model was fitted on): is it in "
                "the same unit?"
            )
    for name, n in tally.changed.items():
        mean, _ = of.spread(names.index(name))  # type: ignore[attr-defined]
        yield (
            f"column {name!r} was {mean:.4g} in every row the model was fitted on, and is not in {n:,} {asked}; what "
            "other values mean was never learned, so they change nothing"
        )
    if saved.inputs is None and source.roles.x == "embeddings":
        yield (
            "the saved model does not describe the inputs that it was fitted on, so embeddings of another model cannot "
            "be noticed; `miscal discover` run again saves such a description"
        )
    found = likeness(tally, saved)
    if found is not None and found.unlike:
        yield warning(found, columns=source.roles.x == "features")


def likeness(tally: Tally, saved: SavedEstimator) -> Likeness | None:
    """Compare the inputs that were looked at with those of the fit; None where nothing could be compared."""
    n = len(tally.looked_at)
    if saved.inputs is None or saved.inputs.allowed(n) >= 1:
        return None
    return saved.inputs.compare(tally.measures)


def refuse_foreign(tally: Tally, source: NewSource, saved: SavedEstimator) -> None:
    """Refuse embeddings of which no row is plausible; columns that are found by their names are only warned of."""
    found = likeness(tally, saved) if source.roles.x == "embeddings" else None
    if found is not None and found.impossible is not None:
        raise InputError(refusal(found, "embeddings", columns=False))
