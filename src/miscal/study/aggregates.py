"""Means, counts and correlations over many pairs, computed from the tables of a study alone.

Figures and pages draw and print them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special, stats

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import correlation
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm
from miscal.study.tables import LEARNED, RAW, of_method

LARGE_GAP = 0.06
"""From this gap on the paper calls a pair's hidden structure substantial (its section 5 and Table 4)."""

_PAIR = ("pair", "dataset", "model")
_COUNT = pl.len().cast(pl.Int64)

# --- correlations -------------------------------------------------------------------------------------------------


class Association(NamedTuple):
    """A correlation of n rows, with its 95 % interval for rows that are independent.

    The value is None below 3 rows, or where a side is constant; the ends are None there, and below 4 rows.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def text(self) -> str:
        """The correlation with its interval, for readers; an en dash where it is undefined.

        >>> Association(0.5, -0.25, 0.85, 9).text, Association(None, None, None, 2).text
        ('0.50 [−0.25, 0.85]', '–')
        """
        if self.value is None:
            return "\u2013"
        ends = "" if self.low is None else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.2f}{ends}".replace("-", "\u2212")


def pearson(a: np.ndarray, b: np.ndarray) -> Association:
    """Pearson correlation of finite values, with Fisher's interval."""
    return fisher(None if len(a) < 3 else correlation(a, b), len(a))


def spearman(a: np.ndarray, b: np.ndarray) -> Association:
    """Spearman's rank correlation, with Fisher's interval widened for ranks (Bonett & Wright, Psychometrika 65, 2000).

    >>> round(spearman(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 5.0, 3.0])).value, 3)
    0.8
    """
    value = pearson(stats.rankdata(a), stats.rankdata(b)).value
    return fisher(value, len(a), 1.0 + (value or 0.0) ** 2 / 2)


def fisher(value: float | None, n: int, variance: float = 1.0) -> Association:
    """Give a correlation of n independent rows Fisher's interval."""
    if value is None or n < 4:
        return Association(value, None, None, n)
    if abs(value) == 1.0:
        # atanh is infinite there
        return Association(value, value, value, n)
    half = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2)) * math.sqrt(variance / (n - 3))
    return Association(value, math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half), n)


# --- verdicts -----------------------------------------------------------------------------------------------------


def certificates(pairs: pl.DataFrame, method: str, n_planned: int | None = None) -> pl.DataFrame:
    """List the certificates of hidden miscalibration in the table ``pairs``, adjusted for the number of pairs.

    Those of the `n_planned` pairs that have no certificate, because they are not finished, failed or have none, count
    as tested with a p-value of 1, so that an unfinished study proves no more than the finished one would with the same
    p-values. The rows that have a ``p_hidden`` (learned geometry) come with ``p_adjusted`` (Holm 1979), smallest first.

    >>> key = {"method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"pair": ["p", "q", "r"], "p_hidden": [0.04, 0.01, None]})
    >>> certificates(pairs, "auto").select("pair", "p_adjusted").rows()
    [('q', 0.02), ('p', 0.04)]
    >>> certificates(pairs, "auto", n_planned=4).select("pair", "p_adjusted").rows()
    [('q', 0.04), ('p', 0.12)]
    """
    tested = of_method(pairs, method, LEARNED).drop_nulls("p_hidden")
    # tables may hold pairs that the plan has no more
    others = np.ones(max(0, (n_planned or 0) - tested.height))
    adjusted = holm(np.concatenate([tested["p_hidden"].to_numpy(), others]))[: tested.height]
    found = tested.with_columns(pl.Series("p_adjusted", adjusted, pl.Float64))
    return found.sort("p_adjusted", "p_hidden", "pair", maintain_order=True)


def beyond_chance(difference: str, ending: str = "") -> dict[str, pl.Expr]:
    """Count the rows that have an interval of a difference (n_compared), those where it lies above 0, and below 0."""
    low, high = pl.col(f"{difference}_low"), pl.col(f"{difference}_high")
    counts = {"compared": low.is_not_null() & high.is_not_null(), "helped": low > 0, "harmed": high < 0}
    return {f"n_{name}{ending}": inside.sum().cast(pl.Int64) for name, inside in counts.items()}


def verdict(pairs: pl.DataFrame, method: str, n_planned: int | None = None) -> pl.DataFrame:
    """Count what one method found in the table ``pairs``, in the learned geometry: one row.

    Parameters
    ----------
    n_planned : int, optional
        As for :func:`certificates`.

    Returns
    -------
    polars.DataFrame
        ``n_pairs``; pairs whose gap is above 0 (``n_gap_above_zero``: for comparison with the paper alone, because
        smECE has a noise floor, so that a calibrated model has such a gap in nearly every draw), whose 95 % interval of
        the gap lies above 0 (``n_gap_beyond_chance``), and whose gap is at least ``LARGE_GAP`` (``n_gap_large``), with
        the mean share of rows in the worst slice of these (``mean_share_worst``); ``mean_gap`` and ``median_gap`` of
        the bootstrap means of max(0, gap), missing ones counted as 0; ``n_family``, pairs that p-values are adjusted
        over, ``n_tested``, those with a certificate, ``n_proved``, those whose hidden miscalibration is proved at 5 %,
        and ``n_proved_alone``, without adjustment; and the counts of :func:`beyond_chance` of the log loss that the
        correction saves, and of what it saves beyond a map of the confidence alone (``_local``), which are not
        adjusted for the number of pairs.
    """
    proved, gap = certificates(pairs, method, n_planned), pl.col("gap_clipped")
    replicated = pl.col("gap_boot_mean_clipped").fill_null(0.0)
    return of_method(pairs, method, LEARNED).select(
        n_pairs=_COUNT,
        n_gap_above_zero=(gap > 0).sum().cast(pl.Int64),
        n_gap_beyond_chance=(pl.col("gap_interval_low") > 0).sum().cast(pl.Int64),
        n_gap_large=(gap >= LARGE_GAP).sum().cast(pl.Int64),
        mean_gap=replicated.mean(),
        median_gap=replicated.median(),
        mean_share_worst=pl.col("share_worst").filter(gap >= LARGE_GAP).mean(),
        n_family=pl.lit(max(proved.height, n_planned or 0)),
        n_tested=pl.lit(proved.height),
        n_proved=pl.lit((proved["p_adjusted"] <= SIGNIFICANCE).sum()),
        n_proved_alone=pl.lit((proved["p_hidden"] <= SIGNIFICANCE).sum()),
        **beyond_chance("log_loss_saved"),
        **beyond_chance("log_loss_saved_local", "_local"),
    )


# --- the paper's tables and figures -------------------------------------------------------------------------------


def raw_beside_learned(pairs: pl.DataFrame, method: str = "paper") -> pl.DataFrame:
    """Set what raw inputs find, measured for "paper" alone, beside the learned geometry: a row for each pair of both.

    The columns are those of the table ``pairs``, those of the raw inputs with ``_raw``; and ``difference``, of the
    clipped gaps (learned - raw).
    """
    sides = (of_method(pairs, method, geometry) for geometry in (LEARNED, RAW))
    both = next(sides).join(next(sides), on=_PAIR, suffix="_raw").sort("pair")
    return both.with_columns(difference=pl.col("gap_clipped") - pl.col("gap_clipped_raw"))


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
    ranked = lambda some: spearman(some["billions"].to_numpy(), some["delta_std"].to_numpy())  # noqa: E731
    rows = [(*key, some.height, ranked(some).value) for key, some in known.group_by("dataset", "family")]
    schema = {"dataset": pl.String, "family": pl.String, "n": pl.Int64, "spearman": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("dataset", "family")


def threshold_numbers(thresholds: pl.DataFrame, method: str) -> pl.DataFrame:
    """Describe, at each epsilon, the pairs whose worst slice has a gap above ``LARGE_GAP`` there (the paper's Table 4).

    Slices that are worst by SmoothECE are used, in the learned geometry. A row per epsilon, rising: epsilon, smece_gap
    and brier_gap (medians, of the same slices), share_quarter, share_median, share_three_quarters (quartiles of the
    slice's share of rows, in [0, 1]), n (pairs with such a gap), n_pairs (all). Medians and quartiles are null where n
    is 0.
    """
    large = pl.col("smece_gap") > LARGE_GAP
    quartiles = {"share_quarter": 0.25, "share_median": 0.5, "share_three_quarters": 0.75}
    found = of_method(thresholds, method, LEARNED).filter(by="smece").group_by("epsilon").agg(
        pl.col("smece_gap", "brier_gap").filter(large).median(),
        *(pl.col("share").filter(large).quantile(level, "linear").alias(name) for name, level in quartiles.items()),
        n=large.sum().cast(pl.Int64), n_pairs=_COUNT,
    )  # fmt: skip
    return found.sort("epsilon")


def threshold_correlations(
    thresholds: pl.DataFrame, method: str
) -> dict[str, tuple[pl.DataFrame, Association, Association]]:
    """Correlate gaps by SmoothECE and by the Brier score over pair and epsilon (the paper's appendix F.4).

    Gaps are signed. The paper's are cut off at 0, as far as its tables show, so that its correlations are over other
    values. A pair without a worst slice at an epsilon is left out there. The rows of one pair depend on each other, so
    that the intervals are too short: show the values.

    Returns
    -------
    dict of str to (polars.DataFrame, Association, Association)
        Columns x and y by pair and epsilon, Pearson's and Spearman's correlation: ``brier_on_smece``, Brier gap (y)
        against smECE gap (x) of the slice that is worst by smECE; ``smece_gaps`` and ``brier_gaps``, gaps of the slice
        that is worst by the Brier score (y) against the one worst by smECE (x).
    """
    some = of_method(thresholds, method, LEARNED).drop_nulls(["smece_gap", "brier_gap"]).sort("pair", "epsilon")
    by_smece, by_brier = (some.filter(by=by) for by in ("smece", "brier"))
    both = by_smece.join(by_brier, on=["pair", "epsilon"], suffix="_of_brier", maintain_order="left")
    found = {}
    for name, table, x, y in (
        ("brier_on_smece", by_smece, "smece_gap", "brier_gap"),
        ("smece_gaps", both, "smece_gap", "smece_gap_of_brier"),
        ("brier_gaps", both, "brier_gap", "brier_gap_of_brier"),
    ):
        sides = table[x].to_numpy(), table[y].to_numpy()
        found[name] = table.select("pair", "epsilon", x=x, y=y), pearson(*sides), spearman(*sides)
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

    A gap that is negative or missing counts as 0. A row per pair: pair, dataset, model, and of correlation,
    sign_agreement, sign_by_chance (over the pairs of seeds that have a correlation), gap and delta_std (over seeds)
    each `<name>_mean` and `<name>_std`; n_seeds, and of the pairs of seeds n_seed_pairs and n_undefined, those without
    a correlation because a field is constant.
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


_OF_REGION = (*_PAIR, "method", "geometry", "region")


def _gains(corrections: pl.DataFrame, method: str, over: str) -> pl.DataFrame:
    """By how much each calibrator lowers the smECE of each region beside the calibrator `over`: column ``gain``."""
    some = of_method(corrections, method, LEARNED)
    before = some.filter(calibrator=over).select(*_OF_REGION, before="smece")
    return some.join(before, on=_OF_REGION).with_columns(gain=pl.col("before") - pl.col("smece")).drop_nulls("gain")


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
    own = of_method(pairs, method, LEARNED)
    gains = _gains(corrections, method, "raw").join(own.select("pair", "min_rows"), on="pair")
    gains = gains.filter(pl.col("n") >= pl.col("min_rows"), pl.col("calibrator") != "raw")
    averaged = gains.group_by("dataset", "region", "calibrator").agg(
        mean=pl.col("gain").mean(), std=pl.col("gain").std(ddof=1), n_pairs=_COUNT
    )
    of_all = own.group_by("dataset").agg(n_all=_COUNT)
    return averaged.join(of_all, on="dataset").sort("dataset", "region", "calibrator")


def heterogeneity_gain(pairs: pl.DataFrame, corrections: pl.DataFrame, method: str) -> tuple[pl.DataFrame, Association]:
    """Set the gain over isotonic regression on the worst slice against the spread of the field; learned geometry.

    The first has a row per pair with a worst slice: pair, dataset, model, family, delta_std, worst, gain (smECE of
    isotonic regression less smECE of the local correction on the worst slice; positive: ours is better). The second is
    Spearman's correlation of delta_std and gain.
    """
    gains = _gains(corrections, method, "isotonic").filter(calibrator="miscal").select("pair", "gain", worst="region")
    shown = of_method(pairs, method, LEARNED).drop_nulls(["worst", "delta_std"]).join(gains, on=["pair", "worst"])
    points = shown.select(*_PAIR, "family", "delta_std", "worst", "gain").sort("pair")
    return points, spearman(points["delta_std"].to_numpy(), points["gain"].to_numpy())


def deferral_numbers(gains: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average the gains of the table ``deferral_gains`` over pairs, and count those beyond chance.

    A row per entry of `at`: at, raw, corrected, gain (means over pairs), n_helped (pairs whose interval of the gain
    lies above 0), n_harmed (below 0), n_pairs.
    """
    counts = beyond_chance("gain") | {"n_pairs": _COUNT}
    return of_method(gains, method).group_by("at").agg(pl.col("raw", "corrected", "gain").mean(), **counts).sort("at")


SIGN, OUTCOME = "sign", "outcome"
"""What neighbours may share besides metadata, as the table ``purity`` calls it."""

MARGIN = 2.0
"""Standard deviations, of both purities under permuted labels, by which a purity must change to be called changed."""


def forgetting(purity: pl.DataFrame, method: str) -> pl.DataFrame:
    """Compare the purities of the two spaces: what the learned one forgets and keeps.

    A row for each pair and `of`: its "outcome", the "sign" of delta, and its "category", the first metadata column in
    the order of the plan, whatever its purity: one chosen for a high purity in the raw inputs would fall by regression
    to the mean alone. Neither space was made from the outcome; the sign of delta the learned space has by construction.

    Columns raw and learned (purity above chance, (purity - null_mean) / (1 - null_mean): 0 at chance, 1 where all share
    it), falls and rises. A purity counts as changed where it moves by more than two standard deviations of what
    permuted labels give, and as risen where it is also beyond chance in the learned space. This is a margin against
    noise, not a test of the difference.
    """
    raw, learned = (of_method(purity, method).filter(space=space) for space in ("raw", "learned"))
    both = raw.join(learned, on=["pair", "by"], suffix="_learned", maintain_order="left")
    room, noise = 1 - pl.col("null_mean"), pl.col("null_std").pow(2) + pl.col("null_std_learned").pow(2)
    change, margin = pl.col("learned") - pl.col("raw"), MARGIN * noise.sqrt() / room
    of = pl.when(pl.col("by").is_in([SIGN, OUTCOME])).then("by").otherwise(pl.lit("category"))
    return (
        both.with_columns(
            of=of,
            raw=(pl.col("purity") - pl.col("null_mean")) / room,
            learned=(pl.col("purity_learned") - pl.col("null_mean_learned")) / room,
        )
        .with_columns(falls=change < -margin, rises=(change > margin) & (pl.col("p_value_learned") <= SIGNIFICANCE))
        .unique(["pair", "of"], keep="first", maintain_order=True)
        .select("pair", "of", "by", "raw", "learned", "falls", "rises")
    )
