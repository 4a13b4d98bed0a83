"""Save a fitted field with all it takes to correct new rows, and correct them: a row for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.errors import InputError, argument, command
from miscal.base.folders import load, save_state, state_of
from miscal.base.frames import FrameKind
from miscal.base.vocabulary import ANSWER, Kind
from miscal.data.encoders.features import Encoder
from miscal.data.judged import JudgeScale
from miscal.data.readers.class_columns import ClassColumns
from miscal.data.readers.new_rows import NewRows, NewSource, open_new_rows
from miscal.estimators.registry import Estimator, SavedEstimator
from miscal.estimators.simplex.correction import SimplexCorrection
from miscal.findings.conditions.condition import InputClusters
from miscal.findings.decisions import PromisedThresholds, decisions_of, error_key

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.estimators.field import MiscalibrationField

FAR = "far from all rows that the model was fitted on"
"""Reason of a row that the field has no local estimate for."""

SCHEMA = {
    "row": pl.Int64,
    "delta": pl.Float64,
    "corrected": pl.Float64,
    "mass": pl.Float64,
    "supported": pl.Boolean,
    "reason": pl.String,
}
"""Columns of the table; of several classes there are more, see :func:`schema_of`."""

DECISIONS = {"decide": pl.Boolean, "decision": pl.String}
"""Columns that say what may be decided alone, where an accepted error is named."""

PREDICTED = "predicted"
"""Column of the top label: the class with the largest of the probabilities that were given, whose confidence it is."""

CLUSTERS = "clusters"
"""Folder inside the model's that holds how inputs were clustered, by which new rows are placed in findings."""
_FORM, _CLUSTERS_FORM = "miscal-model", "miscal-clusters"


@dataclass(frozen=True, eq=False)
class SavedClasses:
    """The classes of a model, and the correction of their probabilities.

    `read`: names of the classes, and how their probabilities were read.
    """

    read: ClassColumns
    correction: SimplexCorrection

    @classmethod
    def of(cls, rows: Triples, correction: SimplexCorrection) -> Self:
        """Put a correction together with how the probabilities of the rows were read."""
        classes: Any = rows.classes
        return cls(ClassColumns(classes.names, columns=classes.columns, log=classes.log), correction)

    def correct(self, X: NDArray, probability: NDArray[np.float64], local: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Correct probabilities.

        `X`: inputs of the rows that have usable ones and are near to what was learned from. `probability`: of all rows;
        they sum to 1. `local`, (n,) bool: which rows X is of, m in all. The others are corrected by the global map
        alone. Returns (n, K) float64: rows sum to 1.
        """
        found = self.correction.alone.apply(np.zeros((len(probability), 0)), probability)
        if self.correction.structure and local.any():
            found[local] = self.correction.apply(X, probability[local])
        return found

    def try_out(self, n_features: int) -> None:
        """Refuse parts that do not fit together, which shows where anything is corrected."""
        k = len(self.read.names)
        tried = self.correct(np.zeros((1, n_features)), np.full((1, k), 1 / k), np.array([True]))
        if tried.shape != (1, k) or len(self.read.columns) not in (0, k) or not np.isfinite(tried).all():
            raise ValueError(f"a correction that does not give {k} probabilities")
        if self.read.log is None or self.read.matrix is not None:
            raise ValueError("probabilities that are read in another way than any model's")


@dataclass(frozen=True)
class SavedModel:
    """What it takes to correct new rows.

    Attributes
    ----------
    estimator : SavedEstimator
        The fitted estimator behind the field.
    encoder : Encoder or None
        The step from text or columns to x; None if the model was fitted on arrays.
    confidence : str or None
        The column of the confidences it was fitted on; None if it was fitted on arrays.
    costs : dict of str to float
        By how much the log loss of the corrected confidences changes where a column is blank in every row, as the run
        measured it.
    kind : {"answer", "event", "judge"}
        What they are the probabilities of.
    classes : SavedClasses or None
        Of a model of several classes: their names, and the correction of their probabilities. The field is then that of
        the top label.
    scale : JudgeScale or None
        Of a judge whose scores are no probabilities: what they stand for.
    thresholds : dict of str to dict
        By accepted error: from which corrected confidence on each decision may be taken alone.
    """

    estimator: SavedEstimator
    encoder: Encoder | None
    confidence: str | None = None
    kind: Kind = ANSWER
    costs: dict[str, float] = field(default_factory=dict)
    classes: SavedClasses | None = None
    scale: JudgeScale | None = None
    thresholds: dict[str, PromisedThresholds] = field(default_factory=dict)

    @cached_property
    def field(self) -> MiscalibrationField:
        """The fitted field. Importing its class takes longer than correcting 10,000 rows does."""
        from miscal.estimators.field import MiscalibrationField

        return MiscalibrationField(self.estimator.method).adopt(self.estimator)

    def open(self, source: Any, **options: Any) -> NewSource:
        """Open new rows, to be read from the columns that the model was fitted on, or others that are named.

        Parameters
        ----------
        source : path or table
            As for :func:`miscal.data.readers.read.read_triples`.
        **options
            Those of :class:`miscal.data.columns.NewColumns`, but for outcomes.

        Raises
        ------
        InputError
            If the model was fitted on arrays, or the data do not offer what it needs. A column that only resembles
            the model's own is never taken for it. If the column is named by the option of another kind.
        """
        if self.encoder is None:
            raise InputError("the model was fitted on arrays, so it cannot read files: use it from Python")
        return open_new_rows(
            source,
            encoder=self.encoder,
            fitted_on=self.confidence,
            kind=self.kind,
            classes=None if self.classes is None else self.classes.read,
            scale=self.scale,
            costs=self.costs,
            **options,
        )

    def save(self, folder: str | Path) -> None:
        """Save it without pickle, in place: into a folder that nobody reads yet; made if it is not there."""
        save_state(folder, _FORM, *state_of(self))

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        n = self.estimator.n_features
        if self.encoder is not None and self.encoder.n_features != n:
            raise ValueError(f"{self.encoder.n_features} features where the field has {n}")
        if self.classes is not None:
            self.classes.try_out(n)

    def alone_at(self, max_error: float | None) -> PromisedThresholds | None:
        """Return the thresholds at an accepted error; None where none is named. Refuses one that was not asked for."""
        if max_error is None:
            return None
        if (found := self.thresholds.get(error_key(max_error))) is None:
            raise InputError(
                f"{argument('max_error', max_error)}: the run promised nothing at this error, but at "
                f"{', '.join(self.thresholds)}: take one of these, or run {command('discover')} again with "
                f"{argument('max_error', max_error)}"
            )
        return found

    def correct(
        self, source: Any, *, frames: FrameKind | None = None, max_error: float | None = None, **options: Any
    ) -> Any:
        """Correct new rows that fit into memory.

        Parameters
        ----------
        source : path or table
            As for :func:`miscal.data.readers.read.read_triples`.
        frames : FrameKind, optional
            The kind of frame to return; by default that of `source`.
        max_error : float, optional
            An error that the run promised thresholds for: there are columns `decide` and `decision` then.
        **options
            Those of :meth:`open`.

        Returns
        -------
        frame
            ``row``, ``delta`` (positive: under-confident), ``corrected`` (in [0, 1]), ``mass``, ``supported``,
            ``reason``; of several classes also ``predicted`` and a column ``corrected_NAME`` for each of them. A frame
            of pandas keeps its index; of a file it is one of polars.
        """
        opened = self.open(source, whole=True, **options)
        thresholds = self.alone_at(max_error)
        table = correct_rows(self.estimator.fitted, opened.read(opened.whole), self.classes, thresholds)
        return (frames or FrameKind.of(source)).frame(table, table["row"].to_numpy())


def save_clusters(clusters: InputClusters, folder: str | Path) -> None:
    """Save how inputs were clustered, beside a saved model."""
    save_state(Path(folder) / CLUSTERS, _CLUSTERS_FORM, *state_of(clusters))


def load_clusters(folder: str | Path) -> InputClusters | None:
    """Load how inputs were clustered, of a run folder; None where the run stored no clusters.

    Raises CorruptFile, TrustError or MismatchError if they were damaged or changed, or are newer than this miscal.
    """
    place = model_folder(folder) / CLUSTERS
    return load(place, _CLUSTERS_FORM, InputClusters) if place.is_dir() else None


def model_folder(folder: str | Path) -> Path:
    """Return the folder of the model in a run folder, or the folder itself."""
    folder = Path(folder)
    return folder / "model" if (folder / "model").is_dir() else folder


def load_model(folder: str | Path) -> SavedModel:
    """Load a saved model.

    Parameters
    ----------
    folder : str or Path
        A run folder, or the ``model`` folder in one.

    Returns
    -------
    SavedModel
        Field, encoder and the column of the confidence.

    Raises
    ------
    FileError, CorruptFile, TrustError, MismatchError
        If it is not a model, was damaged or changed, holds what miscal does not write, or is newer than this miscal.
    """
    return load(model_folder(folder), _FORM, SavedModel, beside=(CLUSTERS,))


def schema_of(classes: SavedClasses | None, *, decides: bool = False) -> dict[str, Any]:
    """Return the columns of the table, for a model of these classes, and where it is to decide."""
    own = {} if classes is None else dict.fromkeys(map(_column, classes.read.names), pl.Float64)
    predicted = {} if classes is None else {PREDICTED: pl.String}
    return {**SCHEMA, **predicted, **own, **(DECISIONS if decides else {})}


def _column(name: str) -> str:
    return f"corrected_{name}"


def correct_rows(
    field: Estimator, rows: NewRows, classes: SavedClasses | None = None, thresholds: PromisedThresholds | None = None
) -> pl.DataFrame:
    """Correct new rows: a row for each, in order.

    `row`: number of the row in the data, from 0.
    `delta`: estimate of outcome minus confidence: negative where the confidence is too high.
    `corrected`: corrected confidence, in [0, 1]. Of several classes that of the class predicted, by the correction of
        all `classes`, from which it may differ by something else than `delta`.
    `mass`: how many neighbours the estimate rests on; null where the field does without.
    `supported`: whether enough of the rows learned from lie nearby to trust a local estimate.
    `reason`: why there is no local estimate (the map of the confidence alone then corrects), or which columns were
        taken
        as blank; null where it has one from all columns.
    `predicted`: only of several classes: the class with the largest probability. Each class has a column of its
        corrected probability beside, ``corrected_NAME``.
    `decide`: only where `thresholds` are given: whether it may be decided alone; never a row without a local estimate.
    `decision`: what is decided: ``"answer"``, ``"yes"``, ``"no"``, ``"pass"``, ``"fail"``, or of several classes the
        class predicted; null where a person has to.
    """
    f, n = rows.confidence, len(rows)
    known = np.isfinite(f)
    corrected, mass, supported = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, bool)
    corrected[known] = np.clip(field.global_map_.apply(f[known]), 0.0, 1.0)
    delta = corrected - f
    reason = rows.reason.copy()
    local = np.full(len(rows.whole), True)
    for unknown in rows.unknown:
        if unknown.as_blank:
            continue
        local[unknown.rows] = False
        # the first thing that is unknown of a row is its reason
        for at, words in zip(rows.whole[unknown.rows], unknown.reasons, strict=True):
            reason[at] = reason[at] or words
    if len(rows.whole):
        correction = field.correct(rows.X, f[rows.whole])
        if correction.mass is not None:
            mass[rows.whole] = correction.mass
        local &= correction.local
        at = rows.whole[local]
        supported[at], corrected[at], delta[at] = (
            correction.supported[local],
            correction.corrected[local],
            correction.delta[local],
        )
        off = rows.whole[~correction.local]
        corrected[off], delta[off] = correction.corrected[~correction.local], correction.delta[~correction.local]
        reason[off] = [words or FAR for words in reason[off]]
        for at, words in zip(rows.whole, rows.taken_as_blank, strict=True):
            reason[at] = reason[at] or words
    of_classes: list[pl.Series] = []
    if classes is not None:
        of_classes, corrected = _corrected_classes(classes, rows, local)
    beside: list[pl.Series] = []
    if thresholds is not None:
        near = np.full(n, False)
        near[rows.whole[local]] = True
        decision = decisions_of(np.nan_to_num(corrected), near & known, thresholds)
        beside = [pl.Series("decide", decision != None, dtype=pl.Boolean)]  # noqa: E711  element by element
        if of_classes:
            decision = np.where(beside[0].to_numpy(), of_classes[0].to_numpy(), None)
        beside.append(pl.Series("decision", decision.tolist(), dtype=pl.String))
    columns = {"row": rows.row, "delta": delta, "corrected": corrected, "mass": mass, "supported": supported}
    return pl.DataFrame(
        [
            *(pl.Series(name, values, dtype=SCHEMA[name], nan_to_null=True) for name, values in columns.items()),
            pl.Series("reason", reason.tolist(), dtype=pl.String),
            *of_classes,
            *beside,
        ]
    )


def _corrected_classes(
    classes: SavedClasses, rows: NewRows, local: NDArray[np.bool_]
) -> tuple[list[pl.Series], NDArray[np.float64]]:
    """Return top label and corrected probabilities of each class, and those of the top label."""
    given: Any = rows.probability
    known, inside = np.isfinite(rows.confidence), np.zeros(len(rows), bool)
    inside[rows.whole[local]] = True
    found = np.full_like(given, np.nan)
    found[known] = classes.correct(rows.X[local], given[known], inside[known])
    top = np.where(known, np.nan_to_num(given).argmax(axis=1), 0)
    predicted = [classes.read.names[k] if there else None for k, there in zip(top, known, strict=True)]
    columns = [pl.Series(PREDICTED, predicted, dtype=pl.String)]
    for name, values in zip(classes.read.names, found.T, strict=True):
        columns.append(pl.Series(_column(name), values, dtype=pl.Float64, nan_to_null=True))
    return columns, found[np.arange(len(found)), top]


def only_blank(table: pl.DataFrame, rows: NewRows) -> pl.Series:
    """Rows of a table whose reason is no more than that a column was taken as blank: they have a local estimate."""
    return table["reason"].is_in([words for words in set(rows.taken_as_blank) if words is not None])
