"""NannyML on rows as in `monitor.py`: how often it alerts where nothing changed, and how soon after a change.

NannyML needs other versions than miscal, so this script runs in an environment of its own and imports nothing else:

    python -m venv nannyml && nannyml/bin/pip install nannyml==0.13.1
    nannyml/bin/python benchmarks/monitor_nannyml.py [--monitors 20]

The mean of outcome less corrected confidence over chunks of 100 rows (`SummaryStatsAvgCalculator`), with the default
threshold: the mean of the reference's chunks plus and minus three standard deviations. The reference is a run of 7,500
rows whose correction is right.
"""

import argparse
import os

import numpy as np
import pandas as pd

# it reports its use to its makers unless it is told not to
os.environ["NML_DISABLE_USAGE_LOGGING"] = "True"
import nannyml  # pyrefly: ignore

RUN_ROWS, CHUNK, CALM, MOST = 7_500, 100, 100_000, 20_000


def logit(p: np.ndarray) -> np.ndarray:
    """Log-odds."""
    return np.log(p / (1 - p))


def expit(x: np.ndarray) -> np.ndarray:
    """Rates."""
    return 1 / (1 + np.exp(-x))


def rows_of(rng: np.random.Generator, n: int, shift: float) -> pd.DataFrame:
    """Residuals of rows whose rates are shifted."""
    p = expit(logit(rng.uniform(0.2, 0.95, n)) + 0.6 * np.sign(rng.normal(size=n)))
    return pd.DataFrame({"residual": (rng.random(n) < expit(logit(p) + shift)) - p})


def alerts(rng: np.random.Generator, n: int, shift: float) -> np.ndarray:
    """Whether each chunk alerts."""
    calculator = nannyml.SummaryStatsAvgCalculator(column_names=["residual"], chunk_size=CHUNK)
    calculator.fit(rows_of(rng, RUN_ROWS, 0.0))
    found = calculator.calculate(rows_of(rng, n, shift)).filter(period="analysis").to_df()
    return found[("residual", "alert")].to_numpy(bool)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--monitors", type=int, default=20, help="default: 20")
    monitors = parser.parse_args().monitors
    calm = [alerts(np.random.default_rng(k), CALM, 0.0) for k in range(monitors)]
    print(f"NannyML {nannyml.__version__}, {monitors} monitors, chunks of {CHUNK} rows")
    print(f"nothing changed, {CALM // CHUNK:,} chunks: {sum(one.any() for one in calm)} of {monitors} alert, ", end="")
    print(f"in {np.mean([one.mean() for one in calm]):.2%} of the chunks")
    for shift in (0.3, 0.5, 1.0):
        seen = [np.flatnonzero(alerts(np.random.default_rng((k, 1)), MOST, shift)) for k in range(monitors)]
        waits = [CHUNK * (one[0] + 1) if len(one) else np.inf for one in seen]
        print(f"all rates shifted by {shift:g}: median {np.quantile(waits, 0.5, method='inverted_cdf'):,.0f} rows")


if __name__ == "__main__":
    main()
