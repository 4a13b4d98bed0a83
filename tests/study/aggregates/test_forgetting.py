"""Which pairs forget the category and keep the error, counted on tables made by hand."""

import numpy as np
import polars as pl
import pytest

from miscal.study.aggregates import forgetting, forgetting_sentence
from miscal.study.tables import frame


def rows_of(pair, values, *, null=0.5, std=0.01, p=0.001, method="auto"):
    """Rows of the table; values: what neighbours share -> purity in raw and in learned space."""
    known = {"pair": pair, "dataset": "d", "model": pair, "method": method, "neighbours": 10, "n": 100}
    return [
        {**known, "space": space, "by": by, "purity": value, "null_mean": null, "null_std": std, "p_value": p}
        for by, both in values.items()
        for space, value in zip(("raw", "learned"), both, strict=True)
    ]


def test_each_way_a_pair_can_go_is_counted():
    table = pl.DataFrame(
        [
            *rows_of("both", {"topic": (0.9, 0.6), "sign": (0.6, 0.9), "outcome": (0.55, 0.7)}),
            # the first column counts, not the one that the raw inputs are arranged by most
            *rows_of("forgets", {"topic": (0.9, 0.6), "outcome": (0.7, 0.55), "later": (0.95, 0.95)}),
            *rows_of("keeps", {"topic": (0.6, 0.9), "outcome": (0.55, 0.7)}),
            *rows_of("noise", {"topic": (0.9, 0.89), "outcome": (0.55, 0.56)}),
            *rows_of("chance", {"topic": (0.9, 0.6), "outcome": (0.4, 0.5)}, p=0.5),
            *rows_of("bare", {"sign": (0.6, 0.9)}),
            *rows_of("both", {"topic": (0.6, 0.9), "outcome": (0.9, 0.6)}, method="paper"),
        ]
    )
    found = forgetting(table, "auto")
    assert {one.pair: (one.forgets, one.keeps) for one in found} == {
        "both": (True, True), "forgets": (True, False), "keeps": (False, True), "noise": (False, False),
        "chance": (True, False), "bare": (False, False),
    }  # fmt: skip
    said = forgetting_sentence(found)
    assert "in 3 of 6 interpreted pairs, and their outcome more often in 2; both hold in 1." in said
    assert found[-1].category is found[-1].outcome is None
    assert found[-1].sign.rises
    assert "both hold in 0" in forgetting_sentence(forgetting(table, "paper"))


def test_the_first_column_is_compared_above_chance():
    rows = rows_of("p", {"topic": (0.6, 0.2)}, null=0.1) + rows_of("p", {"purer": (0.99, 0.99)}, null=0.1)
    (pair,) = forgetting(pl.DataFrame(rows), "auto")
    assert pair.category.by == "topic"
    assert pair.category.raw == pytest.approx((0.6 - 0.1) / 0.9)
    assert pair.category.learned == pytest.approx((0.2 - 0.1) / 0.9)
    assert pair.category.margin == pytest.approx(2 * np.sqrt(2 * 0.01**2) / 0.9)


def test_empty_tables_say_that_nothing_is_known():
    assert forgetting(frame("purity", []), "auto") == []
    assert "nothing is known" in forgetting_sentence([])
