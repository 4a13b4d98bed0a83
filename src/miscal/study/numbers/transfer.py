"""How alike the fields of different models are, and how often a correction helps where it was not learned."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


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

    @property
    def sentence(self) -> str:
        """What was found, in plain English."""
        if self.n == 0 or self.saved is None or self.saved_own is None:
            return "No correction was judged on another pair."
        changes = ("lowers" if self.saved >= 0 else "raises", abs(self.saved))
        own = ("lowers" if self.saved_own >= 0 else "raises", abs(self.saved_own))
        return (
            f"Of {self.n:,} corrections that were judged on another pair, {self.n_better:,} lower its log loss and "
            f"{self.n_worse:,} raise it, each by a 95 % interval that excludes 0. On average, the other pair's "
            f"correction {changes[0]} the log loss by {changes[1]:.4f}, and the pair's own correction {own[0]} it by "
            f"{own[1]:.4f}. This includes what a map of the confidence alone would save."
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
