"""Groups over the models of a data set: the table ``groups`` as a matrix, and ``shared_findings`` with their models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import read_condition
from miscal.findings.ledger import value_words
from miscal.findings.shared_findings import SHARED
from miscal.report.texts import short

Row = dict[str, Any]

_HOLDS = pl.col("p_adjusted") <= SIGNIFICANCE


def matrices(groups: pl.DataFrame, shared: pl.DataFrame) -> list[Row]:
    """Lay out the tables ``groups`` and ``shared_findings``: groups by models, for each data set and method.

    Each has `dataset`, `method`, `models` in the order of the plan, and `lines`, of which shared findings come first;
    then what is marked for most models in one direction, texts before bins, the largest mean score. A line has
    `column` and `value`, the `finding` that it is in the table ``shared_findings``, or None, and under `cells` a row of
    the table ``groups`` for each model, or None; `marked` are those that hold after adjustment.
    """
    hidden, width = pl.col("hidden"), (pl.col("high") - pl.col("low")).clip(1e-9)
    lines = groups.group_by("dataset", "method", "column", "value", maintain_order=True).agg(
        marks=pl.max_horizontal((_HOLDS & (hidden < 0)).sum(), (_HOLDS & (hidden > 0)).sum()),
        bin=pl.col("bin").any(),
        score=(hidden / width).mean().abs().fill_null(0.0),
        marked=pl.struct(pl.all()).filter(_HOLDS),
        cells=pl.struct(pl.all()),
    )
    known = {
        (one["dataset"], one["method"], *one["value"]): one["finding"]
        for one in shared_lines(shared)
        if one["shared"] and one["value"]
    }
    keys = lines.select("dataset", "method", "column", "value").rows()
    lines = lines.with_columns(pl.Series("finding", [known.get(key) for key in keys], pl.Int64))
    descending = [False, True, False, True]
    lines = lines.sort(
        "finding", "marks", "bin", "score", descending=descending, nulls_last=True, maintain_order=True
    )  # fmt: skip
    found = []
    for (dataset, method), some in groups.group_by("dataset", "method", maintain_order=True):
        models = some["model"].unique(maintain_order=True).to_list()
        own = lines.filter(dataset=dataset, method=method).to_dicts()
        for line in own:
            by_model = {cell["model"]: cell for cell in line["cells"]}
            line["cells"] = [by_model.get(model) for model in models]
        found.append({"dataset": dataset, "method": method, "models": models, "lines": own})
    return found


def group_name(line: Row, longest: int) -> str:
    """Name a group by its column and value.

    >>> group_name({"column": "subject", "value": "law"}, 40)
    'subject = law'
    """
    return f"{short(line['column'], 30)} = {short(line['value'], longest)}"


def shared_lines(table: pl.DataFrame) -> list[Row]:
    """Put the rows of each finding of the table ``shared_findings`` together, in its order.

    Each has what all rows of the finding have, and `each`, those rows whose model has rows enough to be measured, by
    rising effect; `shared`, whether models err together there; `differs`, whether they differ; `size`, how much more
    often its rows are right, with its interval, by itself, or given others if it needs them; `agreement`, how many
    models point where all together do; and `value`, column and value as the table ``groups`` has them, None where it
    is of several columns, or of a text.
    """
    found = []
    for _, rows in table.group_by("dataset", "method", "finding", maintain_order=True):
        first, each = rows.row(0, named=True), rows.drop_nulls("model_effect").sort("model_effect").to_dicts()
        name, p_value = "beyond" if first["given_others"] else "effect", first["p_difference_adjusted"]
        effect = first[name]
        agreeing = sum(np.sign(one["model_effect"]) == np.sign(effect) for one in each)
        condition = read_condition(json.loads(first["condition"]))
        columns = condition.columns
        found.append(
            first
            | {
                "each": each,
                "shared": first["kind"] == SHARED,
                "differs": p_value is not None and p_value <= SIGNIFICANCE,
                "size": (effect, first[f"{name}_low"], first[f"{name}_high"]),
                "agreement": f"{agreeing} of {len(each)} models",
                "value": (columns[0], value_words(columns[0], condition)) if len(columns) == 1 else None,
            }
        )
    return found
