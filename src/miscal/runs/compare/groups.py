"""Named groups under two runs: which to look at, their numbers, and in which of them the runs differ.

Groups are named before any outcome is seen, and every p-value is adjusted for all of them, as in the ledger of one
run (most of the error for values of columns). So it holds for the groups of the two ledgers too, although these
were chosen by the very outcomes that are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from miscal.calibration.labelled_rows import take_rows
from miscal.calibration.survey_design import average
from miscal.evidence.conditional import centred
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import Condition
from miscal.findings.ledger.groups import Groups, error_shares, named_groups
from miscal.findings.ledger.membership import CodedColumns, SideBySide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.runs.compare.compared_rows import Side, Sides
from miscal.runs.compare.document import GroupPair, GroupSide
from miscal.runs.compare.estimates import Means, group_means, minus

Floats = NDArray[np.float64]

MAX_DIFFERENCES = 20
"""Groups at most in the ledger of differences: each costs a pass over all candidates."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Groups of both runs: those that both can name, and findings of one that only its own rows define.

    Attributes
    ----------
    conditions, also : tuples, as in :class:`~miscal.findings.ledger.groups.Groups`
    kinds : int array of shape (m,)
    a, b : SideBySide
        m columns of the rows of either run: 1 where a row is in a group.
    found : dict of int to tuple of str
        Groups of the ledgers: place among the candidates, and which of "a" and "b" list it.
    not_found : tuple of str
        Descriptions of the findings whose rows the data do not give.
    """

    conditions: tuple[Condition, ...]
    also: tuple[tuple[Condition, ...], ...]
    kinds: np.ndarray
    a: SideBySide
    b: SideBySide
    found: dict[int, tuple[str, ...]]
    not_found: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.conditions)


def candidates(sides: Sides) -> Candidates:
    """Name the groups of the rows compared, and place the findings of both ledgers among them."""
    columns, _ = sides.columns()
    shared = _named(columns, sides.text(), len(sides.a) if sides.paired else len(sides.a) + len(sides.b))
    place, conditions, kinds = dict(shared.places), list(shared.conditions), shared.kinds.tolist()
    found: dict[int, tuple[str, ...]] = {}
    more: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    lost = []
    for name, side in (("a", sides.a), ("b", sides.b)):
        own = None
        for finding in side.rows.run.summary.findings:
            condition = finding.condition
            if condition not in place:
                # as its own run names it: of matched rows both runs have it, of two sets only that run
                own = _named(side.rows.columns, side.rows.text, len(side.rows)) if own is None else own
                at = own.places.get(condition)
                if at is None:
                    lost.append(finding.description)
                    continue
                inside = np.flatnonzero(own.rows(at)[side.at])
                for rows, one in zip(more, (sides.a, sides.b), strict=True):
                    rows.append(inside if sides.paired or one is side else inside[:0])
                place[condition] = len(conditions)
                conditions.append(condition)
                kinds.append(int(own.kinds[at]))
            found[place[condition]] = (*found.get(place[condition], ()), name)
    cut, both = len(sides.a), shared.member
    halves = (both, both) if sides.paired else [both.chosen(rows) for rows in np.split(np.arange(both.n), [cut])]
    a, b = (half.beside(CodedColumns.of(half.n, rows)) for half, rows in zip(halves, more, strict=True))
    also = (*shared.also, *([()] * len(more[0])))
    return Candidates(tuple(conditions), also, np.array(kinds, int), a, b, found, tuple(dict.fromkeys(lost)))


def _named(columns: dict[str, np.ndarray], text: tuple[str, ...] | None, n: int) -> Groups:
    if not columns and text is None:
        return Groups((), (), np.zeros(0, int), SideBySide(n))
    return named_groups(columns, text)


class CandidateMeans:
    """Numbers of all candidates under both runs; every mean is an array with one entry per candidate."""

    def __init__(self, sides: Sides, groups: Candidates) -> None:
        self.sides, self.groups = sides, groups
        self.share_of_error = error_shares(groups.kinds) if len(groups) else np.ones(0)
        self.n_a, self.n_b = (member.counts() for member in (groups.a, groups.b))
        least = LEDGER_DEFAULTS.min_rows
        self.comparable = (self.n_a >= least) & (self.n_b >= least)

    @cached_property
    def residual(self) -> tuple[Means, Means]:
        """Mean residuals of both runs."""
        return self._each("residual")

    @cached_property
    def hidden(self) -> tuple[Means, Means]:
        """Mean hidden residuals of both runs."""
        return self._each("hidden")

    @cached_property
    def residual_difference(self) -> Means:
        """Differences of the mean residuals."""
        return self._difference("residual")

    @cached_property
    def hidden_difference(self) -> Means:
        """Differences of the mean hidden residuals."""
        return self._difference("hidden")

    @cached_property
    def both(self) -> list[str | None]:
        """Groups that both runs miss in one direction: each has it in its ledger, or shows it after adjustment."""
        shown = []
        for name, means in zip("ab", self.hidden, strict=True):
            listed = np.array([name in self.groups.found.get(k, ()) for k in range(len(self.groups))], bool)
            shown.append(listed | (self.adjusted(means.p_value) <= SIGNIFICANCE))
        one, two = (means.value for means in self.hidden)
        with np.errstate(invalid="ignore"):
            certain = shown[0] & shown[1] & (one * two > 0)
        return [None if not yes else "over" if one[k] < 0 else "under" for k, yes in enumerate(certain)]

    def adjusted(self, p: Floats) -> Floats:
        """Adjust p-values for all candidates, weighted by their kinds; 1 where a group is too small in a run."""
        return np.where(self.comparable, np.minimum(1.0, p / self.share_of_error), 1.0)

    def pair(self, k: int, p_adjusted: float | None = None, aliases: tuple[Condition, ...] = ()) -> GroupPair:
        """Write down a candidate; `p_adjusted` where another test than that of its mean alone chose it."""
        comparable = bool(self.comparable[k])
        p = float(self.adjusted(self.hidden_difference.p_value)[k]) if p_adjusted is None else p_adjusted
        return GroupPair(
            description=self.groups.conditions[k].words,
            condition=self.groups.conditions[k],
            columns=self.groups.conditions[k].columns,
            found_in=self.groups.found.get(k, ()),
            share=self._share(k),
            a=self._side(0, k),
            b=self._side(1, k),
            residual=self.residual_difference.tested(k) if comparable else None,
            hidden=self.hidden_difference.tested(k) if comparable else None,
            p_adjusted=p if comparable else None,
            both=self.both[k],
            aliases=tuple(one.words for one in (*self.groups.also[k], *aliases)),
        )

    def _share(self, k: int) -> float:
        """Share of the rows compared, of both runs where these are two sets."""
        sides = [(self.sides.a, self.groups.a), (self.sides.b, self.groups.b)][: 1 if self.sides.paired else 2]
        inside = np.concatenate([member.dense(k) for _, member in sides])
        weight = None if sides[0][0].weight is None else np.concatenate([side.weight for side, _ in sides])
        return average(inside, weight)

    def _each(self, values: str) -> tuple[Means, Means]:
        return tuple(
            group_means(getattr(side, values), member, side.unit, weight=side.weight)
            for side, member in ((self.sides.a, self.groups.a), (self.sides.b, self.groups.b))
        )

    def _difference(self, values: str) -> Means:
        if not self.sides.paired:
            return minus(*getattr(self, values))
        a, b = (getattr(side, values) for side in (self.sides.a, self.sides.b))
        # where nothing differs, there is nothing to allow for
        spare = 0.0 if np.array_equal(a, b) else 1.0
        return group_means(a - b, self.groups.a, self.sides.a.unit, spare=spare, weight=self.sides.a.weight)

    def _side(self, place: int, k: int) -> GroupSide | None:
        side, member = ((self.sides.a, self.groups.a), (self.sides.b, self.groups.b))[place]
        inside = member.dense(k) > 0
        if not inside.any():
            return None
        weight = take_rows(side.weight, inside)
        return GroupSide(
            n=int(inside.sum()),
            accuracy=average(side.correct[inside], weight),
            confidence=average(side.confidence[inside], weight),
            residual=self.residual[place].measure(k),
            hidden=self.hidden[place].measure(k),
        )


# --- which groups to show -----------------------------------------------------------------------------------------


def side_by_side(numbers: CandidateMeans) -> tuple[GroupPair, ...]:
    """List the findings of both ledgers, the largest hidden residual of either run first."""
    size = np.fmax(*(np.abs(means.value) for means in numbers.hidden)) if len(numbers.groups) else np.zeros(0)
    return tuple(numbers.pair(k) for k in sorted(numbers.groups.found, key=lambda k: -size[k]))


def differing(numbers: CandidateMeans) -> tuple[GroupPair, ...]:
    """Ledger of the difference: groups whose hidden residuals differ between the runs, strongest first.

    A group is chosen by the difference of its mean hidden residuals, both centred within strata of near-equal
    confidence, and by two tests at once: Student's in the group, which allows for its own spread, and a normal one with
    the spread of all rows, which allows for small groups that happen to agree. The larger p-value counts, Bonferroni
    over all candidates. Once chosen, the group is regressed out, so that a later one is tested given those before it.
    With nothing different it is empty in at least 95 % of comparisons.
    """
    sides, groups = numbers.sides, numbers.groups
    if len(groups) == 0 or not numbers.comparable.any() or sides.same_answers:
        return ()
    values = [centred(side.hidden, side.stratum, side.weight) for side in (sides.a, sides.b)]
    left, chosen = values, []
    for _ in range(MAX_DIFFERENCES):
        taken = [k for k, *_ in chosen]
        if taken:
            left = [
                _without(value, member.sparse(taken).toarray(), side)
                for value, member, side in zip(values, (groups.a, groups.b), (sides.a, sides.b), strict=True)
            ]
        p = _p_values(numbers, *left)
        p[taken] = 1.0
        adjusted = numbers.adjusted(p)
        if adjusted.min() > SIGNIFICANCE:
            break
        best, aliases = _named_best(groups, adjusted, int(np.argmin(adjusted)))
        chosen.append((best, float(adjusted[best]), aliases))
    return tuple(numbers.pair(*one) for one in sorted(chosen, key=lambda one: one[1]))


def _without(values: Floats, indicators: Floats, side: Side) -> Floats:
    """Regress indicators, centred within strata as the values are, out of the values, by weighted least squares."""
    design = np.column_stack([centred(column, side.stratum, side.weight) for column in indicators.T])
    root = np.ones(len(side)) if side.weight is None else np.sqrt(side.weight)
    return values - design @ np.linalg.lstsq(root[:, None] * design, root * values, rcond=1e-10)[0]


def _p_values(numbers: CandidateMeans, a: Floats, b: Floats) -> Floats:
    """Larger p-value of both tests, for every candidate."""
    sides, groups = numbers.sides, numbers.groups
    if sides.paired:
        within = group_means(a - b, groups.a, sides.a.unit, weight=sides.a.weight)
        variance = average((a - b) ** 2, sides.a.weight) * _effective(groups.a, sides.a)
    else:
        both = [(a, groups.a, sides.a), (b, groups.b, sides.b)]
        within = minus(*(group_means(v, m, s.unit, weight=s.weight) for v, m, s in both))
        variance = sum(average(v**2, s.weight) * _effective(m, s) for v, m, s in both)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = 2 * ndtr(-np.abs(within.value) / np.sqrt(variance))
    return np.maximum(within.p_value, np.where(np.isfinite(whole), whole, 1.0))


def _effective(member: SideBySide, side: Side) -> Floats:
    """One over the number of units that each group's rows count as."""
    units = group_means(np.zeros(len(side)), member, side.unit, weight=side.weight).freedom + 1
    return 1 / np.maximum(units, 1)


def _named_best(groups: Candidates, adjusted: Floats, strongest: int) -> tuple[int, tuple[Condition, ...]]:
    """Return the best name for the strongest group, and other names of nearly the same rows of `a` and `b`."""
    both = groups.a, groups.b
    shared = np.sum([member.sums(member.dense(strongest)) for member in both], axis=0)
    size = np.sum([member.counts() for member in both], axis=0)
    overlap = shared / np.maximum(size + size[strongest] - shared, 1)
    alike = np.flatnonzero(overlap >= LEDGER_DEFAULTS.alias_overlap).tolist()
    near = [k for k in alike if adjusted[k] <= SIGNIFICANCE and groups.kinds[k] < groups.kinds[strongest]]
    best = min(near, key=lambda k: (groups.kinds[k], adjusted[k]), default=strongest)
    others = [groups.conditions[k] for k in alike if k != best]
    return best, tuple(others[: LEDGER_DEFAULTS.max_aliases])
