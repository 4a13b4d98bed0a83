"""No two statements of a run contradict each other: laws over whole summaries."""

import re

import numpy as np
import pytest

import miscal
from miscal.base.document import MeasureAgainstNull
from miscal.discovery.discover import discover
from miscal.discovery.summarise import gated_parts, gated_regimes
from miscal.discovery.summary import Regime, SmoothEce
from miscal.evidence.certificates import Certificate
from miscal.evidence.limits import Bound
from miscal.findings import Subregime
from miscal.findings.conditions import Trend
from miscal.findings.judging import Confirmed
from miscal.findings.ledger import SHIFT, SLOPE
from miscal.findings.ledger.sizes import CORRECTED, fate_of
from miscal.findings.verdict import sized, together_words

pytestmark = pytest.mark.whole

LEVEL = 0.05
_COUNTED = re.compile(r"Of the \d+ findings, |All \d+ findings are |The finding is |Whether the findings? (?:is|are) ")


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
    check(
        not ("o hidden miscalibration was found" in summary.verdict and (claimed or summary.findings)), "none, but some"
    )
    for one in (*summary.regimes, *summary.hidden_regimes, *summary.subregimes):
        sure = getattr(one, "confirmed_parts", None) or one.confirmed
        side = -1 if getattr(one, "parent", one.name) == "over" else 1
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
        low, high = one.before.interval
        check(low <= one.before.value <= high, f"{one.description}: its number, and the interval of that")
        together = one.together_with is not None
        check((low <= 0 <= high) == together, f"{one.description}: it shows by itself or together with another")
        check(not together or one.together_with <= place, f"{one.description}: together with one below")
        check(together or (one.before.value < 0) == (one.sign == "over"), f"{one.description}: sign of its number")
        plain = one.effect == SHIFT and not isinstance(one.condition, Trend)
        check(not plain or one.before == one.hidden, f"{one.description}: two numbers of one group")
        check(one.condition not in seen, f"{one.description}: told twice")
        seen.add(one.condition)
        check((one.effect == SLOPE) <= bool(one.curve), f"{one.description}: a slope without its curve")
    shown = summary.verdict.partition("What no reliability diagram shows: ")[2]
    shown = _COUNTED.split(shown)[0]
    shifts = [one for one in summary.findings if one.effect == SHIFT]
    for one in sorted(shifts, key=lambda one: one.together_with is not None)[:3]:
        number = (
            f"{one.phrase}{together_words(one, summary.findings)} (by {sized(one.before.value, one.before.interval)})"
        )
        check(number in shown, f"{one.description}: its number in the verdict")
    fates = [one.fate for one in summary.findings]
    left = []
    for one in summary.findings:
        low, high = one.after.interval
        check(low <= one.after.value <= high, f"{one.description}: what is left, and its interval")
        told = fate_of(one.before, one.after, one.n)
        check(told == (one.fate, one.units_needed and one.units_needed.rows), f"{one.description}: {one.fate}")
        left += [one] if one.fate != CORRECTED and one.effect == SHIFT and not low <= 0 <= high else []
    rest = summary.verdict.partition("orrected confidence, the model is ")[2]
    for one in shifts:
        check((f"{one.phrase} (by " in rest) == (one in left) or len(left) > 3, f"{one.description}: named as left")
    check(bool(_COUNTED.search(summary.verdict)) == bool(fates), "what the correction makes of nothing")
    many, corrected = len(fates), fates.count(CORRECTED)
    told = (
        f"All {many} findings are corrected"
        if corrected == many
        else f"{corrected} {'is' if corrected == 1 else 'are'} corrected"
    )
    check(many < 2 or not corrected or told in summary.verdict, "how many are corrected")
    turned = [(one.after.value < 0) != (one.sign == "over") for one in left]
    for words, some in (("the model is still right ", False), ("now right ", True)):
        check(
            (words in rest or words in summary.verdict) == (some in turned) or len(left) > 3, f"{words}of what is left"
        )
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


def claim(p_field, p_structure):
    total, hidden = Bound(0.1, 0.0, 0.5), Bound(0.1, 0.0, p_field)
    return Certificate.of(total, hidden, n=500, detectable=0.05, p_structure=p_structure)


def test_a_part_is_confirmed_in_what_it_hides_only_behind_the_claim():
    sure, number = Confirmed(total=True, visible=True, hidden=True), MeasureAgainstNull(value=-0.1)
    shared = {"n": 50, "share": 0.5, "accuracy": 0.5, "confidence": 0.6, "residual": number}
    regime = Regime(name="over", confirmed=sure, smece=SmoothEce(value=0.1), brier=0.2, **shared)
    more = {"n_fit": 50, "delta": -0.1, "keywords": (), "metadata": (), "exemplars": (), "p_value": 0.01}
    parts = [
        Subregime(name="a", parent="over", field=field, confirmed=True, confirmed_parts=sure, **shared, **more)
        for field in ("total", "hidden")
    ]
    for found, hidden in ((claim(0.001, 0.001), True), (claim(0.9, 0.0001), False), (claim(0.9, 0.9), False)):
        assert [one.confirmed.hidden for one in gated_regimes([regime], found)] == [hidden]
        assert all(one.confirmed.total for one in gated_regimes([regime], found))
        gated = gated_parts(parts, found)
        assert [one.confirmed_parts.hidden for one in gated] == [hidden, hidden]
        assert [one.confirmed for one in gated] == [True, hidden]
