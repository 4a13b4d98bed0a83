"""`miscal discover` from a shell: what it leaves, and that it leaves the same again."""

import json

import numpy as np
import polars as pl
import pytest

from miscal.discovery.run_folder import check_seal

from .conftest import OPTIONS, done, run

pytestmark = pytest.mark.slow

SCHEMA = {
    "row": pl.Int64,
    "split": pl.String,
    "confidence": pl.Float64,
    "correct": pl.Int8,
    "delta": pl.Float64,
    "mass": pl.Float64,
    "regime": pl.String,
    "corrected": pl.Float64,
    "visible": pl.Float64,
    "hidden": pl.Float64,
    "supported": pl.Boolean,
}
KEYS = {
    *("findings", "findings_method"),
    *("n", "n_train", "n_val", "n_test", "seed", "method", "global", "field", "regimes", "gap", "certificate"),
    *("answer", "warnings", "correction", "selection", "timing", "schema_version"),
    *("curves", "histogram", "data", "settings", "versions", "map"),
}


@pytest.fixture(scope="module")
def field(finished):
    return pl.read_parquet(finished[1] / "field.parquet")


@pytest.fixture(scope="module")
def summary(finished):
    return json.loads((finished[1] / "summary.json").read_text())


def test_what_a_run_leaves(finished):
    out = finished[1]
    left = {path.name for path in out.iterdir()}
    tables = {"field.parquet", "findings.parquet", "columns.parquet", "map.parquet"}
    assert left == {"summary.json", *tables, "model", "report.html", "manifest.json"}
    assert [path.name for path in out.parent.iterdir()] == ["run"]
    check_seal(out)


def test_it_says_the_answer_and_where_the_report_is(finished, summary):
    ended, out = finished
    assert summary["answer"]["headline"] in " ".join(ended.out.split())
    assert str(out / "report.html") in ended.out


def test_one_row_per_input_row_in_order(field, table):
    assert SCHEMA.items() <= dict(field.schema).items()
    assert field["row"].to_list() == list(range(len(table)))
    np.testing.assert_array_equal(field["confidence"], table["confidence"])
    np.testing.assert_array_equal(field["correct"], table["correct"])
    assert field["corrected"].is_between(0, 1).all()
    np.testing.assert_allclose(field["visible"] + field["hidden"], field["delta"], atol=1e-12)
    np.testing.assert_allclose(field["confidence"] + field["delta"], field["corrected"], atol=1e-12)


def test_the_summary_has_the_keys_of_the_contract(summary):
    assert set(summary) >= KEYS
    assert set(summary["correction"]) == {"raw", "miscal", "isotonic", "temperature", "platt"}
    assert all(set(scores) == {"all", "over", "under", "good"} for scores in summary["correction"].values())
    assert [regime["name"] for regime in summary["regimes"]] == ["over", "good", "under"]
    assert "NaN" not in json.dumps(summary)


def test_the_summary_is_of_all_rows(summary, field):
    assert (summary["n"], summary["n_train"], summary["n_val"], summary["n_test"]) == (len(field), None, None, None)
    assert summary["global"]["accuracy"]["value"] == pytest.approx(field["correct"].mean())
    assert summary["field"]["mean"] == pytest.approx(field["delta"].mean())
    assert summary["field"]["std_hidden"] == pytest.approx(field["hidden"].std(ddof=0))
    for regime in summary["regimes"]:
        rows = field.filter(pl.col("regime") == regime["name"])
        assert regime["n"] == len(rows)
        if len(rows):
            assert regime["residual"]["value"] == pytest.approx((rows["correct"] - rows["confidence"]).mean())
    brier = (field["corrected"] - field["correct"]).pow(2).mean()
    assert summary["correction"]["miscal"]["all"]["brier"] == pytest.approx(brier)
    assert sum(map(sum, (summary["histogram"][name] for name in ("over", "good", "under")))) == len(
        field.filter(pl.col("regime").is_not_null())
    )


def test_planted_structure_is_found_with_its_signs(summary, field, table):
    assert "subject = " in summary["answer"]["headline"]
    assert summary["certificate"]["lower_bound_hidden"]["interval"][0] > 0
    truth = 0.35 * np.sign(table["x_0"].to_numpy())
    assert np.corrcoef(truth, field["delta"].to_numpy())[0, 1] > 0.8


def test_the_map_shows_every_row_with_text_and_metadata(finished, table):
    shown = pl.read_parquet(finished[1] / "map.parquet")
    positions = ["raw_1", "raw_2", "learned_1", "learned_2"]
    assert shown["row"].to_list() == list(range(len(table)))
    assert np.isfinite(shown.select(positions).to_numpy()).all()
    assert shown["text"].to_list() == table["text"].to_list()
    assert shown["meta.subject"].to_list() == table["subject"].to_list()


def test_json_prints_the_summary_and_only_that(data, tmp_path):
    ended = run("discover", data, "--out", tmp_path / "run", *OPTIONS, "--json")
    assert ended.status == 0
    assert json.loads(ended.out) == json.loads((tmp_path / "run" / "summary.json").read_text())


def test_the_saved_model_corrects_new_rows_as_it_corrected_the_test_rows(data, tmp_path):
    done("discover", data, "--out", tmp_path / "run", *OPTIONS, "--evidence", "test")
    test = pl.read_parquet(tmp_path / "run" / "field.parquet").filter(pl.col("split") == "test")
    assert len(test)
    for target in ("run", "run/model"):
        done("calibrate", tmp_path / target, data, "--out", tmp_path / "new" / "rows.parquet", "--overwrite")
        new = pl.read_parquet(tmp_path / "new" / "rows.parquet")
        assert new.columns == ["row", "delta", "corrected", "mass", "supported", "reason"]
        same = new.join(test, on="row", how="right", suffix="_then")
        np.testing.assert_allclose(same["corrected"], same["corrected_then"], atol=1e-4)


def test_new_rows_are_corrected_from_the_column_that_the_run_was_told(table, tmp_path):
    """A column with a usual name that holds something else is not taken for it."""
    told = table.rename({"confidence": "pd_score"})
    told.write_parquet(tmp_path / "a.parquet")
    decoy = told.with_columns(score=pl.lit(0.99))
    decoy.write_parquet(tmp_path / "new.parquet")
    ended = done("discover", tmp_path / "a.parquet", "--out", tmp_path / "run", *OPTIONS, "--confidence", "pd_score")
    for target in ("run", "run/model"):
        out = tmp_path / f"{target.replace('/', ' ')}.csv"
        ended = done("calibrate", tmp_path / target, tmp_path / "new.parquet", "--out", out)
        assert "confidence from 'pd_score', inputs from 'x_0', 'x_1', 'x_2'" in ended.out
        new = pl.read_csv(out)
        shift = new["corrected"].to_numpy() - new["delta"].to_numpy()
        np.testing.assert_allclose(shift, told["pd_score"].to_numpy(), atol=1e-9)
    options = (tmp_path / "new.parquet", "--out", tmp_path / "score.csv", "--confidence", "score")
    ended = run("calibrate", tmp_path / "run", *options)
    assert "confidence from 'score'" in ended.out
    decoy.drop("pd_score").write_parquet(tmp_path / "other.parquet")
    ended = run("calibrate", tmp_path / "run", tmp_path / "other.parquet", "--out", tmp_path / "other.csv")
    ended.refuses("the model was fitted on this column; --confidence COL names another")
    assert not (tmp_path / "other.csv").exists()


def test_the_report_is_drawn_again_the_same(finished):
    page = finished[1] / "report.html"
    before = page.read_bytes()
    page.unlink()
    done("report", finished[1])
    assert page.read_bytes() == before


def test_an_audit_is_kept_and_refuses_changed_data(table, tmp_path):
    path = tmp_path / "data.parquet"
    table.head(150).with_columns(pair=pl.int_range(150) // 2).write_parquet(path)
    done("discover", path, "--out", tmp_path / "run", *OPTIONS, "--group", "pair")
    ended = done("audit", tmp_path / "run", "--draws", "1", "--seeds", "2", "--json")
    assert json.loads(ended.out) == json.loads((tmp_path / "run" / "audit.json").read_text())
    check_seal(tmp_path / "run")
    content = json.loads(ended.out)
    assert list(content) == [
        "null", "null_question", "null_correlation", "nulls", "proxy_curves", "seeds", "by_seed", "thresholds",
        "thresholds_by_brier", "bootstrap",
    ]  # fmt: skip
    assert content["null_question"].startswith("Would miscal find as much")
    assert list(content["nulls"]) == ["delta_std", "std_hidden", "share_miscalibrated", "gap", "gap_clipped"]
    found = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert content["null_correlation"] == found["units"]["correlation"]
    # the fit on the data is that of the run
    assert content["nulls"]["delta_std"]["observed"] == pytest.approx(found["field"]["std"])
    assert content["by_seed"][0]["gap"] == found["gap"]["value"] == content["thresholds"][1]["gap"]
    for one in (*content["thresholds"], *content["thresholds_by_brier"], *content["by_seed"]):
        assert one["gap_clipped"] == max(0, one["gap"] or 0)
    table.tail(150).write_parquet(path)
    ended = run("audit", tmp_path / "run")
    ended.refuses("changed")
