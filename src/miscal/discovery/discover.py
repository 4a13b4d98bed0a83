"""Discovery: from triples to a field, its regimes, what unseen rows say of them, and a corrected model.

Everything that learns or chooses sees train and validation rows only; everything reported as measured is measured
on test rows, once, at the end.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from miscal.base.errors import InputError
from miscal.base.threads import one_thread
from miscal.calibration.calibrators import CALIBRATORS
from miscal.data.splits import check_trainable, split_rows, straddling
from miscal.data.triples import Triples
from miscal.discovery import layout as maps
from miscal.discovery.summarise import Findings, compose
from miscal.discovery.summary import Summary, clean_text
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.honest import fit_honest
from miscal.findings import EPSILON, Subregimes, cut, find_subregimes

if TYPE_CHECKING:
    import polars as pl

METHODS = ("auto", "paper")
COMPARED = ("isotonic", "temperature", "platt")
"""Global corrections that stand beside the field's own."""

TEXT_LENGTH = 400


@dataclass(frozen=True)
class Discovery:
    """Everything a discovery found.

    Attributes
    ----------
    summary : Summary
        The numbers, as in ``summary.json``.
    table : polars.DataFrame
        One row per input row, in order: ``row``, ``split``, ``confidence``, ``correct``, ``delta``, ``mass``,
        ``regime``, ``subregime``, ``corrected``, ``visible``, ``hidden``, ``supported``. All values are honest.
        ``delta`` estimates E[y - f], in [-1, 1]: positive means under-confident.
    map : polars.DataFrame
        Two-dimensional positions of the rows (a sample, if there are many), for the report.
    model : MiscalibrationField
        The fitted field; ``model.calibrate(X, confidence=f)`` corrects new confidences.
    encoder : object or None
        The step from text or columns to X, if the triples came with one.
    """

    summary: Summary
    table: "pl.DataFrame"
    map: "pl.DataFrame"
    model: MiscalibrationField
    encoder: Any = None


@dataclass
class _Clock:
    """Announces the stages as they start, and times them."""

    progress: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name)
        start = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - start, 3)


def discover(
    triples: Triples,
    *,
    method: str = "auto",
    seed: int = 0,
    epsilon: float = EPSILON,
    n_jobs: int | None = None,
    map_method: maps.MapMethod = "auto",
    progress: Callable[[str], None] | None = None,
) -> Discovery:
    """Find where a model is over- and under-confident, and test it on rows that nothing has seen.

    Parameters
    ----------
    triples : Triples
        Inputs, confidences and outcomes. Where they carry a split it is used as it is; else rows are split 80/10/10
        by `seed`, equal inputs and groups on one side.
    method : {"auto", "paper"}, default "auto"
        The estimator.
    seed : int, default 0
        Of the split, the fit, the null draws and the bootstrap. The same seed gives the same result.
    epsilon : float, default 0.05
        Half-width of the band of delta that counts as well calibrated, in [0, 1).
    n_jobs : int, optional
        Processes for the fit; by default as many as the processors this process may use.
    map_method : {"auto", "pca", "umap"}, default "auto"
        Layout of the two-dimensional maps.
    progress : callable, optional
        Called with the name of each stage as it starts.

    Returns
    -------
    Discovery
        Summary, table, map and model.

    Raises
    ------
    InputError
        If there are too few rows in all or in a split, one outcome only, or a setting is out of range.

    Examples
    --------
    >>> few = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0], split=["train", "test"])
    >>> discover(few)
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: too few rows: got 2; at least 100 are needed ...
    """
    _check_settings(method, epsilon)
    clock = _Clock(progress or (lambda name: None))
    with clock.stage("split"):
        triples, warnings = with_split(triples, seed)
        check_trainable(triples.correct, triples.split)
    with clock.stage("field"):
        model, estimate = fit_and_estimate(triples, method=method, seed=seed, n_jobs=n_jobs)
    # what follows is many small sums, which threads only slow down
    with one_thread():
        with clock.stage("regimes"):
            regime = cut(estimate.delta, epsilon, estimate.supported)
            parts = _subregimes(triples, estimate, regime, seed)
        with clock.stage("corrections"):
            corrections = _corrections(triples, estimate, method)
        with clock.stage("map"):
            table = _table(triples, estimate, regime, parts)
            layout, map_info = _map(triples, estimate, table, map_method, seed)
        with clock.stage("measures"):
            findings = Findings(triples, model, estimate, regime, parts, corrections, seed=seed, epsilon=epsilon)
            summary = compose(findings, method=method, warnings=warnings, map_info=map_info)
    summary = summary.model_copy(update={"timing": clock.seconds})
    return Discovery(summary, table, layout, model, triples.encoder)


def _check_settings(method: str, epsilon: float) -> None:
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; {method!r} came")
    if not 0.0 <= epsilon < 1.0:
        raise InputError(f"epsilon must be in [0, 1); {epsilon!r} came")


def with_split(triples: Triples, seed: int) -> tuple[Triples, tuple[str, ...]]:
    """Give triples a split if they have none, and say what is odd about the one they have.

    Parameters
    ----------
    triples : Triples
        With or without a split.
    seed : int
        Of the split.

    Returns
    -------
    triples : Triples
        With a split.
    warnings : tuple of str
        Duplicates, straddling inputs.
    """
    if triples.split is not None:
        # a reader that made or took the split has said in its notes what is odd about it
        return triples, () if triples.source.get("split") else straddling(triples)
    split, warnings = split_rows(triples, seed=seed)
    return replace(triples, split=split), tuple(warnings)


def fit_field(
    triples: Triples, *, method: str = "auto", seed: int = 0, n_jobs: int | None = None
) -> MiscalibrationField:
    """Fit the field on train and validation rows.

    Parameters
    ----------
    triples : Triples
        With a split.
    method, seed, n_jobs
        As for :func:`discover`.

    Returns
    -------
    MiscalibrationField
        Fitted; no test row was looked at.
    """
    known = triples.take(triples.split != "test")
    return MiscalibrationField(method=method, random_state=seed, n_jobs=n_jobs).fit(**_learnt(known))


def _learnt(known: Triples) -> dict[str, Any]:
    """Arguments of a fit."""
    return {
        "X": known.X,
        "y": known.correct,
        "confidence": known.confidence,
        "sample_weight": known.weight,
        "groups": known.group,
        "split": known.split,
    }


def fit_and_estimate(
    triples: Triples, *, method: str = "auto", seed: int = 0, n_jobs: int | None = None
) -> tuple[MiscalibrationField, FieldEstimate]:
    """Fit the field, and estimate it at every row without any row's own outcome.

    Parameters
    ----------
    triples : Triples
        With a split.
    method, seed, n_jobs
        As for :func:`discover`.

    Returns
    -------
    model : MiscalibrationField
        Fitted on the train and validation rows.
    estimate : FieldEstimate
        The model's estimate at test rows, K-fold estimates at train and validation rows; arrays of shape (n, ...),
        in the order of the rows.
    """
    test = triples.split == "test"
    model = MiscalibrationField(method=method, random_state=seed, n_jobs=n_jobs)
    folded = fit_honest(model, **_learnt(triples.take(~test)))
    unseen = model.estimate(triples.X[test], triples.confidence[test])
    values = {
        item.name: _merged(test, getattr(unseen, item.name), getattr(folded, item.name)) for item in fields(unseen)
    }
    return model, FieldEstimate(**values)


def _merged(test: np.ndarray, unseen: np.ndarray, folded: np.ndarray) -> np.ndarray:
    both = np.empty((len(test), *unseen.shape[1:]), dtype=unseen.dtype)
    both[test], both[~test] = unseen, folded
    return both


def _subregimes(triples: Triples, estimate: FieldEstimate, regime: np.ndarray, seed: int) -> Subregimes:
    return find_subregimes(
        estimate.coordinates,
        estimate.delta,
        regime,
        split=triples.split,
        correct=triples.correct,
        confidence=triples.confidence,
        features=triples.X,
        feature_names=getattr(triples.encoder, "names", None),
        text=triples.text,
        metadata=triples.metadata,
        row=triples.row,
        random_state=seed,
    )


def _corrections(triples: Triples, estimate: FieldEstimate, method: str) -> dict[str, np.ndarray]:
    """Corrected confidences of every row by each method; the global maps learn from the rows the field learnt from."""
    learnt = triples.split == "train" if method == "paper" else triples.split != "test"
    weight = None if triples.weight is None else triples.weight[learnt]
    known = triples.confidence[learnt], triples.correct[learnt], weight
    others = {name: CALIBRATORS[name]().fit(*known).predict(triples.confidence) for name in COMPARED}
    return {"raw": triples.confidence, "miscal": estimate.corrected, **others}


def _table(triples: Triples, estimate: FieldEstimate, regime: np.ndarray, parts: Subregimes) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(
        {
            "row": triples.row,
            "split": pl.Series(triples.split.tolist(), dtype=pl.String),
            "confidence": triples.confidence,
            "correct": triples.correct.astype(np.int8),
            "delta": estimate.delta,
            "mass": estimate.mass,
            "regime": pl.Series(regime.tolist(), dtype=pl.String),
            "subregime": pl.Series([_text(name) for name in parts.name], dtype=pl.String),
            "corrected": estimate.corrected,
            "visible": estimate.visible,
            "hidden": estimate.hidden,
            "supported": estimate.supported,
        }
    )


def _map(
    triples: Triples, estimate: FieldEstimate, table: "pl.DataFrame", method: maps.MapMethod, seed: int
) -> tuple["pl.DataFrame", dict[str, Any]]:
    shown = maps.shown_rows(len(triples), seed=seed)
    raw = maps.layout(triples.X[shown], method=method, seed=seed)
    learned = maps.layout(estimate.coordinates[shown], method=method, seed=seed)
    some = triples.take(shown)
    picture = table[shown].select(
        *("row", "split", "delta", "mass", "regime", "subregime", "confidence", "correct", "corrected")
    )
    picture = picture.with_columns(*_positions("raw", raw), *_positions("learned", learned), *_explaining(some))
    info = {"raw_method": raw.method, "learned_method": learned.method, "n_shown": len(shown), "n_total": len(triples)}
    return picture, info


def _positions(name: str, layout: maps.Layout) -> list["pl.Series"]:
    import polars as pl

    return [pl.Series(f"{name}_{k + 1}", layout.positions[:, k]) for k in range(2)]


def _explaining(some: Triples) -> list["pl.Series"]:
    """Text and metadata of the rows shown, as text or numbers."""
    import polars as pl

    texts = [None] * len(some) if some.text is None else [_text(text, TEXT_LENGTH) for text in some.text]
    columns = [pl.Series("text", texts, dtype=pl.String)]
    for name, values in some.metadata.items():
        plain = values.dtype.kind in "biuf"
        held = values if plain else pl.Series([_text(value, TEXT_LENGTH) for value in values], dtype=pl.String)
        columns.append(pl.Series(f"meta.{clean_text(name)}", held))
    return columns


def _text(value: Any, limit: int | None = None) -> str | None:
    if value is None or value != value:
        return None
    text = clean_text(str(value)[:limit])
    return text if limit is None or len(str(value)) <= limit else text + "…"
