"""Where all models err together, and where they differ: one ledger over all models of a data set.

The rows of all models are stacked, each model a part of its own, and tested by one ledger
(:func:`miscal.findings.ledger.scan.scan`): what ten models with 1,000 questions each show together, none may show
alone. Half of the error of 5 % is for groups in which the models err together; the other half for groups in which they
differ, by Bonferroni's cut over the values and bins of the columns, and the shared findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.condition import Condition, numbers_of
from miscal.findings.ledger.bins import TrendRows
from miscal.findings.ledger.blocks import Table, value_cells
from miscal.findings.ledger.groups import Groups, named_groups
from miscal.findings.ledger.scan import scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import TestedGroup
from miscal.findings.model_tests import ModelEffect, ModelTests

Ints = NDArray[np.int64]


SHARED, DIFFERING = "shared", "differing"
"""Kinds of findings over several models."""
_UNDEFINED = Measure(value=None)
SHARE_OF_SHARED = 0.5
"""Share of the error that groups get in which models err together; groups in which they differ get the rest."""


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """The answers of one model; arrays of shape (n,).

    `model`: which no other model is called. `rows`: outcomes, confidences and E[y | f] of this model, learned from
    other rows. `question`: equal numbers are one question, in all models. Outcomes of one question may hang together;
    rows of a named group must be of one question, too. `columns`: what may name groups; those that all models have are
    looked at. `corrected`: the same rows after a correction that has not seen their outcomes: `confidence` is the
    corrected one, and `expected` is E[y | corrected confidence].
    """

    model: str
    rows: LabelledRows
    question: Ints
    columns: Mapping[str, np.ndarray]
    text: Sequence[str] | None = None
    corrected: LabelledRows | None = None


@dataclass(frozen=True, eq=False)
class Stacked:
    """The rows of all models; arrays of shape (n,).

    `models`: in the order of their parts. `rows`: with a part for each model, and the questions as groups. `corrected`:
    where all models have a correction.
    """

    models: tuple[str, ...]
    rows: LabelledRows
    columns: dict[str, np.ndarray]
    text: list[str] | None
    corrected: LabelledRows | None

    def settings(self) -> LedgerSettings:
        """Adapt the settings of a ledger to rows of several models.

        A group needs as many questions as it needs rows of one model, and what names questions names no groups.
        """
        group, base = self.rows.group, LEDGER_DEFAULTS
        per_question = 1.0 if group is None else len(group) / len(np.unique(group))
        return replace(
            base,
            min_rows=int(np.ceil(base.min_rows * per_question)),
            identifier_share=base.identifier_share / per_question,
            pair_rows=int(np.ceil(base.pair_rows * per_question)),
            # wide strata of few rows were not compared with narrow ones for several models
            stratum_rows=base.stratum_width(len(self.rows)),
        )


def stack(models: Sequence[ModelAnswers]) -> Stacked:
    """Stack the rows of some models, in an order that depends on neither the order of models nor that of rows.

    `models`: at least one.

    Examples
    --------
    >>> y, half = np.array([1.0, 0.0]), np.full(2, 0.5)
    >>> one, two = (ModelAnswers(name, LabelledRows(y, half, half), np.arange(2), {}) for name in "ba")
    >>> together = stack([one, two])
    >>> together.models, together.rows.part.tolist(), together.rows.group.tolist()
    (('a', 'b'), [0, 0, 1, 1], [0, 1, 0, 1])
    """
    models = [_ordered(one) for one in sorted(models, key=lambda one: one.model)]
    part = np.repeat(np.arange(len(models)), [len(one.rows) for one in models])
    group = np.unique(np.concatenate([one.question for one in models]), return_inverse=True)[1].ravel()
    corrected = [one.corrected for one in models if one.corrected is not None]
    return Stacked(
        tuple(one.model for one in models),
        _joined([one.rows for one in models], part, group),
        shared_columns([one.columns for one in models]),
        None if any(one.text is None for one in models) else [text for one in models for text in one.text or ()],
        _joined(corrected, part, group) if len(corrected) == len(models) else None,
    )


def _ordered(one: ModelAnswers) -> ModelAnswers:
    order = np.lexsort((one.rows.correct, one.rows.confidence, one.question))
    return replace(
        one,
        rows=one.rows.take(order),
        question=one.question[order],
        columns={name: values[order] for name, values in one.columns.items()},
        text=None if one.text is None else [one.text[row] for row in order],
        corrected=None if one.corrected is None else one.corrected.take(order),
    )


def _joined(rows: Sequence[LabelledRows], part: Ints, group: Ints) -> LabelledRows:
    correct, confidence, expected, weight = (
        np.concatenate([getattr(one, name) for one in rows]) for name in ("correct", "confidence", "expected", "mass")
    )
    return LabelledRows.of(
        correct, confidence, expected, group=group, weight=weight, part=part, row=np.arange(len(part))
    )


def shared_columns(models: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Join the columns that all models have, unless one holds numbers where another holds text or dates.

    `models`, str (n,): the columns of each model.

    Examples
    --------
    >>> one, two = {"kind": np.array(["a"]), "age": np.ones(1)}, {"kind": np.array(["b"])}
    >>> {name: values.tolist() for name, values in shared_columns([one, two]).items()}
    {'kind': ['a', 'b']}
    """
    found = {}
    for name in models[0]:
        if all(name in one for one in models):
            parts = [one[name] for one in models]
            kinds = {(numbers is None, dates) for numbers, dates in map(numbers_of, parts)}
            if len(kinds) == 1:
                found[name] = np.concatenate(parts)
    return found


@dataclass(frozen=True)
class SharedFinding:
    """A group in which models err together, or in which they differ.

    `condition`: what its rows have in common.
    `n`: its rows, of all models.
    `effect`: how much more often they are right than rows of equal confidence of the same model, over all models;
        negative where less often. By itself, like the effects of the models. Where shared, its interval allows for the
        choice; else it is the 95 % interval of this one group.
    `beyond`: the same given the shared findings above it: what `p_shared` is of. Its interval excludes 0 where
        `p_shared_adjusted` is below the level, and only there. Undefined where it is no shared finding.
    `p_shared`: of no common effect: given the findings above it where shared, else by itself.
    `p_shared_adjusted`: adjusted for all candidates; None where it is no shared finding.
    `p_difference, p_difference_adjusted`: of equal effects in all models, given the shared findings and the groups
        above in which models differ, and adjusted for all candidates; None where fewer than two models have rows
        enough.
    `models`: every model's own, by itself.
    """

    kind: str
    condition: Condition
    n: int
    effect: Measure
    beyond: Measure
    p_shared: float
    p_shared_adjusted: float | None
    p_difference: float | None
    p_difference_adjusted: float | None
    models: tuple[ModelEffect, ...]

    @property
    def description(self) -> str:
        """What its rows have in common, in words."""
        return self.condition.words

    @property
    def given_others(self) -> bool:
        """Whether it errs as `beyond` says only beside rows in the same shared findings above it.

        By itself it differs by less than half as much, or its interval includes 0.
        """
        if self.beyond.value is None or self.effect.value is None:
            return False
        low, high = self.effect.interval or (0.0, 0.0)
        return bool(low <= 0 <= high or self.effect.value * np.sign(self.beyond.value) < abs(self.beyond.value) / 2)

    @property
    def differs(self) -> bool:
        """Whether models differ there after adjustment."""
        return self.p_difference_adjusted is not None and self.p_difference_adjusted <= LEDGER_DEFAULTS.significance


def find_shared(models: Sequence[ModelAnswers], *, seed: int = 0) -> tuple[SharedFinding, ...]:
    """Find the groups in which models err together, and those in which they differ.

    `models`: at least one, each with a name of its own. Neither their order nor that of their rows matters. `seed`: of
    the order of rows of equal confidence. Returns the shared ones first, in the order of choice; then those in which
    models differ alone, in theirs. With nothing hidden in any model there is none in at least 95 % of data sets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> law, half = np.repeat(["law", "art", "sums"], 200).astype(object), np.full(600, 0.5)
    >>> def answers(model, right):
    ...     y = (rng.random(600) < np.where(law == "law", right, 0.55)).astype(float)
    ...     return ModelAnswers(model, LabelledRows(y, half, half), np.arange(600), {"subject": law})
    >>> from miscal.calibration.labelled_rows import LabelledRows
    >>> [found] = find_shared([answers(name, 0.4) for name in "abcdef"])
    >>> found.description, found.kind, [one.effect.value < 0 for one in found.models]
    ('subject = law', 'shared', [True, True, True, True, True, True])
    """
    together = stack(models)
    own = together.settings()
    groups = named_groups(together.columns, together.text, own) if len(together.rows) else ()
    if len(groups) == 0:
        return ()
    table = Table(together.rows, groups)
    chosen = scan(table, seed=seed, error=SHARE_OF_SHARED, settings=own).chosen
    return tuple(_GroupsOfModels(together, groups, seed).findings(chosen))


class _GroupsOfModels:
    """Tests groups in each model, and over all."""

    def __init__(self, together: Stacked, groups: Groups, seed: int) -> None:
        self.together, self.groups = together, groups
        self.tests, self.corrected = (
            None if rows is None else ModelTests(rows, len(together.models), seed)
            for rows in (together.rows, together.corrected)
        )

    def findings(self, chosen: Sequence[TestedGroup]) -> list[SharedFinding]:
        shared = {one.group: one for one in chosen}
        different = self._differences(list(shared))
        return [self._finding(place, shared.get(place), different.get(place)) for place in {**shared, **different}]

    def _rows(self, place: int) -> tuple[np.ndarray, np.ndarray, TrendRows | None]:
        """Return what each row adds to the test of a group, its rows, and its trend, if it is one."""
        return self.groups.tested.dense(place), self.groups.rows(place), self.groups.trends.get(place)

    def _differences(self, shared: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Choose groups in which models differ, one after the other; then add the shared ones in which they do not.

        Each is tested given the shared groups, and must be beyond the cut; then given those chosen before it, too, so
        that none is an echo of another.

        Returns P-value of equal effects, and adjusted for all candidates, by the place of the group.
        """
        candidates = list(dict.fromkeys([*shared, *value_cells(self.groups)]))
        times = len(candidates) / (1 - SHARE_OF_SHARED)
        known = self._tested(candidates, shared)
        left = [place for place, p in known.items() if p * times <= LEDGER_DEFAULTS.significance]
        found: dict[int, tuple[float, float]] = {}
        while left:
            best = min(left, key=lambda place: known[place])
            if known[best] * times > LEDGER_DEFAULTS.significance:
                break
            found[best] = known[best], known[best] * times
            again = self._tested([place for place in left if place != best], [*shared, *found])
            known, left = known | again, list(again)
        kept = [place for place in shared if place in known and place not in found]
        return found | {place: (known[place], min(1.0, known[place] * times)) for place in kept}

    def _tested(self, places: Sequence[int], given: Sequence[int]) -> dict[int, float]:
        """Return the p-values of equal effects given some groups; without those that fewer than two models can test."""
        given = list(dict.fromkeys(given))
        columns = {place: self.groups.tested.dense(place) for place in given}
        every = self.tests.allowing_for(list(columns.values()))
        found = {}
        for place in places:
            others = [column for other, column in columns.items() if other != place]
            without = self.tests.allowing_for(others) if place in columns else every
            column, inside, _ = self._rows(place)
            if (p_value := self.tests.difference(column, inside, without)) is not None:
                found[place] = p_value
        return found

    def _finding(self, place: int, shared: TestedGroup | None, different: tuple[float, float] | None) -> SharedFinding:
        asked = self._rows(place)
        effect = self.tests.pooled(*asked, level=None if shared is None else shared.level)
        n = np.bincount(self.tests.part[asked[1]], minlength=len(self.together.models)).tolist()
        effects = self.tests.effects(*asked)
        after = {} if self.corrected is None else self.corrected.effects(*asked)
        return SharedFinding(
            kind=DIFFERING if shared is None else SHARED,
            condition=self.groups.conditions[place],
            n=sum(n),
            effect=Measure.of(effect),
            beyond=_UNDEFINED if shared is None else shared.conditional,
            p_shared=effect.p_value if shared is None else shared.p_value,
            p_shared_adjusted=None if shared is None else shared.p_adjusted,
            p_difference=None if different is None else different[0],
            p_difference_adjusted=None if different is None else different[1],
            models=tuple(
                ModelEffect(model, n[at], effects.get(at, _UNDEFINED), after.get(at, _UNDEFINED).value)
                for at, model in enumerate(self.together.models)
            ),
        )
