"""One pair under one method: what `discover` found, the rows that are measured, and audits.

Measures look at the evaluation rows, with the field of the learned geometry and, for method "paper", that of the raw
inputs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.folds import row_groups
from miscal.calibration.labelled_rows import take_rows
from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.data.triples import Triples
from miscal.discovery.estimating import corrections_by_name
from miscal.discovery.fitted_rows import TEST, evaluated_rows
from miscal.discovery.run import RunContent
from miscal.estimators.paper.readout import choose_raw_field
from miscal.estimators.registry import regimes_of
from miscal.evidence.stability import spread
from miscal.runs.audit import DATA, Refitting, refit_under_null, refit_with_seeds
from miscal.runs.compare.estimates import FOLDS
from miscal.study.plan import StudyPair
from miscal.study.tables import REGIONS, attributes, with_ends

TableRows = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows by the name of their table, with the columns of :data:`miscal.study.tables.TABLES`."""


@dataclass(frozen=True, eq=False)
class FieldRows:
    """Evaluation rows and one field at each; arrays of shape (n,), float64 unless said otherwise.

    Attributes
    ----------
    correct, confidence
        Outcomes (0 or 1) and confidences (in [0, 1]).
    delta
        The field, in [-1, 1]; negative: over-confident.
    visible, hidden
        Its two parts.
    local : bool
        Whether delta is a local estimate; elsewhere a row belongs to no regime.
    supported : bool
        Whether enough of the rows learned from lie nearby, which the mass of the kernel says for method "paper".
    corrected
        Confidences corrected by the field, in [0, 1].
    epsilon : float
        Half-width of the band of delta that counts as well calibrated.
    chosen : mapping
        Columns of the table ``pairs`` that a field of the raw inputs fills: what was chosen, and the seconds it took.
    """

    correct: np.ndarray
    confidence: np.ndarray
    delta: np.ndarray
    visible: np.ndarray
    hidden: np.ndarray
    local: np.ndarray
    supported: np.ndarray
    corrected: np.ndarray
    epsilon: float
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def regimes_of(self, epsilon: float) -> np.ndarray:
        """Regime of each row at an epsilon: "over", "good", "under", or None; object, shape (n,)."""
        return regimes_of(self.delta, epsilon, self.local)

    @property
    def regime(self) -> np.ndarray:
        """Regime of each row at the pair's epsilon."""
        return self.regimes_of(self.epsilon)

    @property
    def regions(self) -> dict[str, np.ndarray]:
        """Masks of all rows and of each regime, bool (n,)."""
        return {name: np.full(len(self.delta), True) if name == "all" else self.regime == name for name in REGIONS}


@dataclass(frozen=True, eq=False)
class PairResult:
    """One pair under one method, as found.

    Attributes
    ----------
    pair : StudyPair
        With its settings.
    method : {"paper", "auto"}
    triples : Triples
        All rows of the pair, with their split; without one where all rows are evaluated.
    found : RunContent
        What :func:`miscal.discover` found on them; its table is in the order of the triples.
    seconds_score : float or None
        Seconds spent on asking the model; None for data that were read.
    """

    pair: StudyPair
    method: str
    triples: Triples
    found: RunContent
    seconds_score: float | None = None

    @property
    def epsilon(self) -> float:
        """Half-width of the band that counts as well calibrated; where the plan names none, the run has chosen it."""
        return self.found.summary.settings["epsilon"]

    @property
    def named(self) -> dict[str, Any]:
        """The columns that every table of a pair begins with."""
        return attributes(self.pair, "pair", "dataset", "model") | {"method": self.method}

    @cached_property
    def learned(self) -> FieldRows:
        """The evaluation rows, in the learned geometry."""
        some = self.found.table.filter(evaluated_rows(self.triples))
        some = some.with_columns(pl.col("correct").cast(pl.Float64), local=pl.col("regime").is_not_null())
        names = ("correct", "confidence", "delta", "visible", "hidden", "local", "supported", "corrected")
        return FieldRows(*(some[name].to_numpy() for name in names), epsilon=self.epsilon)

    @cached_property
    def raw(self) -> FieldRows | None:
        """The residuals of the paper's bank smoothed over the raw inputs, at the evaluation rows.

        None where it is not asked for, for another method, and where all rows are evaluated: the bank that all share
        has seen their outcomes then. The visible part, a function of the confidence alone, is that of the learned
        geometry.
        """
        found, triples, learned = self.found, self.triples, self.learned
        if not self.pair.raw or found.model.field.method != "paper" or found.summary.evidence != TEST:
            return None
        start = time.monotonic()
        weight = np.ones(len(triples)) if triples.weight is None else triples.weight
        fitted, test = found.model.field.fitted_, triples.split == "test"
        # the estimator knows rows by their numbers in the source
        sorter = np.argsort(triples.row)
        bank = sorter[np.searchsorted(triples.row, fitted.bank_rows_, sorter=sorter)]
        val = (triples.split == "val") & (weight > 0)
        learned_from = triples.X[bank], fitted.bank_residual_, fitted.bank_weight_
        chosen_by = triples.X[val], triples.confidence[val], triples.correct[val], weight[val]
        as_learned = {"readout": fitted.readout, "global_map": fitted.global_map_}
        # the seed draws the pairs of rows behind the unit of the bandwidths
        smoothed = choose_raw_field(*learned_from, *chosen_by, **as_learned, random_state=self.pair.seed)
        estimate = smoothed.estimate(triples.X[test], learned.confidence)
        chosen = attributes(smoothed, "sigma", "alpha", "proxy")
        chosen["seconds_field"] = round(time.monotonic() - start, 3)
        own = attributes(estimate, "delta", "local", "supported", "corrected")
        return replace(learned, **own, hidden=estimate.delta - learned.visible, chosen=chosen)

    @cached_property
    def globally_corrected(self) -> np.ndarray:
        """Confidences of the evaluation rows, corrected by the map of the confidence alone that does best in training.

        The maps are those of the table ``corrections``, the confidence itself among them. They learn from training
        rows, and the one of the lowest log loss on validation rows is taken; without validation rows, on training rows.
        Where all rows are evaluated, maps learn from the rows outside a row's fold, and the choice is made there, too.
        """
        triples = self.triples
        y, f, split = triples.correct, triples.confidence, triples.split
        weight = np.ones(len(triples)) if triples.weight is None else triples.weight
        if split is None:
            fold = self.found.table["fold"].to_numpy()
            choices = parts = [(fold != k, fold == k) for k in np.unique(fold)]
        else:
            train, val = split == "train", split == "val"
            parts = [(train, np.ones(len(triples), dtype=bool))]
            choices = [(val if weight[val].sum() > 0 else train, split == "test")]
        # without a correction of the field, "miscal" is the confidence again
        values = np.stack(list(corrections_by_name(triples, f, parts).values()))
        losses = np.stack([log_losses(y, value) for value in values])
        best = np.empty(len(triples))
        for judged, inside in choices:
            means = np.average(losses[:, judged], axis=1, weights=weight[judged])
            best[inside] = values[int(np.argmin(means)), inside]
        return best[evaluated_rows(triples)]

    @cached_property
    def unit(self) -> np.ndarray:
        """Numbers of the evaluation rows, the same of rows that count as one; int64 (n,)."""
        return units(self.triples)

    @property
    def groups(self) -> np.ndarray | None:
        """Named group of each evaluation row, (n,); None where no groups are named."""
        return take_rows(self.triples.group, evaluated_rows(self.triples))

    @property
    def geometries(self) -> dict[str, FieldRows]:
        """Rows by the name of their geometry: "learned" and, where it is measured, "raw"."""
        return {"learned": self.learned} | ({} if self.raw is None else {"raw": self.raw})


def units(triples: Triples) -> np.ndarray:
    """Give numbers to the evaluation rows, the same to rows that count as one; int64 (n,), from 0 without gaps.

    Rows of one named group count as one; without groups, rows of equal inputs, unless these have fewer than five
    different values, which are no copies of each other then.
    """
    at = evaluated_rows(triples)
    group = take_rows(triples.group, at)
    unit = row_groups(triples.X[at], group)
    return np.arange(len(unit)) if group is None and unit.max() + 1 < FOLDS else unit


# --- audits: what is found under a null, how the proxy went, what other seeds find ------------------------------------

STATISTICS = ("delta_std", "std_hidden", "share_miscalibrated", "gap")
"""Statistics of the table ``nulls``; the gap is cut off at 0."""


def audit(result: PairResult, settings: Mapping[str, Any], n_jobs: int | None = None) -> TableRows:
    """Audit one pair under one method: draws + seeds fits of its field.

    Its triples, names, method and settings are used; what was found on them is not looked at. The settings `null`, what
    the refits draw outcomes from (:data:`miscal.runs.audit.NULL_QUESTIONS`), `draws`, `seeds` and `options` are those
    of the cell. The study's own seed is among the seeds. Fills ``nulls``, ``proxy_curves`` (method "paper" with test
    rows), ``seeds`` and ``seed_pairs``.
    """
    null, draws, seeds = (settings[name] for name in ("null", "draws", "seeds"))
    quietly = lambda name: None  # noqa: E731
    own = attributes(result.pair, "seed", "min_rows", "device") | attributes(result, "method", "epsilon")
    rows = Refitting(result.triples, **own, options=settings["options"] or None, n_jobs=n_jobs)
    nulls, curves = refit_under_null(rows, null, draws, quietly)
    stability, by_seed = refit_with_seeds(rows, seeds, quietly)
    named, pair = result.named, attributes(result.pair, "pair", "dataset", "model")
    compared = {}
    for name in STATISTICS:
        found = nulls["gap_clipped" if name == "gap" else name]
        compared[name] = found.observed, found.mean, found.std, found.p_value
    for name in ("proxy", "epoch") if curves else ():
        values = {curve.draw: float(getattr(curve, name)) for curve in curves}
        observed, refits = values.pop(DATA), spread(list(values.values()))
        # they measure no structure, so that there is no p-value
        compared[name] = observed, refits.mean, refits.std, None
    return {
        "nulls": [
            {**named, "null": null, "statistic": name, "observed": observed, "null_mean": mean, "null_std": std}
            | {"p_value": p_value, "n_draws": draws}
            for name, (observed, mean, std, p_value) in compared.items()
        ],
        "proxy_curves": [
            {**pair, "null": null, "draw": curve.draw, "epoch": epoch, "proxy": proxy, "chosen": epoch == curve.epoch}
            for curve in curves
            for epoch, proxy in enumerate(curve.proxies, start=1)
        ],
        "seeds": [named | attributes(one, "seed", "delta_std", "worst", "gap", "share_worst") for one in by_seed],
        "seed_pairs": [
            {**named, "seed_a": by_seed[one.a].seed, "seed_b": by_seed[one.b].seed}
            | attributes(one, "correlation", "sign_agreement", "sign_by_chance")
            for one in stability.pairs
        ],
    }


# --- both methods -----------------------------------------------------------------------------------------------------


def duel_rows(pair: StudyPair, auto: RunContent, paper: RunContent, unit: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Compare the corrections of two methods on the same rows, in the same order: the row of the table ``duels``.

    There is none where no row is evaluated in both. `unit`, (n,), numbers the rows that count as one, because their
    inputs are equal or their group is; the interval is Student's, over units (Liang and Zeger, 1986).
    """
    both = auto.table.with_columns(theirs=paper.table["corrected"], other=paper.table["split"], unit=pl.Series(unit))
    both = both.filter(pl.all_horizontal(pl.col("split", "other").fill_null("test") == "test"))
    if both.is_empty():
        return []
    correct = both["correct"].to_numpy().astype(np.float64)
    ours, theirs = (log_losses(correct, both[name].to_numpy()) for name in ("corrected", "theirs"))
    saved = mean_interval(theirs - ours, groups=both["unit"].to_numpy())
    row = attributes(pair, "pair", "dataset", "model") | {"n": both.height, "log_loss_auto": float(ours.mean())}
    row |= {"log_loss_paper": float(theirs.mean())}
    return [row | with_ends("saved", saved.value, saved.interval)]
