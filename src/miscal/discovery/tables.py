"""The two tables of a run: the field at every row, and two-dimensional maps of the rows for the report."""

from typing import TYPE_CHECKING, Any

import numpy as np

from miscal.data.triples import Triples
from miscal.discovery.described import DescribedRows
from miscal.discovery.layout import Layout, MapMethod, lay_out, shown_rows
from miscal.discovery.summary import MapInfo, clean_text

if TYPE_CHECKING:
    import polars as pl

MAP_FILE = "map.parquet"
TEXT_LENGTH = 400
"""Characters of a text or of a metadata value that the map keeps; the page has to stay below 10 MB."""


def field_table(rows: DescribedRows) -> "pl.DataFrame":
    """Write down the field at every row.

    Parameters
    ----------
    rows : DescribedRows
        All rows of the run.

    Returns
    -------
    polars.DataFrame
        The content of ``field.parquet``, one row per input row, in order.
    """
    import polars as pl

    triples, estimate, n = rows.honest.triples, rows.honest.estimate, len(rows.honest.triples)
    split = [None] * n if triples.split is None else triples.split.tolist()
    fold = [None] * n if rows.honest.fold is None else rows.honest.fold
    return pl.DataFrame(
        {
            "row": triples.row,
            "split": pl.Series(split, dtype=pl.String),
            "fold": pl.Series(fold, dtype=pl.Int64),
            "confidence": triples.confidence,
            "correct": triples.correct.astype(np.int8),
            "delta": estimate.delta,
            "mass": estimate.mass,
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
    rows: DescribedRows, table: "pl.DataFrame", method: MapMethod, *, seed: int
) -> tuple["pl.DataFrame", MapInfo]:
    """Lay the rows out on a plane, by their inputs and by their learned coordinates.

    Parameters
    ----------
    rows : DescribedRows
        All rows of the run.
    table : polars.DataFrame
        From :func:`field_table`.
    method : {"auto", "pca", "tsne", "umap"}
        As for :func:`miscal.discovery.layout.lay_out`.
    seed : int
        Of the rows shown and of the layout.

    Returns
    -------
    map : polars.DataFrame
        The content of ``map.parquet``: positions, field, text and metadata of the rows shown.
    info : MapInfo
        How it was made.
    """
    triples = rows.honest.triples
    shown = shown_rows(len(triples), seed=seed)
    raw = lay_out(triples.X[shown], method=method, seed=seed)
    learned = lay_out(rows.honest.estimate.coordinates[shown], method=method, seed=seed)
    picture = table[shown].select(
        *("row", "split", "delta", "mass", "regime", "subregime", "confidence", "correct", "corrected")
    )
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


def _positions(name: str, layout: Layout) -> list["pl.Series"]:
    import polars as pl

    return [pl.Series(f"{name}_{k + 1}", layout.positions[:, k]) for k in range(2)]


def _explaining(some: Triples) -> list["pl.Series"]:
    """Text and metadata of the rows shown, as text or numbers."""
    import polars as pl

    texts = [None] * len(some) if some.text is None else [_text(text, TEXT_LENGTH) for text in some.text]
    columns = [pl.Series("text", texts, dtype=pl.String)]
    for name, values in some.metadata.items():
        plain = values.dtype.kind in "biuf"
        held = values if plain else pl.Series([_text(value, TEXT_LENGTH) for value in values], dtype=pl.String)
        columns.append(pl.Series(f"meta.{clean_text(name)}", held))
    return columns


def _text(value: Any, limit: int | None = None) -> str | None:
    if value is None or value != value:
        return None
    text = clean_text(str(value)[:limit])
    return text if limit is None or len(str(value)) <= limit else text + "…"
