"""The table of shared findings: its columns, and that it says what the statistics say."""

import json
import math

import numpy as np
import polars as pl
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.condition import Frame, read_condition
from miscal.study.tables import TABLES
from miscal.study.together import ModelRows, measure_shared

TYPES = {pl.String: str, pl.Int64: int, pl.Float64: float, pl.Boolean: bool}


def pairs(off, *, n=500, models=4):
    """Calibrated models, right more or less often in a subject by `off` of the model."""
    rng = np.random.default_rng(1)
    subject = rng.choice(["law", "art", "sums", "physics"], n).astype(object)
    found = []
    for model in range(models):
        f = rng.uniform(0.3, 0.9, n)
        chance = np.clip(f + off(model) * (subject == "law"), 0, 1)
        y = (rng.random(n) < chance).astype(float)
        named = {"pair": f"d.m{model}", "dataset": "d", "model": f"m{model}", "method": "auto"}
        rows = LabelledRows(y, f, f)
        after = LabelledRows(y, chance, chance)
        found.append(ModelRows(named, rows, after, {"subject": subject}, None, np.arange(n), chance, chance, {}))
    return found


@pytest.fixture(scope="module")
def table():
    return measure_shared(pairs(lambda model: -0.2 - 0.15 * (model == 2), n=1_500))["shared_findings"]


def test_rows_have_the_columns_of_their_table_in_their_types(table):
    assert table
    for row in table:
        assert set(row) == set(TABLES["shared_findings"])
        for column, kind in TABLES["shared_findings"].items():
            value = row[column]
            assert value is None or type(value) is TYPES[kind], (column, value)
            assert kind != pl.Float64 or value is None or math.isfinite(value)


def test_a_finding_has_a_row_of_every_model_in_the_order_given(table):
    law = [row for row in table if row["finding"] == 1]
    assert [row["model"] for row in law] == ["m0", "m1", "m2", "m3"]
    assert {(row["kind"], row["description"], row["models"]) for row in law} == {("shared", "subject = law", 4)}
    assert sum(row["n_model"] for row in law) == law[0]["n"]
    assert min(law, key=lambda row: row["model_effect"])["model"] == "m2"
    for row in law:
        assert row["model_low"] < row["model_effect"] < row["model_high"] < 0
        # the corrected confidences are the chances that outcomes were drawn from
        assert abs(row["model_after"]) < abs(row["model_effect"]) / 2


def test_the_stored_condition_says_which_rows_it_has(table):
    condition = read_condition(json.loads(table[0]["condition"]))
    columns = pairs(lambda model: 0.0, n=1_500)[0].columns
    assert condition.rows(Frame(1_500, columns)).sum() == table[0]["n_model"]


def test_where_nothing_is_hidden_there_is_no_row():
    assert measure_shared(pairs(lambda model: 0.0)) == {"shared_findings": []}
