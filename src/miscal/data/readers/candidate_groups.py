"""Find columns whose equal values may be what is counted once: a person, the day of a date, and what merely repeats."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import column_of, dense_rank
from miscal.base.errors import MiscalError
from miscal.base.folds import PERIODS
from miscal.data.encoders.dates import read_dates
from miscal.data.encoders.features import embedding_columns
from miscal.data.readers.leaks import LeakSearch
from miscal.data.readers.roles import Grouping, Roles
from miscal.data.readers.rows import TableRows
from miscal.data.readers.source import Source

MOST_ROWS = 5_000_000
"""Above so many rows no column is looked at: it would take memory for each."""
MOST_COLUMNS = 200
"""Nor are there more columns looked at that play no part: such tables hold an embedding."""
PERIODS_COUNTED = PERIODS[:-1]
"""What dates are counted by, the finest first: of years there are too few."""
LEAST_UNITS, FEW_UNITS = 30, 10
"""Effective number of units: of fewer than ten, nothing is claimed; of fewer than thirty, an identity is counted only
where it is seen to matter, and a coarser period still says how much too narrow the intervals of a finer one are."""
MANY_UNITS, SMALL_UNIT, BLANK_SHARE = 50, 0.05, 0.05
"""Values without a telling name are units only if they are so many, effectively, and none has a larger share of the
rows. A column with more blanks is none."""
FEW_ROWS = 20
"""Half of the units have no more rows, or words are kinds of rows that can be named, and no units."""
ALIKE = 0.5
"""Rows of neighbouring numbers that are at least so much as alike as those of one number: the numbers count or measure
something, so that what their rows share is an effect of it, and no group. Set between what names (0) and what counts
(nearly 1), not tuned."""
MOST = 0.9
"""Of the values of a column that are written alike; of the rows that have the smaller half of the numbers."""
FOLLOWS, TOGETHER = 0.95, 3
"""Correlation of ranks from which one number is taken to follow from another; numbers that repeat together."""
BY_CHANCE = 20
"""Pairs of rows of one unit and one time that chance would make, where there is none: the table follows units."""
LARGEST_SHARE = 0.5
"""Of all rows in one unit: more, and it is the usual value."""
_LETTER, _CODE = r"\p{L}", r"^\S*\d\S*$"
TIMES = re.compile(r"(?i).*(year|yr|quarter|month|week|day|date|wave|round|period|time|visit|semester|term)s?[_\W\d]*")
"""Names of columns that say when, beside dates."""

_WHO = (
    "account animal annotator applicant author bank beneficiary borrower buyer candidate caregiver claimant client "
    "clinic commune company conversation county customer dealer device doctor donor dyad employee employer encounter "
    "episode family farm firm guest home hospital household individual litter machine member merchant owner pair "
    "participant passenger patient person physician pig plant player plot practice prompt provider pupil question rat "
    "rater respondent reviewer school seller session shop speaker store student subject supplier surgeon taxpayer "
    "teacher team tenant thread twin user vehicle vendor village visitor voter ward worker"
)
WHO = frozenset(_WHO.split())
"""Who or what is drawn anew in a new sample."""
_KINDS = frozenset({"subject"})
"""Of these, what stands for a kind of rows where its values are plain words: the subject of a question."""
_ALONE = frozenset({"id", "ids", "uid", "uuid", "guid", "identifier"})
"""Words that identify wherever they stand."""
_LAST = frozenset({"nr", "no", "key"})
"""Words that identify at the end."""
_TELL = _ALONE | _LAST | {"num", "number", "name", "ref", "hash", "code"}
"""Words beside those that say of whom: `account_no`, `userName`."""
_NO_ID = re.compile(
    r".*(aid|oid)|(for|mor|ra)?bid|(can|splen)?did|(am|hum|k|m|sk|t|tim|pyram)id|(flu|liqu|squ)id|(g|hyb|a|ac|flo|hor)?rid"
    r"|(eye|inva|so|va)?lid|(cu|li|ra|stu|va)pid|(a|co|da|li|vi)vid|(ant?)?acid|(lu|pla|ran)cid|(fe|or)[ct]h?id|hid|void"
)
"""Words that end as `studyid` does and name no one: paid, steroid, fluid, valid."""


def names_identity(column: str, *, plain: bool = False) -> bool:
    """Tell whether a column is named like an identity.

    `plain`: its values are words, as those of kinds are, and not codes or numbers.

    Examples
    --------
    >>> [names_identity(name) for name in ("customer_id", "userName", "Patients", "StoreID", "distid", "nr", "SUBJECT")]
    [True, True, True, True, True, True, True]
    >>> [names_identity(name) for name in ("age", "identity", "customer_age", "paid", "household_size", "n_accounts")]
    [False, False, False, False, False, False]
    >>> names_identity("subject", plain=True)
    False
    """
    words = _words(column)
    if not words:
        return False
    last = words[-1]
    ends = last.endswith("id") and len(last) > 2 and not _NO_ID.fullmatch(last)
    if ends or last in _LAST or not _ALONE.isdisjoint(words) or re.fullmatch(r".*id(no|nr|num|number)", last):
        return True
    who = [word for word in words if word not in _TELL]
    return len(who) == 1 and _singular(who[0]) in (WHO - _KINDS if plain else WHO)


def may_count(column: str) -> bool:
    """Tell whether a name like an identity's may as well be of kinds or counts: codes, and the plural of whom.

    Examples
    --------
    >>> [may_count(name) for name in ("fcode", "occ_code", "Patients", "customer_id", "account")]
    [True, True, True, False, False]
    """
    words = _words(column)
    return bool(words) and (words[-1].endswith("code") or (words[-1] not in WHO and _singular(words[-1]) in WHO))


def names_code(column: str) -> bool:
    """Tell whether a column is named as the code of something.

    Examples
    --------
    >>> names_code("fcode"), names_code("firm_code"), names_code("code")
    (True, True, False)
    """
    words = _words(column)
    return words != ["code"] and bool(words) and words[-1].endswith("code")


def _words(column: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column)]


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word if word in WHO else word.removesuffix("s")


Kind = Literal["named", "identifier", "text", "period", "repeats"]


@dataclass(frozen=True)
class Candidate(Grouping):
    """A column that rows may be counted by, and why.

    `kind`: named like an identity; texts, or codes, that look like identifiers; other texts; the period of dates; or a
    quantity or a level that only repeats, which is no unit.
    """

    kind: Kind = "repeats"


def effective_number(unit: NDArray[np.int64]) -> float:
    """Return how many units of one size would be as many: n^2 over the sum of squared sizes.

    Examples
    --------
    >>> effective_number(np.array([0, 0, 1, 1])), effective_number(np.array([0, 0, 0, 1]))
    (2.0, 1.6)
    """
    size = np.bincount(unit).astype(float)
    return float(size.sum() ** 2 / (size @ size))


def candidate_groups(frame: pl.DataFrame, names: Sequence[str]) -> dict[Candidate, NDArray[np.int64]]:
    """Find what rows may be counted by, or what repeats.

    `names`: columns to look at. Returns the number of the unit of each row; a blank is a unit of its own.

    Examples
    --------
    >>> ward, age = np.arange(400) % 40, np.arange(400) % 80 // 2
    >>> table = pl.DataFrame({"ward": ward, "age": age, "weight": np.linspace(50.0, 90.0, 400)})
    >>> {one.name: (one.kind, unit.max() + 1) for one, unit in candidate_groups(table, table.columns).items()}
    {'ward': ('named', np.int64(40)), 'age': ('repeats', np.int64(40))}
    """
    found = {one: unit for name in names for one, unit in _of_column(column_of(frame, name), name)}
    for one, unit in _followed(frame, names, {one.column for one in found if one.kind == "named"}):
        found.pop(Candidate(one.column), None)
        found[one] = unit
    for one in _constants(frame, found):
        found[replace(one, kind="identifier")] = found.pop(one)
    return found


def _constants(frame: pl.DataFrame, found: Mapping[Candidate, NDArray[np.int64]]) -> Iterator[Candidate]:
    """Yield one of several numbers that always repeat together: what is constant of somebody whom no column names.

    They are not whole, and none follows from another by rising or falling with it.
    """
    sets: list[list[Candidate]] = []
    for one, unit in found.items():
        if one.kind != "repeats" or not frame[one.column].dtype.is_float():
            continue
        values = int(unit.max()) + 1
        same = (some for some in sets if len(np.unique(unit * values + found[some[0]])) == values)
        some = next((some for some in same if found[some[0]].max() == unit.max()), None)
        if some is None:
            sets.append([one])
        elif all(abs(np.corrcoef(unit, found[other])[0, 1]) < FOLLOWS for other in some):
            some.append(one)
    yield from (some[0] for some in sets if len(some) >= TOGETHER)


def _followed(
    frame: pl.DataFrame, names: Sequence[str], named: Collection[str]
) -> Iterator[tuple[Candidate, NDArray[np.int64]]]:
    """Yield what is seen again over time: whatever it is called, no two of its rows are of one time.

    `named`: columns that are believed by their names.
    """
    whole = [name for name in names if frame[name].dtype.is_integer() or frame[name].dtype == pl.String]
    whole = [name for name in whole if not frame[name].null_count()]
    times = [name for name in whole if TIMES.fullmatch(name)]
    for time in times:
        when, at = _numbered(frame[time])
        for name in (name for name in whole if name not in (*times, *named)):
            unit, size = _numbered(frame[name])
            # pairs of rows that would be of one time if times were dealt out by chance
            by_chance = float(size @ (size - 1)) / 2 * float(at @ at) / len(unit) ** 2
            if (
                FEW_UNITS <= len(size) <= len(unit) / 2
                and by_chance >= BY_CHANCE
                and len(np.unique(when * len(size) + unit)) == len(unit)
            ):
                yield Candidate(name, None, "named"), unit


def _of_column(series: pl.Series, name: str) -> Iterator[tuple[Candidate, NDArray[np.int64]]]:
    series = series.fill_nan(None) if series.dtype.is_float() else series
    n = len(series)
    if series.dtype.is_nested() or series.dtype in (pl.Boolean, pl.Object):
        return
    if not n or series.null_count() > BLANK_SHARE * n:
        return
    if read_dates(series) is not None:
        for period in PERIODS_COUNTED:
            one = Candidate(name, period, "period")
            unit, size = _numbered(pl.Series(one.values(pl.DataFrame({name: series})), dtype=pl.String))
            if (size > 1).sum() >= FEW_UNITS and size.max() <= LARGEST_SHARE * n:
                yield one, unit
        return
    unit, size = _numbered(series)
    several = size[size > 1]
    if not len(several):
        return
    kind, effective = _kind(series, name), effective_number(unit)
    if kind == "named" and series.dtype.is_numeric() and effective < LEAST_UNITS:
        # where a number counts something, larger ones are rarer
        kind = "repeats" if size[: -(-len(size) // 2)].sum() >= MOST * size.sum() else kind
    small = effective >= MANY_UNITS and size.max() <= SMALL_UNIT * n and len(several) >= FEW_UNITS
    # codes of kinds are few, or some of them usual
    if kind == "identifier" and small and names_code(name):
        kind = "named"
    often = np.median(several) <= FEW_ROWS
    # texts that hardly repeat name rows
    text = kind == "text" and often and several.sum() >= n / 2
    if (kind == "named" and effective >= FEW_UNITS) or (small and (kind == "identifier" or text)):
        yield Candidate(name, None, kind), unit
    elif len(several) >= LEAST_UNITS and effective >= FEW_UNITS and often:
        yield Candidate(name), unit


def _kind(series: pl.Series, name: str) -> Kind:
    """Tell what equal values of a column may stand for, by its name and by how they are written."""
    if series.dtype.is_numeric():
        # whole numbers with blanks come as floats
        if not series.dtype.is_integer() and not (series.drop_nulls() % 1 == 0).all():
            return "repeats"
        return "identifier" if may_count(name) else "named" if names_identity(name) else "repeats"
    values = series.drop_nulls().cast(pl.String).unique()
    worded, coded = (bool(values.str.contains(one).mean() >= MOST) for one in (_LETTER, _CODE))  # type: ignore[operator]
    if names_identity(name, plain=not coded):
        return "named"
    if not worded:
        return "repeats"
    return "identifier" if coded or may_count(name) else "text"


def candidates_of(
    table: Source, rows: TableRows, f: np.ndarray, y: np.ndarray, roles: Roles, known_later: Sequence[str], seed: int
) -> dict[Candidate, NDArray[np.int64]]:
    """Look for columns that rows may be counted by, those of a table included that play no part.

    `rows`: of the table; `f`, `y` (n,): confidences and outcomes; `known_later`: columns that may be known only after
    the outcome, as an identity never is; `seed`: of the rows that are asked whether one is.
    """
    if len(y) > MOST_ROWS:
        return {}
    seen = {*roles.features, *roles.naming, *known_later, roles.id}
    passed_over = {*roles.reserved.keys() - seen, roles.text, *roles.keys}
    names = [name for name in table.columns if name not in rows.frame.columns]
    others = rows.frame.select()
    # columns that nobody asked for must not stop a run
    with suppress(MiscalError, pl.exceptions.PolarsError, ValueError, TypeError):
        others = table.load(names)[rows.row] if 0 < len(names) <= MOST_COLUMNS else others
    frame = pl.concat([rows.frame, others], how="horizontal")
    # coordinates of an embedding identify nothing one by one
    passed_over |= {*embedding_columns(frame, frame.columns)}
    found = candidate_groups(frame, [name for name in frame.columns if name not in passed_over])
    residual = y - f
    residual -= residual.mean()
    found = {
        one: unit
        for one, unit in found.items()
        if one.kind != "identifier" or not frame[one.column].dtype.is_numeric() or not _measures(unit, residual)
    }
    # columns that play no part have not been asked whether they are known only after the outcome
    unsure = [one.column for one in found if one.kind not in ("named", "identifier")]
    asked = [name for name in dict.fromkeys(unsure) if name in others.columns]
    later = {*known_later, *(LeakSearch(others, asked, y, f, seed).alone(asked) if asked else ())}
    return {one: unit for one, unit in found.items() if one.column not in later.intersection(unsure)}


def _measures(number: NDArray[np.int64], residual: NDArray[np.float64]) -> bool:
    """Tell whether rows of neighbouring numbers are nearly as alike as those of one number."""
    sums, n = np.bincount(number, residual), np.bincount(number)
    within = (sums @ sums - residual @ residual) / (n @ n - len(number))
    return bool(sums[:-1] @ sums[1:] / (n[:-1] @ n[1:]) > ALIKE * within > 0)


def _numbered(series: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal values equal numbers, from 0, and blanks one each; with the rows of each value."""
    rank = dense_rank(series)
    blank = rank.is_null().to_numpy()
    unit = rank.fill_null(0).to_numpy() - 1
    size = np.bincount(unit[~blank])
    unit = np.where(blank, len(size) - 1 + np.cumsum(blank), unit)
    return unit, size
