"""The tables of several classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miscal.discovery.findings import findings_table

if TYPE_CHECKING:
    import polars as pl

    from miscal.discovery.classes.document import ClassNumbers


def class_findings_table(numbers: ClassNumbers | None) -> pl.DataFrame:
    """Write the findings of all classes down, a row each: the content of ``class_findings.parquet``.

    Returns ``class`` and the columns of ``findings.parquet``, class by class, the strongest first; no rows where there
    are none.
    """
    import polars as pl

    named = () if numbers is None else numbers.findings
    table = findings_table([one for _, one in named])
    return table.select(pl.Series("class", [name for name, _ in named], dtype=pl.String), pl.all())


def classes_table(numbers: ClassNumbers | None) -> pl.DataFrame:
    """Write the numbers of all classes down, a row each: the content of ``classes.parquet``.

    Returns ``class``, ``labels``, ``predicted`` (rows), ``probability``, ``rate`` (means), ``smece``, ``brier`` and
    ``log_loss`` of the class as an event, each also with ``_corrected``, ``looked_at``, and ``findings`` (their
    number).
    """
    import polars as pl

    scores = ("smece", "brier", "log_loss")
    rows = [
        {
            "class": one.name, "labels": one.labels, "predicted": one.predicted, "probability": one.probability,
            "rate": one.rate, **{name: getattr(one.raw, name) for name in scores},
            **{f"{name}_corrected": getattr(one.corrected, name) for name in scores},
            "looked_at": one.looked_at, "findings": len(one.findings),
        }
        for one in (() if numbers is None else numbers.classes)
    ]  # fmt: skip
    numbers_of = ("probability", "rate", *scores, *(f"{name}_corrected" for name in scores))
    schema = {
        "class": pl.String, "labels": pl.Int64, "predicted": pl.Int64, **dict.fromkeys(numbers_of, pl.Float64),
        "looked_at": pl.Boolean, "findings": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")
