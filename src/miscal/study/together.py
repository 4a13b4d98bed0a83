"""What is measured of the models of a data set: groups that all have, shared findings, and which model is ahead.

The log loss of a model's confidences is the sum of three means, each of which is ranked:

    calibration cost    what a map of the confidence alone saves: what a reliability diagram can show
    hidden cost         what the correction saves beyond such a map: errors that cancel in a reliability diagram
    log loss after      what is left when the correction is done

Maps and corrections come from fits that have not seen the row's outcome, so that the three are plain means over rows,
in nats, which may be negative: a map that is learned for nothing costs a little. A mean has an exact influence
function, which absolute and binned calibration errors, and SmoothECE, have not where nothing is wrong; those also
grow with noise, so that fewer rows look worse. Models that answered the same questions are compared question by
question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from miscal.calibration.calibrators import logit
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.calibration.metrics.scores import log_losses
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.evidence import simultaneous
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import Condition, with_features
from miscal.findings.judging import hidden_residual, strata_of
from miscal.findings.ledger.document import value_words
from miscal.findings.ledger.groups import column_groups
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.ledger.sizes import left_by, residual_size
from miscal.findings.shared_findings import ModelAnswers, find_shared, shared_columns
from miscal.study.pair_result import PairResult, TableRows
from miscal.study.tables import attributes, with_ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_COMMON = 0.5
"""Least share of each model's rows whose questions all have answered, from which only these are compared."""
MOST_RANKED, MOST_TRIED = 100, 50
"""Models of a data set up to which groups are compared, and each is tried on each: both grow with the square."""
_ROUNDING = 1e-6
"""Log-odds below which a hidden part is none: parts are added and subtracted again."""


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The evaluation rows of one pair; arrays of shape (n,).

    Attributes
    ----------
    named : mapping of str to str
        The columns that its tables begin with: pair, dataset, model, method.
    rows : LabelledRows
        Outcomes, confidences, and E[y | f] learned from other rows; with the named groups, if there are any.
    after : LabelledRows
        The same rows after the correction: `confidence` is the corrected one, by fits that have not seen the row's
        outcome, and `expected` is E[y | corrected confidence], learned from other questions.
    columns : mapping of str to array
        Columns that may name groups.
    text : tuple of n str, or None
        Texts whose terms may name groups.
    question : int64
        Numbers of the questions, the same for one question in all pairs of the data set.
    visible : float64 in [0, 1]
        Confidences corrected by the visible part of the field alone, a function of the confidence.
    globally_corrected : float64 in [0, 1]
        Confidences corrected by the map of the confidence alone that does best on rows that it is not judged on.
    findings : mapping of Condition to int
        Number of the finding of the pair's report that is the rows of a condition, or accounts for them.
    """

    named: Mapping[str, Any]
    rows: LabelledRows
    after: LabelledRows
    columns: Mapping[str, np.ndarray]
    text: tuple[str, ...] | None
    question: Ints
    visible: Floats
    globally_corrected: Floats
    findings: Mapping[Condition, int]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def corrected(self) -> Floats:
        """The corrected confidences."""
        return self.after.confidence


def model_rows(result: PairResult, question: Ints) -> ModelRows:
    """Take the evaluation rows of a pair, whose rows have questions (n,) from `same_questions`."""
    triples, learned = result.triples, result.learned
    at = np.flatnonzero(evaluated_rows(triples))
    expected = expected_outcome(triples, result.pair.seed)
    rows = LabelledRows.of(learned.correct, learned.confidence, expected[at], group=result.groups)
    columns = with_features(triples.metadata, triples.X, triples.encoder)
    values = [one for some in result.found.tables.values() for one in some]
    # what is expected of a corrected confidence is learned from other questions
    inputs = question[at, None].astype(np.float64)
    asked = Triples(inputs, learned.corrected, rows.correct, group=question[at])
    return ModelRows(
        named=result.named,
        rows=rows,
        after=replace(rows, confidence=learned.corrected, expected=expected_outcome(asked, result.pair.seed)),
        columns={name: take_rows(column, at) for name, column in columns.items()},
        text=None if triples.text is None else tuple(triples.text[row] for row in at),
        question=question[at],
        visible=np.clip(learned.confidence + learned.visible, 0.0, 1.0),
        globally_corrected=result.globally_corrected,
        findings={one.condition: one.finding for one in values if one.finding is not None},
    )


def common_groups(models: Sequence[ModelRows]) -> list[tuple[str, Condition, list[Ints]]]:
    """List the values of the columns that all models have; numbers and dates are cut into the same bins for all.

    They are those that the ledger of shared findings tests (:func:`miscal.findings.shared_findings.find_shared`),
    column by column, each with its column and the rows of each model, empty where a model has none; values without any
    row are left out.
    """
    ends = np.cumsum([len(one) for one in models])[:-1]
    found = []
    for part in column_groups(shared_columns([one.columns for one in models])):
        codes = np.split(part.codes, ends)
        for cell, condition in enumerate(part.cells):
            found.append((part.column, condition, [np.flatnonzero(own == cell) for own in codes]))
    return [one for one in found if any(map(len, one[2]))]


def measure_groups(models: Sequence[ModelRows]) -> TableRows:
    """Fill the table ``groups``: every value of the columns that all models have, against rows of equal confidence.

    There is a row for each model and each group that it has rows of. The hidden residual, its interval and its p-value
    are those of :func:`miscal.findings.judging.hidden_residual`; groups of fewer rows than the ledger tests have no
    p-value. ``p_adjusted`` is filled in once all pairs are known.
    """
    groups, rows = common_groups(models), []
    for place, model in enumerate(models):
        stratum = strata_of(model.rows)
        for column, condition, at in ((column, condition, found[place]) for column, condition, found in groups):
            if not len(at):
                continue
            inside = np.zeros(len(model), dtype=bool)
            inside[at] = True
            hidden = hidden_residual(model.rows, inside, stratum)
            residual = residual_size(model.rows.take(at), LEDGER_DEFAULTS.significance)
            after = left_by(model.after, at, LEDGER_DEFAULTS.significance)
            tested = min(len(at), len(model) - len(at)) >= LEDGER_DEFAULTS.min_rows
            named = {"column": column, "value": value_words(column, condition), "bin": not isinstance(condition, Value)}
            sizes = with_ends("residual", residual.value, residual.interval)
            sizes |= with_ends("hidden", hidden.value, hidden.interval, ends="")
            sizes |= with_ends("after", after.value, after.interval)
            proof = {"p_value": hidden.p_value if tested else None, "p_adjusted": None}
            rows.append(
                {**model.named} | named | {"n": len(at), "finding": model.findings.get(condition)} | sizes | proof
            )
    return {"groups": rows}


def measure_shared(models: Sequence[ModelRows], seed: int = 0) -> TableRows:
    """Fill ``shared_findings``: groups in which the models of a data set err together, and those in which they differ.

    There is a row for each finding and model, the models in the order given; `seed` is of the order of rows of equal
    confidence (:func:`miscal.findings.shared_findings.find_shared`).
    """
    asked = [
        ModelAnswers(one.named["pair"], one.rows, one.question, one.columns, one.text, one.after) for one in models
    ]
    rows = []
    for number, found in enumerate(find_shared(asked, seed=seed), 1):
        whole = {
            "finding": number,
            "models": len(found.models),
            "condition": json.dumps(found.condition.to_dict(), sort_keys=True),
            **attributes(found, "kind", "description", "n", "given_others", "p_shared", "p_shared_adjusted"),
            **attributes(found, "p_difference", "p_difference_adjusted"),
            **with_ends("effect", found.effect.value, found.effect.interval),
            **with_ends("beyond", found.beyond.value, found.beyond.interval),
        }
        own = {one.model: one for one in found.models}
        for model in models:
            one = own[model.named["pair"]]
            sizes = with_ends("model_effect", one.effect.value, one.effect.interval, ends="model_")
            rows.append({**model.named, **whole, "n_model": one.n, **sizes, "model_after": one.after})
    return {"shared_findings": rows}


@dataclass(frozen=True, eq=False)
class PairedModels:
    """The rows of several models that are compared.

    Attributes
    ----------
    models : sequence of ModelRows
    at : tuple of int64 array
        Rows of each model that are compared.
    cluster : tuple of int64 array
        Number of the question of each of these rows, which count as one; rows of a named group are of one question.
    n_clusters : int
    common : bool
        Whether the rows are those of the questions that all models answered. Otherwise they are all rows, since for
        some model these questions are less than half.
    """

    models: Sequence[ModelRows]
    at: tuple[Ints, ...]
    cluster: tuple[Ints, ...]
    n_clusters: int
    common: bool

    @classmethod
    def of(cls, models: Sequence[ModelRows]) -> PairedModels:
        """Take the questions that all have answered, where they are most of each model's.

        A model that answers the easy questions alone would come out ahead if each were measured on its own.
        """
        every, code = np.unique(np.concatenate([one.question for one in models]), return_inverse=True)
        cluster = np.split(code, np.cumsum([len(one) for one in models])[:-1])
        answered = np.bincount(np.concatenate([np.unique(own) for own in cluster]))
        by_all = [np.flatnonzero(answered[own] == len(models)) for own in cluster]
        common = all(len(at) >= LEAST_COMMON * len(one) for at, one in zip(by_all, models, strict=True))
        at = by_all if common else [np.arange(len(one)) for one in models]
        own = [number[rows] for number, rows in zip(cluster, at, strict=True)]
        return cls(models, tuple(at), tuple(own), len(every), common)

    def means(self, values: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the mean of each model, (m,), and the influence of each cluster on it, (n_clusters, m).

        There is a value for each row of each model, compared or not.
        """
        found = [self.mean_of(k, value[self.at[k]]) for k, value in enumerate(values)]
        return np.array([mean for mean, _ in found]), np.stack([part for _, part in found], axis=1)

    def mean_of(self, k: int, values: Floats, inside: NDArray | None = None) -> tuple[float, Floats]:
        """Return the mean of model k and the influence of each cluster on it, (n_clusters,).

        The values are of the rows that are compared, or of those at the places `inside` among them.
        """
        at, cluster = (part[k] if inside is None else part[k][inside] for part in (self.at, self.cluster))
        mass = self.models[k].rows.mass[at]
        total = mass.sum()
        mean = float(mass @ values / total)
        return mean, np.bincount(cluster, mass * (values - mean) / total, self.n_clusters)


def ranked(one: ModelRows) -> dict[str, Floats]:
    """Return what models are ranked by, at each row; lower is better."""
    confidences = (one.rows.confidence, one.globally_corrected, one.corrected)
    before, globally, after = (log_losses(one.rows.correct, confidence) for confidence in confidences)
    return {"calibration_cost": before - globally, "hidden_cost": globally - after, "log_loss_corrected": after}


def measure_rankings(models: Sequence[ModelRows]) -> TableRows:
    """Fill the table ``rankings``, a row for each measure and each of at least two models.

    Intervals, comparisons and ranks of one measure are all right at once in 95 % of studies
    (:func:`miscal.evidence.simultaneous.rank`).
    """
    paired, rows, values = PairedModels.of(models), [], [ranked(one) for one in models]
    for name in values[0]:
        found = simultaneous.rank(*paired.means([one[name] for one in values]), higher_is_better=False)
        columns = {"value": found.estimate, **attributes(found, "low", "high", "best_rank", "worst_rank")}
        rows += [
            {**one.named, "measure": name, "n": len(paired.at[k]), "common": paired.common}
            | {column: values[k].item() for column, values in columns.items()}
            for k, one in enumerate(models)
        ]
    return {"rankings": rows}


class _Group:
    """A group, the models that have rows enough in it, and the errors of their differences and sums.

    With r the mean of outcome less confidence of a model in a group, model i is shown to be ahead of model j if
    |r_i| < |r_j| beyond chance: if r_j - r_i and r_j + r_i lie on one side of 0, both by their intervals. Intervals of
    all these differences and sums, of all pairs of models in all groups of a data set, hold at once in 95 % of studies:
    this is the family. So in 95 % of studies no group names a model as ahead that is not.
    """

    def __init__(self, named: dict[str, str], paired: PairedModels, inside: dict[int, Ints]) -> None:
        self.named, self.inside, m = named, inside, len(inside)
        known = []
        for k, rows in inside.items():
            of = paired.models[k].rows
            known.append(paired.mean_of(k, (of.correct - of.confidence)[paired.at[k]][rows], rows))
        self.value = np.array([mean for mean, _ in known])
        # rows that all agree do not prove that the next one would: each model has one more, which is off by 1
        spare = np.zeros((len(paired.models), m))
        spare[list(inside), np.arange(m)] = [1 / len(rows) for rows in inside.values()]
        influence = np.concatenate([np.stack([part for _, part in known], axis=1), spare])
        self.influence = csr_array(influence)
        self.first, self.second = np.triu_indices(m, 1)
        self.errors = [simultaneous.standard_errors(part) for part in self.contrasts(influence[influence.any(axis=1)])]

    def contrasts(self, values: Floats) -> list[Floats]:
        """Return the differences of all pairs of models, along the last axis, and their sums."""
        first, second = values[..., self.first], values[..., self.second]
        return [second - first, second + first]

    def largest(self, drawn: Floats) -> Floats:
        """Return the largest absolute t value of each draw of the errors, (draws, m)."""
        pairs = zip(self.contrasts(drawn), self.errors, strict=True)
        return np.max([np.abs(one) / error for one, (error, _) in pairs], axis=(0, 2))

    def ahead(self, critical: float) -> NDArray[np.bool_]:
        """Whether the row's model is shown to be ahead of the column's."""
        difference, total = (
            np.sign(one) * (np.abs(one) > simultaneous.student(critical, clusters) * error)
            for one, (error, clusters) in zip(self.contrasts(self.value), self.errors, strict=True)
        )
        found = np.zeros((len(self.value), len(self.value)), dtype=bool)
        found[self.first, self.second] = (difference == total) & (difference != 0)
        found[self.second, self.first] = (difference == -total) & (difference != 0)
        return found


def measure_group_rankings(models: Sequence[ModelRows]) -> TableRows:
    """Fill the table ``group_rankings``: models ranked in each group by the absolute mean of outcome less confidence.

    There is a row for each group and model with at least 20 rows there, in groups that two models have; none where the
    models are more than 100.
    """
    paired, rows = PairedModels.of(models), []
    groups = list(_groups(paired)) if len(models) <= MOST_RANKED else []
    critical = _critical(groups) if groups else 0.0
    for group in groups:
        ahead = group.ahead(critical)
        rows += [
            {**models[k].named, **group.named, "n": len(own), "residual": float(group.value[i])}
            | {"best_rank": 1 + int(ahead[:, i].sum()), "worst_rank": len(ahead) - int(ahead[i].sum())}
            for i, (k, own) in enumerate(group.inside.items())
        ]
    return {"group_rankings": rows}


def _groups(paired: PairedModels) -> Iterator[_Group]:
    for column, condition, found in common_groups(paired.models):
        compared = [np.flatnonzero(np.isin(at, rows)) for at, rows in zip(paired.at, found, strict=True)]
        inside = {k: rows for k, rows in enumerate(compared) if len(rows) >= LEDGER_DEFAULTS.min_rows}
        if len(inside) > 1:
            yield _Group({"column": column, "value": value_words(column, condition)}, paired, inside)


def _critical(groups: Sequence[_Group]) -> float:
    """Critical value of all differences and sums of all groups."""
    ends = np.cumsum([len(group.value) for group in groups])[:-1]
    together = csr_array(hstack([group.influence for group in groups]))
    width = sum(2 * len(group.first) for group in groups)
    largest = [
        np.max([group.largest(own) for group, own in zip(groups, np.split(drawn, ends, axis=1), strict=True)], axis=0)
        for drawn in simultaneous.error_draws(together, simultaneous.DRAWS, np.random.default_rng(0), width)
    ]
    return simultaneous.critical_value(largest)


def measure_transfer_shifts(models: Sequence[ModelRows]) -> TableRows:
    """Fill ``transfer_shifts``: each model corrected by the hidden part of each other one, question by question.

    The correction of a model at a question comes from fits that have not seen that question. Its hidden part, in
    log-odds, is how far it moves the confidence beyond the correction by the confidence alone. Here the hidden part of
    one model, at the same question, is added to the other model's own correction by the confidence alone:

        logit(transferred) = logit(visible of the other) + logit(corrected) - logit(visible)   of the teacher

    Neither part has seen the outcome that judges it: the visible part of the judged model comes from its other folds,
    the hidden part from answers of another model to other questions. (That answers of two models to one question are
    alike does no harm: the one that teaches has not seen its own answer to it either.) Inputs need not be of one space,
    as the two are joined by the question. To use such a correction on new questions, the model that teaches has to be
    asked them, too, for its field is read at its own input and confidence.

    There is a row for each ordered pair of models with at least 20 questions that both answered once, where the one
    that teaches has a hidden part at all; none where the models are more than 50. All savings of a data set have
    intervals that hold at once in 95 % of studies.
    """
    if len(models) > MOST_TRIED:
        return {"transfer_shifts": []}
    paired, rows, influences = PairedModels.of(models), [], []
    shifts = [logit(one.corrected) - logit(one.visible) for one in models]
    for one, other in permutations(range(len(models)), 2):
        inside, teaching = _both(paired, one, other)
        if len(inside) < LEDGER_DEFAULTS.min_rows or np.abs(shifts[one]).max() <= _ROUNDING:
            continue
        judged, at = models[other], paired.at[other][inside]
        confidences = {"raw": judged.rows.confidence[at], "visible": judged.visible[at], "own": judged.corrected[at]}
        confidences["transferred"] = expit(logit(judged.visible[at]) + shifts[one][teaching])
        losses = {name: log_losses(judged.rows.correct[at], f) for name, f in confidences.items()}
        saved, influence = paired.mean_of(other, losses["visible"] - losses["transferred"], inside)
        named = {name: judged.named[name] for name in ("dataset", "method")}
        means = {f"log_loss_{name}": paired.mean_of(other, loss, inside)[0] for name, loss in losses.items()}
        of = {"pair_from": models[one].named["pair"], "pair_to": judged.named["pair"], "n": len(at)}
        rows.append({**named, **of, **means, "saved": saved})
        influences.append(influence)
    margins = simultaneous.simultaneous_margins(np.stack(influences, axis=1)) if rows else ()
    for row, margin in zip(rows, margins, strict=True):
        row |= with_ends("saved", row["saved"], (row["saved"] - float(margin), row["saved"] + float(margin)))
    return {"transfer_shifts": rows}


def _both(paired: PairedModels, one: int, other: int) -> tuple[Ints, Ints]:
    """Return places of the other model whose question both answered once, and the row of the one for each.

    Of several answers nobody knows which belong together; in named groups they are to different questions.
    """
    question = paired.models[other].question[paired.at[other]]
    _, mine, theirs = np.intersect1d(question, paired.models[one].question, return_indices=True)
    once = _once(question)[mine] & _once(paired.models[one].question)[theirs]
    return mine[once], theirs[once]


def _once(question: Ints) -> NDArray[np.bool_]:
    _, place, times = np.unique(question, return_inverse=True, return_counts=True)
    return times[place] == 1


COMPARING = (measure_shared, measure_rankings, measure_group_rankings, measure_transfer_shifts)
"""What sets the pairs on a data set side by side, of which there must be two."""
