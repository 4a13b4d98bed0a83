"""What a group is made of: the named groups that fit a found one best, or how mixed it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from miscal.findings.conditions.condition import Condition
from miscal.findings.conditions.other_kinds import Alike, AnyOf, Both, Mixed, Mostly, TermShare
from miscal.findings.ledger.groups import CLUSTER, INTERVAL, TERM, TREND, VALUE, ColumnGroups, Groups
from miscal.findings.ledger.membership import SideBySide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS

_BEAM = 30
"""Beginnings of a longer description that are gone on with."""


def describe(inside: np.ndarray, groups: Groups) -> Alike | Mixed:
    """Describe rows by named groups: one, or two or three joined or crossed; or say how mixed they are.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["art", "law", "sums"], 40)
    >>> groups = named_groups({"kind": kind})
    >>> describe(np.arange(120) >= 42, groups).words
    'kind = law or sums (overlap 98 %)'
    >>> describe(np.arange(120) % 3 == 0, groups).words
    'mixed: 3 values of kind, art the most common (35 %)'
    >>> describe((np.arange(120) < 12) | (np.arange(120) == 50), groups).words
    'mixed: 92 % of the rows have kind = art'
    """
    found = _fitting(inside, groups) or _composition(inside, groups.columns)
    return Mixed(terms=_terms(inside, groups)) if found is None else found


def made_of(inside: np.ndarray, groups: Groups) -> Mostly | None:
    """Say which one or two values most of the rows have, where they have them much more often than other rows.

    Returns None where no column tells.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["art", "law", "sums", "war"], 40)
    >>> made_of((np.arange(160) > 50) & (np.arange(160) < 90), named_groups({"kind": kind})).words
    '74 % have kind = law'
    """
    best, composition = 0.0, None
    for part in (one for one in groups.columns if one.by_value):
        shares, others = _shares(inside, part)
        order = np.argsort(-shares, kind="stable")
        for count in (1, 2):
            top = order[:count]
            share, elsewhere = float(shares[top].sum()), float(others[top].sum())
            telling = share >= LEDGER_DEFAULTS.made_of_share and share >= LEDGER_DEFAULTS.telling_lift * elsewhere
            # a second value has to earn its words
            if telling and share > best + (0 if count == 1 else 2 * LEDGER_DEFAULTS.gain_of_part):
                best = share
                composition = Mostly(_joined([part.cells[cell] for cell in top], union=True), share)
    return composition


def _fitting(inside: np.ndarray, groups: Groups) -> Alike | None:
    """Return the best description; None if none overlaps enough."""
    n = len(inside)
    some = np.linspace(0, n - 1, min(n, LEDGER_DEFAULTS.described_rows)).round().astype(int)
    named = np.flatnonzero((groups.kinds != CLUSTER) & (groups.kinds != TREND))
    if len(named) == 0:
        return None
    plain = np.isin(groups.kinds[named], (VALUE, INTERVAL, TERM))

    member = groups.member if len(some) == n else groups.member.chosen(some)
    best = max(
        (_search(inside[some], member, named, plain, union) for union in (True, False)),
        key=lambda found: (found[1], -len(found[0])),
    )
    chosen, union = sorted(best[0]), best[2]
    masks = [groups.rows(int(named[place])) for place in chosen]
    covered = np.logical_or.reduce(masks) if union else np.logical_and.reduce(masks)
    overlap = float((covered & inside).sum() / max(1, (covered | inside).sum()))
    if overlap < LEDGER_DEFAULTS.described_overlap:
        return None
    return Alike(_joined([groups.conditions[int(named[place])] for place in chosen], union=union), overlap)


def _search(
    inside: np.ndarray, member: SideBySide, named: np.ndarray, plain: np.ndarray, union: bool
) -> tuple[tuple[int, ...], float, bool]:
    """Best one, two or three groups joined (or crossed), by a search that keeps the best beginnings.

    `named`: places of the groups; `plain`, bool: which of them may be one of several.
    """

    # one matrix of all groups would take more memory than all else
    def sums(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        return member.sums_of_each(values.astype(np.float64), named[wanted])[named]

    def rows_of(place: int) -> np.ndarray:
        return member.dense(int(named[place])) > 0

    target = int(inside.sum())
    size, shared = sums(np.stack([np.ones(len(inside)), inside], 1), np.full(len(plain), True)).T
    overlap = shared / (size + target - shared)
    best: tuple[int, ...] = (int(np.argmax(overlap)),)
    value = float(overlap[best[0]])
    order = np.argsort(-np.where(plain, overlap, -1.0), kind="stable")[:_BEAM]
    beam = [((int(place),), rows_of(int(place))) for place in order]
    for _ in range(2):
        # (n, beam): rows that a further group may add, or may keep, inside the target and outside
        have = np.stack([rows for _, rows in beam], 1)
        open_rows = ~have if union else have
        good, bad = (sums(open_rows & at[:, None], plain) for at in (inside, ~inside))
        if union:
            good += (have & inside[:, None]).sum(0)
            bad += (have & ~inside[:, None]).sum(0)
        overlaps = np.where(plain[:, None], good / (target + bad), -1.0)
        places = np.argsort(-overlaps, axis=None, kind="stable")[:_BEAM]
        longer: dict[frozenset[int], tuple[tuple[int, ...], np.ndarray]] = {}
        for place, which in (divmod(int(p), len(beam)) for p in places):
            names, rows = beam[which]
            new = rows_of(place)
            longer.setdefault(frozenset((*names, place)), ((*names, place), rows | new if union else rows & new))
        places_of_best = divmod(int(np.argmax(overlaps)), len(beam))
        reached = float(overlaps[places_of_best])
        if reached < value + LEDGER_DEFAULTS.gain_of_part:
            break
        best, value = (*beam[places_of_best[1]][0], places_of_best[0]), reached
        beam = list(longer.values())
    return best, value, union


def _joined(conditions: Sequence[Condition], *, union: bool) -> Condition:
    if len(conditions) == 1:
        return conditions[0]
    return AnyOf(tuple(conditions)) if union else Both(tuple(conditions))


def _shares(inside: np.ndarray, part: ColumnGroups) -> tuple[np.ndarray, np.ndarray]:
    """Share of each cell inside and outside."""
    counts = [np.bincount(part.codes[rows], minlength=len(part.cells)) for rows in (inside, ~inside)]
    return counts[0] / max(1, inside.sum()), counts[1] / max(1, (~inside).sum())


def _composition(inside: np.ndarray, parts: Sequence[ColumnGroups]) -> Mixed | None:
    """Tell how many values of a column the rows have, and the most common; of the column that tells most of them."""
    best, composition = -np.inf, None
    for part in parts:
        shares, others = _shares(inside, part)
        if not part.by_value or (shares > 0).sum() < 2:
            continue
        overall = inside.mean() * shares + (1 - inside.mean()) * others
        seen = shares > 0
        # information about the group, less what as many values tell by chance
        gained = float(np.sum(shares[seen] * np.log(shares[seen] / overall[seen])))
        information = gained - (seen.sum() - 1) / (2 * inside.sum())
        if information > best:
            best, top = information, int(np.argmax(shares))
            share = float(shares[top])
            composition = Mixed(int(seen.sum()), part.cells[top], share, share >= LEDGER_DEFAULTS.nearly_all)
    return composition


def _terms(inside: np.ndarray, groups: Groups) -> tuple[TermShare, ...]:
    """Tell the two terms that tell a mixed group best, if they truly do."""
    terms = np.flatnonzero(groups.kinds == TERM)
    if len(terms) == 0:
        return ()
    counts, outside = (groups.member.sums(rows.astype(np.float64))[terms] for rows in (inside, ~inside))
    share = counts / inside.sum()
    others = outside / max(1, (~inside).sum())
    telling = (share >= LEDGER_DEFAULTS.telling_share) & (share >= LEDGER_DEFAULTS.telling_lift * others)
    order = [place for place in np.argsort(others - share, kind="stable") if telling[place]][:2]
    return tuple(
        TermShare(groups.conditions[int(terms[place])], float(share[place]), float(others[place])) for place in order
    )
