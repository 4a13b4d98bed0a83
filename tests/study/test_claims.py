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
    (claim,) = [claim for claim in found if part in claim["says"]]
    return claim


def learned(made, method="paper"):
    return [row for row in made["pairs"].iter_rows(named=True)
            if (row["method"], row["geometry"]) == (method, "learned")]  # fmt: skip


def test_every_claim_is_about_pairs_of_the_study(made):
    for method in ("paper", "auto"):
        found = claims(made, method)
        assert {"gaps", "improvements", "gains", "nulls", "seeds", "thresholds"} <= {x["figure"] for x in found}
        assert all(0 < claim["n"] <= 16 for claim in found)
        assert len({claim["says"] for claim in found}) == len(found)


def test_gaps(made):
    above = sum((row["gap"] or 0) > 0 for row in learned(made))
    large = sum((row["gap"] or 0) >= 0.06 for row in learned(made))
    found = claims(made, "paper")
    beyond = sum((row["gap_interval_low"] or 0) > 0 for row in learned(made))
    counted = [(x["here"], x["direction"]) for x in (one(found, "In most pairs"), one(found, "beyond chance"))]
    assert counted == [(f"{n} of 16 pairs", "no direction") for n in (above, beyond)]
    assert not any("bootstrap" in claim["says"] for claim in found)
    assert one(found, "Many pairs")["here"] == f"{large} of 16 pairs"
    assert one(found, "Many pairs")["direction"] == ("yes" if large >= 4 else "no")


def test_two_pairs_show_no_direction():
    found = claims(tables(papers_pairs(2)), "paper")
    sayings = {claim["direction"] for claim in found}
    assert {"cannot be said from 2 pairs", "cannot be said from 1 pair"} <= sayings
    assert not any(claim["direction"] == "yes" for claim in found)


def test_pairs_that_the_paper_names_for_much_variation():
    everything = tables(papers_pairs(48), methods=("paper",), raw=False)
    named = (pl.col("dataset") == "hh-rlhf") & pl.col("model").str.starts_with("qwen3")
    named |= (pl.col("dataset") == "mmlu") & pl.col("model").str.starts_with("llama")
    assert everything["pairs"].filter(named).height == 6
    for shift, answer in ((0.5, "yes"), (-0.5, "no")):
        turned = everything | {"pairs": everything["pairs"].with_columns(
            delta_std=pl.when(named).then(pl.col("delta_std") + shift).otherwise(pl.col("delta_std")))}  # fmt: skip
        assert one(claims(turned, "paper"), "Qwen3 on HH-RLHF")["direction"] == answer
    assert not [x for x in claims(tables(other_pairs(6)), "auto") if x["figure"] == "fields"]


def test_raw_inputs_beside_learned_geometry(made):
    raw = {row["pair"]: row for row in made["pairs"].iter_rows(named=True) if row["geometry"] == "raw"}
    less = sum(raw[row["pair"]]["delta_std"] < row["delta_std"] for row in learned(made))
    claim = one(claims(made, "paper"), "vary less")
    assert claim["here"] == f"less in {less} of 16 pairs"
    assert (claim["direction"] == "yes") == (less == 16)
    swapped = made | {"pairs": made["pairs"].with_columns(
        geometry=pl.when(pl.col("method") == "paper").then(pl.col("geometry").replace({"raw": "learned",
                                                                                       "learned": "raw"}))
        .otherwise(pl.col("geometry")))}  # fmt: skip
    assert one(claims(swapped, "paper"), "vary less")["direction"] == {16: "no", 0: "yes"}.get(
        less, "cannot be said from 16 pairs"
    )


def test_the_gain_over_isotonic_turns_with_its_sign(made):
    claim = one(claims(made, "paper"), "gain over isotonic")
    assert claim["direction"] == "yes"
    names = {"miscal": "isotonic", "isotonic": "miscal"}
    turned = made | {"corrections": made["corrections"].with_columns(pl.col("calibrator").replace(names))}
    back = one(claims(turned, "paper"), "gain over isotonic")
    assert back["direction"] == "no"
    assert back["here"].split()[1].lstrip("\u2212") == claim["here"].split()[1]


def test_a_correction_that_harms_is_told(made):
    ours = pl.col("calibrator") == "miscal"
    worse = made | {"corrections": made["corrections"].with_columns(
        smece=pl.when(ours).then(pl.col("smece") + 1.0).otherwise(pl.col("smece")))}  # fmt: skip
    assert one(claims(made, "paper"), "helps on both")["direction"] == "yes"
    assert one(claims(worse, "paper"), "helps on both")["direction"] == "no"
    assert one(claims(worse, "paper"), "no harm")["direction"] == "no"


def test_other_corrections_have_the_same_allowance(made):
    """A mean change of -0.004 is no harm, one of -0.006 is, whichever correction it is."""
    for change, ours, others in ((-0.004, "yes", "no"), (-0.006, "no", "yes")):
        raw = made["corrections"].filter(calibrator="raw").select(
            "pair", "method", "geometry", "region", before="smece")  # fmt: skip
        turned = made["corrections"].join(raw, on=["pair", "method", "geometry", "region"], maintain_order="left")
        smece = pl.when(pl.col("calibrator") == "raw").then(pl.col("smece")).otherwise(pl.col("before") - change)
        found = claims(made | {"corrections": turned.with_columns(smece=smece)}, "paper")
        assert one(found, "does no harm")["direction"] == ours
        assert one(found, "often do harm")["direction"] == others
        assert one(found, "help on all rows")["direction"] == "no"


def test_one_audited_pair_within_its_null_breaks_the_claim():
    everything = tables(papers_pairs(48), methods=("paper",), raw=False)
    assert everything["nulls"]["pair"].n_unique() == 6
    claim = one(claims(everything, "paper"), "varies more than if")
    assert (claim["here"], claim["direction"]) == ("above their mean in 6 of 6 pairs, above every refit in 6", "yes")
    # one refit is as large, so that the data are above the mean still, and not above every refit
    first = everything["nulls"]["pair"][0]
    less = everything | {"nulls": everything["nulls"].with_columns(
        p_value=pl.when(pl.col("pair") == first).then(2 / 21).otherwise(pl.col("p_value")))}  # fmt: skip
    claim = one(claims(less, "paper"), "varies more than if")
    assert (claim["here"], claim["direction"]) == ("above their mean in 6 of 6 pairs, above every refit in 5", "no")


def test_learning_stops_sooner_under_the_null(made):
    epochs = made["nulls"].filter(pl.col("statistic") == "epoch", pl.col("method") == "paper")
    claim = one(claims(made, "paper"), "goes on for longer")
    assert claim["here"] == f"a later epoch is kept in {epochs.height} of {epochs.height} pairs"
    turned = made | {"nulls": made["nulls"].rename({"observed": "null_mean", "null_mean": "observed"})}
    assert one(claims(turned, "paper"), "goes on for longer")["direction"] == "no"


def test_signs_are_held_against_chance_and_not_against_a_half():
    everything = tables(papers_pairs(48), methods=("paper",), raw=False)
    agreed = everything["seed_pairs"].group_by("pair").agg(pl.col("sign_agreement").mean())["sign_agreement"]
    claim = one(claims(everything, "paper"), "signs agree")
    low, high = (round(value, 2) for value in (agreed.min(), agreed.max()))
    assert claim["here"] == f"{low:.2f} to {high:.2f}, where unrelated fields would give 0.55"
    assert claim["direction"] == "yes"
    likely = everything | {"seed_pairs": everything["seed_pairs"].with_columns(sign_by_chance=pl.lit(0.99))}
    assert one(claims(likely, "paper"), "signs agree")["direction"] == "no"


def test_seeds_without_a_correlation_are_counted():
    everything = tables(papers_pairs(48), methods=("paper",), raw=False)
    first = everything["seed_pairs"].row(0, named=True)
    here = (pl.col("pair") == first["pair"]) & (pl.col("seed_a") == first["seed_a"])
    less = everything | {"seed_pairs": everything["seed_pairs"].with_columns(
        correlation=pl.when(here).then(None).otherwise(pl.col("correlation")),
        sign_agreement=pl.when(here).then(0.0).otherwise(pl.col("sign_agreement")))}  # fmt: skip
    n, of = int(less["seed_pairs"]["correlation"].null_count()), less["seed_pairs"].height
    assert n
    assert one(claims(less, "paper"), "seeds correlate")["here"].endswith(f"; {n} of {of} pairs of seeds are undefined")
    agreed = less["seed_pairs"].drop_nulls("correlation").group_by("pair").agg(pl.col("sign_agreement").mean())
    assert one(claims(less, "paper"), "signs agree")["here"].startswith(f"{agreed['sign_agreement'].min():.2f} to")


@pytest.mark.parametrize("larger", [True, False])
def test_one_pair_says_nothing_of_every_pair(larger):
    alone = tables(papers_pairs(48), methods=("paper",), raw=False)
    first = alone["nulls"]["pair"][0]
    nulls = alone["nulls"].filter(pl.col("pair") == first).with_columns(p_value=pl.lit(1 / 21 if larger else 0.5))
    claim = one(claims(alone | {"nulls": nulls}, "paper"), "varies more than if")
    assert claim["direction"] == "cannot be said from 1 pair"


def test_no_pair_above_the_threshold_is_told(made):
    none = made | {"thresholds": made["thresholds"].with_columns(smece_gap=pl.col("smece_gap").clip(None, 0.05))}
    claim = one(claims(none, "paper"), "at every threshold")
    assert (claim["here"], claim["direction"], claim["n"]) == ("0 of 16 pairs", "no", 16)
    assert not [claim for claim in claims(none, "paper") if "Brier score is worse" in claim["says"]]


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
    assert claim["here"] == f"rising in {rising} of 16 lines of three models or more"
    # 13 of 16 is the least that a two-sided sign test at 5 % tells from a half
    assert claim["direction"] == ("yes" if rising >= 13 else "no" if rising <= 3 else "cannot be said from 16 lines")
    larger = everything | {"pairs": everything["pairs"].with_columns(delta_std=pl.col("billions") / 100)}
    assert one(claims(larger, "auto"), "In several families")["direction"] == "yes"


def test_nothing_is_claimed_of_nothing():
    assert claims(frames({}), "auto") == []


def test_one_large_gap_is_not_many(made):
    few = made | {"pairs": made["pairs"].with_columns(
        gap_clipped=pl.when(pl.col("pair") == made["pairs"]["pair"][0]).then(0.5).otherwise(0.01))}  # fmt: skip
    assert one(claims(few, "paper"), "Many pairs")["direction"] == "no"


def test_medians_of_brier_gaps_rest_on_the_pairs_that_have_them(made):
    rows = made["thresholds"].filter(pl.col("method") == "paper", pl.col("geometry") == "learned")
    large = rows.filter(pl.col("by") == "smece", pl.col("smece_gap") > 0.06)
    claim = one(claims(made, "paper"), "Brier score is worse")
    assert claim["n"] == max(large["epsilon"].value_counts()["count"])


def test_signs_of_neighbours_have_no_direction(made):
    found = claims(made, "auto")
    assert one(found, "share the sign")["direction"] == "no direction"
    assert one(found, "share their category")["direction"] == "cannot be said from 2 pairs"
    assert not [claim for claim in found if "outcome" in claim["says"]]


def test_correlations_over_thresholds(made):
    rows = made["thresholds"].filter(pl.col("method") == "paper", pl.col("geometry") == "learned").drop_nulls("worst")
    own = rows.filter(pl.col("by") == "smece")
    r = np.corrcoef(own["smece_gap"], own["brier_gap"])[0, 1]
    assert one(claims(made, "paper"), "slice worst by smECE.")["here"].startswith(f"Pearson {r:.2f},")
