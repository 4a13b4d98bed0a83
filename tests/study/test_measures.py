"""The numbers of a planted pair against plain loops over the table of its run."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.metrics.smooth import smece
from miscal.estimators.paper.readout import range_aware
from miscal.study import measures
from miscal.study.measures import INTERPRETING, MEASURES
from miscal.study.pair_result import units
from miscal.study.tables import TABLES

from .planted import planted

pytestmark = pytest.mark.whole

METHODS = ("paper", "auto")
TYPES = {pl.String: str, pl.Int64: int, pl.Float64: float, pl.Boolean: bool}


def rows_of(method):
    """The evaluation rows, as dicts with their regime."""
    result = planted(method)
    return [row for row in result.found.table.iter_rows(named=True) if row["split"] in (None, "test")]


def residual_smece(rows):
    return smece([row["correct"] for row in rows], [row["confidence"] for row in rows])


def brier_of(rows):
    return sum((row["correct"] - row["confidence"]) ** 2 for row in rows) / len(rows)


def only(rows, **wanted):
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_row_has_the_columns_of_its_table_in_their_types_and_no_number_is_nan(method):
    assert not set(MEASURES) & set(INTERPRETING)
    for measure in MEASURES:
        for name, rows in measure(planted(method)).items():
            assert rows
            for row in rows:
                assert set(row) == set(TABLES[name])
                for column, kind in TABLES[name].items():
                    value = row[column]
                    assert value is None or type(value) is TYPES[kind], (name, column, value)
                    assert kind != pl.Float64 or value is None or math.isfinite(value)


@pytest.mark.parametrize("method", METHODS)
def test_the_field_is_described_as_by_a_plain_loop(method):
    rows = rows_of(method)
    found = only(measures.measure_pair(planted(method))["pairs"], geometry="learned")
    delta = [row["delta"] for row in rows]
    mean = sum(delta) / len(delta)
    assert found["n_test"] == len(rows)
    assert found["delta_mean"] == pytest.approx(mean)
    assert found["delta_std"] == pytest.approx(math.sqrt(sum((d - mean) ** 2 for d in delta) / len(delta)))
    known = [row["delta"] for row in rows if row["regime"] is not None]
    assert found["share_unsupported"] == sum(not row["supported"] for row in rows) / len(rows)
    assert found["share_over"] == sum(d < -0.05 for d in known) / len(rows)
    assert found["share_under"] == sum(d > 0.05 for d in known) / len(rows)
    assert found["accuracy"] == pytest.approx(sum(row["correct"] for row in rows) / len(rows))
    assert found["brier"] == pytest.approx(brier_of(rows))
    assert found["std_hidden"] == pytest.approx(np.std([row["delta"] - row["visible"] for row in rows]))


@pytest.mark.parametrize("method", METHODS)
def test_the_worst_slice_is_the_larger_smece_of_the_two(method):
    rows = rows_of(method)
    found = only(measures.measure_pair(planted(method))["pairs"], geometry="learned")
    by_slice = {name: [row for row in rows if row["regime"] == name] for name in ("over", "under")}
    errors = {name: residual_smece(some) for name, some in by_slice.items() if len(some) >= 30}
    worst = max(errors, key=errors.get)
    assert found["worst"] == worst
    assert found["gap"] == pytest.approx(errors[worst] - residual_smece(rows))
    assert found["gap"] == pytest.approx(planted(method).found.summary.gap.value)
    assert found["gap_p"] == planted(method).found.summary.gap.p_value
    assert found["share_worst"] == len(by_slice[worst]) / len(rows)
    assert found["brier_gap"] == pytest.approx(brier_of(by_slice[worst]) - brier_of(rows))
    assert found["gap_low"] <= found["gap_boot_mean"] <= found["gap_high"]
    assert found["share_low"] <= found["share_worst"] <= found["share_high"]


def test_a_slice_with_too_few_rows_is_not_worst_and_its_gap_counts_as_zero():
    result = planted("paper")
    few = replace(result, pair=result.pair.model_copy(update={"min_rows": 10_000}))
    for found in measures.measure_pair(few)["pairs"]:
        assert found["gap_clipped"] == 0.0
        assert found["min_rows"] == 10_000
        nothing = ("worst", "gap", "gap_boot_mean", "gap_low", "gap_high", "share_worst", "share_low", "brier_gap")
        assert [found[name] for name in nothing] == [None] * len(nothing)
    one = replace(result, pair=result.pair.model_copy(update={"min_rows": 1}))
    assert all(at["n"] >= 1 for at in measures.measure_thresholds(one)["thresholds"] if at["worst"])


def test_diagrams_of_regimes_respect_the_fewest_rows_of_a_slice():
    result = planted("paper")
    sizes = {name: int(rows.sum()) for name, rows in result.learned.regions.items()}
    for least in (1, sizes["over"], sizes["over"] + 1):
        of = replace(result, pair=result.pair.model_copy(update={"min_rows": least}))
        drawn = {row["value"] for row in measures.measure_curves(of)["curves"] if row["column"] == "regime"}
        assert drawn == {name for name, size in sizes.items() if size >= least}
    few = replace(result.learned, epsilon=float(np.sort(np.abs(result.learned.delta))[-4]))
    of = replace(result, pair=result.pair.model_copy(update={"min_rows": 1}))
    of.__dict__["learned"] = few
    kept = [row for row in measures.measure_curves(of)["curves"] if row["value"] in ("over", "under")]
    assert sum(row["n"] for row in kept) == 3


@pytest.mark.parametrize("method", METHODS)
def test_saved_log_loss_is_a_mean_over_rows_with_its_interval(method):
    saved = []
    for row in rows_of(method):
        pair = [min(max(row[name], 1e-4), 1 - 1e-4) for name in ("confidence", "corrected")]
        before, after = (-math.log(p if row["correct"] else 1 - p) for p in pair)
        saved.append(before - after)
    found = only(measures.measure_pair(planted(method))["pairs"], geometry="learned")
    mean, error = np.mean(saved), np.std(saved, ddof=1) / math.sqrt(len(saved))
    assert found["log_loss_saved"] == pytest.approx(mean)
    assert found["log_loss"] - found["log_loss_corrected"] == pytest.approx(mean)
    # Student's quantile is 1.96 to 1.98 from 125 rows on
    ends = np.array([found["log_loss_saved_low"], found["log_loss_saved_high"]])
    assert np.abs(ends - mean) == pytest.approx([1.97 * error] * 2, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_the_map_of_the_confidence_alone_is_chosen_in_training(method):
    result = planted(method)
    table, y, f = result.found.table, result.triples.correct, result.triples.confidence
    names = ("isotonic", "temperature", "platt")

    def losses(p, rows):
        clipped = np.clip(p, 1e-4, 1 - 1e-4)
        return [-math.log(clipped[k] if y[k] else 1 - clipped[k]) for k in rows]

    if method == "paper":
        parts = [tuple(np.flatnonzero(result.triples.split == name) for name in ("train", "val", "test"))]
        fits = [{name: CALIBRATORS[name]().fit(y[a], f[a]).predict(f) for name in names} for a, _, _ in parts]
    else:
        fold = table["fold"].to_numpy()
        parts = [tuple(np.flatnonzero(rows) for rows in (fold != k, fold != k, fold == k)) for k in np.unique(fold)]
        folded = {name: np.empty(len(f)) for name in names}
        for learned, _, inside in parts:
            for name in names:
                folded[name][inside] = CALIBRATORS[name]().fit(y[learned], f[learned]).predict(f[inside])
        fits = [folded] * len(parts)
    expected = {}
    for (_, judged, inside), fitted in zip(parts, fits, strict=True):
        values = {"raw": f} | fitted
        best = min(values, key=lambda name: np.mean(losses(values[name], judged)))
        expected |= dict(zip(inside, losses(values[best], inside), strict=True))
    found = only(measures.measure_pair(result)["pairs"], geometry="learned")
    assert found["log_loss_global"] == pytest.approx(np.mean(list(expected.values())))
    assert found["log_loss_saved_local"] == pytest.approx(found["log_loss_global"] - found["log_loss_corrected"])
    assert found["log_loss_saved_local_low"] < found["log_loss_saved_local"] < found["log_loss_saved_local_high"]


def test_copies_of_rows_in_a_group_make_no_interval_shorter():
    result = planted("auto")
    copies = np.repeat(np.arange(len(result.triples)), 4)
    found = replace(result.found, table=result.found.table[copies])
    alone = replace(result, triples=result.triples.take(copies), found=found)
    named = replace(alone, triples=replace(alone.triples, group=copies))

    def intervals(of):
        pair = only(measures.measure_pair(of)["pairs"], geometry="learned")
        gain = only(measures.measure_deferral(of)["deferral_gains"], at="0.8")
        curve = next(row for row in measures.measure_curves(of)["curves"] if row["value"] == "over")
        ends = {
            "gap": (pair["gap_low"], pair["gap"], pair["gap_high"]),
            "share": (pair["share_low"], pair["share_worst"], pair["share_high"]),
            "gain": (gain["gain_low"], gain["gain"], gain["gain_high"]),
            "curve": (curve["low"], curve["accuracy"], curve["high"]),
            "saved": tuple(pair[f"log_loss_saved{end}"] for end in ("_low", "", "_high")),
        }
        return {name: np.array(values) for name, values in ends.items()}

    once, copied, free = (intervals(one) for one in (result, named, alone))
    for name, (low, value, high) in once.items():
        assert copied[name][1] == pytest.approx(value, abs=0.01), name
        assert np.ptp(copied[name]) > 0.8 * (high - low), name
        # what is saved counts rows of equal inputs as one, whether or not they are named
        assert (np.ptp(free[name]) < 0.7 * (high - low)) == (name != "saved"), name


def test_rows_of_equal_inputs_count_as_one_but_not_where_inputs_take_few_values():
    triples = planted("auto").triples
    twice = replace(triples, X=np.repeat(triples.X[::2], 2, axis=0))
    assert units(twice).tolist() == np.repeat(np.arange(len(triples) // 2), 2).tolist()
    assert units(replace(triples, X=(triples.X[:, :1] > 0).astype(np.float32))).tolist() == list(range(len(triples)))


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_of_the_gap_is_that_of_the_summary_and_the_learned_geometry_s_alone(method):
    result = planted(method)
    gap, table = result.found.summary.gap, measures.measure_pair(result)["pairs"]
    found = only(table, geometry="learned")
    assert (found["gap_interval_low"], found["gap_interval_high"]) == gap.interval
    assert (found["gap_floor"], found["gap"]) == (gap.floor, pytest.approx(gap.value))
    assert all(row["gap_interval_low"] is None for row in table if row["geometry"] == "raw")
    for row in table:
        # a mean of cut-off draws is at least the cut-off mean
        assert row["gap_boot_mean_clipped"] >= max(0.0, row["gap_boot_mean"])


@pytest.mark.parametrize("method", METHODS)
def test_what_is_certified_is_the_limit_and_not_its_estimate(method):
    result = planted(method)
    found, proof = only(measures.measure_pair(result)["pairs"], geometry="learned"), result.found.summary.certificate
    for name, bound in (("limit_total", proof.lower_bound_total), ("limit_hidden", proof.lower_bound_hidden)):
        assert found[name] == bound.interval[0]
        assert 0 <= found[name] < bound.value


def test_what_only_one_method_or_geometry_has_is_null_elsewhere():
    learned, raw = measures.measure_pair(planted("paper"))["pairs"]
    (auto,) = measures.measure_pair(planted("auto"))["pairs"]
    assert (learned["sigma"], learned["lambda"]) == (0.3, 0.01)
    assert learned["epoch"] in (1, 2)
    assert learned["n_train"] + learned["n_val"] + learned["n_test"] == learned["n"]
    assert all(auto[name] is None for name in ("sigma", "lambda", "epoch", "alpha", "proxy", "n_train", "n_val"))
    assert all(raw[name] is None for name in ("lambda", "epoch", "structure", "p_total", "n_findings", "finding"))
    assert (learned["evidence"], auto["evidence"]) == ("test", "all")
    same = ("accuracy", "confidence", "smece", "brier", "log_loss", "n_test", "std_visible")
    assert [learned[name] for name in same] == [raw[name] for name in same]


def raw_by_loop():
    """The paper's bank smoothed in x at the chosen bandwidth: delta of each test row."""
    result = planted("paper")
    triples, fitted = result.triples, result.found.model.field.fitted_
    bank = [triples.row.tolist().index(k) for k in fitted.bank_rows_]
    # the rows whose representation the model stores, so that the numbering is the right one
    assert fitted.transform(triples.X[bank]) == pytest.approx(fitted.bank_coordinates_, abs=1e-6)
    assert all(triples.split[i] == "train" for i in bank)
    sigma = result.raw.chosen["sigma"]
    delta = []
    for x in triples.X[triples.split == "test"].astype(float):
        weights = [math.exp(-np.sum((x - triples.X[i]) ** 2) / sigma**2) for i in bank]
        residuals = [triples.correct[i] - triples.confidence[i] for i in bank]
        delta.append(sum(w * r for w, r in zip(weights, residuals, strict=True)) / sum(weights))
    return np.array(delta)


def test_the_raw_geometry_smooths_the_bank_of_the_paper_over_its_inputs():
    result, delta = planted("paper"), raw_by_loop()
    assert result.raw.delta == pytest.approx(delta, abs=1e-5)
    found = only(measures.measure_pair(result)["pairs"], geometry="raw")
    assert found["delta_std"] == pytest.approx(delta.std(), abs=1e-5)
    y, f = result.learned.correct, result.learned.confidence
    gaps = [smece(y[rows], f[rows]) - smece(y, f) for rows in (delta < -0.05, delta > 0.05)]
    assert found["gap"] == pytest.approx(max(gaps))
    assert result.raw.corrected == pytest.approx(range_aware(f, delta, found["alpha"]), abs=1e-4)


def test_the_raw_geometry_is_left_out_where_it_is_not_asked_for_or_has_no_test_rows():
    result = planted("paper")
    without = replace(result, pair=result.pair.model_copy(update={"raw": False}))
    for one in (without, planted("auto")):
        assert one.raw is None
        assert {row["geometry"] for row in measures.measure_histograms(one)["histograms"]} == {"learned"}


@pytest.mark.parametrize("geometry", ["learned", "raw"])
def test_corrections_are_scored_in_the_regions_of_the_field(geometry):
    result = planted("paper")
    table = [row for row in measures.measure_corrections(result)["corrections"] if row["geometry"] == geometry]
    seen = result.geometries[geometry]
    y, f, split = result.triples.correct, result.triples.confidence, result.triples.split
    fitted = CALIBRATORS["isotonic"]().fit(y[split == "train"], f[split == "train"])
    values = {"raw": seen.confidence, "miscal": seen.corrected, "isotonic": fitted.predict(seen.confidence)}
    regions = {
        "over": [k for k, d in enumerate(seen.delta) if d < -0.05 and seen.local[k]],
        "under": [k for k, d in enumerate(seen.delta) if d > 0.05 and seen.local[k]],
        "good": [k for k, d in enumerate(seen.delta) if -0.05 <= d <= 0.05 and seen.local[k]],
        "all": range(len(seen.delta)),
    }
    for name, confidence in values.items():
        for region, rows in regions.items():
            found = only(table, calibrator=name, region=region)
            assert found["n"] == len(rows)
            errors = [(seen.correct[k] - confidence[k]) ** 2 for k in rows]
            assert found["brier"] == pytest.approx(np.mean(errors))
            assert found["smece"] == pytest.approx(smece(seen.correct[rows], confidence[rows]))
    assert len(table) == 5 * 4


@pytest.mark.parametrize("method", METHODS)
def test_thresholds_follow_a_plain_loop(method):
    rows, table = rows_of(method), measures.measure_thresholds(planted(method))["thresholds"]
    whole = {"smece": residual_smece(rows), "brier": brier_of(rows)}
    for epsilon in measures.EPSILONS:
        by_slice = {
            "over": [row for row in rows if row["delta"] < -epsilon and row["regime"] is not None],
            "under": [row for row in rows if row["delta"] > epsilon and row["regime"] is not None],
        }
        by_slice = {name: some for name, some in by_slice.items() if len(some) >= planted(method).pair.min_rows}
        for by, score in (("smece", residual_smece), ("brier", brier_of)):
            found = only(table, geometry="learned", epsilon=epsilon, by=by)
            worst = max(by_slice, key=lambda name: score(by_slice[name]), default=None)
            assert found["worst"] == worst
            if worst:
                assert (found["n"], found["share"]) == (len(by_slice[worst]), len(by_slice[worst]) / len(rows))
                # each of the two is within 1e-5
                gap = residual_smece(by_slice[worst]) - whole["smece"]
                assert found["smece_gap"] == pytest.approx(gap, abs=2e-5)
                assert found["brier_gap"] == pytest.approx(brier_of(by_slice[worst]) - whole["brier"])
            assert found["smece_gap_clipped"] == max(0.0, found["smece_gap"] or 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_regions_and_curves_hold_the_rows_of_each_regime_and_of_each_frequent_value(method):
    result, rows = planted(method), rows_of(method)
    found = measures.measure_curves(result)
    topic = result.triples.metadata["topic"][[row["row"] for row in rows]]
    expected = {("topic", name): [r for r, t in zip(rows, topic, strict=True) if t == name] for name in set(topic)}
    del expected["topic", None]
    expected |= {("regime", name): [r for r in rows if r["regime"] == name] for name in ("over", "under", "good")}
    expected["regime", "all"] = rows
    assert {(row["column"], row["value"]) for row in found["regions"]} == set(expected)
    for (column, value), some in expected.items():
        region = only(found["regions"], column=column, value=value)
        assert region["n"] == len(some)
        assert region["accuracy"] == pytest.approx(np.mean([row["correct"] for row in some]))
        assert region["delta_mean"] == pytest.approx(np.mean([row["delta"] for row in some]))
        assert region["smece"] == pytest.approx(residual_smece(some))
        bins = [row for row in found["curves"] if (row["column"], row["value"]) == (column, value)]
        assert [row["bin"] for row in bins] == list(range(len(bins)))
        assert sum(row["n"] for row in bins) == (len(some) if len(some) >= 30 else 0)
        for name in ("accuracy", "confidence") if bins else ():
            assert sum(row["n"] * row[name] for row in bins) / len(some) == pytest.approx(region[name])


def test_the_most_frequent_values_of_a_column_alone_are_shown():
    result = planted("auto")
    n = len(result.triples)
    many = np.arange(n) % 5
    wide = np.where(np.arange(n) < 40, "seldom", "often")
    metadata = {"many": many.astype(float), "wide": wide, "date": np.full(n, "NaT", "datetime64[D]")}
    metadata["many"][many == 4] = np.nan
    found = measures.measure_curves(replace(result, triples=replace(result.triples, metadata=metadata)))["regions"]
    shown = [(row["column"], row["value"], row["n"]) for row in found if row["column"] != "regime"]
    assert shown[-2:] == [("wide", "often", n - 40), ("wide", "seldom", 40)]
    assert [value for column, value, _ in shown if column == "many"] == ["0.0", "1.0", "2.0", "3.0"]


@pytest.mark.parametrize("method", METHODS)
def test_histograms_count_every_row_once_where_its_field_lies(method):
    result = planted(method)
    table = measures.measure_histograms(result)["histograms"]
    for geometry, seen in result.geometries.items():
        bins = [row for row in table if row["geometry"] == geometry]
        assert sum(row["n"] for row in bins) == len(seen.delta)
        assert (bins[0]["left"], bins[-1]["right"]) == (-1.0, 1.0)
        assert [row["right"] for row in bins[:-1]] == [row["left"] for row in bins[1:]]
        # no bin lies on both sides of the band that counts as well calibrated, at any of the epsilons
        for epsilon in (*measures.EPSILONS, 0.05):
            assert {-epsilon, epsilon} <= {row["left"] for row in bins}
        for row in bins[:-1]:
            assert row["n"] == sum(row["left"] <= d < row["right"] for d in seen.delta)


@pytest.mark.parametrize("method", METHODS)
def test_deferral_keeps_the_most_confident_rows(method):
    rows, found = rows_of(method), measures.measure_deferral(planted(method))
    wrong = 1 - sum(row["correct"] for row in rows) / len(rows)
    for score, column in (("raw", "confidence"), ("corrected", "corrected")):
        curve = [row for row in found["deferral"] if row["score"] == score]
        assert [row["coverage"] for row in curve] == pytest.approx([k / 20 for k in range(1, 21)])
        assert curve[-1]["risk"] == pytest.approx(wrong)
        ranked = sorted(rows, key=lambda row: -row[column])
        values = [row[column] for row in ranked]
        for row in curve:
            k = round(row["coverage"] * len(rows))
            if k == pytest.approx(row["coverage"] * len(rows)) and (k == len(rows) or values[k - 1] > values[k]):
                assert row["risk"] == pytest.approx(1 - np.mean([one["correct"] for one in ranked[:k]]))
        for at in ("0.5", "0.8", "0.9"):
            gain = only(found["deferral_gains"], at=at)
            assert gain[score] == pytest.approx(only(curve, coverage=float(at))["risk"])
    assert_gains_are_differences(found)


def assert_gains_are_differences(found):
    for gain in found["deferral_gains"]:
        assert gain["gain"] == pytest.approx(gain["raw"] - gain["corrected"])
        assert gain["gain_low"] <= gain["gain_high"]


def test_deferral_of_an_event_keeps_the_surest_predictions_of_either_side():
    result = planted("auto")
    # a forecast that is sure of what does not happen: rows of low confidence are the right ones
    at = np.arange(len(result.triples))
    before, after = (np.where(at % 2 == 0, *sides) for sides in ((0.05, 0.6), (0.1, 0.4)))
    low = result.found.table.with_columns(confidence=before, correct=at * 0, corrected=after)
    as_kind = lambda kind: replace(  # noqa: E731
        result.found, table=low, summary=result.found.summary.model_copy(update={"kind": kind})
    )
    event = replace(result, found=as_kind("event"))
    found = measures.measure_deferral(event)
    risk = {row["score"]: row["risk"] for row in found["deferral"] if row["coverage"] == 1.0}
    # nothing happens: a confidence of 0.6 is wrong, and its correction to 0.4 is right
    assert risk == {"raw": 0.5, "corrected": 0.0}
    assert only(found["deferral"], score="raw", coverage=0.5)["risk"] == 0.0
    assert only(found["deferral_gains"], at="0.9")["raw"] == pytest.approx(0.4 / 0.9)
    assert only(found["deferral_gains"], at="0.9")["gain_low"] > 0.3
    assert_gains_are_differences(found)
    answers = replace(event, found=as_kind("answer"))
    assert only(measures.measure_deferral(answers)["deferral"], score="raw", coverage=1.0)["risk"] == 1.0


def test_rows_of_a_group_count_as_one_in_the_interval_of_what_is_saved():
    result = planted("paper")
    group = np.arange(len(result.triples)) // 3
    grouped = replace(result, triples=replace(result.triples, group=group))
    found = only(measures.measure_pair(grouped)["pairs"], geometry="learned")
    rows, sums = rows_of("paper"), {}
    for row in rows:
        before, after = (-math.log(p if row["correct"] else 1 - p) for p in (row["confidence"], row["corrected"]))
        sums.setdefault(int(group[row["row"]]), []).append(before - after - found["log_loss_saved"])
    sizes = [len(some) for some in sums.values()]
    units = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    error = math.sqrt(sum(sum(some) ** 2 for some in sums.values()) * units / (units - 1)) / len(rows)
    half = (found["log_loss_saved_high"] - found["log_loss_saved_low"]) / 2
    assert half == pytest.approx(1.99 * error, rel=0.01)
    alone = only(measures.measure_pair(result)["pairs"], geometry="learned")
    assert alone["log_loss_saved"] == found["log_loss_saved"]
    assert alone["log_loss_saved_low"] != found["log_loss_saved_low"]


def test_global_corrections_of_all_rows_do_not_depend_on_the_geometry():
    table = measures.measure_corrections(planted("paper"))["corrections"]
    for name in ("raw", "isotonic", "temperature", "platt"):
        learned, raw = (only(table, geometry=g, calibrator=name, region="all") for g in ("learned", "raw"))
        assert [learned[score] for score in ("smece", "brier", "log_loss")] == pytest.approx(
            [raw[score] for score in ("smece", "brier", "log_loss")]
        )


@pytest.mark.parametrize("method", METHODS)
def test_no_slice_has_a_larger_gap_by_a_score_than_the_one_that_it_chose(method):
    table = measures.measure_thresholds(planted(method))["thresholds"]
    for row in table:
        if row["by"] == "smece" and row["worst"]:
            other = only(table, geometry=row["geometry"], epsilon=row["epsilon"], by="brier")
            assert row["smece_gap"] >= other["smece_gap"]
            assert row["brier_gap"] <= other["brier_gap"]


def test_the_curve_of_all_rows_is_the_one_of_the_summary():
    result = planted("paper")
    bins = [row for row in measures.measure_curves(result)["curves"] if row["value"] == "all"]
    summary = result.found.summary.curves.all.raw
    assert tuple(row["accuracy"] for row in bins) == summary.accuracy
    assert tuple(row["high"] for row in bins) == summary.high
