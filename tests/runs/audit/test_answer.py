"""The three lines of an audit: short, of its own numbers, and never against them."""

from itertools import product

import pytest

from miscal.evidence.stability import NullStatistic, SliceBootstrap, Spread, Stability
from miscal.runs.audit import NULLS, Audit, null_question

from ...report.read_page import check_lines, check_terminal


def audited(null="visible", p=0.01, draws=99, correlation=0.9):
    """An audit with these numbers."""
    one = NullStatistic(0.081, (0.03,) * draws, 0.034, 0.01, p)
    spread = Spread(correlation, None if correlation is None else 0.02)
    stability = Stability(5, spread, spread, Spread(0.08, 0.01), Spread(0.1, 0.02), 0, ())
    nulls = dict.fromkeys(("delta_std", "std_hidden", "share_miscalibrated", "gap", "gap_clipped"), one)
    return Audit(
        null=null, null_question=null_question(null, "answer"), null_correlation=0.1, nulls=nulls, proxy_curves=(),
        seeds=stability, by_seed=(), thresholds=(), thresholds_by_brier=(), bootstrap=SliceBootstrap(None, None, None),
    )  # fmt: skip


@pytest.mark.parametrize("null", NULLS)
def test_lines_are_short_and_of_one_mind_in_every_state(null):
    for p, draws, correlation in product((0.01, 0.05, 0.3, 0.5, 1.0), (1, 19, 99), (None, -0.2, 0.6, 0.95)):
        found = audited(null, p, draws, correlation)
        lines = found.answer
        check_lines(lines)
        assert ("This is not chance" in lines.headline) == (p <= 0.05)
        assert ("Too few refits" in lines.headline) == (p > 0.05 and draws < 19)
        assert ("Draw more" in lines.action) == ("Too few refits" in lines.headline)
        assert ("Rely on the map" in lines.action) == (p <= 0.05 and correlation == 0.95)
        assert ("5 seeds agree: " in lines.reason) == (correlation == 0.95)
        check_terminal(found.shown().lines([("written to", "run/audit.json")]))
        assert lines.headline in found.shown().text().replace("\n", " ")
