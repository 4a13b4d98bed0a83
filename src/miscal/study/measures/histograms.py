"""The table ``histograms``: how often each value of the field occurs."""

from __future__ import annotations

import numpy as np

from miscal.study.studied import Rows, Studied

EDGES = np.linspace(-1.0, 1.0, 201).round(2)
"""Bins of width 0.01 over all values that a field can have, the same for all pairs: they can be added. Half-widths of
the band in whole hundredths, such as 0.05, are edges, so that no bin lies on both sides of one."""


def measure(studied: Studied) -> Rows:
    """Count the values of the field of each geometry.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    Rows
        Table ``histograms``.
    """
    rows = []
    for geometry, seen in studied.geometries.items():
        counts = np.histogram(seen.delta, EDGES)[0]
        rows += [
            studied.named | {"geometry": geometry, "left": float(left), "right": float(right), "n": int(n)}
            for left, right, n in zip(EDGES[:-1], EDGES[1:], counts, strict=True)
        ]
    return {"histograms": rows}
