"""Date a change: between which looks lines began to change."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from miscal.evidence.betting import log_evidence
from miscal.runs.monitor.lines import Line, log_unchanged

LEAST_LIKELY = 1 / 20
"""Looks whose likelihood is below this share of the largest are no candidates."""


def likely_starts(lines: Sequence[Line], last: int) -> tuple[int, int, int]:
    """Say with which look a change began.

    The sums of each look are taken as normal. Before the change, the shift of a line is one that counts as none;
    from it on, it is any, with a standard deviation of 1 in log-odds.

    Parameters
    ----------
    lines : sequence of Line
        Those that changed together; no row belongs to two.
    last : int
        The look at which it was seen, from 1; later ones are not used.

    Returns
    -------
    (int, int, int)
        The first and the last look that are likely, and the likeliest, from 1 to `last`.
    """
    heights = np.sum([_log_likelihoods(one, last) for one in lines], axis=0)
    near = np.flatnonzero(heights >= heights.max() + log(LEAST_LIKELY))
    return int(near[0]) + 1, int(near[-1]) + 1, int(np.argmax(heights)) + 1


def _log_likelihoods(line: Line, last: int) -> NDArray[np.float64]:
    """Log-likelihood for each look as the first after a change, up to a constant; (last,)."""
    moment, information = (values[:last] for values in line.normal_sums())
    moment_before, information_before = (np.r_[0.0, np.cumsum(values)[:-1]] for values in (moment, information))
    calm = log_unchanged(moment_before, information_before, line.before, line.precision)
    changed = log_evidence(moment.sum() - moment_before, information.sum() - information_before, 0.0, 1.0)
    return calm + changed
