"""Whether two models are wrong about their confidence on the same questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.evidence.stability import seed_stability
from miscal.runs.compare.estimates import correlation
from miscal.runs.compare.rows import Match
from miscal.study.transfer.runs import OpenRun, side

_FIELDS = {"delta": "delta", "hidden": "field"}
"""Name in the table: attribute of a run's rows."""


def field_rows(a: OpenRun, b: OpenRun, match: Match | None, method: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """Correlate two pairs' fields on the questions that testify in both.

    The interval holds for these two fields and further questions like these: questions are drawn again, and those that
    count as one, or have equal inputs, are drawn together. Fits are not repeated.

    Parameters
    ----------
    a, b : OpenRun
    match : Match or None
        From :func:`miscal.study.transfer.runs.shared`.
    method : str
        What the table calls the method.
    seed : int, default 0
        Of the draws.

    Returns
    -------
    list of dict
        Two rows of table ``transfer_fields``, "delta" and "hidden"; none without two shared questions. A correlation is
        null where one field is constant. A field of 0 agrees in sign with another 0 only.
    """
    both = [] if match is None else np.flatnonzero(a.testifies[match.a] & b.testifies[match.b])
    if match is None or len(both) < 2:
        return []
    at_a, at_b = match.a[both], match.b[both]
    unit = side(a, at_a, match.unit[both]).unit
    known = {"method": method, "dataset": a.labels.dataset, "pair_a": a.labels.pair, "pair_b": b.labels.pair}
    rows = []
    for what, name in _FIELDS.items():
        one, two = getattr(a.rows, name)[at_a], getattr(b.rows, name)[at_b]
        found = correlation(one, two, unit, seed)
        low, high = found.interval or (None, None)
        agreement = seed_stability([one, two]).pairs[0].sign_agreement
        value = {"correlation": found.value, "low": low, "high": high, "sign_agreement": agreement}
        rows.append({**known, "n_shared": len(both), "what": what, **value})
    return rows
