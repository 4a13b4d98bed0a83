"""What corrections improve over many pairs: calibration, deferral, and other pairs than their own."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from miscal.study.aggregates.association import Association, spearman
from miscal.study.tables import LEARNED, of_method
from miscal.study.vocabulary import StudyVocabulary

OURS, ISOTONIC, UNCORRECTED = "miscal", "isotonic", "raw"
_KEY = ("pair", "dataset", "model", "method", "geometry")


def improvements(corrections: pl.DataFrame, pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average over models by how much each correction lowers SmoothECE, by data set and region.

    Parameters
    ----------
    corrections, pairs : polars.DataFrame
        The tables of these names. Of `pairs` the least number of rows of a slice is used: a region with fewer does not
        take part.
    method : {"paper", "auto"}
        Geometry "learned".

    Returns
    -------
    polars.DataFrame
        Columns dataset, region, calibrator, mean (of smECE(raw) - smECE(calibrator); positive: the correction helps),
        std (over models, n - 1; null for one), n_pairs (that have the region), n_all (pairs of the data set).

    Examples
    --------
    >>> key = {"pair": "p", "dataset": "d", "model": "m", "method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"min_rows": 30})
    >>> corrections = pl.DataFrame(key | {
    ...     "calibrator": ["raw", "miscal"], "region": "over", "n": 40, "smece": [0.5, 0.25]})
    >>> improvements(corrections, pairs, "auto").rows()
    [('d', 'over', 'miscal', 0.25, None, 1, 1)]
    """
    of_all = of_method(pairs, method, LEARNED).group_by("dataset").agg(pl.len().cast(pl.Int64).alias("n_all"))
    grouped = _saved(corrections, pairs, method).group_by("dataset", "region", "calibrator")
    averaged = grouped.agg(
        mean=pl.col("saved").mean(), std=pl.col("saved").std(ddof=1), n_pairs=pl.len().cast(pl.Int64)
    )
    return averaged.join(of_all, on="dataset").sort("dataset", "region", "calibrator")


def _saved(corrections: pl.DataFrame, pairs: pl.DataFrame, method: str) -> pl.DataFrame:
    """smECE(raw) - smECE(calibrator) of every region with rows enough."""
    some = of_method(corrections, method, LEARNED).drop_nulls("smece")
    least = pairs.select(*_KEY, "min_rows")
    some = some.join(least, on=_KEY).filter(pl.col("n") >= pl.col("min_rows"))
    before = some.filter(pl.col("calibrator") == UNCORRECTED).select(*_KEY, "region", before="smece")
    after = some.filter(pl.col("calibrator") != UNCORRECTED)
    return after.join(before, on=[*_KEY, "region"]).with_columns(saved=pl.col("before") - pl.col("smece"))


@dataclass(frozen=True)
class HeterogeneityGain:
    """How much more the local correction gains over isotonic regression where the field varies more.

    Attributes
    ----------
    points : polars.DataFrame
        A row per pair with a worst slice: pair, dataset, model, family, delta_std, worst, gain (smECE of isotonic
        regression less smECE of the local correction on the worst slice; positive: ours is better).
    association : Association
        Spearman's correlation of delta_std and gain, with its interval over pairs.
    """

    points: pl.DataFrame
    association: Association


def heterogeneity_gain(pairs: pl.DataFrame, corrections: pl.DataFrame, method: str) -> HeterogeneityGain:
    """Set the gain over isotonic regression on the worst slice against the spread of the field.

    Parameters
    ----------
    pairs, corrections : polars.DataFrame
        The tables of these names.
    method : {"paper", "auto"}
        Geometry "learned".

    Examples
    --------
    >>> key = {"pair": ["p", "q", "r"], "dataset": "d", "model": "m", "method": "auto", "geometry": "learned"}
    >>> pairs = pl.DataFrame(key | {"family": "f", "delta_std": [0.1, 0.2, 0.3], "worst": "over"})
    >>> smece = {"isotonic": [0.2, 0.3, 0.5], "miscal": [0.1, 0.1, 0.1]}
    >>> corrections = pl.concat(
    ...     pl.DataFrame(key | {"calibrator": name, "region": "over", "smece": values})
    ...     for name, values in smece.items())
    >>> heterogeneity_gain(pairs, corrections, "auto").association.value
    1.0
    """
    shown = of_method(pairs, method, LEARNED).drop_nulls(["worst", "delta_std"])
    shown = shown.select(*_KEY, "family", "delta_std", "worst")
    of_pair = of_method(corrections, method, LEARNED).rename({"region": "worst"})
    for calibrator in (ISOTONIC, OURS):
        one = of_pair.filter(pl.col("calibrator") == calibrator).select(
            *_KEY, "worst", pl.col("smece").alias(calibrator)
        )
        shown = shown.join(one, on=[*_KEY, "worst"])
    points = shown.with_columns(gain=pl.col(ISOTONIC) - pl.col(OURS)).drop_nulls("gain").sort("pair")
    columns = ("pair", "dataset", "model", "family", "delta_std", "worst", "gain")
    found = spearman(points["delta_std"].to_numpy(), points["gain"].to_numpy())
    return HeterogeneityGain(points.select(columns), found)


def deferral_numbers(gains: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average the gains of deferral over pairs, and count those beyond chance.

    Parameters
    ----------
    gains : polars.DataFrame
        The table ``deferral_gains``.
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        A row per entry of `at`: at, raw, corrected, gain (means over pairs), n_better (pairs whose interval of the gain
        lies above 0), n_worse (below 0), n_pairs.

    Examples
    --------
    >>> gains = pl.DataFrame({"method": "auto", "at": "area", "raw": [0.25, 0.5], "corrected": [0.125, 0.5],
    ...     "gain": [0.125, 0.0], "gain_low": [0.1, -0.1], "gain_high": [0.2, 0.1]})
    >>> deferral_numbers(gains, "auto").select("at", "gain", "n_better", "n_worse", "n_pairs").rows()
    [('area', 0.0625, 1, 0, 2)]
    """
    return (
        of_method(gains, method)
        .group_by("at")
        .agg(
            *(pl.col(name).mean() for name in ("raw", "corrected", "gain")),
            (pl.col("gain_low") > 0).sum().cast(pl.Int64).alias("n_better"),
            (pl.col("gain_high") < 0).sum().cast(pl.Int64).alias("n_worse"),
            pl.len().cast(pl.Int64).alias("n_pairs"),
        )
        .sort("at")
    )


def field_agreement(transfer_fields: pl.DataFrame, method: str) -> pl.DataFrame:
    """Average the correlations of two models' fields, data set by data set.

    Parameters
    ----------
    transfer_fields : polars.DataFrame
        The table of this name; it may be empty.
    method : {"paper", "auto"}

    Returns
    -------
    polars.DataFrame
        A row per data set and `what` ("delta" or "hidden"): n (two pairs each; those with a constant field are left
        out), mean, lowest and highest correlation, and mean sign_agreement; null where n is 0.

    Examples
    --------
    >>> row = {"method": "auto", "dataset": "d", "what": "delta", "sign_agreement": 0.75}
    >>> rows = [row | {"correlation": r} for r in (0.25, 0.75, None)]
    >>> field_agreement(pl.DataFrame(rows), "auto").rows()
    [('d', 'delta', 2, 0.5, 0.25, 0.75, 0.75)]
    """
    r = pl.col("correlation")
    some = transfer_fields.filter(pl.col("method") == method)
    return some.group_by("dataset", "what", maintain_order=True).agg(
        r.count().cast(pl.Int64).alias("n"),
        r.mean().alias("mean"),
        r.min().alias("lowest"),
        r.max().alias("highest"),
        pl.col("sign_agreement").filter(r.is_not_null()).mean().alias("sign_agreement"),
    )


@dataclass(frozen=True)
class CorrectionTransfer:
    """Corrections judged on pairs that did not teach them.

    Attributes
    ----------
    n : int
        Ordered pairs of pairs.
    n_better, n_worse : int
        Those whose correction saves, or costs, log loss by a 95 % interval that excludes 0.
    saved : float or None
        Mean log loss saved by the other pair's correction.
    saved_own : float or None
        The same by the judged pair's own, on the same rows.
    """

    n: int
    n_better: int
    n_worse: int
    saved: float | None
    saved_own: float | None

    def sentence(self, words: StudyVocabulary) -> str:
        """Say what was found, in the words of a study."""
        if self.n == 0 or self.saved is None or self.saved_own is None:
            return "No correction was judged on another pair."
        changes = ("lowers" if self.saved >= 0 else "raises", abs(self.saved))
        own = ("lowers" if self.saved_own >= 0 else "raises", abs(self.saved_own))
        return (
            f"Of {self.n:,} corrections that were judged on another pair, {self.n_better:,} lower its log loss and "
            f"{self.n_worse:,} raise it, each by a 95 % interval that excludes 0. On average, the other pair's "
            f"correction {changes[0]} the log loss by {changes[1]:.4f}, and the pair's own correction {own[0]} it by "
            f"{own[1]:.4f}. This includes what a map of the {words.probability} alone would save."
        )


def correction_transfer(transfer_corrections: pl.DataFrame, method: str) -> CorrectionTransfer:
    """Count how often a correction helps a pair that did not teach it.

    Parameters
    ----------
    transfer_corrections : polars.DataFrame
        The table of this name; it may be empty.
    method : {"paper", "auto"}

    Returns
    -------
    CorrectionTransfer
        The rows share pairs, so that they are no independent trials.

    Examples
    --------
    >>> row = {"method": "auto", "saved": 0.02, "log_loss_raw": 0.75, "log_loss_own": 0.5}
    >>> ends = [{"saved_low": 0.01, "saved_high": 0.03}, {"saved_low": -0.01, "saved_high": 0.05}]
    >>> found = correction_transfer(pl.DataFrame([row | one for one in ends]), "auto")
    >>> found.n, found.n_better, found.n_worse, found.saved, found.saved_own
    (2, 1, 0, 0.02, 0.25)
    """
    some = transfer_corrections.filter(pl.col("method") == method)
    return CorrectionTransfer(
        n=some.height,
        n_better=some.filter(pl.col("saved_low") > 0).height,
        n_worse=some.filter(pl.col("saved_high") < 0).height,
        saved=_mean(some["saved"]),
        saved_own=_mean(some["log_loss_raw"] - some["log_loss_own"]),
    )


def _mean(values: pl.Series) -> float | None:
    known = values.drop_nulls()
    return float(known.to_numpy().mean()) if len(known) else None
