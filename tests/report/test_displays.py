"""Displays: drawn on given axes, described in words, and made of the same numbers whatever came in."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from miscal import FindingsDisplay, ReliabilityDisplay
from miscal.base.document import Measure
from miscal.base.errors import InputError
from miscal.discovery.summary import read_summary
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.ledger.document import Finding
from miscal.report.displays import OverviewDisplay

pytest.importorskip("matplotlib")
from matplotlib import pyplot
from matplotlib.figure import Figure

OFF = Measure(value=-0.2, interval=(-0.3, -0.1))
NUMBERS = {"n": 90, "share": 0.1, "accuracy": 0.5, "confidence": 0.7, "hidden": OFF, "conditional": OFF, "after": OFF}
COST = "cost < $5 and > $1"


def outcomes(n=300):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p**2).astype(int), p


def finding(value="law"):
    condition = Value(COST, value, "text")
    return Finding(
        description=f"{COST} = {value}", condition=condition, source="named", columns=(COST,), residual={"value": -0.2},
        visible=0.0, odds_ratio=0.5, p_value=0.001, p_adjusted=0.01, sign="over",
        **NUMBERS,
    )  # fmt: skip


MADE = {
    "reliability": lambda: ReliabilityDisplay.from_predictions(*outcomes(), by=["a", "b"] * 150, ax=axes()),
    "findings": lambda: FindingsDisplay([finding()]),
    "no findings": lambda: FindingsDisplay([]),
}


def axes():
    return Figure().add_subplot()


@pytest.mark.parametrize("name", MADE)
def test_every_display_draws_on_the_axes_it_is_given_and_opens_no_figure(name):
    given, before = axes(), pyplot.get_fignums()
    display = MADE[name]()
    assert display.plot(given) is display
    assert (display.ax_, display.figure_) == (given, given.figure)
    assert display.alt_text.endswith(".")
    assert given.has_data() or given.texts
    # what texts and formulas make of a name is an error, if it is one, when the figure is drawn
    given.figure.savefig(io.BytesIO())
    assert pyplot.get_fignums() == before


def test_without_axes_a_figure_is_made():
    shown = FindingsDisplay([finding()]).plot()
    assert pyplot.fignum_exists(shown.figure_.number)
    pyplot.close(shown.figure_)


def test_without_matplotlib_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r'needs matplotlib, which is not installed: run pip install "miscal\[plot\]"'):
        FindingsDisplay([finding()]).plot()


def test_an_estimator_is_drawn_as_the_probabilities_of_its_second_class_or_of_the_named_one():
    y, p = outcomes()

    class Model:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, X):
            return np.column_stack([1 - X, X])

    labels = np.where(y == 1, "yes", "no")
    known = ReliabilityDisplay.from_predictions(y, p, ax=axes())
    by_default = ReliabilityDisplay.from_estimator(Model(), p, labels, ax=axes())
    named = ReliabilityDisplay.from_predictions(labels, p, pos_label="yes", ax=axes())
    for other in (by_default, named):
        np.testing.assert_array_equal(other.curves["all rows"].accuracy, known.curves["all rows"].accuracy)
    assert by_default.name == "Model"
    other = ReliabilityDisplay.from_estimator(Model(), p, labels, pos_label="no", ax=axes())
    assert other.curves["all rows"].accuracy.mean() == pytest.approx(
        1 - known.curves["all rows"].accuracy.mean(), abs=0.02
    )
    with pytest.raises(InputError, match="pos_label must be one of 'no', 'yes'; got 'maybe'"):
        ReliabilityDisplay.from_estimator(Model(), p, labels, pos_label="maybe")
    with pytest.raises(InputError, match="must be a fitted classifier with predict_proba"):
        ReliabilityDisplay.from_estimator(object(), p, labels)


def test_an_index_of_pandas_moves_no_row_and_one_in_another_order_is_refused():
    y, p = outcomes()
    order = np.random.default_rng(3).permutation(300)
    shuffled = ReliabilityDisplay.from_predictions(
        pd.Series(y, index=order), pd.Series(p, index=order), by=pd.Series(p > 0.5, index=order), ax=axes()
    )
    plain = ReliabilityDisplay.from_predictions(y, p, by=p > 0.5, ax=axes())
    for name, curve in plain.curves.items():
        np.testing.assert_array_equal(curve.accuracy, shuffled.curves[name].accuracy)
    with pytest.raises(InputError, match="y_prob has the index of y_true in another order"):
        ReliabilityDisplay.from_predictions(pd.Series(y, index=order), pd.Series(p), ax=axes())


def test_every_row_is_in_one_curve_at_most_six():
    y, p = outcomes(900)
    rare = np.random.default_rng(0).choice(list("abcdefghij"), 900)
    shown = ReliabilityDisplay.from_predictions(y, p, by=rare, ax=axes())
    assert len(shown.curves) == 6
    assert sum(curve.n for curve in shown.curves.values()) == 900
    ranges = ReliabilityDisplay.from_predictions(y, p, by=np.where(p < 0.1, np.nan, p), ax=axes())
    assert [curve.n for curve in ranges.curves.values()][:4] == pytest.approx([(p >= 0.1).sum() / 4] * 4, abs=1)
    assert sum(curve.n for curve in ranges.curves.values()) == 900
    with pytest.raises(InputError, match="by has no value that 30 rows or more have"):
        ReliabilityDisplay.from_predictions(y[:40], p[:40], by=[str(k) for k in range(40)])


def test_what_cannot_be_drawn_is_refused_in_one_line():
    y, p = outcomes()
    with pytest.raises(InputError, match="y_prob must be one-dimensional"):
        ReliabilityDisplay.from_predictions(y, np.column_stack([1 - p, p]))


def test_findings_of_predictions_need_no_run():
    rng = np.random.default_rng(0)
    kind, p = rng.choice(["law", "art", "sums"], 900), rng.uniform(0.3, 0.7, 900)
    y = rng.random(900) < p + np.where(kind == "law", -0.25, 0.1)
    frame = pd.DataFrame({"kind": kind, "noise": rng.normal(size=900)}, index=rng.permutation(900))
    shown = FindingsDisplay.from_predictions(y, p, by=frame, ax=axes())
    assert shown.findings[0].description == "kind = law"
    dropped = np.r_[np.ones(900), np.zeros(900)]
    weighted = FindingsDisplay.from_predictions(
        np.r_[y, ~y], np.r_[p, p], by=np.r_[kind, kind], sample_weight=dropped, ax=axes()
    )
    assert weighted.findings[0].n == shown.findings[0].n
    with pytest.raises(InputError, match="y_prob must lie in"):
        FindingsDisplay.from_predictions(y, 100 * p, by=frame)


# --- axes fit what is shown, and nothing lies on anything else ------------------------------------------------------


def rare(n=4000):
    """Probabilities of a rare event: 2 % on average, 6 % at most."""
    rng = np.random.default_rng(0)
    p = 0.06 * rng.beta(2, 4, n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.whole
def test_axes_fit_a_rare_event():
    shown = ReliabilityDisplay.from_predictions(*rare(), ax=axes()).ax_
    assert shown.get_xlim() == shown.get_ylim() == pytest.approx((0.0, 0.06), abs=0.011)
    y, p = rare()
    # the histogram has bars enough to be one
    curve = ReliabilityDisplay.from_predictions(y, p, ax=axes()).curves["all rows"]
    assert curve.counts.sum() == 4000
    assert np.count_nonzero(curve.counts) > 8


@pytest.mark.parametrize("values", [[0.0], [1.0], [0.5], [0.0, 1.0], [0.3, 0.700001], [1e-6, 2e-6], [0.999, 1.0]])
def test_a_histogram_holds_every_probability(values):
    y, p = np.array([0, 1] * 50), np.resize(values, 100)
    shown = ReliabilityDisplay.from_predictions(y, p, ax=axes())
    curve = shown.curves["all rows"]
    assert curve.counts.sum() == 100
    assert len(curve.counts) <= 20
    assert np.all(np.diff(curve.edges) > 0)
    (low, high), inside = shown.ax_.get_xlim(), curve.confidence
    assert low <= inside.min() <= inside.max() <= high


def test_a_curve_that_is_far_off_everywhere_stays_on_the_drawing():
    p = np.linspace(0.5, 0.55, 2000)
    shown = ReliabilityDisplay.from_predictions(np.random.default_rng(0).random(2000) < 0.9, p, ax=axes())
    assert shown.ax_.get_ylim()[1] >= 0.9


def boxes(texts, figure):
    figure.canvas.draw()
    drawn = [one for one in texts if one.get_text().strip() and one.get_visible()]
    return [(one.get_text(), one.get_window_extent(figure.canvas.get_renderer())) for one in drawn]


def ticks_of(ax):
    """Labels of the ticks of the horizontal axis that are drawn."""
    low, high = ax.get_xlim()
    return [one for one in ax.get_xticklabels() if low <= one.get_position()[0] <= high]


def assert_apart(texts, figure):
    found = boxes(texts, figure)
    for place, (name, box) in enumerate(found):
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1, name
        for other, theirs in found[place + 1 :]:
            # a pixel of their boxes may be shared
            assert min(box.x1, theirs.x1) - max(box.x0, theirs.x0) < 2 or (
                min(box.y1, theirs.y1) - max(box.y0, theirs.y0) < 2
            ), (name, other)


# --- the first screen -------------------------------------------------------------------------------------------------


@pytest.fixture
def summary(make_run):
    return read_summary(make_run())


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_the_first_screen_has_three_lines_and_names_that_do_not_collide(summary, style):
    first = summary.findings[0]
    names = ["price from $5 to $10", "humidity at least 1015.25 and at most 1027.75 in the afternoon", "x" * 200]
    many = tuple(first.model_copy(update={"description": name, "n": 90 + k}) for k, name in enumerate(names * 2))
    pairs = tuple(summary.curves.all for _ in many)
    told = summary.model_copy(
        update={"findings": many, "curves": summary.curves.model_copy(update={"findings": pairs})}
    )
    with pyplot.style.context(style):
        shown = OverviewDisplay(told).plot()
        figure, (curves, forest) = shown.figure_, shown.axes_
        figure.savefig(io.BytesIO())
        assert summary.answer.headline.split()[0] in figure.get_suptitle()
        for line in (told.answer.headline, told.answer.reason, told.answer.action):
            assert line in shown.alt_text
        ticks = forest.get_yticklabels()
        assert "1027.75" in ticks[2].get_text().replace("\n", " ")
        assert_apart([*ticks, *forest.texts, *ticks_of(forest), forest.xaxis.label], figure)
        assert_apart(curves.texts, figure)
    pyplot.close("all")


def test_the_first_screen_is_drawn_on_given_axes_without_lines_of_its_own(summary):
    figure, before = Figure(), pyplot.get_fignums()
    given = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    shown = OverviewDisplay(summary).plot(given)
    assert (shown.axes_, shown.figure_) == (given, figure)
    assert not figure.get_suptitle()
    assert given[0].get_xlim() == given[0].get_ylim()
    assert pyplot.get_fignums() == before
    figure.savefig(io.BytesIO())


def test_a_run_without_findings_or_curves_draws_all_rows(summary):
    none = summary.curves.all.model_copy(update={"raw": None, "corrected": None})
    bare = summary.model_copy(
        update={"findings": (), "curves": summary.curves.model_copy(update={"findings": (), "all": none})}
    )
    shown = OverviewDisplay(bare).plot()
    assert [one.name for one in shown.groups] == ["all rows"]
    pyplot.close("all")
