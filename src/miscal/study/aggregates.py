"""Means, counts and correlations over many pairs, computed from the tables of a study alone.

Figures and pages draw and print them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import correlation
from miscal.evidence.settings import SIGNIFICANCE
from miscal.study.tables import LEARNED, RAW, of_method

LARGE_GAP = 0.06
"""From this gap on the paper calls a pair's hidden structure substantial (its section 5 and Table 4)."""

_PAIR = ("pair", "dataset", "model")
_COUNT = pl.len().cast(pl.Int64)


@dataclass(frozen=True)
class Association:
    """A correlation of n rows, with its 95 % interval for rows that are independent.

    The value is None below 3 rows, or where a side is constant; the ends are None there, and below 4 rows.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def rises(self) -> bool | None:
        """Whether it is above 0; None where its interval holds 0, or there is none."""
        if self.value is None or self.low is None or self.high is None or self.low <= 0 <= self.high:
            return None
        return self.value > 0

    @property
    def text(self) -> str:
        """The correlation with its interval, for readers; an en dash where it is undefined.

        >>> Association(0.5, -0.25, 0.85, 9).text, Association(None, None, None, 2).text
        ('0.50 [−0.25, 0.85]', '–')
        """
        if self.value is None:
            return "\u2013"
        ends = "" if self.low is None or self.high is None else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.2f}{ends}".replace("-", "\u2212")


def pearson(a: np.ndarray, b: np.ndarray) -> Association:
    """Pearson correlation of finite values, with Fisher's interval."""
    return fisher(_correlation(a, b), len(a))


def spearman(a: np.ndarray, b: np.ndarray) -> Association:
    """Spearman's rank correlation, with Fisher's interval widened for ranks (Bonett & Wright, Psychometrika 65, 2000).

    >>> round(spearman(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 5.0, 3.0])).value, 3)
    0.8
    """
    value = _correlation(stats.rankdata(a), stats.rankdata(b))
    return fisher(value, len(a), 1.0 + (value or 0.0) ** 2 / 2)


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    return None if len(a) < 3 else correlation(a, b)


def fisher(value: float | None, n: int, variance: float = 1.0) -> Association:
    """Give a correlation of n independent rows Fisher's interval."""
    if value is None or n < 4:
        return Association(value, None, None, n)
    if abs(value) == 1.0:
        # atanh is infinite there
        return Association(value, value, value, n)
    half = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2)) * math.sqrt(variance / (n - 3))
    return Association(value, math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half), n)


@dataclass(frozen=True)
class StudyGaps:
    """The gaps of all pairs under one method; gaps are clipped, so that a pair without a worst slice counts as 0.

    Attributes
    ----------
    n_pairs : int
    n_above_zero : int
        Pairs whose gap is above 0: a count for comparison with the paper alone, because smECE has a noise floor, and
        slices are smaller than the whole, so that a calibrated model has a gap above 0 in nearly every draw.
    n_beyond_chance : int
        Pairs whose gap has a 95 % interval, from the summary of the run, that lies above 0.
    n_large : int
        Pairs with a gap of at least ``LARGE_GAP``.
    mean, median : float or None
        Of the bootstrap means of max(0, gap), as in the paper's Table 5; missing ones count as 0. None without pairs.
    mean_share_worst : float or None
        Mean share of rows in the worst slice, over pairs with a large gap; None without any.
    """

    n_pairs: int
    n_above_zero: int
    n_beyond_chance: int
    n_large: int
    mean: float | None
    median: float | None
    mean_share_worst: float | None


def gap_numbers(pairs: pl.DataFrame, method: str) -> StudyGaps:
    """Count and average the gaps of all pairs of the table ``pairs``, in the learned geometry.

    >>> pairs = pl.DataFrame({"method": "auto", "geometry": "learned", "gap_clipped": [0.08, 0.0],
    ...     "gap_boot_mean_clipped": [0.07, None], "gap_interval_low": [0.02, None], "share_worst": [0.4, None]})
    >>> gap_numbers(pairs, "auto")
    StudyGaps(n_pairs=2, n_above_zero=1, n_beyond_chance=1, n_large=1, mean=0.035, median=0.035, mean_share_worst=0.4)
    """
    some = of_method(pairs, method, LEARNED)
    large = some.filter(pl.col("gap_clipped") >= LARGE_GAP)
    replicated = some["gap_boot_mean_clipped"].fill_null(0.0)
    return StudyGaps(
        n_pairs=some.height,
        n_above_zero=int((some["gap_clipped"] > 0).sum()),
        n_beyond_chance=int((some["gap_interval_low"] > 0).sum()),
        n_large=large.height,
        mean=_number(replicated.mean()),
        median=_number(replicated.median()),
        mean_share_worst=_number(large["share_worst"].mean()),
    )


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]


def raw_against_learned(pairs: pl.DataFrame, method: str = "paper") -> pl.DataFrame:
    """Set the clipped gap by the raw inputs, measured for "paper" alone, beside that by the learned geometry.

    A row for each pair that has both: pair, dataset, model, raw, learned, difference (learned - raw).
    """
    raw, learned = (
        of_method(pairs, method, geometry).select(*_PAIR, pl.col("gap_clipped").alias(geometry))
        for geometry in (RAW, LEARNED)
    )
    return raw.join(learned, on=_PAIR).sort("pair").with_columns(difference=pl.col("learned") - pl.col("raw"))


def size_trends(pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Say for each family and data set whether the field varies more in larger models.

    Columns dataset, family, n (models), spearman (of billions and delta_std; null below 3 models). Pairs without family
    or size are left out.

    >>> pairs = pl.DataFrame({"dataset": "d", "family": "f", "method": "auto", "geometry": "learned",
    ...     "billions": [1.0, 3.0, 8.0], "delta_std": [0.1, 0.2, 0.3]})
    >>> size_trends(pairs, "auto").rows()
    [('d', 'f', 3, 1.0)]
    """
    known = of_method(pairs, method, LEARNED).drop_nulls(["family", "billions", "delta_std"])
    rows = []
    for key, some in known.group_by("dataset", "family"):
        found = spearman(some["billions"].to_numpy(), some["delta_std"].to_numpy())
        rows.append((*key, found.n, found.value))
    schema = {"dataset": pl.String, "family": pl.String, "n": pl.Int64, "spearman": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("dataset", "family")


def threshold_numbers(thresholds: pl.DataFrame, method: str) -> pl.DataFrame:
    """Describe, at each epsilon, the pairs whose worst slice has a gap above ``LARGE_GAP`` there (the paper's Table 4).

    Slices that are worst by SmoothECE are used, in the learned geometry.

    Returns
    -------
    polars.DataFrame
        A row per epsilon, rising: epsilon, smece_gap and brier_gap (medians, of the same slices), share_quarter,
        share_median, share_three_quarters (quartiles of the slice's share of rows, in [0, 1]), n (pairs with such a
        gap), n_pairs (all). Medians and quartiles are null where n is 0.
    """
    some = of_method(thresholds, method, LEARNED).filter(by="smece")
    large = pl.col("smece_gap") > LARGE_GAP
    quartiles = {"share_quarter": 0.25, "share_median": 0.5, "share_three_quarters": 0.75}
    found = some.group_by("epsilon").agg(
        *(pl.col(name).filter(large).median() for name in ("smece_gap", "brier_gap")),
        *(pl.col("share").filter(large).quantile(level, "linear").alias(name) for name, level in quartiles.items()),
        n=large.sum().cast(pl.Int64),
        n_pairs=_COUNT,
    )
    return found.sort("epsilon")


@dataclass(frozen=True)
class Correlated:
    """Two columns (x, y) over pair and epsilon, and how they go together.

    The rows of one pair depend on each other, so the intervals of the correlations are too short: show the values.
    """

    points: pl.DataFrame
    pearson: Association
    spearman: Association


def threshold_correlations(thresholds: pl.DataFrame, method: str) -> dict[str, Correlated]:
    """Correlate gaps by SmoothECE and by the Brier score over pair and epsilon (the paper's appendix F.4).

    Gaps are signed. The paper's are cut off at 0, as far as its tables show, so that its correlations are over other
    values. A pair without a worst slice at an epsilon is left out there.

    Returns
    -------
    dict of str to Correlated
        ``brier_on_smece``: Brier gap (y) against smECE gap (x) of the slice that is worst by smECE; ``smece_gaps`` and
        ``brier_gaps``: gaps of the slice that is worst by the Brier score (y) against the one worst by smECE (x).
    """
    place = ("pair", "epsilon")
    some = of_method(thresholds, method, LEARNED).drop_nulls(["smece_gap", "brier_gap"])
    by_smece, by_brier = (some.filter(by=by) for by in ("smece", "brier"))
    both = by_smece.join(by_brier, on=place, suffix="_of_brier")
    found = {}
    for name, table, x, y in (
        ("brier_on_smece", by_smece, "smece_gap", "brier_gap"),
        ("smece_gaps", both, "smece_gap", "smece_gap_of_brier"),
        ("brier_gaps", both, "brier_gap", "brier_gap_of_brier"),
    ):
        points = table.select(*place, x=x, y=y).sort(place)
        sides = points["x"].to_numpy(), points["y"].to_numpy()
        found[name] = Correlated(points, pearson(*sides), spearman(*sides))
    return found


def null_numbers(nulls: pl.DataFrame, method: str, null: str = "permuted") -> pl.DataFrame:
    """Set each pair's spread, clipped gap and kept epoch beside those of its refits under a null (the paper's Table 2).

    A row per pair: pair, dataset, model, and of delta_std, gap and epoch each `<name>`, `<name>_null_mean`,
    `<name>_null_std`, `<name>_p`; n_draws. Where a statistic was not measured these are null, and so is the p-value of
    the epoch, which measures no structure.

    >>> nulls = pl.DataFrame({"pair": "p", "dataset": "d", "model": "m", "method": "paper", "null": "permuted",
    ...     "statistic": ["delta_std", "gap"], "observed": [0.2, 0.1], "null_mean": [0.05, 0.0],
    ...     "null_std": [0.01, 0.0], "p_value": [0.048, 0.048], "n_draws": 20})
    >>> null_numbers(nulls, "paper").select("delta_std", "gap_null_mean", "gap_p", "n_draws").rows()
    [(0.2, 0.0, 0.048, 20)]
    """
    values = {"observed": "", "null_mean": "_null_mean", "null_std": "_null_std", "p_value": "_p"}
    columns = [
        pl.col(column).filter(pl.col("statistic") == statistic).first().alias(f"{statistic}{ending}")
        for statistic in ("delta_std", "gap", "epoch")
        for column, ending in values.items()
    ]
    found = of_method(nulls, method).filter(null=null).group_by(_PAIR).agg(*columns, pl.col("n_draws").max())
    return found.sort("pair")


def seed_numbers(seeds: pl.DataFrame, seed_pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Say how alike the refits of each pair are (the paper's Table 3): means, and standard deviations with n - 1.

    A gap that is negative or missing counts as 0.

    Returns
    -------
    polars.DataFrame
        A row per pair: pair, dataset, model, and of correlation, sign_agreement, sign_by_chance (over the pairs of
        seeds that have a correlation), gap and delta_std (over seeds) each `<name>_mean` and `<name>_std`; n_seeds,
        and of the pairs of seeds n_seed_pairs and n_undefined, those without a correlation because a field is
        constant.
    """
    each = of_method(seeds, method).with_columns(pl.col("gap").fill_null(0.0).clip(0.0))
    alone = each.group_by(_PAIR).agg(*_spread(pl.col("gap", "delta_std")), n_seeds=_COUNT)
    known = pl.col("correlation").is_not_null()
    compared = pl.col("correlation", "sign_agreement", "sign_by_chance").filter(known)
    of_two = of_method(seed_pairs, method).group_by(_PAIR)
    both = of_two.agg(*_spread(compared), n_seed_pairs=_COUNT, n_undefined=(~known).sum().cast(pl.Int64))
    return both.join(alone, on=_PAIR).sort("pair")


def _spread(values: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    return values.mean().name.suffix("_mean"), values.std(ddof=1).name.suffix("_std")


OURS, ISOTONIC, UNCORRECTED = "miscal", "isotonic", "raw"
_OF_REGION = (*_PAIR, "method", "geometry", "region")


def improvements(corrections: pl.DataFrame, pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average over models by how much each correction lowers SmoothECE, by data set and region; learned geometry.

    Regions with fewer rows than the ``min_rows`` of `pairs` do not take part. Columns dataset, region, calibrator, mean
    (of smECE(raw) - smECE(calibrator); positive: the correction helps), std (over models, n - 1; null for one), n_pairs
    (that have the region), n_all (pairs of the data set).

    >>> key = {"pair": "p", "dataset": "d", "model": "m", "method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"min_rows": 30})
    >>> corrections = pl.DataFrame(key | {
    ...     "calibrator": ["raw", "miscal"], "region": "over", "n": 40, "smece": [0.5, 0.25]})
    >>> improvements(corrections, pairs, "auto").rows()
    [('d', 'over', 'miscal', 0.25, None, 1, 1)]
    """
    of_all = of_method(pairs, method, LEARNED).group_by("dataset").agg(n_all=_COUNT)
    some = of_method(corrections, method, LEARNED).drop_nulls("smece")
    some = some.join(pairs.select(*_OF_REGION[:-1], "min_rows"), on=_OF_REGION[:-1])
    some = some.filter(pl.col("n") >= pl.col("min_rows"))
    before = some.filter(calibrator=UNCORRECTED).select(*_OF_REGION, before="smece")
    after = some.filter(pl.col("calibrator") != UNCORRECTED).join(before, on=_OF_REGION)
    saved = pl.col("before") - pl.col("smece")
    averaged = after.group_by("dataset", "region", "calibrator").agg(
        mean=saved.mean(), std=saved.std(ddof=1), n_pairs=_COUNT
    )
    return averaged.join(of_all, on="dataset").sort("dataset", "region", "calibrator")


def heterogeneity_gain(pairs: pl.DataFrame, corrections: pl.DataFrame, method: str) -> tuple[pl.DataFrame, Association]:
    """Set the gain over isotonic regression on the worst slice against the spread of the field; learned geometry.

    The first has a row per pair with a worst slice: pair, dataset, model, family, delta_std, worst, gain (smECE of
    isotonic regression less smECE of the local correction on the worst slice; positive: ours is better). The second is
    Spearman's correlation of delta_std and gain.
    """
    shown = of_method(pairs, method, LEARNED).drop_nulls(["worst", "delta_std"]).with_columns(region="worst")
    scores = of_method(corrections, method, LEARNED)
    for calibrator in (ISOTONIC, OURS):
        one = scores.filter(calibrator=calibrator).select(*_OF_REGION, pl.col("smece").alias(f"smece_{calibrator}"))
        shown = shown.join(one, on=_OF_REGION)
    gain = pl.col(f"smece_{ISOTONIC}") - pl.col(f"smece_{OURS}")
    points = shown.select(*_PAIR, "family", "delta_std", "worst", gain=gain).drop_nulls("gain").sort("pair")
    return points, spearman(points["delta_std"].to_numpy(), points["gain"].to_numpy())


def deferral_numbers(gains: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average the gains of the table ``deferral_gains`` over pairs, and count those beyond chance.

    A row per entry of `at`: at, raw, corrected, gain (means over pairs), n_better (pairs whose interval of the gain
    lies above 0), n_worse (below 0), n_pairs.
    """
    found = of_method(gains, method).group_by("at").agg(
        pl.col("raw", "corrected", "gain").mean(),
        n_better=(pl.col("gain_low") > 0).sum().cast(pl.Int64),
        n_worse=(pl.col("gain_high") < 0).sum().cast(pl.Int64),
        n_pairs=_COUNT,
    )  # fmt: skip
    return found.sort("at")


SIGN, OUTCOME = "sign", "outcome"
"""What neighbours may share besides metadata, as the table ``purity`` calls it."""

MARGIN = 2.0
"""Standard deviations, of both purities under permuted labels, by which a purity must change to be called changed."""


@dataclass(frozen=True)
class PurityChange:
    """Purity above chance in both spaces, (purity - null_mean) / (1 - null_mean): 0 at chance, 1 where all share it.

    `by` is what neighbours share, `margin` a change on this scale that permuted labels seldom reach, and `p_learned`
    the p-value in the learned space.
    """

    by: str
    raw: float
    learned: float
    margin: float
    p_learned: float

    @property
    def falls(self) -> bool:
        """Whether it is lower in the learned space by more than the margin."""
        return self.learned < self.raw - self.margin

    @property
    def rises(self) -> bool:
        """Whether it is higher in the learned space by more than the margin, and there beyond chance."""
        return self.learned > self.raw + self.margin and self.p_learned <= SIGNIFICANCE


@dataclass(frozen=True)
class PairForgetting:
    """What one pair's learned space forgets and keeps; None where it cannot be said.

    `category` is of the first metadata column in the order of the plan, whatever its purity: one chosen for a high
    purity in the raw inputs would fall by regression to the mean alone. Neither space was made from the outcome; the
    sign of delta the learned space has by construction.
    """

    pair: str
    category: PurityChange | None
    outcome: PurityChange | None
    sign: PurityChange | None

    @property
    def forgets(self) -> bool:
        """Whether purity by category falls from the raw to the learned space."""
        return self.category is not None and self.category.falls

    @property
    def keeps(self) -> bool:
        """Whether purity by outcome rises from the raw to the learned space."""
        return self.outcome is not None and self.outcome.rises


def forgetting(purity: pl.DataFrame, method: str) -> list[PairForgetting]:
    """Compare the purities of the two spaces, pair by pair, in the order of the table ``purity``.

    A purity counts as changed where it moves by more than two standard deviations of what permuted labels give. This
    is a margin against noise, not a test of the difference.
    """
    found = []
    for (pair,), rows in of_method(purity, method).group_by("pair", maintain_order=True):
        raw, learned = ({row["by"]: row for row in rows.filter(space=space).to_dicts()} for space in ("raw", "learned"))
        moved = {by: _purity_change(by, raw[by], learned[by]) for by in raw if by in learned}
        outcome, sign = (moved.pop(by, None) for by in (OUTCOME, SIGN))
        found.append(PairForgetting(str(pair), next(iter(moved.values()), None), outcome, sign))
    return found


def _purity_change(by: str, raw: dict[str, Any], learned: dict[str, Any]) -> PurityChange:
    room = 1 - raw["null_mean"]
    one, two = ((row["purity"] - row["null_mean"]) / room for row in (raw, learned))
    margin = MARGIN * math.hypot(raw["null_std"], learned["null_std"]) / room
    return PurityChange(by, one, two, margin, learned["p_value"])


def forgetting_sentence(found: list[PairForgetting]) -> str:
    """Say what learned spaces forget and keep."""
    if not found:
        return "No pair was interpreted, so nothing is known of what the learned space forgets."
    return (
        f"From the raw inputs to the learned space, neighbours come to share their category less often in "
        f"{sum(one.forgets for one in found)} of {len(found)} interpreted pairs, and their outcome more often in "
        f"{sum(one.keeps for one in found)}; both hold in {sum(one.forgets and one.keeps for one in found)}."
    )
