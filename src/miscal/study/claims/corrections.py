"""Claims on what corrections take off the calibration error."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

import polars as pl

from miscal.report.numbers import metric
from miscal.study.claims.claim import Claim, Direction, Tables, enough, ranged, rising
from miscal.study.numbers import heterogeneity_gain, improvements
from miscal.study.numbers.association import Association
from miscal.study.numbers.choosing import LEARNED, of_method

TOLERANCE = -0.005
"""Mean change of smECE down to which a correction counts as doing no harm, whichever correction it is."""

_OURS, _OTHERS = ("miscal",), ("isotonic", "temperature")
_HELPS = f"No mean is below {metric(TOLERANCE)}, and together they are above 0."


def improved(tables: Tables, method: str) -> list[Claim]:
    """Where corrections help, and where they do harm."""
    table = improvements(tables["corrections"], tables["pairs"], method)
    n = of_method(tables["pairs"], method, LEARNED).height
    claims = (
        ("The local correction helps on both miscalibrated regions.", _OURS, ("over", "under"), "above 0 on both",
         _helps, _HELPS),
        ("The local correction does no harm where calibration is good.", _OURS, ("good",), "about 0",
         lambda means: _harmed(means) == 0, f"No mean is below {metric(TOLERANCE)}."),
        ("Isotonic regression and temperature scaling help on all rows.", _OTHERS, ("all",), "above 0", _helps, _HELPS),
        ("Isotonic regression and temperature scaling often do harm where calibration is good.", _OTHERS, ("good",),
         "often below 0", lambda means: 2 * _harmed(means) >= len(means),
         f"At least half of the means are below {metric(TOLERANCE)}."),
    )  # fmt: skip
    return [claim for one in claims for claim in _claimed(table, n, *one)]


def _claimed(
    table: pl.DataFrame, n: int, says: str, calibrators: tuple[str, ...], regions: tuple[str, ...], published: str,
    holds: Callable[[list[float]], bool], meaning: str,
) -> list[Claim]:  # fmt: skip
    some = table.filter(pl.col("calibrator").is_in(calibrators), pl.col("region").is_in(regions))
    if some.is_empty():
        return []
    means = some["mean"].to_list()
    here = f"{ranged(means)}; {_harmed(means)} of {len(means)} means are below {metric(TOLERANCE)}"
    return [Claim("improvements", "figure 6", says, published, here, n, meaning, *enough(holds(means), n))]


def _helps(means: list[float]) -> bool:
    return _harmed(means) == 0 and fmean(means) > 0


def _harmed(means: list[float]) -> int:
    return sum(mean < TOLERANCE for mean in means)


def gains(tables: Tables, method: str) -> list[Claim]:
    """Whether the gain over isotonic regression is larger where the field varies more."""
    found = heterogeneity_gain(tables["pairs"], tables["corrections"], method).association
    if found.value is None:
        return []
    return [
        Claim(
            "gains", "figure 7a", "The gain over isotonic regression is larger where the field varies more.",
            "rising, without a number", f"Spearman {found.text}", found.n,
            "The 95 % interval of the rank correlation lies above 0.", *_apart(found),
        )
    ]  # fmt: skip


def _apart(found: Association) -> Direction:
    """Decide by the interval of ranks where there is one."""
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return rising(Association(None, None, None, found.n), found.n)
    return enough(found.low > 0, found.n)
