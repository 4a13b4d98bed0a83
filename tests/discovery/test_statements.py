"""No two statements of a run contradict each other: laws over whole summaries."""

import numpy as np
import pytest

import miscal
from miscal.calibration.labelled_rows import LabelledRows
from miscal.discovery.discover import discover
from miscal.discovery.measurements import regime_numbers
from miscal.findings.conditions.column_kinds import Trend
from miscal.findings.ledger.sizes import fate_of

pytestmark = pytest.mark.whole

LEVEL = 0.05


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
