"""Do smECE and ECE agree with other tools? Ten cases, every tool on the same rows.

    python benchmarks/agree.py [--csv benchmarks/notes]

smECE beside relplot, also with confidences of 0 and 1 moved inwards by 0.001, because relplot's mirrored kernel loses
half of their weight; and beside probcal, which smooths along the log-odds: so beside a quadrature along them, too.
ECE in 15 bins of equal width and in 15 of equal numbers of rows, beside relplot, probcal, netcal and torchmetrics; and
what each tool says by default, which is where they part. Differences are of the tool minus miscal, in probability.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import brentq
from scipy.special import logit

from _script import options, show, target
from miscal.data import flights
from miscal.metrics import ece, smece
from miscal.scoring import demo

BINS = 15
SMOOTH, LOGIT, BINNED, MASS = 1e-3, 1e-3, 1e-9, 3e-3
"""How far a tool may be apart: relplot, which searches smECE on a grid of 1/1,024; probcal from the quadrature; ECE in
bins of equal width; and in bins of equal numbers, where a row on an edge may fall to either side: one row of fifty."""
INNER = 1e-3

Rows = tuple[np.ndarray, np.ndarray]


def drawn(seed: int, confidence: Callable, risk: Callable) -> Rows:
    """Draw outcomes and confidences."""
    rng = np.random.default_rng(seed)
    f = confidence(rng)
    return (rng.random(len(f)) < risk(f)).astype(float), f


def packaged() -> dict[str, Rows]:
    """Read the two tables that come with miscal."""
    answers, delays = (pl.read_parquet(one.path()) for one in (demo, flights))
    return {
        "answers of a language model": (answers["correct"].to_numpy().astype(float), answers["confidence"].to_numpy()),
        "flights": (delays["delayed"].to_numpy().astype(float), delays["predicted_delay_risk"].to_numpy()),
    }


def cases() -> dict[str, Rows]:
    """Return the ten cases: outcomes and confidences."""
    return {
        "calibrated": drawn(0, lambda rng: rng.random(2_000), lambda f: f),
        "too sure": drawn(1, lambda rng: rng.random(2_000), lambda f: 0.5 + 0.6 * (f - 0.5)),
        "rare event": drawn(2, lambda rng: rng.beta(1, 60, 20_000), lambda f: 0.6 * f),
        "near certain": drawn(3, lambda rng: rng.beta(8, 0.5, 2_000), lambda f: f - 0.08),
        "stated in tens": drawn(4, lambda rng: rng.integers(0, 11, 2_000) / 10, lambda f: 0.1 + 0.7 * f),
        "fifty rows": drawn(5, lambda rng: rng.random(50), lambda f: f),
        "one confidence": drawn(6, lambda rng: np.full(500, 0.8), lambda f: f - 0.1),
        "zeros and ones": drawn(7, lambda rng: rng.integers(0, 2, 1_000).astype(float), lambda f: 0.1 + 0.8 * f),
        **packaged(),
    }


def smece_of_logits(y: np.ndarray, f: np.ndarray, cell: float = 5e-4) -> float:
    """smECE along the log-odds, without mirrors: residuals on a fine grid, smoothed by a Gaussian; its fixed point."""
    place = logit(np.clip(f, 1e-12, 1 - 1e-12))
    index = np.round((place - place.min()) / cell).astype(int)
    # a kernel of up to 1 reaches six of its widths beyond the ends
    margin = int(6 / cell)
    mass = np.bincount(index + margin, (y - f) / len(f), minlength=index.max() + 2 * margin + 1)

    def beyond(sigma: float) -> float:
        return np.abs(gaussian_filter1d(mass, sigma / cell, mode="constant", truncate=6)).sum() - sigma

    return brentq(beyond, 4 * cell, 1, xtol=1e-6)


def smooth(y: np.ndarray, f: np.ndarray) -> dict[str, float]:
    """Return smECE by each tool."""
    import relplot
    from probcal.metrics import smooth_ece

    inner = np.clip(f, INNER, 1 - INNER)
    return {
        "miscal": smece(y, f),
        "relplot": relplot.smECE(f, y) - smece(y, f),
        "relplot, moved": relplot.smECE(inner, y) - smece(y, inner),
        "along log-odds": smece_of_logits(y, f),
        "probcal": smooth_ece(y, f) - smece_of_logits(y, f),
    }


def binned(y: np.ndarray, f: np.ndarray) -> dict[str, float]:
    """Return ECE by each tool, in bins of equal width and of equal numbers of rows; NaN where a tool refuses ties."""
    import torch
    from netcal.metrics import ECE
    from probcal.metrics import ece as probcal_ece
    from relplot.metrics import binnedECE
    from torchmetrics.functional.classification import binary_calibration_error

    width, mass = ece(y, f), ece(y, f, strategy="mass")
    try:
        equal = ECE(BINS, equal_intervals=False).measure(f, y) - mass
    except ValueError:
        equal = np.nan
    return {
        "miscal": width,
        "relplot": binnedECE(f, y, BINS) - width,
        "probcal": probcal_ece(y, f, strategy="width") - width,
        "netcal": ECE(BINS).measure(f, y) - width,
        "torchmetrics": binary_calibration_error(torch.tensor(f), torch.tensor(y).long(), BINS).item() - width,
        "miscal, equal numbers": mass,
        "probcal, equal numbers": probcal_ece(y, f) - mass,
        "netcal, equal numbers": equal,
    }


def defaults(y: np.ndarray, f: np.ndarray) -> dict[str, float]:
    """Return what each tool says of its ECE if no option is given."""
    import torch
    from netcal.metrics import ECE
    from probcal.metrics import ece as probcal_ece
    from relplot.metrics import binnedECE
    from torchmetrics.functional.classification import binary_calibration_error

    return {
        "miscal": ece(y, f),
        "relplot": binnedECE(f, y),
        "probcal": probcal_ece(y, f),
        "netcal": ECE().measure(f, y),
        "torchmetrics": binary_calibration_error(torch.tensor(f), torch.tensor(y).long()).item(),
    }


VALUES = ("miscal", "along log-odds", "miscal, equal numbers")
"""Columns that are values; the others are differences."""


def difference(value: float) -> str:
    """Return a difference as text: 0 where it is rounding alone, empty where there is none."""
    return "" if np.isnan(value) else "0" if abs(value) < BINNED else f"{value:+.0e}"


def table(
    args: argparse.Namespace, name: str, title: str, rows: Mapping[str, dict[str, float]], values: tuple[str, ...]
) -> None:
    """Print a table of cases by tools."""
    columns = next(iter(rows.values()))
    written = [
        [case, *(f"{value:.5f}" if tool in values else difference(value) for tool, value in row.items())]
        for case, row in rows.items()
    ]
    show(args, name, title, ["case", *columns], written)


def farthest(rows: Mapping[str, dict[str, float]], *tools: str) -> float:
    """Return the largest difference of some tools over all cases."""
    return float(np.nanmax([abs(row[tool]) for row in rows.values() for tool in tools]))


def main() -> int:
    """Print the tables; 1 where a tool is farther off than is explained."""
    args = options(__doc__).parse_args()
    # relplot divides by a density that may be 0 beside the data
    warnings.simplefilter("ignore", RuntimeWarning)
    every = cases()
    curves, bins = ({name: kind(*rows) for name, rows in every.items()} for kind in (smooth, binned))
    plain = {name: defaults(*rows) for name, rows in every.items()}
    table(args, "agree-smece", "smECE; relplot minus miscal, probcal minus the quadrature", curves, VALUES)
    table(args, "agree-ece", f"ECE in {BINS} bins, and each tool minus miscal", bins, VALUES)
    table(args, "agree-defaults", "ECE if no option is given", plain, tuple(next(iter(plain.values()))))
    wide = ("relplot", "probcal", "netcal", "torchmetrics")
    equal = ("probcal, equal numbers", "netcal, equal numbers")
    apart = [
        ("smECE of relplot", farthest(curves, "relplot, moved"), SMOOTH),
        ("smECE of probcal", farthest(curves, "probcal"), LOGIT),
        ("ECE in bins of equal width", farthest(bins, *wide), BINNED),
        ("ECE in bins of equal numbers", farthest(bins, *equal), MASS),
    ]
    met = [target(f"{what}: {value:.0e} apart (at most {most})", value <= most) for what, value, most in apart]
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
