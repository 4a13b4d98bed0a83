"""The numbers of a card computed again from its run's rows by numpy and scipy alone, for `card.py` and the tests.

Nothing of miscal is imported: formulas are written down again, with matrices where the package has sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import beta, binom, norm, rankdata, t

Floats = np.ndarray
Numbers = dict[str, tuple[float | None, ...]]
"""Value, low and high end, p-value; as far as there are any."""
PAIR, STEPS = 2.0, 2_001


def design_effect(weight: Floats, residual: Floats, variance: Floats, group: Floats | None, rho: float) -> float:
    """Variance of a sum over that of independent rows: the larger of a model's and of what groups show."""
    own = weight**2 * variance
    if group is None or own.sum() == 0:
        return 1.0
    model, seen, parts = 0.0, 0.0, []
    for rows in np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1]):
        model += (1 - rho) * own[rows].sum() + rho * (weight[rows] @ np.sqrt(variance[rows])) ** 2
        seen += (weight[rows] @ residual[rows]) ** 2
        parts.append(own[rows].sum())
    groups = max(np.sum(parts) ** 2 / np.sum(np.square(parts)), 1.0)
    few = (t.ppf(0.975, max(groups - 1, 1)) / norm.ppf(0.975)) ** 2
    return max(1.0, max(model, seen) / own.sum() * few)


def correlation(residual: Floats, variance: Floats, group: Floats | None) -> float:
    """Intra-class correlation by the products of the pairs of a group, and one pair more that agrees."""
    if group is None:
        return 0.0
    pairs = np.bincount(group, residual) ** 2 - np.bincount(group, residual**2)
    most = np.bincount(group, np.sqrt(variance)) ** 2 - np.bincount(group, variance)
    return float(np.clip((pairs.sum() + PAIR) / (most.sum() + PAIR), 0, 1))


def by_units(influence: Floats, unit: Floats) -> tuple[float, float]:
    """Standard error of a mean of the influences, and degrees of freedom."""
    share = np.bincount(unit) / len(unit)
    worth = 1 / np.sum(share**2)
    parts = np.bincount(unit, influence) / len(unit) - share * influence.mean()
    return float(np.sqrt(np.sum(parts**2) * worth / (worth - 1))), worth - 1


def student(value: float, error: float, freedom: float, null: float = 0.0) -> tuple[float, float, float, float]:
    """Value, interval and p-value."""
    half = t.ppf(0.975, freedom) * error
    return value, value - half, value + half, float(2 * t.sf(abs(value - null) / error, freedom))


def jackknifed(design: Floats, rate: Floats, spread: Floats, y: Floats, unit: Floats) -> Floats:
    """Influence of each unit on the first coefficient, its residuals divided by what it leaves (Mancl and DeRouen)."""
    n, bread = len(y), np.linalg.inv(design.T @ (design * spread[:, None]))
    if len(np.unique(unit)) == n:
        leverage = np.einsum("ij,jk,ik->i", design, bread, design) * spread
        return design @ bread[0] * (y - rate) / (1 - leverage) * n
    moved = np.zeros(n)
    for rows in np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1]):
        own = design[rows]
        left = np.linalg.solve(np.eye(len(rows)) - (spread[rows, None] * own) @ bread @ own.T, (y - rate)[rows])
        moved[rows] = (own @ bread[0]) * left * n
    return moved


def recalibration(f: Floats, y: Floats, unit: Floats) -> Numbers:
    """Observed over expected, intercept and slope: a Poisson and two logistic regressions by an optimiser."""
    odds, ones = np.log(f / (1 - f)), np.ones((len(f), 1))
    ratio = y.sum() / f.sum()
    log = student(np.log(ratio), *by_units(jackknifed(ones, ratio * f, ratio * f, y, unit), unit))
    found: Numbers = {"observed_expected": (*np.exp(log[:3]), log[3])}
    for name, design, offset, null in (
        ("intercept", ones, odds, 0.0),
        ("slope", np.column_stack([odds, ones]), 0 * odds, 1.0),
    ):

        def loss(theta: Floats, design: Floats = design, offset: Floats = offset) -> tuple[float, Floats]:
            z = offset + design @ theta
            return float(np.mean(np.logaddexp(0, z) - y * z)), design.T @ (expit(z) - y) / len(y)

        theta = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10}).x
        rate = expit(offset + design @ theta)
        influence = jackknifed(design, rate, rate * (1 - rate), y, unit)
        found[name] = student(theta[0], *by_units(influence, unit), null)
    return found


def area(f: Floats, y: Floats, group: Floats | None) -> tuple[float, ...]:
    """Area under the ROC curve by ranks, and DeLong's interval with the freedom of Brunner and Munzel."""
    ones, zeros = f[y == 1], f[y == 0]
    rank, n = rankdata(f), (len(ones), len(zeros))
    value = (rank[y == 1].sum() - n[0] * (n[0] + 1) / 2) / (n[0] * n[1])
    above = (rank[y == 1] - rankdata(ones)) / n[1], 1 - (rank[y == 0] - rankdata(zeros)) / n[0]
    parts = [np.var(one, ddof=1) / k for one, k in zip(above, n, strict=True)]
    freedom = sum(parts) ** 2 / sum(part**2 / (k - 1) for part, k in zip(parts, n, strict=True))
    moved = np.empty(len(f))
    moved[y == 1], moved[y == 0] = ((one - value) / k for one, k in zip(above, n, strict=True))
    effect = design_effect(np.ones(len(f)), moved, moved**2, group, correlation(moved, moved**2, group))
    half = t.ppf(0.975, freedom) * np.sqrt(sum(parts) * effect)
    return value, value - half, value + half


def smooth_error(f: Floats, y: Floats) -> float:
    """smECE: the bandwidth at which the smoothed residual, reflected at 0 and 1, is as large as the bandwidth."""
    at, place = np.unique(f, return_inverse=True)
    residual, grid = np.bincount(place, y - f) / len(f), np.linspace(0, 1, STEPS)

    def error(width: float) -> float:
        smooth = np.zeros(STEPS)
        for mirror in (shift + sign * at for shift in (-2, 0, 2) for sign in (1, -1)):
            near = (mirror > -9 * width) & (mirror < 1 + 9 * width)
            kernel = np.exp(-0.5 * ((grid[:, None] - mirror[near]) / width) ** 2) / (width * np.sqrt(2 * np.pi))
            smooth += kernel @ residual[near]
        return float(np.trapezoid(np.abs(smooth), grid))

    return float(brentq(lambda width: error(width) - width, 1e-3, 1.0, xtol=1e-9))


def _rho(values: Floats, group: Floats | None) -> float:
    left = values - values.mean()
    return correlation(left, left**2, group)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """Score interval: the rates whose test by their own variance does not reject."""
    z = norm.ppf(0.975)
    low, high = np.roots([1 + z**2 / n, -(2 * share + z**2 / n), share**2])[::-1]
    return float(low), float(high)


def _flipped(values: Floats, otherwise: Floats, unit: Floats) -> tuple[float, float, float]:
    """Mean with Student's interval, where the outcome of one unit more might have been the other."""
    error, freedom = by_units(values, unit)
    worth = freedom + 1
    more = np.mean((otherwise - values) ** 2) / worth**2 * worth / freedom
    return student(values.mean(), float(np.sqrt(error**2 + more)), freedom)[:3]


def tested(share: float, n: float, expected: float) -> float:
    """Two-sided binomial test: twice the smaller tail; by the beta law where n is not whole."""
    hits = share * n
    fewer, more = beta.sf(expected, hits + 1, n - hits), beta.cdf(expected, hits, n - hits + 1)
    return float(min(1.0, 2 * min(fewer if hits < n else 1.0, more if hits > 0 else 1.0)))


def again(
    folder: Path, expected: Floats, grades: int = 10, columns: Mapping[str, Floats] | None = None
) -> dict[str, Numbers]:
    """Compute measures, grades and the values of columns of texts, which are read elsewhere, by their names.

    Of runs without weights, where every row is evaluated. `expected`, (n,): outcome to be expected at the confidence of
    each row, as learned from others.
    """
    table = pl.read_parquet(folder / "field.parquet")
    f, y = table["confidence"].to_numpy(), table["correct"].to_numpy().astype(float)
    n = len(f)
    group = None if table["unit"].null_count() else np.unique(table["unit"].to_numpy(), return_inverse=True)[1]
    unit = np.arange(n) if group is None else group
    rho = correlation(y - expected, expected * (1 - expected), group)

    def effect(rows: Floats) -> float:
        left = (y - expected)[rows] - (y - expected)[rows].mean()
        own = None if group is None else np.unique(group[rows], return_inverse=True)[1]
        variance = (expected * (1 - expected))[rows]
        return design_effect(np.full(len(left), 1 / len(left)), left, variance, own, rho)

    def mean(values: Floats) -> tuple[float, ...]:
        return student(values.mean(), *by_units(values, unit))

    losses, left, rate = (y - f) ** 2, (y - expected) ** 2, y.mean()
    bins = np.minimum((f * 15).astype(int), 14)
    measures = {
        "auc": area(f, y, group),
        "observed": (
            rate,
            *_wilson(rate, n / design_effect(np.ones(n), y - rate, (y - rate) ** 2, group, _rho(y, group))),
        ),
        "expected": mean(f)[:3],
        **recalibration(f, y, unit),
        "smece": (smooth_error(f, y),),
        "ece": (float(np.abs(np.bincount(bins, y - f)).sum() / n),),
        "brier": _flipped(losses, (1 - y - f) ** 2, unit),
        "brier_calibration": mean(losses - left),
        "brier_resolution": mean((y - rate) ** 2 - left),
        "brier_uncertainty": mean(rate * (1 - rate) + (1 - 2 * rate) * (y - rate))[:3],
    }
    graded: Numbers = {}
    # a value belongs where the middle of its rows lies
    _, place, many = np.unique(f, return_inverse=True, return_counts=True)
    cut = np.minimum(((np.cumsum(many) - many / 2) / n * grades + 1e-9).astype(int), grades - 1)[place]
    for k in np.unique(cut):
        rows = np.flatnonzero(cut == k)
        share, worth = y[rows].mean(), len(rows) / effect(rows)
        low, high = beta.ppf([0.025, 0.975], share * worth + 0.5, (1 - share) * worth + 0.5)
        hits = round(share * len(rows))
        exact = 2 * min(binom.cdf(hits, len(rows), f[rows].mean()), binom.sf(hits - 1, len(rows), f[rows].mean()))
        graded[str(len(graded))] = (
            f[rows].mean(),
            share,
            low,
            high,
            min(1.0, exact),
            tested(share, worth, f[rows].mean()),
        )
    segments: Numbers = {}
    for column, values in (columns or {}).items():
        for value in np.unique(values):
            rows = np.flatnonzero(values == value)
            said, share = f[rows].mean(), y[rows].mean()
            p = tested(share, len(rows) / effect(rows), said)
            segments[f"{column} = {value}"] = said, share, share / said, p
    return {"measures": measures, "grades": graded, "segments": segments}


def holm(p: Floats) -> Floats:
    """Adjust p-values as Holm does, one after the other."""
    adjusted, worst = np.empty(len(p)), 0.0
    for k, place in enumerate(np.argsort(p)):
        worst = max(worst, min(1.0, (len(p) - k) * p[place]))
        adjusted[place] = worst
    return adjusted


def apart(card: dict, found: dict[str, Numbers], say: Callable[[str], object] = print) -> tuple[float, float]:
    """Return the largest differences of values and p-values, and of ends of intervals; say those above the limits."""
    worst = {"value": 0.0, "end": 0.0}

    def differ(name: str, kind: str, one: float | None, two: float | None) -> None:
        off = abs((one or 0.0) - (two or 0.0)) / max(1.0, abs(two or 0.0))
        worst[kind] = max(worst[kind], off)
        if off > (1e-6 if kind == "value" else 1e-3):
            say(f"{name}: {kind} {one} and {two}")

    for name, numbers in found["measures"].items():
        own = card["measures"][name]
        for kind, one, two in zip(
            ("value", "end", "end", "value"),
            (own["value"], *(own["interval"] or ()), own["p_value"]),
            numbers,
            strict=False,
        ):
            differ(name, kind, one, two)
    for own, (said, share, low, high, p, p_units) in zip(card["grades"], found["grades"].values(), strict=True):
        told = own["expected"], own["observed"]["value"], *own["observed"]["interval"], own["p_value"], own["p_units"]
        for kind, one, two in zip(
            ("value", "value", "end", "end", "value", "value"), told, (said, share, low, high, p, p_units), strict=True
        ):
            differ(f"grade {said:.3f}", kind, one, two)
    told = {one["name"]: one for one in card["segments"] if one["mark"] != "found"}
    shared = {name: numbers for name, numbers in found["segments"].items() if name in told}
    adjusted = holm(np.array([p for *_, p in shared.values()]))
    for (name, (said, share, ratio, _)), p in zip(shared.items(), adjusted, strict=True):
        own = told[name]
        differ(name, "value", own["expected"], said)
        differ(name, "value", own["observed"], share)
        differ(name, "value", own["ratio"]["value"], ratio)
        # of all segments together
        if len(shared) == len(told):
            differ(name, "value", own["p_adjusted"], p)
    return worst["value"], worst["end"]
