"""What is measured of a pair: itself, its corrections, slices of its rows, values of its field, and both spaces.

Layouts of the raw inputs and of the learned geometry are for the eye only: nothing is computed from them. A learned
space that forgets what inputs are about and keeps how wrong the model is has neighbours that share their category less
often than neighbours in the raw inputs do (arXiv 2605.13484, appendix F.6), and their outcome more often, which the
paper does not ask.

Three things keep the comparison fair. The representation phi was learned from the outcomes of other rows: of training
rows, or of the other half where all rows are evaluated. The sign of delta is a function of phi, or nearly, so that
neighbours in the learned space share it by construction; the outcome stands beside it, because no space was made from
the outcomes of these rows. And rows that count as one, or have equal inputs, are asked once.

To add a measure: a function from a pair to rows of tables, and its entry in `MEASURES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.document import clean_text
from miscal.base.folds import row_groups
from miscal.base.process import installed, one_thread
from miscal.base.vocabulary import Kind
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.calibration.metrics.decisions import deferral_gains, risk_at_coverage
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, clipped
from miscal.calibration.metrics.scores import log_losses
from miscal.calibration.metrics.smooth import smece
from miscal.data.splits import SAMPLE_ROWS, draw_rows
from miscal.discovery.estimating import corrections_by_name
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.discovery.layout import MapMethod, lay_out, shown_rows
from miscal.discovery.measurements import comparison, reliability
from miscal.discovery.summary import Comparison
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.kernel import nearest
from miscal.evidence.power import threshold_sensitivity
from miscal.evidence.stability import slice_bootstrap
from miscal.findings.enrichment import clean_label, encode
from miscal.report.brief import FIRST_ERROR
from miscal.runs.compare.estimates import group_means
from miscal.study.aggregates import OUTCOME, SIGN
from miscal.study.pair_result import FieldRows, PairResult, TableRows
from miscal.study.tables import REGIONS, SOUGHT, TABLES, attributes, with_ends

COVERAGES = tuple(np.linspace(0.05, 1.0, 20).round(2).tolist())
"""Coverages of the risk-coverage curve: 0.05, 0.10, ..., 1."""

EPSILONS = (0.01, 0.05, 0.10, 0.15)
"""Half-widths of the band at which the table ``thresholds`` cuts the field."""

BOOTSTRAP_DRAWS = 1_000
"""Draws of the paper's bootstrap of the worst slice, and of the gains of deferral."""

REGIME = "regime"
"""What the tables call the column of regimes."""

MOST_VALUES = 60
"""Values of a metadata column that are shown, the most frequent ones: no figure has room for more."""

BIN_EDGES = np.linspace(-1.0, 1.0, 201).round(2)
"""Bins of width 0.01 over all values that a field can have, the same for all pairs: they can be added. Half-widths of
the band in whole hundredths, such as 0.05, are edges, so that no bin lies on both sides of one."""


def measure_pair(result: PairResult) -> TableRows:
    """Fill the table ``pairs``: a row for the learned field and, where it is measured, one for the raw inputs."""
    blank = dict.fromkeys(TABLES["pairs"])
    more = {"learned": _of_learned(result), "raw": result.raw and result.raw.chosen}
    each = result.geometries.items()
    return {"pairs": [blank | _of_geometry(result, name, rows) | more[name] for name, rows in each]}


def _of_geometry(result: PairResult, geometry: str, rows: FieldRows) -> dict[str, Any]:
    """Describe the pair, the field over its rows, what its correction saves, and the worst slice."""
    summary, pair, regime = result.found.summary, result.pair, rows.regime
    y, f, least = rows.correct, rows.confidence, pair.min_rows
    raw, globally, local = (log_losses(y, confidence) for confidence in (f, result.globally_corrected, rows.corrected))
    (at,) = threshold_sensitivity(y, f, rows.regimes_of, epsilons=(result.epsilon,), min_rows=least)
    drawn = slice_bootstrap(
        y, f, regime, min_rows=least, groups=result.groups, n_draws=BOOTSTRAP_DRAWS, random_state=pair.seed
    )
    gap, share = drawn.gap, drawn.share
    about = {"geometry": geometry, "outcome": summary.kind, "epsilon": result.epsilon, "d": summary.data.n_features}
    about |= attributes(pair, "family", "billions", "seed", "min_rows") | {"seconds_score": result.seconds_score}
    about |= attributes(summary, "evidence", "n", "n_train", "n_val")
    scores = {name: getattr(summary.global_, name).value for name in ("smece", "brier", "log_loss")}
    # those of the summary are of all rows
    scores |= {"n_test": len(y), "accuracy": float(y.mean()), "confidence": float(f.mean())}
    scores |= {"log_loss_corrected": float(local.mean()), "log_loss_global": float(globally.mean())}
    scores |= _mean("log_loss_saved", raw - local, result.unit)
    scores |= _mean("log_loss_saved_local", globally - local, result.unit)
    field = {"delta_mean": float(rows.delta.mean()), "delta_std": float(rows.delta.std())}
    field |= {f"std_{part}": float(getattr(rows, part).std()) for part in ("visible", "hidden")}
    field |= {f"share_{side}": float(np.mean(regime == side)) for side in ("over", "under")}
    field["share_unsupported"] = float(np.mean(~rows.supported))
    worst = attributes(at, "worst", "gap", "share_worst", "brier_gap") | {"gap_clipped": clipped(at.gap)}
    worst |= {f"gap_boot_{name}": gap and getattr(gap, name) for name in ("mean", "mean_clipped")}
    worst |= {f"gap_{end}": gap and getattr(gap, end) for end in ("low", "high")}
    worst |= {f"share_{end}": share and getattr(share, end) for end in ("low", "high")}
    return {**result.named, **about, **scores, **field, **worst}


def _mean(name: str, values: np.ndarray, unit: np.ndarray, ends: str | None = None) -> dict[str, float | None]:
    """Average values of rows, with an interval over units."""
    mean = group_means(values, np.asarray(unit), spare=0.0)
    return with_ends(name, float(mean.value[0]), mean.measure(0).interval, ends)


def _of_learned(result: PairResult) -> dict[str, Any]:
    """Collect what a run knows of the learned geometry alone."""
    summary = result.found.summary
    certificate, findings, selection, gap = summary.certificate, summary.findings, summary.selection, summary.gap
    chosen: dict[str, Any] = {}
    if summary.method == "paper":
        chosen = selection.chosen | next(candidate for candidate in selection.candidates if candidate["chosen"])
    found = next((one for one in certificate.detectable_learned if one.place == "cluster"), None)
    size = None if found is None else found.size
    low, high = gap.interval or (None, None)
    columns = {name: chosen.get(name) for name in ("sigma", "lambda", "epoch", "alpha", "proxy")}
    columns |= {"structure": summary.field.structure, "gap_floor": gap.floor, "gap_p": gap.p_value}
    columns |= {"gap_interval_low": low, "gap_interval_high": high}
    # of a certificate the lower end of the interval is the limit itself, which is below its value
    for name in ("total", "hidden"):
        columns[f"limit_{name}"] = (getattr(certificate, f"lower_bound_{name}").interval or (None,))[0]
    columns |= {"p_total": certificate.p_value_total, "p_hidden": certificate.p_value}
    columns |= {"detectable": size, "detectable_share": None if found is None else found.share}
    columns["rows_for_5_points"] = None if size is None else math.ceil(certificate.n * (size / SOUGHT) ** 2)
    columns |= {"n_findings": len(findings), "finding": findings[0].description if findings else None}
    return columns | {"seconds_field": summary.timing["field"], "seconds": sum(summary.timing.values())}


def measure_corrections(result: PairResult) -> TableRows:
    """Score raw and corrected confidences on all rows and on each regime of the uncorrected field: ``corrections``."""
    compared: dict[str, Mapping[str, Comparison]] = {"learned": result.found.summary.correction}
    if result.raw is not None:
        compared["raw"] = _of_raw(result, result.raw)
    rows = [
        {**result.named, "geometry": geometry, "calibrator": name, "region": region}
        | attributes(getattr(scores, region), "n", "smece", "brier", "log_loss")
        for geometry, by_name in compared.items()
        for name, scores in by_name.items()
        for region in REGIONS
    ]
    return {"corrections": rows}


def _of_raw(result: PairResult, raw: FieldRows) -> Mapping[str, Comparison]:
    """Compare the raw field's correction with global ones learned from the same training rows."""
    test = evaluated_rows(result.triples)
    corrected = result.triples.confidence.copy()
    corrected[test] = raw.corrected
    train = (result.found.table["split"] == "train").to_numpy()
    values = corrections_by_name(result.triples, corrected, [(train, np.ones(len(test), dtype=bool))])
    labelled = LabelledRows.of(raw.correct, raw.confidence)
    return comparison(labelled, {name: value[test] for name, value in values.items()}, raw.regime)


def measure_deferral(result: PairResult) -> TableRows:
    """Compute risk at every coverage by raw and corrected confidences, and what correcting gains; learned geometry.

    Where the confidence is of an event, the more likely side is the answer, and rows are ranked by its probability.
    Correction may change the answer then, so that even without deferral the risk may change.
    """
    rows = result.learned
    confidences = {"raw": rows.confidence, "corrected": rows.corrected}
    ranked = {name: prediction(rows.correct, f, result.found.summary.kind) for name, f in confidences.items()}
    curve = [
        {**result.named, "score": name, "coverage": coverage, "risk": float(risk)}
        for name, (right, score) in ranked.items()
        for coverage, risk in zip(COVERAGES, risk_at_coverage(right, score, COVERAGES), strict=True)
    ]
    (right, before), (right_after, after) = ranked.values()
    gains = deferral_gains(
        right, before, after, correct_after=right_after, groups=result.groups, n_draws=BOOTSTRAP_DRAWS,
        random_state=result.pair.seed,
    )  # fmt: skip
    of_gains = [
        {**result.named, "at": "area" if gain.at is None else f"{gain.at:g}", "raw": gain.before}
        | {"corrected": gain.after, **with_ends("gain", gain.gain, gain.interval)}
        for gain in gains
    ]
    return {"deferral": curve, "deferral_gains": of_gains}


def prediction(correct: np.ndarray, confidence: np.ndarray, outcome: Kind) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row's prediction is right, 0 or 1, and how sure the model is of it, in [0, 1].

    Of an answer these are outcome and confidence. Of an event the more likely side is predicted, and at a confidence of
    0.5 that it happens.

    >>> right, score = prediction(np.array([0.0, 1.0]), np.array([0.05, 0.05]), "event")
    >>> right.tolist(), score.tolist()
    ([1.0, 0.0], [0.95, 0.95])
    """
    if outcome == "answer":
        return correct, confidence
    return ((confidence >= 0.5) == (correct == 1)).astype(np.float64), np.maximum(confidence, 1 - confidence)


def measure_board(result: PairResult) -> TableRows:
    """Fill the table ``board``: what models are compared by, each with its interval."""
    rows, summary = result.learned, result.found.summary
    error, promises = summary.global_.smece, [one for one in summary.alone if one.max_error == FIRST_ERROR]
    # of events there are two, decided as yes and as no
    share = promises[0].share.interval if len(promises) == 1 else None
    own = {
        "residual": _mean("value", rows.correct - rows.confidence, result.unit, ends=""),
        "smece": with_ends("value", error.value, error.interval, ends=""),
        "alone": with_ends("value", sum(one.share.value or 0.0 for one in promises), share, ends=""),
        "alone_raw": with_ends("value", sum(one.raw.share for one in promises), None, ends=""),
    }
    return {"board": [{**result.named, "measure": name, "n": len(rows.correct), **size} for name, size in own.items()]}


def measure_curves(result: PairResult) -> TableRows:
    """Fill ``curves`` and ``regions``: reliability and numbers of every region; uncorrected confidences, learned.

    A regime of fewer than ``min_rows`` rows has no curve, nor has a value of fewer than 30.
    """
    rows, bins, regions = result.learned, [], []
    for column, value, mask in _regions(result):
        key = {**result.named, "column": column, "value": value}
        y, f = rows.correct[mask], rows.confidence[mask]
        labelled = LabelledRows.of(y, f, group=take_rows(result.groups, mask))
        least = result.pair.min_rows if column == REGIME else MIN_SLICE_ROWS
        if (curve := reliability(labelled, min_rows=least)) is not None:
            columns = attributes(curve, "confidence", "accuracy", "low", "high", "n")
            bins += [
                key | {"bin": k} | {name: column[k] for name, column in columns.items()} for k in range(len(curve.n))
            ]
        means = {"accuracy": y, "confidence": f, "delta_mean": rows.delta[mask]}
        averaged = {name: float(values.mean()) if len(y) else None for name, values in means.items()}
        regions.append(key | {"n": len(y), "smece": smece(y, f) if len(y) > 1 else None} | averaged)
    return {"curves": bins, "regions": regions}


def _regions(result: PairResult) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield column, value and mask (n,) of each region: regimes, and values of metadata, neither missing nor rare."""
    for name, mask in result.learned.regions.items():
        yield REGIME, name, mask
    seen = evaluated_rows(result.triples)
    for column, whole in result.triples.metadata.items():
        values = whole[seen]
        # NaN, and a missing date, differ from themselves
        known = np.array([value is not None and value == value for value in values], dtype=bool)
        text = np.array([clean_text(str(value)) if own else "" for value, own in zip(values, known, strict=True)])
        names, counts = np.unique(text[known], return_counts=True)
        for k in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
            if counts[k] >= MIN_SLICE_ROWS:
                yield clean_text(column), str(names[k]), known & (text == names[k])


def measure_thresholds(result: PairResult) -> TableRows:
    """Fill the table ``thresholds``: the field of each geometry, cut at every epsilon of the settings."""
    cut = {"epsilons": EPSILONS, "min_rows": result.pair.min_rows}
    rows = [
        {**result.named, "geometry": geometry, "by": by, **attributes(at, "epsilon", "worst", "brier_gap")}
        | {"n": None if at.share_worst is None else round(at.share_worst * len(seen.correct)), "share": at.share_worst}
        | {"smece_gap": at.gap, "smece_gap_clipped": clipped(at.gap)}
        for geometry, seen in result.geometries.items()
        for by in ("smece", "brier")
        for at in threshold_sensitivity(seen.correct, seen.confidence, seen.regimes_of, by=by, **cut)
    ]
    return {"thresholds": rows}


def measure_histograms(result: PairResult) -> TableRows:
    """Fill the table ``histograms``: the values of the field of each geometry, counted."""
    rows = [
        {**result.named, "geometry": geometry, "left": float(left), "right": float(right), "n": int(n)}
        for geometry, seen in result.geometries.items()
        for left, right, n in zip(BIN_EDGES[:-1], BIN_EDGES[1:], np.histogram(seen.delta, BIN_EDGES)[0], strict=True)
    ]
    return {"histograms": rows}


# --- rows in the raw inputs and in the learned geometry ---------------------------------------------------------------

NEIGHBOURS = 10
"""Neighbours asked of every row."""

MOST_ASKED = 5_000
"""Rows asked. The search costs their square: about 10 s on one core at 4,096 columns."""

PERMUTATIONS = 999
"""Permutations of the labels; the smallest p-value is 1 / 1,000."""

LEAST_FOR_UMAP = 50
MOST_LAID_OUT = 3_000
"""Rows of a layout: more cover each other, and UMAP costs time in proportion."""

# streams of the rows asked, and of the permutations
_ROWS_STREAM, _PERMUTATIONS_STREAM = 71, 72


def measure_purity(result: PairResult) -> TableRows:
    """Fill the table ``purity``, in both spaces, by metadata, by the sign of delta and by the outcome.

    There are no rows where there are not more rows than neighbours. Metadata are grouped as for findings: numbers of
    many values by their quartiles, a missing value is a value, and columns that name every row, or have one value, are
    left out. A metadata column called ``sign`` or ``outcome`` gives way to those two.
    """
    at, spaces = unseen_spaces(result, MOST_ASKED)
    if len(at) <= NEIGHBOURS:
        return {"purity": []}
    triples, rows = result.triples, []
    values = {name: column[at] for name, column in triples.metadata.items()}
    values |= {SIGN: result.found.table["regime"].to_numpy()[at], OUTCOME: triples.correct[at]}
    labels = {by: column.codes for by in values if (column := encode(by, values[by])) is not None}
    for space, coordinates in spaces.items():
        neighbours = nearest_others(coordinates, NEIGHBOURS)
        for by, codes in labels.items():
            # the same permutations in both spaces, so that they differ by the spaces alone
            rng = np.random.default_rng((result.pair.seed, _PERMUTATIONS_STREAM))
            asked = {"space": space, "by": by, "neighbours": NEIGHBOURS, "n": len(codes)}
            rows.append({**result.named, **asked, **purity(codes, neighbours, rng)})
    return {"purity": rows}


def unseen_spaces(result: PairResult, limit: int) -> tuple[NDArray[np.int64], dict[str, np.ndarray]]:
    """Draw rows whose outcomes the learned geometry has not seen, one of each group, and place them in both spaces.

    Rows of one group, or with equal inputs, would be each other's nearest neighbours in any space. Therefore one of
    each is drawn. With a split the rows are test rows and the geometry is that of the saved field. Where all rows
    evaluated, the saved field has learned from every outcome; a field learned from half of the rows then places those
    of the other half, which costs about half as much as the fit of the pair.

    Returns
    -------
    at : int64 array of shape (m,)
        Positions of the rows in the pair's triples, at most `limit`, in random order.
    spaces : dict of str to float array of shape (m, k)
        ``"raw"``: the inputs, neither centred nor scaled; ``"learned"``: phi of them.

    Raises
    ------
    InputError
        If all rows are evaluated and half of them are too few to learn from.
    """
    triples, seed = result.triples, result.pair.seed
    groups = row_groups(triples.X, triples.group)
    if triples.split is None:
        taught = draw_rows(groups, min(len(triples) // 2, SAMPLE_ROWS), named=triples.group is not None, seed=seed)
        # a field read back from a run knows neither its seed nor its options
        options = result.found.summary.settings.get("options")
        model = MiscalibrationField(result.method, random_state=seed, options=options).fit_triples(triples.take(taught))
        asked = ~taught
    else:
        model, asked = result.found.model.field, evaluated_rows(triples)
    at = one_of_each(groups, np.flatnonzero(asked), limit, np.random.default_rng((seed, _ROWS_STREAM)))
    return at, {"raw": triples.X[at], "learned": model.transform(triples.X[at])}


def one_of_each(
    groups: NDArray[np.int64], rows: NDArray[np.int64], limit: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one row of each group, (n,), from positions (m,), at most `limit`, in random order.

    >>> one_of_each(np.array([0, 0, 1, 1]), np.array([0, 2, 3]), 10, np.random.default_rng(0)).tolist()
    [3, 0]
    """
    shuffled = rng.permutation(rows)
    first = np.unique(groups[shuffled], return_index=True)[1]
    # the order stays random, so that among neighbours at one distance none is favoured by its place in the data
    return shuffled[np.sort(first)][:limit]


def purity(
    codes: NDArray[np.int64], neighbours: NDArray[np.int64], rng: np.random.Generator, n_draws: int = PERMUTATIONS
) -> dict[str, Any]:
    """Share of neighbours with the same label, beside the same share after permuting the labels.

    Parameters
    ----------
    codes : int array of shape (n,)
        Label of every row, from 0.
    neighbours : int array of shape (n, k)
        Rows; none is its own neighbour.
    rng : numpy.random.Generator
        Of the permutations.
    n_draws : int, default 999

    Returns
    -------
    dict
        ``purity`` in [0, 1]; ``null_mean``, its exact mean over all permutations, sum n_c (n_c - 1) / (n (n - 1)) for
        n_c rows of label c; ``null_std``, the standard deviation over the draws; and ``p_value``, the share of draws at
        least as pure, the data counted as one of them.

    Examples
    --------
    >>> ring = np.array([[1], [0], [3], [2]])
    >>> found = purity(np.array([0, 0, 1, 1]), ring, np.random.default_rng(0))
    >>> found["purity"], round(found["null_mean"], 3), round(found["p_value"], 1)
    (1.0, 0.333, 0.3)
    """
    sizes, n = np.bincount(codes).astype(np.float64), len(codes)
    # whole numbers, so that equal shares compare as equal
    shared, *drawn = (
        int((labels[neighbours] == labels[:, None]).sum())
        for labels in (codes, *(rng.permutation(codes) for _ in range(n_draws)))
    )
    return {
        "purity": shared / neighbours.size,
        "null_mean": float(sizes @ (sizes - 1)) / (n * (n - 1)),
        "null_std": float(np.std(drawn, ddof=1)) / neighbours.size,
        "p_value": (1 + int((np.array(drawn) >= shared).sum())) / (1 + n_draws),
    }


def nearest_others(points: np.ndarray, k: int) -> NDArray[np.int64]:
    """Find the k nearest other rows of every row of (n, d), n > k, by Euclidean distance: (n, k), nearest first.

    >>> nearest_others(np.array([[0.0], [1.0], [3.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    with one_thread():
        found = nearest(points, points, k + 1)[0]
    others = found != np.arange(len(points))[:, None]
    # among many rows at one place a row may miss itself: then the farthest goes
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(points), k)


def measure_layouts(result: PairResult) -> TableRows:
    """Fill the table ``layouts``: a sample of the evaluation rows, in raw inputs and in the learned geometry.

    Where all rows are evaluated, the learned geometry has seen the outcomes of the rows that are drawn; delta, which
    colours them, has not. The category is the value of the first metadata column.
    """
    triples, seed = result.triples, result.pair.seed
    candidates = np.flatnonzero(evaluated_rows(triples))
    at = candidates[shown_rows(len(candidates), seed=seed, limit=MOST_LAID_OUT)]
    X, delta = triples.X[at], result.found.table["delta"].to_numpy()[at].tolist()
    column = next(iter(triples.metadata.values()), np.full(len(triples), None))[at].tolist()
    category = [None if value is None or value != value else clean_label(value) for value in column]
    # UMAP needs more rows than neighbours
    layout: MapMethod = "umap" if installed("umap-learn") and len(np.unique(X, axis=0)) >= LEAST_FOR_UMAP else "tsne"
    rows = []
    for space, points in (("raw", X), ("learned", result.found.model.field.transform(X))):
        x, y = lay_out(points, method=layout, seed=seed).T.tolist()
        places = zip(triples.row[at].tolist(), x, y, category, delta, strict=True)
        named = {**result.named, "space": space, "layout": layout}
        rows += [named | dict(zip(("row", "x", "y", "category", "delta"), place, strict=True)) for place in places]
    return {"layouts": rows}


Measure = Callable[[PairResult], TableRows]

MEASURES: tuple[Measure, ...] = (
    measure_pair, measure_corrections, measure_thresholds, measure_curves, measure_histograms, measure_deferral,
    measure_board,
)  # fmt: skip
"""What is measured of every pair."""

INTERPRETING: tuple[Measure, ...] = (measure_purity, measure_layouts)
"""What takes long, and is measured only of the pairs that a plan names under ``interpret``."""
