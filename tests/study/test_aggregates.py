"""Numbers of many pairs, from made tables, against plain loops."""

import math
import statistics
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from miscal.calibration.metrics.gap import measure_gap
from miscal.evidence.stability import slice_bootstrap
from miscal.study.aggregates import (
    LARGE_GAP,
    deferral_numbers,
    forgetting,
    heterogeneity_gain,
    improvements,
    null_numbers,
    pearson,
    raw_beside_learned,
    seed_numbers,
    size_trends,
    spearman,
    threshold_correlations,
    threshold_numbers,
    verdict,
)
from miscal.study.tables import TABLES, frame

DATASETS, MODELS = ("mmlu", "hh"), tuple(f"m{k}" for k in range(6))


def table(name, rows):
    """A table with all columns of the study's, those that a test does not need null."""
    return frame(name, [{column: row.get(column) for column in TABLES[name]} for row in rows])


def keys():
    for dataset, model in product(DATASETS, MODELS):
        yield {"pair": f"{dataset}-{model}", "dataset": dataset, "model": model}


def pair_rows(seed=0):
    """Pairs under both methods; "paper" has raw rows, and some pairs have no worst slice."""
    rng = np.random.default_rng(seed)
    rows = []
    for key in keys():
        for method, geometry in (("paper", "learned"), ("paper", "raw"), ("auto", "learned")):
            gap = float(rng.normal(0.04, 0.05)) if rng.random() < 0.8 else None
            row = key | {"method": method, "geometry": geometry, "gap": gap, "gap_clipped": max(0.0, gap or 0.0)}
            names = ("worst", "gap_boot_mean", "gap_boot_mean_clipped", "gap_interval_low", "gap_low", "share_worst")
            row |= dict.fromkeys(names)
            if gap is not None:
                row["worst"] = str(rng.choice(["over", "under"]))
                row |= {"gap_boot_mean": gap + 0.001, "gap_boot_mean_clipped": max(0.0, gap) + 0.002}
                row |= {"gap_low": gap - 0.03, "share_worst": float(rng.random())}
                row["gap_interval_low"] = None if geometry == "raw" else max(0.0, gap - 0.04)
            number = int(key["model"][1:])
            row |= {"delta_std": float(rng.random()), "family": f"f{number % 2}", "billions": number + 1.0}
            rows.append(row | {"min_rows": 30})
    return rows


def of(rows, method, geometry="learned"):
    return [row for row in rows if (row["method"], row["geometry"]) == (method, geometry)]


@pytest.mark.parametrize("method", ["paper", "auto"])
def test_gaps_are_counted_and_averaged(method):
    rows = pair_rows()
    found, some = verdict(table("pairs", rows), method).row(0, named=True), of(rows, method)
    large = [row for row in some if row["gap"] is not None and row["gap"] >= LARGE_GAP]
    assert found["n_pairs"] == len(some)
    assert found["n_gap_large"] == len(large) > 0
    assert found["n_gap_above_zero"] == sum(row["gap"] is not None and row["gap"] > 0 for row in some)
    beyond = [row for row in some if row["gap_interval_low"] is not None and row["gap_interval_low"] > 0]
    assert 0 < found["n_gap_beyond_chance"] == len(beyond) < found["n_gap_above_zero"]
    # the mean of cut-off draws, not the cut-off mean of draws
    means = [row["gap_boot_mean_clipped"] or 0.0 for row in some]
    assert (found["mean_gap"], found["median_gap"]) == pytest.approx((statistics.mean(means), statistics.median(means)))
    assert found["mean_share_worst"] == pytest.approx(statistics.mean(row["share_worst"] for row in large))


def test_raw_and_learned_gaps_are_paired():
    rows = pair_rows()
    # a pair whose raw inputs were not measured is left out
    rows = [row for row in rows if (row["pair"], row["geometry"]) != ("hh-m0", "raw")]
    found = raw_beside_learned(table("pairs", rows))
    learned = {row["pair"]: row["gap_clipped"] for row in of(rows, "paper")}
    raw = {row["pair"]: row["gap_clipped"] for row in of(rows, "paper", "raw")}
    assert found.height == len(raw) == 11
    assert {row["pair"]: row["difference"] for row in found.iter_rows(named=True)} == pytest.approx(
        {pair: learned[pair] - raw[pair] for pair in raw}
    )
    assert {row["pair"]: (row["gap_clipped_raw"], row["gap_clipped"]) for row in found.iter_rows(named=True)} == {
        pair: (raw[pair], learned[pair]) for pair in raw
    }


def test_trends_over_size_are_rank_correlations_within_a_family():
    rows = pair_rows()
    found = size_trends(table("pairs", rows), "paper").rows_by_key(["dataset", "family"], named=True, unique=True)
    for dataset, family in product(DATASETS, ("f0", "f1")):
        some = [row for row in of(rows, "paper") if (row["dataset"], row["family"]) == (dataset, family)]
        expected = stats.spearmanr([row["billions"] for row in some], [row["delta_std"] for row in some]).statistic
        assert found[dataset, family]["n"] == 3
        assert found[dataset, family]["spearman"] == pytest.approx(expected)


def correction_rows(rows, seed=1):
    rng = np.random.default_rng(seed)
    return [
        {name: row[name] for name in ("pair", "dataset", "model", "method", "geometry")}
        | {"calibrator": calibrator, "region": region, "n": n, "smece": float(rng.random()) if n else None}
        for row in rows
        for region in ("all", "over", "under", "good")
        for n in [int(rng.choice([0, 20, 200]))]
        for calibrator in ("raw", "miscal", "isotonic", "temperature", "platt")
    ]


def test_improvements_average_over_models_what_a_correction_lowers():
    rows = pair_rows()
    scored = correction_rows(rows)
    found = improvements(table("corrections", scored), table("pairs", rows), "paper")
    enough = [row for row in of(scored, "paper") if row["n"] >= 30]
    smece = {(row["dataset"], row["model"], row["region"], row["calibrator"]): row["smece"] for row in enough}
    for row in found.iter_rows(named=True):
        saved = [
            smece[row["dataset"], model, row["region"], "raw"] - smece[row["dataset"], model, row["region"], name]
            for model in MODELS
            for name in [row["calibrator"]]
            if (row["dataset"], model, row["region"], name) in smece
        ]
        assert (row["n_pairs"], row["n_all"]) == (len(saved), len(MODELS))
        assert row["mean"] == pytest.approx(statistics.mean(saved))
        assert row["std"] == (pytest.approx(statistics.stdev(saved)) if len(saved) > 1 else None)
    measured = {(dataset, region, name) for dataset, _, region, name in smece if name != "raw"}
    assert {row[:3] for row in found.rows()} == measured


def test_the_gain_over_isotonic_regression_is_of_the_worst_slice():
    rows = pair_rows()
    scored = correction_rows(rows)
    gains, found = heterogeneity_gain(table("pairs", rows), table("corrections", scored), "paper")
    smece = {(row["pair"], row["region"], row["calibrator"]): row["smece"] for row in of(scored, "paper")}
    expected = {}
    for row in of(rows, "paper"):
        if row["worst"] and smece[row["pair"], row["worst"], "isotonic"] is not None:
            ours, isotonic = (smece[row["pair"], row["worst"], name] for name in ("miscal", "isotonic"))
            expected[row["pair"]] = (row["delta_std"], isotonic - ours)
    points = {row["pair"]: (row["delta_std"], row["gain"]) for row in gains.iter_rows(named=True)}
    assert points == expected
    assert len(points) >= 4
    assert found.n == len(expected)
    assert found.value == pytest.approx(stats.spearmanr(*zip(*expected.values(), strict=True)).statistic)


def threshold_rows(seed=2):
    rng = np.random.default_rng(seed)
    rows = []
    for key, epsilon, by in product(keys(), (0.01, 0.05), ("smece", "brier")):
        known = rng.random() < 0.85
        numbers = {name: float(rng.normal(0.06, 0.05)) if known else None for name in ("smece_gap", "brier_gap")}
        share = float(rng.random()) if known else None
        rows.append(
            key | {"method": "paper", "geometry": "learned", "epsilon": epsilon, "by": by, "share": share} | numbers
        )
    return rows


def test_thresholds_describe_the_pairs_with_a_large_gap_there():
    rows = threshold_rows()
    found = threshold_numbers(table("thresholds", rows), "paper")
    assert found["epsilon"].to_list() == [0.01, 0.05]
    for row in found.iter_rows(named=True):
        some = [one for one in rows if one["epsilon"] == row["epsilon"] and one["by"] == "smece"]
        large = [one for one in some if one["smece_gap"] is not None and one["smece_gap"] > LARGE_GAP]
        assert (row["n"], row["n_pairs"]) == (len(large), len(some))
        assert row["smece_gap"] == pytest.approx(statistics.median(one["smece_gap"] for one in large))
        assert row["brier_gap"] == pytest.approx(statistics.median(one["brier_gap"] for one in large))
        quartiles = statistics.quantiles([one["share"] for one in large], n=4, method="inclusive")
        assert [row[f"share_{name}"] for name in ("quarter", "median", "three_quarters")] == pytest.approx(quartiles)


def test_threshold_correlations_are_over_pair_and_epsilon():
    rows = threshold_rows()
    found = threshold_correlations(table("thresholds", rows), "paper")
    gaps = {(row["pair"], row["epsilon"], row["by"]): (row["smece_gap"], row["brier_gap"]) for row in rows}
    places = sorted({place[:2] for place in gaps})
    by_smece = [gaps[*place, "smece"] for place in places if gaps[*place, "smece"][0] is not None]
    both = [
        (gaps[*place, "smece"], gaps[*place, "brier"])
        for place in places
        if None not in (gaps[*place, "smece"][0], gaps[*place, "brier"][0])
    ]
    apart = [[(a[side], b[side]) for a, b in both] for side in (0, 1)]
    expected = {"brier_on_smece": by_smece, "smece_gaps": apart[0], "brier_gaps": apart[1]}
    for name, points in expected.items():
        rows, pearsons, spearmans = found[name]
        assert rows.select("x", "y").rows() == points
        assert pearsons.value == pytest.approx(np.corrcoef(*zip(*points, strict=True))[0, 1])
        assert spearmans.value == pytest.approx(stats.spearmanr(*zip(*points, strict=True)).statistic)


def test_audits_are_laid_out_by_pair():
    rng = np.random.default_rng(3)
    nulls = [
        key
        | {"method": "paper", "null": null, "statistic": name, "n_draws": 20}
        | dict(zip(("observed", "null_mean", "null_std", "p_value"), rng.random(4).tolist(), strict=True))
        for key in keys()
        for null in ("permuted", "visible")
        for name in ("delta_std", "gap", "epoch")
        # "auto" has no epochs
        if (name, key["model"]) != ("epoch", "m0")
    ]
    found = null_numbers(table("nulls", nulls), "paper").rows_by_key("pair", named=True, unique=True)
    assert len(found) == 12
    for row in nulls:
        if row["null"] == "permuted":
            name, at = row["statistic"], found[row["pair"]]
            told = [at[name], at[f"{name}_null_mean"], at[f"{name}_null_std"], at[f"{name}_p"]]
            assert told == [row[column] for column in ("observed", "null_mean", "null_std", "p_value")]

    assert {pair for pair, row in found.items() if row["epoch"] is None} == {"mmlu-m0", "hh-m0"}


def test_seeds_are_averaged_by_pair_with_clipped_gaps():
    rng, method = np.random.default_rng(4), {"method": "paper"}
    seeds = [
        key | method | {"seed": seed, "gap": gap, "delta_std": float(rng.random())}
        for key in keys()
        for seed, gap in enumerate([None, -0.2, 0.1])
    ]
    together = [
        {**key, **method, "seed_a": a, "seed_b": a + 1, "correlation": float(rng.random())}
        | {"sign_agreement": 0.5, "sign_by_chance": 0.4 + 0.1 * a}
        for key in keys()
        for a in range(2)
    ]
    found = seed_numbers(table("seeds", seeds), table("seed_pairs", together), "paper")
    for row in found.iter_rows(named=True):
        assert row["n_seeds"] == 3
        assert (row["gap_mean"], row["gap_std"]) == pytest.approx((0.1 / 3, statistics.stdev([0, 0, 0.1])))
        spreads = [one["delta_std"] for one in seeds if one["pair"] == row["pair"]]
        assert row["delta_std_std"] == pytest.approx(statistics.stdev(spreads))
        correlations = [one["correlation"] for one in together if one["pair"] == row["pair"]]
        assert row["correlation_mean"] == pytest.approx(statistics.mean(correlations))
        assert row["sign_agreement_std"] == 0.0
        assert row["sign_by_chance_mean"] == pytest.approx(0.45)
        assert (row["n_seed_pairs"], row["n_undefined"]) == (2, 0)


def test_seeds_with_a_constant_field_are_left_out_of_correlation_and_signs_alike():
    key = next(keys()) | {"method": "paper"}
    seeds = [key | {"seed": seed, "gap": 0.1, "delta_std": 0.1} for seed in range(3)]
    defined = {"seed_a": 0, "seed_b": 1, "correlation": 0.95, "sign_agreement": 0.9, "sign_by_chance": 0.5}
    flat = [
        {"seed_a": a, "seed_b": 2, "correlation": None, "sign_agreement": 0.01, "sign_by_chance": 0.5} for a in (0, 1)
    ]
    found = seed_numbers(table("seeds", seeds), table("seed_pairs", [key | one for one in (defined, *flat)]), "paper")
    [row] = found.iter_rows(named=True)
    assert (row["correlation_mean"], row["sign_agreement_mean"]) == (0.95, 0.9)
    assert (row["n_seed_pairs"], row["n_undefined"]) == (3, 2)


def test_deferral_counts_pairs_beyond_chance():
    rng = np.random.default_rng(5)
    rows = []
    for key, at in product(keys(), ("area", "0.5")):
        low, gain, high = sorted(rng.normal(0, 0.1, 3).tolist())
        rows.append(key | {"method": "auto", "at": at, "raw": gain + 0.3, "corrected": 0.3, "gain": gain}
                    | {"gain_low": low, "gain_high": high})  # fmt: skip
    for row in deferral_numbers(table("deferral_gains", rows), "auto").iter_rows(named=True):
        some = [one for one in rows if one["at"] == row["at"]]
        assert row["n_pairs"] == 12
        assert row["gain"] == pytest.approx(statistics.mean(one["gain"] for one in some))
        assert row["n_helped"] == sum(one["gain_low"] > 0 for one in some)
        assert row["n_harmed"] == sum(one["gain_high"] < 0 for one in some)


def test_tables_without_rows_give_numbers_without_values():
    empty = {name: table(name, []) for name in TABLES}
    [gaps] = verdict(empty["pairs"], "paper").to_dicts()
    assert [gaps[name] for name in ("n_pairs", "n_gap_large", "mean_gap", "mean_share_worst")] == [0, 0, None, None]
    assert raw_beside_learned(empty["pairs"]).is_empty()
    assert heterogeneity_gain(empty["pairs"], empty["corrections"], "paper")[1].value is None
    assert threshold_correlations(empty["thresholds"], "paper")["smece_gaps"][1].n == 0
    frames = [improvements(empty["corrections"], empty["pairs"], "paper"), size_trends(empty["pairs"], "paper")]
    frames += [threshold_numbers(empty["thresholds"], "paper"), null_numbers(empty["nulls"], "paper")]
    frames.append(seed_numbers(empty["seeds"], empty["seed_pairs"], "paper"))
    frames.append(deferral_numbers(empty["deferral_gains"], "paper"))
    assert all(frame.height == 0 and frame.width >= 4 for frame in frames)


def test_correlations_agree_with_scipy_and_say_when_there_is_none():
    rng = np.random.default_rng(6)
    a = rng.random(12)
    b = np.round(a + rng.random(12), 1)
    known = stats.pearsonr(a, b)
    ends = known.confidence_interval()
    found = pearson(a, b)
    assert (found.value, found.low, found.high, found.n) == pytest.approx((known.statistic, ends.low, ends.high, 12))
    assert spearman(a, b).value == pytest.approx(stats.spearmanr(a, b).statistic)
    assert pearson(a, np.ones(12)).value is None
    assert spearman(a[:2], b[:2]).value is None
    assert spearman(a, a**3) == spearman(a, a)
    assert spearman(a, a).value == pytest.approx(1.0)


def test_the_interval_of_a_rank_correlation_covers_it_as_often_as_it_says():
    # bivariate normal: Spearman's rho is 6 / pi asin(r / 2)
    rng, r, n = np.random.default_rng(7), 0.6, 48
    truth, hits = 6 / math.pi * math.asin(r / 2), 0
    for _ in range(400):
        a = rng.standard_normal(n)
        found = spearman(a, r * a + math.sqrt(1 - r * r) * rng.standard_normal(n))
        hits += found.low <= truth <= found.high
    # 95 % of 400 with a standard error of 1.1 %
    assert 0.915 <= hits / 400 <= 0.985


# --- calibrated models: nearly every one has a gap above 0, and few are counted as beyond chance ---


N_PAIRS, N_ROWS = 100, 600
SAVED = [f"log_loss_saved{local}_{end}" for local in ("", "_local") for end in ("low", "high")]


def calibrated(k: int) -> dict:
    """One pair: outcomes are drawn from the confidences, and slices say nothing about them."""
    rng = np.random.default_rng((31, k))
    f = rng.uniform(0.3, 0.95, N_ROWS)
    y = (rng.random(N_ROWS) < f).astype(float)
    regime = rng.choice(["over", "good", "under"], N_ROWS)
    gap = measure_gap(y, f, regime, n_draws=100, random_state=k)
    drawn = slice_bootstrap(y, f, regime, n_draws=100, random_state=k).gap
    found = {"gap_clipped": max(0.0, gap.value), "gap_interval_low": gap.interval[0], "gap_low": drawn.low}
    return found | {"gap_boot_mean_clipped": drawn.mean_clipped, "share_worst": float(np.mean(regime == gap.worst))}


@pytest.mark.slow
def test_calibrated_pairs_are_seldom_beyond_chance():
    named = {"pair": "p", "dataset": "noise", "method": "auto", "geometry": "learned"}
    pairs = pl.DataFrame([named | calibrated(k) for k in range(N_PAIRS)])
    [found] = verdict(pairs.with_columns(p_hidden=0.5, **dict.fromkeys(SAVED, 0.0)), "auto").to_dicts()
    # 5 % of 100, and three standard errors
    assert found["n_gap_beyond_chance"] <= 11
    # neither the sign of the gap nor the bootstrap's percentiles are a test
    assert found["n_gap_above_zero"] > 0.9 * N_PAIRS
    assert (pairs["gap_low"] > 0).sum() > 0.25 * N_PAIRS


# --- which pairs forget the category and keep the error, counted on tables made by hand ---


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
