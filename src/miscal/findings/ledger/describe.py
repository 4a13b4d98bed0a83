"""What a group is made of: the named groups that fit a found one best, or how mixed it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from miscal.findings.ledger.groups import CLUSTER, IN_TEXT, PAIR, TERM, TEXT, Groups, Part
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

_BEAM = 30
"""Beginnings of a longer description that are gone on with."""

_UNION, _INTERSECTION = " or ", " and "


@dataclass(frozen=True)
class Description:
    """What a found group is, in words.

    Attributes
    ----------
    text : str
        ``"subject = law or history (overlap 84 %)"``, or ``"mixed: 23 values of subject, law the most common (31 %)"``.
    columns : tuple of str
        The columns that it speaks of; ``"text"`` where it tells terms.
    overlap : float or None
        Jaccard index of the rows named and the rows meant, in [0, 1]; None where mixed.
    """

    text: str
    columns: tuple[str, ...]
    overlap: float | None


def describe(inside: np.ndarray, groups: Groups, settings: LedgerSettings = LEDGER_DEFAULTS) -> Description:
    """Describe rows by named groups: one, or two or three joined or crossed; or say how mixed they are.

    Parameters
    ----------
    inside : bool array of shape (n,)
    groups : Groups
        Of the same rows.
    settings : LedgerSettings, optional

    Returns
    -------
    Description

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["art", "law", "sums"], 40)
    >>> groups = named_groups({"kind": kind})
    >>> describe(np.arange(120) >= 42, groups).text
    'kind = law or sums (overlap 98 %)'
    >>> describe(np.arange(120) % 3 == 0, groups).text
    'mixed: 3 values of kind, art the most common (35 %)'
    >>> describe((np.arange(120) < 12) | (np.arange(120) == 50), groups).text
    'mixed: 92 % of the rows have kind = art'
    """
    fitting = _fitting(inside, groups, settings)
    if fitting is not None:
        names, columns, overlap = fitting
        return Description(f"{names} (overlap {_percent(overlap)})", columns, overlap)
    told, column = _composition(inside, groups.parts, settings)
    if column is None:
        told, column = _terms(inside, groups, settings)
    return Description(f"mixed: {told}" if told else "mixed", () if column is None else (column,), None)


def made_of(inside: np.ndarray, groups: Groups, settings: LedgerSettings = LEDGER_DEFAULTS) -> str:
    """Say which one or two values most of the rows have, where they have them much more often than other rows.

    Parameters
    ----------
    inside : bool array of shape (n,)
    groups : Groups
    settings : LedgerSettings, optional

    Returns
    -------
    str
        Empty where no column tells.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> kind = np.repeat(["art", "law", "sums", "war"], 40)
    >>> made_of((np.arange(160) > 50) & (np.arange(160) < 90), named_groups({"kind": kind}))
    '74 % have kind = law'
    """
    best, told = 0.0, ""
    for part in groups.parts:
        shares, others = _shares(inside, part)
        order = np.argsort(-shares, kind="stable")
        for count in (1, 2):
            top = order[:count]
            share, elsewhere = float(shares[top].sum()), float(others[top].sum())
            telling = share >= settings.made_of_share and share >= settings.telling_lift * elsewhere
            # a second value has to earn its words
            if telling and share > best + (0 if count == 1 else 2 * settings.gain_of_part):
                best = share
                told = f"{_percent(share)} have {_joined([f'{part.column} {part.labels[cell]}' for cell in top])}"
    return told


def _fitting(inside: np.ndarray, groups: Groups, settings: LedgerSettings) -> tuple[str, tuple[str, ...], float] | None:
    """Names, columns and overlap of the best description; None if none overlaps enough."""
    n = len(inside)
    some = np.linspace(0, n - 1, min(n, settings.described_rows)).round().astype(int)
    named = np.flatnonzero(groups.kinds != CLUSTER)
    if len(named) == 0:
        return None
    member = csc_array(groups.member[:, named] if len(some) == n else groups.member[:, named][some])
    best = max(
        (_search(inside[some], member, groups.kinds[named] != PAIR, union, settings) for union in (True, False)),
        key=lambda found: (found[1], -len(found[0])),
    )
    chosen, union = sorted(best[0]), best[2]
    masks = [groups.rows(int(named[place])) for place in chosen]
    covered = np.logical_or.reduce(masks) if union else np.logical_and.reduce(masks)
    overlap = float((covered & inside).sum() / max(1, (covered | inside).sum()))
    if overlap < settings.described_overlap:
        return None
    names = [groups.descriptions[int(named[place])] for place in chosen]
    columns = tuple(dict.fromkeys(column for place in chosen for column in groups.columns[int(named[place])]))
    return _joined(names, _UNION if union else _INTERSECTION), columns, overlap


def _search(
    inside: np.ndarray, member: csc_array, plain: np.ndarray, union: bool, settings: LedgerSettings
) -> tuple[tuple[int, ...], float, bool]:
    """Best one, two or three groups joined (or crossed), by a search that keeps the best beginnings."""
    size, target = np.asarray(member.sum(0)).ravel(), int(inside.sum())
    shared = member.T @ inside.astype(np.float64)
    overlap = shared / (size + target - shared)
    best: tuple[int, ...] = (int(np.argmax(overlap)),)
    value = float(overlap[best[0]])
    order = np.argsort(-np.where(plain, overlap, -1.0), kind="stable")[:_BEAM]
    beam = [((int(place),), member[:, [int(place)]].toarray()[:, 0] > 0) for place in order]
    for _ in range(2):
        # (n, beam): rows that a further group may add, or may keep, inside the target and outside
        have = np.stack([rows for _, rows in beam], 1)
        open_rows = ~have if union else have
        good = member.T @ (open_rows & inside[:, None]).astype(np.float64)
        bad = member.T @ (open_rows & ~inside[:, None]).astype(np.float64)
        if union:
            good += (have & inside[:, None]).sum(0)
            bad += (have & ~inside[:, None]).sum(0)
        overlaps = np.where(plain[:, None], good / (target + bad), -1.0)
        places = np.argsort(-overlaps, axis=None, kind="stable")[:_BEAM]
        longer: dict[frozenset[int], tuple[tuple[int, ...], np.ndarray]] = {}
        for place, which in (divmod(int(p), len(beam)) for p in places):
            names, rows = beam[which]
            new = member[:, [place]].toarray()[:, 0] > 0
            longer.setdefault(frozenset((*names, place)), ((*names, place), rows | new if union else rows & new))
        places_of_best = divmod(int(np.argmax(overlaps)), len(beam))
        reached = float(overlaps[places_of_best])
        if reached < value + settings.gain_of_part:
            break
        best, value = (*beam[places_of_best[1]][0], places_of_best[0]), reached
        beam = list(longer.values())
    return best, value, union


def _joined(names: Sequence[str], word: str = _UNION) -> str:
    """Join descriptions; what they share at their beginning or end is said once."""
    names = list(names)
    if word == _UNION and all(name.endswith(IN_TEXT) for name in names):
        return word.join(name.removesuffix(f" {IN_TEXT}") for name in names) + f" {IN_TEXT}"
    first, equals, _ = names[0].partition(" = ")
    if word == _UNION and equals and all(name.startswith(first + equals) for name in names):
        return first + equals + word.join(name.removeprefix(first + equals) for name in names)
    return word.join(names)


def _shares(inside: np.ndarray, part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Share of each cell inside and outside."""
    counts = [np.bincount(part.codes[rows], minlength=len(part.labels)) for rows in (inside, ~inside)]
    return counts[0] / max(1, inside.sum()), counts[1] / max(1, (~inside).sum())


def _composition(inside: np.ndarray, parts: Sequence[Part], settings: LedgerSettings) -> tuple[str, str | None]:
    """Tell how many values of a column the rows have, and the most common; of the column that tells most of them."""
    best, told, column = -np.inf, "", None
    for part in parts:
        shares, others = _shares(inside, part)
        if (shares > 0).sum() < 2:
            continue
        overall = inside.mean() * shares + (1 - inside.mean()) * others
        seen = shares > 0
        # information about the group, less what as many values tell by chance
        told_of_it = float(np.sum(shares[seen] * np.log(shares[seen] / overall[seen])))
        information = told_of_it - (seen.sum() - 1) / (2 * inside.sum())
        if information > best:
            top = int(np.argmax(shares))
            best, column = information, part.column
            if shares[top] >= settings.nearly_all:
                told = f"{_percent(shares[top])} of the rows have {part.column} {part.labels[top]}"
            else:
                common = part.labels[top].removeprefix("= ")
                told = f"{seen.sum()} values of {part.column}, {common} the most common ({_percent(shares[top])})"
    return told, column


def _terms(inside: np.ndarray, groups: Groups, settings: LedgerSettings) -> tuple[str, str | None]:
    """Tell the two terms that tell a mixed group best, if they truly do."""
    terms = np.flatnonzero(groups.kinds == TERM)
    if len(terms) == 0:
        return "", None
    counts = groups.member[:, terms].T @ inside.astype(np.float64)
    share = counts / inside.sum()
    others = (np.asarray(groups.member[:, terms].sum(0)).ravel() - counts) / max(1, (~inside).sum())
    telling = (share >= settings.telling_share) & (share >= settings.telling_lift * others)
    order = [place for place in np.argsort(others - share, kind="stable") if telling[place]][:2]
    if not order:
        return "", None
    words = [groups.descriptions[int(terms[place])].removesuffix(f" {IN_TEXT}") for place in order]
    told = [
        f"{word} in {_percent(share[place])} of the texts ({_percent(others[place])} elsewhere)"
        for word, place in zip(words, order, strict=True)
    ]
    return ", ".join(told), TEXT


def _percent(share: float) -> str:
    """Round to whole per cent; what is not all is not called 100 %."""
    rounded = f"{100 * share:.0f} %"
    return "over 99 %" if rounded == "100 %" and share < 1 else rounded
