"""Do findings, correction and monitor hold on rows that came later?

    python benchmarks/later_rows.py --data DIR [--rows 15000 3000] [--sets flights] [--csv benchmarks/notes]

Flights of April to June teach and those of July judge; census 2015 teaches and census 2016 judges. `flights, days`
names the days of the flights as groups; `flights, time` names their hour as the time (`--time`, `--evidence time`),
which then is no input. --rows are drawn from either file by the seed; nothing is chosen by the later file, of which
rows with blanks in columns that had none before are left out.

- *Findings*: of each finding whose rows can be told in the later file, whether they are right more or less often than
  rows of equal confidence there, E[y | f] being learned from the later file by folds. Its power is that of a two-sided
  test at 5 % with as many rows, at the size that the run stated (`conditional`, shrunk for having been chosen).
- *Correction*: log loss on the later file of the raw risks, an isotonic map, LightGBM with the log-odds of the risk as
  offset, MCGrad (categories and blanks its way) and miscal. Peers are tuned in time order: learned from the first four
  fifths of the earlier rows, chosen on the last fifth, and learned again from all. Errors of differences to miscal are
  of days where there are days, else of rows.
- *Decay*: what the correction saves against the raw risks in each week of July, and what a daily `miscal monitor` had
  said by the end of it.

Target: on census, 95 % of the findings with power 0.9 keep their sign, and the correction is level with the best peer
or ahead (not above it beyond chance). Flights drift: they are reported.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, logit, ndtr
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics import log_losses, mean_interval
from miscal.data.readers import read_triples
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.run import RunContent, read_run
from miscal.report import write_run
from miscal.runs.monitor.command import monitor
from miscal.runs.monitor.document import BROKEN
from miscal.runs.monitor.new_rows import NewLabelled, frame_of, read_labelled

FIELDS = ("set", "rows", "seed")
FILES = {
    "flights": ("flights_dev.parquet", "flights_dev_july.parquet", "predicted_delay_risk", "delayed", "time_hour"),
    "census": ("census_dev_2015.parquet", "census_dev_2016.parquet", "predicted_probability", "employed", None),
}
"""Earlier file, later file, risk, event, and the column of times."""
SETS = ("flights", "flights, days", "flights, time", "census")
POWER, KEPT = 0.9, 0.95
CLIP = 1e-4
DAY = "day"
METHODS = ("raw", "isotonic", "LightGBM", "MCGrad", "miscal")


def one_set(name: str, rows: int, seed: int, *, folder: Path) -> dict:
    """Learn from the earlier rows, and judge by the later ones."""
    limit_threads()
    start = time.perf_counter()
    earlier, later = read_both(folder, name, rows, seed)
    risk, event, at = _columns(name)
    roles = {"group": DAY} if name.endswith("days") else {"time": at} if name.endswith("time") else {}
    evidence = "time" if "time" in roles else None
    if at is not None and "group" not in roles:
        earlier, days = earlier.drop(DAY), later[DAY].to_numpy()
        later = later.drop(DAY)
    else:
        days = later[DAY].to_numpy() if at is not None else None
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        write_run(
            discover(read_triples(earlier, probability=risk, event=event, **roles), seed=seed, evidence=evidence),
            out,
            report=False,
        )
        run = read_run(out)
        saved = run.load_model()
        new = read_labelled(run, saved, later).rows
        found = replicated(run, new, frame_of(run, saved, new), days, seed)
        looks = [] if days is None else watched(out, later, days)
    y = later[event].to_numpy().astype(float)
    if at is None:
        earlier = earlier[np.random.default_rng(seed).permutation(len(earlier))]
    predicted = {**peers(earlier, later, (risk, event), seed), "miscal": new.corrected}
    losses = {method: log_losses(y, p) for method, p in predicted.items()}
    return {
        "set": name, "rows": rows, "seed": seed, "found": found, "looks": looks,
        "loss": {method: float(loss.mean()) for method, loss in losses.items()},
        "difference": {method: _difference(losses["miscal"] - losses[method], days) for method in METHODS[:-1]},
        "weeks": [] if days is None else weeks(losses["raw"] - losses["miscal"], days),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def read_both(folder: Path, name: str, rows: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read as many rows of either file, in the order of the file, with the day of each where there are times."""
    first, second, *_, at = FILES[name.partition(",")[0]]
    tables = []
    for place, file in enumerate((first, second)):
        table = pl.read_parquet(folder / file)
        drawn = np.random.default_rng((seed, place)).permutation(len(table))[:rows]
        table = table[np.sort(drawn)].drop("id", "year", strict=False)
        if at is not None:
            table = table.sort(at, maintain_order=True).with_columns(pl.col(at).dt.strftime("%Y-%m-%d").alias(DAY))
        tables.append(table)
    earlier, later = tables
    # a column that never had a blank has no place for one
    whole = [name for name in earlier.columns if earlier[name].null_count() == 0]
    return earlier, later.drop_nulls(whole)


def _columns(name: str) -> tuple[str, str, str | None]:
    return FILES[name.partition(",")[0]][2:]


def replicated(run: RunContent, new: NewLabelled, frame: Any, days: np.ndarray | None, seed: int) -> list[dict]:
    """Judge the findings of a run by later rows."""
    rows = Triples(np.arange(len(new), dtype=np.float32)[:, None], new.confidence, new.correct)
    rows = replace(rows, group=days)
    later = LabelledRows.of(new.correct, new.confidence, expected_outcome(rows, seed), group=days)
    found = []
    for one in run.summary.findings:
        if one.condition.lacks(frame) is not None:
            continue
        inside = one.condition.rows(frame)
        told = {"description": one.description, "size": one.conditional.value, "n": int(inside.sum())}
        if inside.any():
            own = later.take(inside)
            # a rate that was learned to be 0 or 1 is not known to be
            variance = max(float(own.variance.mean()), 1 / len(own))
            error = float(np.sqrt(variance / len(own) * effect_of_mean(later, inside)))
            told |= {
                "seen": float(own.residual.mean()),
                "power": float(ndtr(abs(one.conditional.value or 0.0) / error - norm.isf(0.025))),
                "kept": bool(own.residual.mean() * (one.conditional.value or 0.0) > 0),
            }
        found.append(told)
    return found


def watched(run: Path, later: pl.DataFrame, days: np.ndarray) -> list[dict]:
    """Look at the later rows day by day."""
    looks = []
    for day in np.unique(days):
        document = monitor(run, later.filter(pl.Series(days == day)), at=str(day))
        looks.append({
            "day": str(day), "rows": document.looks[-1].rows,
            "broken": sorted({one.kind for one in document.questions if one.state == BROKEN}),
        })  # fmt: skip
    return looks


def peers(earlier: pl.DataFrame, later: pl.DataFrame, names: tuple[str, str], seed: int) -> dict[str, np.ndarray]:
    """Risks of the later rows, corrected by each peer; the earlier rows are in time order."""
    risk, event = names
    f, f_later, y = earlier[risk].to_numpy(), later[risk].to_numpy(), earlier[event].to_numpy().astype(float)
    X, X_later = (table.drop(risk, event, DAY, strict=False) for table in (earlier, later))
    first = np.arange(len(y)) < 0.8 * len(y)
    part, held = X.filter(pl.Series(first)), X.filter(pl.Series(~first))
    found = {"raw": f_later, "isotonic": _isotonic(y, f)(f_later)}
    for name, fit, settings in (
        ("LightGBM", _lightgbm, product((4, 8, 16), (30, 100), (False, True))),
        ("MCGrad", _mcgrad, product((20, 160), (False, True))),
    ):
        tried = []
        for *setting, mapped in settings:
            base = _isotonic(y[first], f[first]) if mapped else np.asarray
            known = Known(part, base(f[first]), y[first]), Known(held, base(f[~first]), y[~first])
            p, rounds = fit(*known, setting, seed)
            tried.append((float(log_losses(y[~first], p).mean()), setting, mapped, rounds))
        _, setting, mapped, rounds = min(tried, key=lambda one: one[0])
        base = _isotonic(y, f) if mapped else np.asarray
        found[name], _ = fit(Known(X, base(f), y), Known(X_later, base(f_later)), setting, seed, rounds)
    return found


def _isotonic(y: np.ndarray, f: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return IsotonicRegression(out_of_bounds="clip").fit(f, y).predict


@dataclass(frozen=True, eq=False)
class Known:
    """Columns and risks of rows, and their outcomes where they may be seen."""

    columns: pl.DataFrame
    risk: np.ndarray
    correct: np.ndarray | None = None

    @property
    def offset(self) -> np.ndarray:
        """Log-odds of the risks."""
        return logit(np.clip(self.risk, CLIP, 1 - CLIP))


def _lightgbm(known: Known, asked: Known, setting: Sequence[int], seed: int, rounds: int | None = None) -> tuple:
    """Boosted trees with the log-odds as offset and as a column, stopped by later outcomes if no rounds are given."""
    import lightgbm

    codes = {
        name: {value: k for k, value in enumerate(known.columns[name].cast(pl.String).unique().drop_nulls().sort())}
        for name in _categories(known.columns)
    }
    X, X_asked = (np.column_stack([_coded(one.columns, codes), one.offset]) for one in (known, asked))
    settings = {
        "objective": "binary", "learning_rate": 0.03, "num_leaves": setting[0], "min_data_in_leaf": setting[1],
        "lambda_l2": 5, "boost_from_average": False, "verbose": -1, "num_threads": 1, "seed": seed,
    }  # fmt: skip
    places = [place for place, name in enumerate(known.columns.columns) if name in codes]
    same = {"categorical_feature": places, "params": settings}
    data = lightgbm.Dataset(X, known.correct, init_score=known.offset, **same)
    if rounds is None:
        held = lightgbm.Dataset(X_asked, asked.correct, init_score=asked.offset, reference=data, **same)
        stop = [lightgbm.early_stopping(30, verbose=False)]
        model = lightgbm.train(settings, data, 400, valid_sets=[held], callbacks=stop)
    else:
        model = lightgbm.train(settings, data, rounds)
    return expit(asked.offset + model.predict(X_asked, raw_score=True)), model.best_iteration or rounds


def _categories(table: pl.DataFrame) -> list[str]:
    return [name for name, kind in table.schema.items() if kind in (pl.String, pl.Categorical, pl.Boolean)]


def _coded(table: pl.DataFrame, codes: dict[str, dict[str, int]]) -> np.ndarray:
    """Columns as numbers: categories by their code; blanks, and values without a code, as NaN."""
    columns = []
    for name in table.columns:
        if name in codes:
            columns.append([codes[name].get(value, np.nan) for value in table[name].cast(pl.String)])
        else:
            columns.append(table[name].to_physical().cast(pl.Float64).to_numpy())
    return np.column_stack(columns).astype(np.float64)


def _mcgrad(known: Known, asked: Known, setting: Sequence[int], seed: int, _rounds: None = None) -> tuple:
    """MCGrad, which encodes categories, takes blanks and chooses its rounds by itself."""
    import logging

    import pandas
    from mcgrad import methods

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    categories = _categories(known.columns)
    numbers = [name for name in known.columns.columns if name not in categories]
    named = {"categorical_feature_column_names": categories, "numerical_feature_column_names": [*numbers, "offset"]}

    def frame(one: Known) -> pandas.DataFrame:
        made = {name: np.array(one.columns[name].cast(pl.String).to_list(), dtype=object) for name in categories}
        made |= {name: one.columns[name].to_physical().cast(pl.Float64).to_numpy() for name in numbers}
        return pandas.DataFrame({**made, "offset": one.offset, "score": np.clip(one.risk, CLIP, 1 - CLIP)})

    model = methods.MCGrad(lightgbm_params={"min_child_samples": setting[0], "num_threads": 1}, random_state=seed)
    model.fit(frame(known).assign(outcome=known.correct.astype(int)), "score", "outcome", **named)
    return np.asarray(model.predict(frame(asked), "score", **named), np.float64), None


def _difference(values: np.ndarray, days: np.ndarray | None) -> tuple[float, float]:
    """Mean difference to miscal, and its standard error."""
    found = mean_interval(values, groups=days)
    return found.value, found.standard_error or 0.0


def weeks(saved: np.ndarray, days: np.ndarray) -> list[tuple[int, float, float]]:
    """Log loss saved a row in each week of the later file: its first day from 1, the mean and the standard error."""
    names = np.unique(days)
    found = []
    for start in range(0, len(names), 7):
        inside = np.isin(days, names[start : start + 7])
        found.append((start + 1, *_difference(saved[inside], days[inside])))
    return found


def main() -> None:
    """Measure, show, and compare with the targets."""
    parser = options(__doc__, "later_rows", data="folder of real sets", rows=[8_000], seeds=[0], sets=list(SETS))
    args = parser.parse_args()
    if args.data is None:
        parser.error("name the folder of the sets: --data DIR")
    keys = [(name, rows, seed) for rows in args.rows for name in args.sets for seed in args.seeds]
    store = results(args, FIELDS, keys, partial(one_set, folder=args.data))
    found = [store.records[key] for key in keys if key in store.records]
    show_findings(args, found)
    show_losses(args, found)
    show_decay(args, found)
    census = [one for one in found if one["set"] == "census"]
    if not census:
        return
    strong = [one for record in census for one in record["found"] if one.get("power", 0.0) >= POWER]
    kept = sum(one["kept"] for one in strong)
    met = target(f"census: {kept} of {len(strong)} findings with power {POWER} keep their sign, at least {KEPT}",
                 bool(strong) and kept >= KEPT * len(strong))  # fmt: skip
    behind = [
        f"{one['set']}: {method}" for one in census for method, (gap, error) in one["difference"].items()
        if gap > norm.isf(0.05 / (len(METHODS) - 1)) * error
    ]  # fmt: skip
    level = target(f"census: the correction is beyond chance behind {', '.join(behind) or 'no peer'}", not behind)
    sys.exit(not (met and level))


def show_findings(args: argparse.Namespace, records: Sequence[dict]) -> None:
    """Show how many findings keep their sign."""
    rows = []
    for one in records:
        told = [each for each in one["found"] if "power" in each]
        strong = [each for each in told if each["power"] >= POWER]
        ratio = [each["seen"] / each["size"] for each in strong if each["size"]]
        kept = [sum(each["kept"] for each in some) for some in (told, strong)]
        rows.append([one["set"], one["rows"], one["seed"], len(one["found"]), kept[0], len(strong), kept[1],
                     f"{np.median(ratio):.2f}" if ratio else ""])  # fmt: skip
    head = [
        "set",
        "rows",
        "seed",
        "findings",
        "sign kept",
        f"with power {POWER}",
        "of them sign kept",
        "seen over stated, median",
    ]
    show(args, "later_rows-findings", "findings on later rows", head, rows)


def show_losses(args: argparse.Namespace, records: Sequence[dict]) -> None:
    """Show the log loss of every correction."""
    rows = [
        [one["set"], one["rows"], one["seed"], *(f"{one['loss'][method]:.4f}" for method in METHODS),
         *(f"{gap:+.4f} ({error:.4f})" for gap, error in one["difference"].values())]
        for one in records
    ]  # fmt: skip
    head = ["set", "rows", "seed", *METHODS, *(f"miscal less {method} (error)" for method in METHODS[:-1])]
    show(args, "later_rows-losses", "log loss on later rows", head, rows)


def show_decay(args: argparse.Namespace, records: Sequence[dict]) -> None:
    """Show what the correction saves week by week, and when a daily monitor answered."""
    rows = []
    for one in records:
        for start, saved, error in one["weeks"]:
            looks = one["looks"][: start + 6]
            last = looks[-1]
            rows.append([one["set"], one["rows"], one["seed"], start, f"{saved:+.4f}", f"{error:.4f}",
                         " ".join(last["broken"]) or "none"])  # fmt: skip
    head = [
        "set",
        "rows",
        "seed",
        "from day",
        "log loss saved",
        "error",
        "does not hold by its end",
    ]
    show(args, "later_rows-decay", "the correction of flights in July, week by week", head, rows)


if __name__ == "__main__":
    main()
