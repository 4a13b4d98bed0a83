"""Worlds of `nothing.py` that whole runs, or their layers, are asked about.

Each world is a table whose outcomes follow the confidence alone, so that whatever is claimed is claimed falsely.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.special import logit as log_odds

from _data import DEMO, read_set
from _findings import claim_of
from _shares import UNTOLD
from _validity_counts import Told
from miscal.calibration.calibrators import Isotonic, logit
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_losses
from miscal.data.judged import ClassProbabilities
from miscal.data.triples import Triples
from miscal.discovery.discover import discover, write_ledger
from miscal.discovery.estimating import expected_outcome, fit_rows, prepare
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.several_classes import TOP_LABEL_ERROR, class_ledgers
from miscal.discovery.summarise import claim_of as claim_of_run
from miscal.estimators.auto.estimator import fit_auto
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import FieldEstimate
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find

# --- whole runs ---------------------------------------------------------------------------------------------------

CURVES = {
    "calibrated": lambda f: f,
    "visible": lambda f: f**2,
    "not_monotone": lambda f: 0.5 + 0.35 * np.sin(9 * f),
    "saturated": lambda f: f,
    "stated": lambda f: 0.2 + 0.5 * f,
}
"""How often rows are right, given their confidence; "saturated" and "stated" have confidences of their own."""


def drawn(world: str, n: int, rng: np.random.Generator) -> Triples:
    """Draw a table whose outcomes follow the confidence alone."""
    f = rng.uniform(0.05, 0.95, n)
    if world == "saturated":
        f = np.where(rng.random(n) < 0.95, rng.uniform(0.97, 0.9999, n), f)
    if world == "stated":
        f = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n)
    kind, form = rng.integers(8, size=n), rng.choice(["short", "long", "other"], n)
    numbers = rng.normal(size=(n, 3))
    X = np.c_[np.eye(8)[kind], form[:, None] == np.array(["short", "long"]), numbers]
    gaps = np.where(rng.random((n, 2)) < 0.1, np.nan, numbers[:, :2])
    columns = {"kind": np.array([f"kind {k}" for k in kind]), "form": form, "age": gaps[:, 0], "size": gaps[:, 1],
               "year": numbers[:, 2].round(1)}  # fmt: skip
    y = rng.random(n) < CURVES[world](f)
    return Triples.of(X, confidence=f, correct=y, metadata=columns)


def whole_run(world: str, n: int, draw: int) -> Told:
    """Run the whole of discover on a table, and look at all that it claims."""
    rng = np.random.default_rng((draw, n, list(CURVES).index(world), 71))
    summary = discover(drawn(world, n, rng), seed=draw, n_jobs=1, map_method="pca").summary
    proof, regimes, told = summary.certificate, (*summary.regimes, *summary.hidden_regimes), Told()
    calibrated = world in ("calibrated", "saturated")
    told.p_value("hidden p-value", proof.p_value, hypothesis=True)
    told.p_value("total p-value", proof.p_value_total, calibrated)
    told.p_value("gap", summary.gap.p_value, calibrated)
    told.misses |= {
        "finding": bool(summary.findings), "claim": proof.claims_hidden,
        "limit > 0": proof.lower_bound_hidden.interval[0] > 0,
        "regime hidden": any(one.confirmed.hidden for one in regimes), "correction worse": _worse(summary),
    }  # fmt: skip
    if calibrated:
        told.misses |= {"regime total": any(one.confirmed.total for one in regimes), "alarm": bool(summary.alarms)}
    return told


def _worse(summary) -> bool:
    """Whether the correction has a higher log loss than the confidences as given, beyond chance."""
    gain = summary.gains.get("raw")
    return gain is not None and gain.log_loss.interval is not None and gain.log_loss.interval[1] < 0


# --- several classes: the label is drawn by the probabilities -----------------------------------------------------

KINDS = ("even", "confident", "unequal")
CLASS_WORLDS = tuple(f"{kind}, {many} classes" for many in (3, 10) for kind in KINDS)
"""All classes about as frequent; two thirds of the largest probabilities above .9; each two thirds of the last."""
ROUNDING = 1e-6
"""Log loss below which two corrections are one: probabilities below 1e-8 are taken as that, which moves 1e-10 nats."""


def class_rows(world: str, n_classes: int, n: int, draw: int) -> Triples:
    """Rows whose probabilities depend on their columns, and labels drawn by them."""
    rng = np.random.default_rng((draw, n_classes, n, KINDS.index(world), 87))
    region, plan = rng.choice(5, n), rng.choice(3, n)
    income, age = rng.lognormal(3.4, 0.5, n), rng.integers(18, 91, n).astype(float)
    z = rng.normal(size=(n, n_classes)) + 0.5 * rng.normal(size=(5, n_classes))[region]
    z += 0.5 * rng.normal(size=(3, n_classes))[plan] + np.outer((age - 50) / 40, rng.normal(size=n_classes))
    z *= 4.0 if world == "confident" else 1.5
    z += np.log(2 / 3) * np.arange(n_classes) if world == "unequal" else 0.0
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    code = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    top = p.argmax(axis=1)
    names = tuple(f"class {k}" for k in range(n_classes))
    metadata = {
        "region": region.astype(str).astype(object), "plan": plan.astype(str).astype(object), "income": income,
        "age": age, "predicted": np.array([names[k] for k in top], dtype=object),
    }  # fmt: skip
    return Triples(
        np.arange(n, dtype=np.float64)[:, None], p[np.arange(n), top], (top == code).astype(float),
        metadata=metadata, classes=ClassProbabilities(names, p, code),
    )  # fmt: skip


def class_lists(world: str, n: int, draw: int) -> Told:
    """Whether the list of the top label, or any of those of classes, holds anything."""
    kind, _, many = world.partition(", ")
    triples = class_rows(kind, int(many.split()[0]), n, draw)
    f, expected = triples.confidence, expected_outcome(triples, draw)
    rows = LabelledRows(triples.correct, f, expected, hidden=np.zeros(n), row=np.arange(n))
    top = find(rows, named_groups(triples.metadata), seed=draw, error=TOP_LABEL_ERROR).findings
    fields = [name for name in FieldEstimate.__dataclass_fields__ if name != "coordinates"]
    nothing = FieldEstimate(**dict.fromkeys(fields, np.zeros(n)), coordinates=np.zeros((n, 1)))
    by_class, *_ = class_ledgers(
        FittedRows(triples, None, nothing, expected, expected, {}), triples.classes.probability, own_split=False,
        seed=draw,
    )  # fmt: skip
    of_class = any(one.findings for one in by_class.values())
    return Told(misses={"top label": bool(top), "a class": of_class, "any": bool(top) or of_class},
                means={"classes looked at": len(by_class)})  # fmt: skip


def class_run(world: str, n: int, draw: int) -> Told:
    """Run the whole of discover on several classes, the columns being the inputs too."""
    kind, _, many = world.partition(", ")
    rows = class_rows(kind, int(many.split()[0]), n, draw)
    columns = rows.metadata
    hot = [columns[name][:, None] == np.unique(columns[name]) for name in ("region", "plan")]
    numbers = [np.log(columns["income"])[:, None], columns["age"][:, None] / 20]
    X = np.hstack([*hot, *numbers]).astype(np.float32)
    summary = discover(replace(rows, X=X), seed=draw, n_jobs=1, map_method="pca").summary
    interval = summary.classes.saved.interval
    found = bool(summary.findings), bool(summary.classes.findings)
    return Told(misses={
        "finding, top label": found[0], "finding, a class": found[1], "any finding": any(found),
        "claim of hidden": summary.certificate.claims_hidden,
        "correction worse": interval is not None and interval[1] < -ROUNDING,
    })  # fmt: skip


# --- rows in the order of time ------------------------------------------------------------------------------------

TIMES = ("visible", "shifting")
"""The same at all times; another E[y | f] from row to row, so that none of earlier rows is that of the rows judged."""


def in_time(world: str, rows: int, draw: int) -> Told:
    """What is claimed of rows that are judged by fits on earlier ones."""
    rng, letters = np.random.default_rng((draw, 7)), "abcdefgh"
    X, f, when = rng.normal(size=(rows, 3)), rng.uniform(0.1, 0.9, rows), np.arange(rows)
    shift = -0.3 if world == "visible" else np.linspace(-1.2, 1.2, rows)
    rate = expit(0.6 * log_odds(f) + shift)
    kind = rng.choice(list(letters), rows)
    inputs = np.c_[X, np.eye(len(letters))[[letters.index(one) for one in kind]]]
    correct = (rng.random(rows) < rate).astype(int)
    named = {"kind": kind, "x": X[:, 0].round(1)}
    triples, *_ = prepare(Triples.of(inputs, confidence=f, correct=correct, time=when, metadata=named), "time", draw)
    fitted = fit_rows(triples, MiscalibrationField(random_state=draw, n_jobs=1), evidence="time")
    proof, told = claim_of_run(fitted, seed=draw), Told()
    for name, p in (("certificate", proof.p_value), ("field", proof.p_field), ("kernel score", proof.p_structure)):
        told.p_value(name, p, hypothesis=True)
    told.misses["any finding"] = bool(write_ledger(fitted, own_split=False, seed=draw).findings)
    return told


# --- corrections from few rows ------------------------------------------------------------------------------------

RATES = tuple(f"{hidden}, rarer outcome {100 * rate:g} %" for hidden in ("nothing hidden", "a shift hidden")
              for rate in (0.01, 0.02, 0.05, 0.2, 0.5))  # fmt: skip
"""Right confidences, or log-odds 1.5 times too large; a shift of 0.7 in log-odds by the sign of a column, or none."""
FRESH, HARM, TOO_SURE, HIDDEN, COLUMNS = 4_000, 0.01, 1.5, 0.7, (2, 12, 40)


def few_rows(rng: np.random.Generator, n: int, rate: float, hidden: float) -> tuple[np.ndarray, ...]:
    """Inputs, confidences and true rates of a world, and whether its confidences are right but for what is hidden."""
    spread, columns = rng.choice([0.4, 0.8, 1.6]), rng.choice(COLUMNS)
    odds = log_odds(rate) + spread * (rng.uniform(-1.7, 1.7, n) - 0.3 * spread * (rate < 0.5))
    X = [rng.normal(size=(n, columns)), rng.standard_t(3, (n, columns)), (rng.random((n, columns)) < 0.3) * 1.0][
        rng.integers(3)
    ]
    if rng.random() < 0.5:
        X[:, 0] = odds + rng.normal(size=n)
    right = bool(rng.random() < 0.5)
    shift = hidden * np.where(X[:, 1] > np.median(X[:, 1]), 1.0, -1.0)
    return X, expit(odds if right else TOO_SURE * odds), expit(odds + shift), right


def losses(p: np.ndarray, rate: np.ndarray) -> float:
    """Mean log loss at true rates."""
    right, wrong = np.ones_like(p), np.zeros_like(p)
    return float(np.mean(rate * log_losses(right, p) + (1 - rate) * log_losses(wrong, p)))


def harm(world: str, rows: int, draw: int) -> Told:
    """Whether the log loss of 4,000 fresh rows is more than 0.01 above that of the global map; what is saved."""
    hidden = HIDDEN if world.startswith("a shift") else 0.0
    rate = float(world.split()[-2]) / 100
    rng = np.random.default_rng((77, rows, round(1_000 * rate), draw, round(10 * hidden)))
    X, f, p, right = few_rows(rng, rows + FRESH, rate, hidden)
    y, fresh = (rng.random(rows) < p[:rows]).astype(float), slice(rows, None)
    model = fit_auto(Triples.of(X[:rows], confidence=f[:rows], correct=y), seed=draw)
    raw, base = losses(f[fresh], p[fresh]), losses(model.base(f[fresh]), p[fresh])
    after = losses(model.correct(X[fresh], f[fresh]).corrected, p[fresh])
    untold = UNTOLD if hidden else ""
    told = Told({}, {f"worse{untold}": after - base > HARM, f"claimed{UNTOLD}": bool(model.structure)})
    if right:
        told.misses[f"map worse{UNTOLD}"] = base - raw > HARM
    told.means = {"saved over map": base - after, "saved over raw": raw - after}
    return told


# --- inputs and confidences of a real set -------------------------------------------------------------------------

DRAWN = ("calibrated", "visible", "planted 0.5", "planted 1.0", "planted 2.0")
"""Outcomes drawn anew: by f; by an isotonic map of f; by that and a shift in a k-means cluster of 10 to 20 %."""
SHARE, SET = (0.10, 0.20), "mmlu/Meta-Llama-3-8B-Instruct"


@lru_cache(maxsize=4)
def planted_cluster(folder: Path | None, name: str) -> np.ndarray:
    """Rows of a k-means cluster of 10 to 20 % of the rows, bool (n,)."""
    from sklearn.cluster import KMeans

    X = read_set(folder, name).X
    for k in range(5, 30):
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(X)
        share = np.bincount(labels) / len(labels)
        chosen = int(np.abs(share - np.mean(SHARE)).argmin())
        if SHARE[0] <= share[chosen] <= SHARE[1]:
            return labels == chosen
    raise SystemExit(f"no cluster of {name} has between 10 and 20 % of its rows")


def real_inputs(folder: Path | None, world: str, _n: int, draw: int) -> Told:
    """Draw outcomes, fit auto to train and validation rows, certify on test rows."""
    name = DEMO if folder is None else SET
    data, (kind, _, strength) = read_set(folder, name), world.partition(" ")
    rng, p, f, split = np.random.default_rng((draw, 17)), data.confidence, data.confidence, data.split(draw)
    if kind != "calibrated":
        p = Isotonic(smoothing=1.0).fit(data.correct, f).predict(f)
    if kind == "planted":
        p = expit(logit(p) + float(strength) * planted_cluster(folder, name))
    y, known, test = (rng.random(len(p)) < p).astype(float), split != "test", split == "test"
    field = MiscalibrationField(random_state=draw, n_jobs=1).fit(data.X[known], y[known], confidence=f[known])
    found = field.estimate(data.X[test], f[test])
    claim, told = claim_of(field, found, y, f, test, seed=draw), Told()
    told.p_value("hidden p-value", claim.hidden.p_value, kind != "planted")
    told.p_value("total p-value", claim.total.p_value, kind == "calibrated")
    told.misses[f"claim{UNTOLD}" if kind == "planted" else "claim"] = claim.claims_hidden
    told.means = {"std of the field": found.delta.std(), "structure": field.structure_}
    return told
