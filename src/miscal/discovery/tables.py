"""The two tables of a run: the field at every row, and two-dimensional maps of the rows for the report."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from miscal.base.folds import named_units
from miscal.base.json_values import clean_text
from miscal.data.triples import Triples
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.layout import Layout, MapMethod, lay_out, shown_rows
from miscal.discovery.shown_text import shortened_texts
from miscal.discovery.summary import MapInfo
from miscal.findings.decisions import Decision
from miscal.findings.enrichment import written_date
from miscal.findings.ledger import with_features

if TYPE_CHECKING:
    import polars as pl

MAP_FILE = "map.parquet"
TEXT_LENGTH = 400
"""Characters of a text or of a metadata value that the map keeps; the page has to stay below 10 MB."""

MAP_COLUMNS = (
    *("row", "split", "fold", "delta", "visible", "hidden", "mass", "regime", "subregime"),
    *("hidden_regime", "hidden_subregime", "confidence", "correct", "corrected"),
)
"""Columns of the field that the map keeps."""


def field_table(rows: FittedRows) -> "pl.DataFrame":
    """Write down the field at every row.

    Returns the content of ``field.parquet``, one row per input row, in order.
    """
    import polars as pl

    triples, estimate, n = rows.triples, rows.estimate, len(rows.triples)
    split = [None] * n if triples.split is None else triples.split.tolist()
    fold = [None] * n if rows.fold is None else rows.fold
    return pl.DataFrame(
        {
            "row": triples.row,
            "split": pl.Series(split, dtype=pl.String),
            "fold": pl.Series(fold, dtype=pl.Int64),
            "unit": pl.Series([None] * n if triples.group is None else named_units(n, triples.group), dtype=pl.Int64),
            "confidence": triples.confidence,
            "correct": triples.correct.astype(np.int8),
            "delta": estimate.delta,
            "mass": pl.Series(estimate.mass, nan_to_null=True),
            "regime": pl.Series(rows.regime.tolist(), dtype=pl.String),
            "subregime": _names(rows.subregimes.name),
            "hidden_regime": pl.Series(rows.hidden_regime.tolist(), dtype=pl.String),
            "hidden_subregime": _names(rows.hidden_subregimes.name),
            "corrected": estimate.corrected,
            "visible": estimate.visible,
            "hidden": estimate.hidden,
            "supported": estimate.supported,
        }
    )


def _names(names: np.ndarray) -> "pl.Series":
    import polars as pl

    return pl.Series([_text(name) for name in names], dtype=pl.String)


def map_table(
    rows: FittedRows, table: "pl.DataFrame", method: MapMethod, *, seed: int
) -> tuple["pl.DataFrame", MapInfo]:
    """Lay the rows out on a plane, by their inputs and by their learned coordinates.

    `rows`: all rows of the run. `table`: from :func:`field_table`. `method`: as for
    :func:`miscal.discovery.layout.lay_out`. `seed`: of the rows shown and of the layout. Returns `map`: the content of
    ``map.parquet``: positions, field, text, metadata and named inputs of the rows shown; `info`: how it was made.
    """
    triples = rows.triples
    shown = np.union1d(shown_rows(len(triples), seed=seed), _exampled(rows))
    raw = lay_out(triples.places[shown], method=method, seed=seed)
    # of very many rows no coordinates are kept
    kept = rows.sample is None
    coordinates = rows.estimate.coordinates[shown] if kept else rows.model.transform(triples.X[shown])
    learned = lay_out(coordinates, method=method, seed=seed)
    picture = table[shown].select(MAP_COLUMNS)
    explaining = _explaining(triples.take(shown))
    picture = picture.with_columns(*_positions("raw", raw), *_positions("learned", learned), *explaining)
    info = MapInfo(
        file=MAP_FILE,
        raw_method=raw.method,
        learned_method=learned.method,
        n_shown=len(shown),
        n_total=len(triples),
    )
    return picture, info


def _exampled(rows: FittedRows) -> np.ndarray:
    """Positions of the rows that are shown as examples: the report takes their texts from the map."""
    named = [row for part in rows.parts for row in (*part.exemplars, *part.telling)]
    named += [row for finding in rows.ledger.findings for row in finding.rows]
    return np.flatnonzero(np.isin(rows.triples.row, named))


def _positions(name: str, layout: Layout) -> list["pl.Series"]:
    import polars as pl

    return [pl.Series(f"{name}_{k + 1}", layout.positions[:, k]) for k in range(2)]


def _explaining(some: Triples) -> list["pl.Series"]:
    """Text and metadata of the rows shown, and their inputs where these have names, as text or numbers."""
    named = with_features({}, some.X, some.encoder)
    inputs = {name: values for name, values in named.items() if name not in some.metadata}
    return [
        _texts(some),
        *(_column(f"answer.{clean_text(name)}", values) for name, values in some.answers.items()),
        *(_column(f"meta.{clean_text(name)}", values) for name, values in some.metadata.items()),
        *(_column(f"feature.{clean_text(name)}", values) for name, values in inputs.items()),
    ]


def _texts(some: Triples) -> "pl.Series":
    import polars as pl

    texts = [None] * len(some) if some.text is None else [_text(text) for text in some.text]
    cut = iter(shortened_texts([text for text in texts if text is not None], TEXT_LENGTH))
    return pl.Series("text", [None if text is None else next(cut) for text in texts], dtype=pl.String)


def _column(name: str, values: np.ndarray) -> "pl.Series":
    import polars as pl

    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    if values.dtype.kind == "M":
        values = np.array([None if np.isnat(value) else written_date(value) for value in values], dtype=object)
    return pl.Series(name, [_text(value, TEXT_LENGTH) for value in values], dtype=pl.String)


def _text(value: Any, limit: int | None = None) -> str | None:
    if value is None or value != value:
        return None
    text = clean_text(str(value)[:limit])
    return text if limit is None or len(str(value)) <= limit else text + "…"


def decisions_table(decisions: Sequence[Decision]) -> "pl.DataFrame":
    """Return what acting at each threshold leads to, a row for each, as :class:`Decision` says of its parts.

    ``before`` and ``after`` are by the confidences as given and by the corrected ones, of the rows that are acted on;
    with ``below``, of the others. ``promised`` and ``observed`` are the means of probability and outcome, both in
    [0, 1], with the 95 % interval of the latter.
    """
    import polars as pl

    rows = []
    for one in decisions:
        row: dict[str, Any] = {"threshold": one.threshold, "source": one.source, "start": one.start}
        for side in ("before", "after", "before_below", "after_below"):
            promise = getattr(one, side)
            low, high = promise.observed.interval or (None, None)
            observed = {"observed": promise.observed.value, "observed_low": low, "observed_high": high}
            told = {"n": promise.n, "promised": promise.promised, **observed, "p_adjusted": promise.p_adjusted}
            row |= {f"{side}_{name}": value for name, value in told.items()}
        row |= {"raised": one.raised, "lowered": one.lowered}
        gain = None if one.net_benefit is None else one.net_benefit.gain
        low, high = (gain and gain.interval) or (None, None)
        row |= {"net_benefit_gain": gain and gain.value, "net_benefit_gain_low": low, "net_benefit_gain_high": high}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)
