"""No two statements of a run contradict each other: laws over whole summaries."""

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.splits import in_canonical_order
from miscal.discovery.discover import discover
from miscal.discovery.estimating import expected_outcome, unseen_columns
from miscal.discovery.measurements import regime_numbers
from miscal.findings.conditions.column_kinds import Trend
from miscal.findings.conditions.condition import Frame
from miscal.findings.ledger.sizes import fate_of

pytestmark = pytest.mark.whole

LEVEL, N = 0.05, 300
EMBEDDED = np.random.default_rng(1).normal(size=(N, 4)).astype(np.float32)


def contradictions(summary):
    """Say which statements of a summary contradict each other."""
    said = []

    def check(holds, words):
        if not holds:
            said.append(words)

    proof = summary.certificate
    claimed = proof.p_value < LEVEL
    located = claimed and proof.p_field < LEVEL
    limit = proof.lower_bound_hidden.interval[0]
    check(limit == 0 or claimed, "a limit of what is not claimed")
    for one in (*summary.regimes, *summary.hidden_regimes):
        sure, side = one.confirmed, -1 if one.name == "over" else 1
        for name, part in (("total", one.residual), ("hidden", one.hidden)):
            if part is None or part.interval is None or part.p_value is None:
                continue
            beyond = part.interval[0] > 0 or part.interval[1] < 0
            check(beyond == (part.p_value <= LEVEL), f"{one.name}: interval and p-value of {name}")
            check(not getattr(sure, name) or (beyond and part.value * side > 0), f"{one.name}: {name} confirmed")
        check(located or not sure.hidden, f"{one.name}: hidden confirmed, but nothing located")
    seen = set()
    for place, one in enumerate(summary.findings):
        low, high = one.conditional.interval
        check(one.p_adjusted <= LEVEL and (low > 0 or high < 0), f"{one.description}: interval and p-value")
        check((one.conditional.value < 0) == (one.sign == "over"), f"{one.description}: sign")
        low, high = one.hidden.interval
        check(low <= one.hidden.value <= high, f"{one.description}: its number, and the interval of that")
        together = one.together_with is not None
        # a trend is tested along its column, and its number is that of one end
        plain = not isinstance(one.condition, Trend)
        alone = together or (one.hidden.value < 0) == (one.sign == "over")
        check(not plain or alone, f"{one.description}: sign of its number")
        check(not plain or (low <= 0 <= high) == together, f"{one.description}: it shows by itself or with another")
        check(not together or one.together_with <= place, f"{one.description}: together with one below")
        check(one.condition not in seen, f"{one.description}: told twice")
        seen.add(one.condition)
    for one in summary.findings:
        low, high = one.after.interval
        check(low <= one.after.value <= high, f"{one.description}: what is left, and its interval")
        told = fate_of(one.hidden, one.after, one.n)
        check(told == (one.fate, one.units_needed and one.units_needed.rows), f"{one.description}: {one.fate}")
    for one in summary.accounted_for:
        same = one.conditional.value is not None and (one.conditional.value < 0) == (one.sign == "over")
        check(
            not same or one.conditional.interval[0] <= 0 <= one.conditional.interval[1],
            f"{one.description}: left unexplained",
        )
    for name, gain in summary.gains.items():
        theirs, ours = summary.correction[name].all, summary.correction["miscal"].all
        check(abs(theirs.log_loss - ours.log_loss - gain.log_loss.value) < 1e-9, f"gain over {name}")
    return said


def world(seed, n=400, *, shift=1.5):
    rng = np.random.default_rng(seed)
    X, f = rng.normal(size=(n, 3)), rng.uniform(0.3, 0.95, n)
    kind = rng.choice(list("abcd"), n)
    odds = np.log(f / (1 - f)) + shift * (X[:, 0] > 0.8) - shift * (kind == "a")
    table = {"confidence": f, "correct": (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), "kind": kind}
    return table | {f"x_{i}": X[:, i] for i in range(3)}


@pytest.mark.parametrize(("seed", "shift"), [(0, 0.0), (1, 0.8), (2, 1.5)])
def test_no_two_statements_of_a_run_contradict_each_other(seed, shift, monkeypatch):
    # a third of the fits; the many runs below make them all
    monkeypatch.setattr("miscal.estimators.honest._FOLDS_OF_FEW", 3)
    triples = miscal.read_triples(world(seed, shift=shift), features="x_*", metadata="kind")
    assert contradictions(discover(triples, seed=seed, map_method="pca", n_jobs=1).summary) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n", [300, 1000])
def test_nor_do_they_in_many_runs(seed, n):
    triples = miscal.read_triples(world(seed, n, shift=0.25 * (seed % 6)), features="x_*", metadata="kind")
    assert contradictions(discover(triples, seed=seed, map_method="pca", n_jobs=1).summary) == []


def test_a_regime_is_confirmed_in_what_it_hides_only_behind_the_claim():
    rng = np.random.default_rng(0)
    over = rng.random(600) < 0.5
    y = (rng.random(600) < np.where(over, 0.2, 0.8)).astype(float)
    rows, regime = LabelledRows(y, np.full(600, 0.5), np.full(600, 0.5)), np.where(over, "over", "under").astype(object)
    for located in (True, False):
        for one in regime_numbers(rows, regime, seed=None, located=located):
            assert (one.confirmed.hidden, one.confirmed.total) == (one.n > 0 and located, one.n > 0)


@pytest.mark.usefixtures("few_folds")
@pytest.mark.parametrize("split", [False, True])
def test_what_is_left_is_the_mean_over_the_rows_of_the_finding(split):
    data, options = world(2, 500), {}
    if split:
        data["split"], options = np.resize(["train", "test", "train", "test", "val"], 500), {"split": "split"}
    triples = miscal.read_triples(data, features="x_*", metadata="kind", **options)
    found = discover(triples, seed=0, map_method="pca", n_jobs=1)
    assert found.summary.findings
    corrected = found.table["corrected"].to_numpy()
    rows, order = in_canonical_order(triples)
    left = (rows.correct - expected_outcome(rows, 0, corrected[order]))[np.argsort(order)]
    evaluated = triples.split == "test" if split else np.ones(500, bool)
    columns = {"kind": triples.metadata["kind"], **{f"x_{i}": triples.X[:, i] for i in range(3)}}
    table = found.findings.to_dicts()
    named = 0
    for one, row in zip(found.summary.findings, table, strict=True):
        assert (row["after"], row["after_low"], row["after_high"]) == (one.after.value, *one.after.interval)
        if one.source == "named":
            inside = one.condition.rows(Frame(500, columns)) & evaluated
            plain = left[inside].mean()
            # but for what is taken off because the group was chosen
            assert 0.5 * abs(plain) <= abs(one.after.value) <= abs(plain) + 1e-12
            assert one.after.value * plain > 0
            named += 1
    assert named


@pytest.fixture(scope="module")
def ways(few_folds):
    data = pl.DataFrame(world(3, N, shift=3.0)).select("confidence", "correct", "kind")
    settings = {"map_method": "pca", "n_jobs": 1}
    asked = {"metadata": {"metadata": "kind"}, "features": {"features": "kind"}, "names only": {"names_only": "kind"}}
    asked |= {"without": {}}
    read = {name: miscal.read_triples(data, embeddings=EMBEDDED, **way) for name, way in asked.items()}
    return {name: discover(triples, **settings) for name, triples in read.items()}


def test_a_column_gives_the_same_field_as_metadata_and_as_a_feature(ways):
    of_metadata, of_features, alone = (ways[name].table for name in ("metadata", "features", "without"))
    assert of_metadata.equals(of_features)
    assert not np.allclose(of_metadata["corrected"], alone["corrected"])
    descriptions = [[one.description for one in ways[name].summary.findings] for name in ("metadata", "features")]
    assert descriptions[0] == descriptions[1]
    assert any("kind" in one for one in descriptions[0])


def test_a_column_for_names_only_changes_no_number_of_the_field(ways):
    named, alone = (ways[name] for name in ("names only", "without"))
    assert named.table.equals(alone.table)
    assert any("kind" in one.description for one in named.summary.findings)
    assert named.summary.data.columns.names_only == ("kind",)
    assert (named.summary.data.columns.needed, named.summary.data.columns.embeddings) == (("confidence",), True)


def test_the_published_method_says_which_columns_it_does_not_see(ways):
    pytest.importorskip("torch")
    data = pl.DataFrame(world(3, N, shift=3.0)).select("confidence", "correct", "kind")
    triples = miscal.read_triples(data, embeddings=EMBEDDED, features="kind")
    assert len(unseen_columns(triples, "paper")) == 1
    assert unseen_columns(triples, "auto") == ()
