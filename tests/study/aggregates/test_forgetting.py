"""Which pairs forget the category and keep the error, counted on tables made by hand."""

import numpy as np
import polars as pl
import pytest

from miscal.study.aggregates import forgetting


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
    forgets, keeps = (
        set(found.filter(pl.col(way), of=of)["pair"]) for of, way in (("category", "falls"), ("outcome", "rises"))
    )
    assert (forgets, keeps) == ({"both", "forgets", "chance"}, {"both", "keeps"})
    assert found.filter(pair="bare").select("of", "rises").rows() == [("sign", True)]


def test_the_first_column_is_compared_above_chance():
    rows = rows_of("p", {"topic": (0.6, 0.2)}, null=0.1) + rows_of("p", {"purer": (0.99, 0.99)}, null=0.1)
    [category] = forgetting(pl.DataFrame(rows), "auto").to_dicts()
    assert category["by"] == "topic"
    assert category["raw"] == pytest.approx((0.6 - 0.1) / 0.9)
    assert category["learned"] == pytest.approx((0.2 - 0.1) / 0.9)


@pytest.mark.parametrize(("change", "rises"), [(1.01, True), (0.99, False)])
def test_a_change_counts_beyond_two_standard_deviations_of_both(change, rises):
    moved = 0.5 + change * 2 * np.sqrt(2 * 0.01**2)
    [outcome] = forgetting(pl.DataFrame(rows_of("p", {"outcome": (0.5, moved)}, null=0.1)), "auto").to_dicts()
    assert (outcome["rises"], outcome["falls"]) == (rises, False)
