"""New rows without a column that the model was fitted on: refused, or the column taken as blank."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base.errors import InputError, MissingColumn
from miscal.calibration.metrics.scores import log_losses
from miscal.discovery.discover import discover
from miscal.discovery.estimating import prepare
from miscal.discovery.run import write_files
from miscal.discovery.saved_model import load_model
from miscal.runs.correct.command import calibrate_file

pytestmark = [pytest.mark.usefixtures("few_folds"), pytest.mark.whole]

N = 400
COLUMNS = ("kind", "age", "day")


def table(seed, n=N):
    rng = np.random.default_rng(seed)
    f, kind = rng.uniform(0.3, 0.95, n), rng.choice(list("abc"), n)
    day = [dt.date(2024, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 400, n)]
    odds = np.log(f / (1 - f)) - 2.5 * (kind == "a")
    return pl.DataFrame({
        "confidence": f, "correct": (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), "kind": kind,
        "age": rng.integers(18, 80, n), "day": day,
        "free": [None if k % 5 == 0 else "x" if k % 2 else "y" for k in range(n)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of a run, and what it found."""
    folder = tmp_path_factory.mktemp("run")
    found = discover(miscal.read_triples(table(0)), map_method="pca", n_jobs=1)
    write_files(found, folder)
    return folder, found


@pytest.mark.parametrize("absent", [("kind",), ("age",), ("day",), COLUMNS])
def test_a_column_taken_as_blank_is_what_the_run_measured(run, absent):
    folder, found = run
    new, encoder = table(1, 60), found.model.encoder
    model = load_model(folder)
    assert model.estimator.fitted.structure_
    got = model.correct(new.drop(absent), missing_as_blank=absent)
    X = encoder.transform(new)
    for column in absent:
        X = encoder.blanked(X, column)
    want = model.estimator.fitted.correct(X, new["confidence"].to_numpy())
    np.testing.assert_allclose(got["corrected"], want.corrected, rtol=1e-12)
    named = ", ".join(map(repr, absent))
    assert set(got["reason"]) == {f"{named} taken as blank"}
    # as if every row were blank, in a file that has the columns
    null = new.with_columns(pl.lit(None, new[column].dtype).alias(column) for column in absent)
    assert model.correct(null, missing_as_blank=absent).equals(got)
    with pytest.raises(InputError, match="missing"):
        model.correct(null)


@pytest.mark.parametrize("column", ["kind", "free"])
def test_a_level_that_the_model_never_saw_is_a_blank(run, column):
    model, new = load_model(run[0]), table(1, 60)
    level, few = pl.col(column).cast(pl.String), pl.int_range(60) < 5
    never, holes = (
        new.with_columns(pl.when(few).then(pl.lit(one)).otherwise(level).alias(column)) for one in ("?", None)
    )
    got = model.correct(never)
    blank = model.correct(holes, missing_as_blank=() if column == "free" else column)
    assert got.drop("reason").equals(blank.drop("reason"))
    assert set(got["reason"][:5]) == {f"'?' is a category of {column!r} that the model never saw, and taken as blank"}
    assert got["reason"][5:].null_count() == 55
    both = model.correct(new.drop("kind").with_columns(free=pl.lit("?")), missing_as_blank="kind")["reason"][0]
    assert both == "'kind' taken as blank; '?' is a category of 'free' that the model never saw, and taken as blank"


def test_a_blank_here_and_there_is_taken_as_one_and_other_rows_are_as_before(run):
    model, new = load_model(run[0]), table(1, 60)
    holes = new.with_columns(kind=pl.when(pl.int_range(60) < 5).then(None).otherwise(pl.col("kind")))
    got, whole = model.correct(holes, missing_as_blank="kind"), model.correct(new)
    assert got["reason"][:5].to_list() == ["'kind' taken as blank"] * 5
    assert got[5:].equals(whole[5:])
    # blanks that the model learned from need no option, and no reason
    assert whole["reason"].null_count() == 60


def test_a_file_without_a_column_is_refused_with_the_option_and_its_cost(run):
    folder, found = run
    cost = {one.name: one.cost_if_missing for one in found.summary.columns}
    assert set(cost) == {*COLUMNS, "free"}
    assert cost["kind"].interval[0] > 0.02 > abs(cost["age"].value)
    with pytest.raises(MissingColumn) as refused:
        load_model(folder).open(table(1).drop("kind"))
    assert (
        f"(--missing-as-blank kind), which changed the log loss on rows of the run by {cost['kind'].value:+.4f}"
        in refused.value.in_shell()
    )
    with pytest.raises(InputError, match="missing_as_blank: 'kinds' is no column that the model can take as blank"):
        load_model(folder).open(table(1), missing_as_blank="kinds")


def test_the_cost_is_that_of_fits_that_had_not_seen_the_row(run):
    found = run[1]
    cost = next(one.cost_if_missing.value for one in found.summary.columns if one.name == "kind")
    triples, order, _ = prepare(miscal.read_triples(table(0)), "all", 0)
    left, shared = [], miscal.MiscalibrationField(random_state=0).unfitted(0).share_inputs(triples)
    for fold in sorted(set(found.table["fold"])):
        inside = (found.table["fold"] == fold).to_numpy()[order]
        fitted = shared.for_folds().fit(triples.take(~inside))
        losses = [
            log_losses(triples.correct[inside], fitted.correct(X[inside], triples.confidence[inside]).corrected)
            for X in (triples.encoder.blanked(triples.X, "kind"), triples.X)
        ]
        left.append(losses[0] - losses[1])
    # inherent: the order in which a product is summed in single precision depends on where a row stands in its batch
    # (of 32 columns half of the rows move, by up to 8e-6 in products of about 6), and kernels are made of products
    assert cost == pytest.approx(np.concatenate(left).mean(), abs=1e-7)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_the_command_streams_rows_without_the_column(run, ending, tmp_path):
    new = table(1, 2_000).drop("kind")
    writers = {"csv": new.write_csv, "parquet": new.write_parquet, "jsonl": new.write_ndjson}
    writers[ending](tmp_path / f"new.{ending}")
    done = calibrate_file(run[0], tmp_path / f"new.{ending}", tmp_path / "out.parquet", missing_as_blank=["kind"])
    assert done.tally.blank == {"'kind' taken as blank": 2_000}
    assert done.tally.global_only == 0
    assert any("'kind' taken as blank in 2,000 of 2,000 rows" in said for said in done.warnings)
    got = pl.read_parquet(tmp_path / "out.parquet")
    assert got.equals(load_model(run[0]).correct(new, missing_as_blank="kind"))
