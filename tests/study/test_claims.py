"""Claims: ours is what the tables say, and the direction turns when the tables are turned."""

import numpy as np
import polars as pl
import pytest

from miscal.study.claims import claims

from .made_tables import frames, other_pairs, papers_pairs, tables


@pytest.fixture(scope="module")
def made():
    return tables(papers_pairs(16), seed=5)


def one(found, part):
    (claim,) = [claim for claim in found if part in claim.says]
    return claim


def learned(made, method="paper"):
    return [row for row in made["pairs"].iter_rows(named=True)
            if (row["method"], row["geometry"]) == (method, "learned")]  # fmt: skip


def test_every_claim_is_about_pairs_of_the_study(made):
    for method in ("paper", "auto"):
        found = claims(made, method)
        assert {"gaps", "improvements", "gains", "nulls", "seeds", "thresholds"} <= {x.figure for x in found}
        assert all(0 < claim.n <= 16 for claim in found)
        assert len({claim.says for claim in found}) == len(found)


def test_gaps(made):
    above = sum((row["gap"] or 0) > 0 for row in learned(made))
    large = sum((row["gap"] or 0) >= 0.06 for row in learned(made))
    found = claims(made, "paper")
    assert one(found, "In most pairs").here == f"{above} of 16 pairs"
    assert one(found, "In most pairs").holds is (above > 8)
    assert one(found, "Many pairs").here == f"{large} of 16 pairs"


def test_raw_inputs_beside_learned_geometry(made):
    raw = {row["pair"]: row for row in made["pairs"].iter_rows(named=True) if row["geometry"] == "raw"}
    less = sum(raw[row["pair"]]["delta_std"] < row["delta_std"] for row in learned(made))
    claim = one(claims(made, "paper"), "vary less")
    assert claim.here == f"less in {less} of 16 pairs"
    assert claim.holds is (less > 8)
    swapped = made | {"pairs": made["pairs"].with_columns(
        geometry=pl.when(pl.col("method") == "paper").then(pl.col("geometry").replace({"raw": "learned",
                                                                                       "learned": "raw"}))
        .otherwise(pl.col("geometry")))}  # fmt: skip
    assert one(claims(swapped, "paper"), "vary less").holds is (less < 8)


def test_the_gain_over_isotonic_turns_with_its_sign(made):
    claim = one(claims(made, "paper"), "gain over isotonic")
    assert claim.holds
    names = {"miscal": "isotonic", "isotonic": "miscal"}
    turned = made | {"corrections": made["corrections"].with_columns(pl.col("calibrator").replace(names))}
    back = one(claims(turned, "paper"), "gain over isotonic")
    assert not back.holds
    assert back.here.split()[1].lstrip("\u2212") == claim.here.split()[1]


def test_a_correction_that_harms_is_told(made):
    ours = pl.col("calibrator") == "miscal"
    worse = made | {"corrections": made["corrections"].with_columns(
        smece=pl.when(ours).then(pl.col("smece") + 1.0).otherwise(pl.col("smece")))}  # fmt: skip
    assert one(claims(made, "paper"), "helps on both").holds
    assert not one(claims(worse, "paper"), "helps on both").holds
    assert not one(claims(worse, "paper"), "no harm").holds


def test_one_audited_pair_below_its_null_breaks_the_claim(made):
    spread = made["nulls"].filter(pl.col("statistic") == "delta_std", pl.col("method") == "paper")
    first = spread["pair"][0]
    below = made | {"nulls": made["nulls"].with_columns(
        null_mean=pl.when(pl.col("pair") == first).then(9.0).otherwise(pl.col("null_mean")))}  # fmt: skip
    assert one(claims(made, "paper"), "varies more than under").holds
    claim = one(claims(below, "paper"), "varies more than under")
    assert claim.holds is False
    assert claim.here == f"{spread.height - 1} of {spread.height} pairs"


def test_correlations_over_thresholds(made):
    rows = made["thresholds"].filter(pl.col("method") == "paper", pl.col("geometry") == "learned").drop_nulls("worst")
    own = rows.filter(pl.col("by") == "smece")
    r = np.corrcoef(own["smece_gap"], own["brier_gap"])[0, 1]
    assert one(claims(made, "paper"), "slice worst by smECE.").here.startswith(f"Pearson {r:.2f},")


@pytest.mark.parametrize("missing", ["corrections", "thresholds", "nulls", "seeds", "seed_pairs", "purity", "pairs"])
def test_a_missing_table_silences_its_claims_alone(made, missing):
    without = made | {missing: frames({})[missing]}
    before, after = (claims(each, "auto") for each in (made, without))
    assert len(after) < len(before)
    assert missing == "pairs" or all(claim in before for claim in after)


def test_rising_lines_are_counted():
    everything = tables(papers_pairs(48), methods=("auto",))
    rising = 0
    lines = everything["pairs"].group_by("dataset", "family")
    for _, own in lines:
        ranks = own.sort("billions")["delta_std"].rank().to_list()
        rising += np.corrcoef(range(3), ranks)[0, 1] > 0
    claim = one(claims(everything, "auto"), "In several families")
    assert claim.here == f"rising in {rising} of 16 lines of three models or more"
    assert claim.holds is bool(rising > 8)


def test_nothing_is_claimed_of_nothing():
    assert claims(frames({}), "auto") == []


def test_studies_of_other_pairs_claim_too():
    assert all(claim.here for claim in claims(tables(other_pairs(4)), "auto"))
