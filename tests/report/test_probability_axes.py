"""Axes in log-odds hold what is shown, in order, and come first where most rows are near 0 or 1."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.report.drawing import LINEAR, LOG_ODDS, log_odds_axes, shown_first

probabilities = st.floats(0, 1)


@given(st.lists(probabilities, max_size=20))
def test_dots_stay_inside_and_keep_their_order(shown):
    axes = log_odds_axes(shown)
    low, high = axes.along.start, axes.along.stop
    places = [axes.along(value) for value in sorted(shown)]
    assert all(low <= place <= high for place in places)
    assert places == sorted(places)


@given(st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=20))
def test_ticks_are_few_distinct_and_inside(shown):
    axes = log_odds_axes(shown)
    places, labels = zip(*axes.along_ticks, strict=True)
    assert 2 <= len(labels) <= 14
    assert len(set(labels)) == len(labels)
    assert list(places) == sorted(places)
    assert axes.along.start <= places[0] <= places[-1] <= axes.along.stop


@pytest.mark.parametrize(("share", "first"), [(None, LINEAR), (0.2, LINEAR), (0.5, LINEAR), (0.6, LOG_ODDS)])
def test_log_odds_come_first_where_most_rows_are_extreme(share, first):
    assert shown_first(SimpleNamespace(share_extreme=share)) == first
