"""What a monitor keeps between looks: sums, and of rows only digests, by which it knows which rows are the same.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model. Checksums protect it against
damage, not against somebody who renews them: what does not fit together is refused before anything is computed from it.

A row counts once. It is what its ``id`` says, where the first look had such a column. Otherwise it is its values:
inputs, confidence, outcome and group, to the last bit, whatever its place, file or format. Rows of a table may be equal
in all of these and yet be different rows, so equal rows within a look all count. Between looks, equal rows are refused,
unless the looks themselves hold equal rows: then as many may come again as chance brings. The chance that a new row
equals an old one is estimated by the share of the old rows that equal another old one (Good, 1953, Biometrika 40).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from miscal.base.arrays import value_list
from miscal.base.document import Part, Share
from miscal.base.errors import CorruptFile, InputError, MismatchError, argument
from miscal.base.files import digest
from miscal.base.state_folder import CONFIG, load_state, save_state, under, with_prefix
from miscal.discovery.saved_model import model_folder
from miscal.findings.residuals import proportion_interval
from miscal.runs.monitor.document import FINDING, GAIN, LEVEL, MOST, THRESHOLD, Count, LookNumbers
from miscal.runs.monitor.new_rows import ROW_ID, NewLabelled
from miscal.runs.monitor.questions import COLUMNS, MEANS, Question

Keys = NDArray[np.uint64]

LEAST_CHANCE = 1e-6
"""More equal rows than come by chance so rarely are refused, or warned of. A convention."""
_ERROR = 0.002
"""How often the interval of the share of equal rows may miss, two-sided; its upper end is used. A convention."""
_NEAR_COLUMNS = 8
_NEAR_STEP = 0.01
"""Rows are alike if their inputs fall into the same steps of so many standard deviations. Files of six decimals move a
value over the border of such a step once in hundreds of times. Not tuned."""
_NEAR_CONFIDENCE = 1e-4
_LEAST_ALIKE = 0.1
"""Share of rows alike to earlier ones above which a look warns. A convention."""


def grid_of(X: np.ndarray) -> NDArray[np.float64]:
    """Return mean and standard deviation of each column of the first look, in steps of which rows are alike; (2, d)."""
    X = np.asarray(X, dtype=np.float64)
    scale = X.std(0)
    return np.stack([X.mean(0), np.where(scale > 1e-12, scale, 1.0)])


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Digests of the groups of rows, of the rows (their ids, or their values), and of their values but for rounding."""

    groups: Keys
    rows: Keys
    alike: Keys

    @staticmethod
    def none() -> RowKeys:
        """Return the digests of no rows."""
        return RowKeys(*(np.zeros(0, np.uint64) for _ in range(3)))

    @staticmethod
    def of(rows: NewLabelled, grid: NDArray[np.float64]) -> RowKeys:
        """Take the digests of the rows of a look, in their order."""
        groups = _keys(str(name) for name in ([] if rows.group is None else rows.group) if name is not None)
        if rows.id is not None:
            own = RowKeys.of_ids(rows.id)
        else:
            # double precision holds single precision exactly
            own = _keys_of(np.column_stack([rows.X, rows.confidence, rows.correct]), rows)
        # of many columns some of the widest: the more are looked at, the more often one of them lies at a border
        mean, scale = grid
        columns = np.argsort(-scale, kind="stable")[:_NEAR_COLUMNS]
        steps = (rows.X[:, columns] - mean[columns]) / (scale[columns] * _NEAR_STEP)
        near = np.round(np.column_stack([steps, rows.confidence / _NEAR_CONFIDENCE, rows.correct]))
        return RowKeys(groups, own, _keys_of(near, rows))

    @staticmethod
    def of_ids(ids: Iterable[object]) -> Keys:
        """Take the digests of ids."""
        return _keys(str(name) for name in ids)

    def joined(self, new: RowKeys) -> RowKeys:
        """Add the digests of a look. All are sorted; a group is kept once, and a row as often as it came."""
        groups = np.union1d(self.groups, new.groups).astype(np.uint64)
        rows, alike = (np.sort(np.r_[a, b]) for a, b in ((self.rows, new.rows), (self.alike, new.alike)))
        return RowKeys(groups, rows, alike)

    def digests(self) -> tuple[str, str]:
        """Return the digests of a look as a whole: of its rows in their order, and in any order."""
        return order_digest(self.rows), order_digest(np.sort(self.rows))


def _keys_of(numbers: NDArray, rows: NewLabelled) -> Keys:
    """Take the digests of rows of numbers, each with its group."""
    names: Sequence[object] = [""] * len(rows) if rows.group is None else list(rows.group)
    # adding 0 makes -0.0 and 0.0 one
    whole = numbers.astype("<f8") + 0.0
    return _keys(row.tobytes() + str(name).encode("utf-8", "replace") for row, name in zip(whole, names, strict=True))


def _keys(contents: Iterable[bytes | str]) -> Keys:
    given = (one if isinstance(one, bytes) else one.encode("utf-8", "replace") for one in contents)
    digests = [hashlib.blake2b(content, digest_size=8).digest() for content in given]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def order_digest(keys: Keys) -> str:
    """Digest of rows in their order."""
    return hashlib.sha256(keys.astype("<u8").tobytes()).hexdigest()


def repeated(keys: Keys, seen: Keys) -> int:
    """Count keys that are among those seen.

    Examples
    --------
    >>> repeated(np.array([1, 5, 5], np.uint64), np.array([2, 5], np.uint64))
    2
    """
    return int(np.isin(keys, seen).sum())


def more_than_chance(keys: Keys, seen: Keys) -> bool:
    """Whether more new keys are among those seen than chance brings, where new rows are drawn as the old ones were.

    Where no two earlier rows are equal, whether any new one equals one of them.

    Examples
    --------
    >>> few, many = np.arange(100, dtype=np.uint64), np.arange(100, dtype=np.uint64) % np.uint64(5)
    >>> more_than_chance(few[:1], few), more_than_chance(many, many)
    (True, False)
    """
    found = repeated(keys, seen)
    return found > 0 and (_share_paired(seen) == 0 or _chance(found, len(keys), seen) < LEAST_CHANCE)


def many_alike(keys: Keys, seen: Keys) -> int:
    """Count keys among those seen where they are a tenth of all and more than chance brings; else 0."""
    found = repeated(keys, seen)
    if found < max(1.0, _LEAST_ALIKE * len(keys)):
        return 0
    return found if _chance(found, len(keys), seen) < LEAST_CHANCE else 0


def _share_paired(seen: Keys) -> float:
    """Share of earlier rows that equal another earlier one."""
    times = np.unique(seen, return_counts=True)[1]
    return (len(seen) - int((times == 1).sum())) / max(1, len(seen))


def _chance(found: int, n: int, seen: Keys) -> float:
    """Chance of so many equal rows among `n`, at most, by the share of earlier rows that equal another."""
    from scipy.stats import binom

    _, rate = proportion_interval(_share_paired(seen), len(seen), _ERROR)
    return float(binom.sf(found - 1, n, rate))


def warnings_of(keys: RowKeys, seen: RowKeys, rows: NewLabelled, group: str | None) -> Iterator[str]:
    """Say which rows of a look look like earlier ones, by their groups or by their values."""
    n = len(rows)
    if returning := repeated(keys.groups, seen.groups):
        yield (
            f"{returning:,} of {n:,} rows are of groups of {group!r} that came at earlier looks. Rows of a group "
            "depend on each other, and across looks this is not allowed for: keep the rows of a group together in one "
            "file, or take the intervals as too narrow"
        )
    if rows.id is None and (equal := repeated(keys.rows, seen.rows)):
        yield (
            f"{equal:,} of {n:,} rows are equal to rows of earlier looks in inputs, {rows.words.probability} and "
            "outcome. Rows of these data are often equal, so these may be other rows, and they were counted; a column "
            "'id' would tell"
        )
    if alike := many_alike(keys.alike, seen.alike):
        known = "not to the last digit" if rows.id is None else "their ids differ"
        yield (
            f"{alike:,} of {n:,} rows are equal to rows of earlier looks but for rounding ({known}), and were counted: "
            "if the file holds the same rows again, they now count twice; begin a new monitor with --out and give each "
            "row once"
        )


def refuse_counted(
    looks: Sequence[LookNumbers],
    digests: Sequence[tuple[str, str]],
    seen: RowKeys,
    new: RowKeys,
    rows: NewLabelled,
    folder: Path,
) -> None:
    """Refuse rows that an earlier look has counted.

    They are the rows of a look, begin with them, repeat ids, or equal more earlier rows than chance explains; `digests`
    are those of the looks, `new` and `rows` the new rows, and `folder` is the monitor.
    """
    content = order_digest(np.sort(new.rows))
    for look, (ordered, whole) in zip(looks, digests, strict=True):
        when = f"look {look.look}{f' ({look.at})' if look.at else ''}"
        if content == whole:
            raise InputError(
                f"these {look.rows:,} rows were counted before, as {when} of {folder}, and a row counts once, "
                "so nothing was changed. Give the rows that came later"
            )
        if len(new.rows) > look.rows and order_digest(new.rows[: look.rows]) == ordered:
            raise InputError(
                f"the first {look.rows:,} rows were counted before, as {when} of {folder}, and a row counts once, so "
                f"nothing was changed. Give only the rows that came later, for example with {argument('where')}"
            )
    again = np.isin(new.rows, seen.rows)
    if rows.id is not None and again.any():
        raise InputError(
            f"{int(again.sum()):,} of {len(rows):,} rows have an id that was counted before by {folder} "
            f"({value_list(rows.id[again])}), and count once: give only the rows that came after, for example with "
            f"{argument('where')}. If that column only numbers the rows of each file, rename it and begin a new "
            f"monitor with {argument('out')}; nothing was changed"
        )
    if rows.id is None and more_than_chance(new.rows, seen.rows):
        raise InputError(
            f"{int(again.sum()):,} of {len(rows):,} rows were counted before by {folder}: their inputs, "
            f"{rows.words.probability} and outcome are those of earlier rows, and a row counts once. Give only the "
            f"rows that came after, for example with {argument('where')}. If they are other rows that happen to be "
            f"equal, a column {ROW_ID!r} tells rows apart, in a new monitor ({argument('out')}); nothing was changed"
        )


def refuse_learned(learned: Keys, new: RowKeys, rows: NewLabelled) -> None:
    """Refuse rows whose ids the run was made of; `learned` are the digests of its ids."""
    known = np.isin(new.rows, learned)
    if rows.id is not None and known.any():
        raise InputError(
            f"{int(known.sum()):,} of {len(rows):,} rows have an id of the run ({value_list(rows.id[known])}), "
            f"which has learned from them, so they cannot show whether it holds: give only rows that came after, for "
            f"example with {argument('where')}. If the column only numbers the rows of each file, rename it"
        )


FORM = "miscal-monitor"
LAYOUT = 5
"""Version of what the state of a monitor holds; raised whenever it asks or keeps something else."""
FOLDER = "state"
_REMEDY = f"put the old file back, or begin a new monitor with {argument('out')}"


class MonitorState(Part):
    """A monitor between two looks.

    ``model`` are digests of the model and the summary that it watches, and ``group`` is "none" where rows count one by
    one although the run counts units. ``left_out`` says what cannot be asked, and why; ``known`` counts the rows of the
    run by which it was decided what counts as right. ``by_id`` says whether rows are recognised by their ids, else by
    their values; ``digests`` are those of each look as a whole, ``seen`` those of all its rows, and ``grid`` is what
    rows are alike by. ``learned`` are digests of the ids of the run's rows.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    layout: Literal[5] = LAYOUT
    model: tuple[str, ...]
    group: str | None
    tolerance: Share | None
    questions: tuple[Question, ...]
    looks: tuple[LookNumbers, ...] = ()
    left_out: tuple[str, ...]
    known: Count
    by_id: bool
    digests: tuple[tuple[str, str], ...] = ()
    grid: np.ndarray = Field(exclude=True)
    learned: np.ndarray = Field(default_factory=lambda: np.zeros(0, np.uint64), exclude=True)
    seen: RowKeys = Field(default_factory=RowKeys.none, exclude=True)


def fingerprint(run: Path) -> tuple[str, ...]:
    """Digests of what a monitor watches: the summary, and configs of the model, which hold checksums of all else."""
    configs = sorted(model_folder(run).rglob("config.json"))
    return tuple(digest(path) for path in [*configs, run / "summary.json"])


def save(state: MonitorState, folder: Path) -> None:
    """Write a state into the folder of a monitor that nobody reads yet."""
    history = np.stack([one.history for one in state.questions])
    tensors = {
        "grid": state.grid,
        "learned": state.learned,
        "history": history,
        **with_prefix("seen", vars(state.seen)),
    }
    save_state(folder / FOLDER, FORM, state.model_dump(mode="json"), tensors)


def load(folder: Path) -> MonitorState:
    """Read the state of a monitor; one that is damaged, not ours, or of another version is refused."""
    if not (folder / FOLDER / CONFIG).is_file():
        raise CorruptFile(f"{folder / FOLDER / CONFIG} is missing: {_REMEDY}")
    content, tensors = load_state(folder / FOLDER, FORM, remedy=_REMEDY)
    if content.get("layout") != LAYOUT:
        raise MismatchError(
            f"{folder} is a monitor that another version of miscal began, which kept something else: begin a new one "
            f"with {argument('out', takes='DIR')}, and give it the new rows from the first look on"
        )
    try:
        asked = zip(content["questions"], tensors["history"], strict=True)
        questions = [{**one, "history": history} for one, history in asked]
        seen = RowKeys(**under("seen", tensors))
        state = MonitorState(
            **{**content, "questions": questions}, grid=tensors["grid"], learned=tensors["learned"], seen=seen
        )
        _check(state)
    except (KeyError, TypeError, ValueError) as error:
        # of a list of what is wrong, the first
        reason = " ".join(str(error).split("\n")[:3])
        raise CorruptFile(f"{folder / FOLDER} is not the state of a monitor ({reason}): {_REMEDY}") from None
    return state


def _check(state: MonitorState) -> None:
    """Refuse what does not fit together."""
    keys, looks, grid = [one.key for one in state.questions], len(state.looks), state.grid
    _require(looks > 0 and [one.look for one in state.looks] == list(range(1, looks + 1)), "the looks")
    _require(len(state.digests) == looks, "the digests of looks")
    _require(len(set(keys)) == len(keys), "a question is there twice")
    _require({GAIN, LEVEL} <= set(keys), "a question is missing")
    _require(all(_fits(one, looks) for one in state.questions), "a question does not fit")
    _require(_finite(grid, (2, *grid.shape[1:2])) and bool((grid[1] > 0).all()), "the scale of the inputs")
    _require(state.learned.dtype == np.uint64 and state.learned.ndim == 1, "digests of the run's rows")
    for seen in vars(state.seen).values():
        _require(seen.dtype == np.uint64 and seen.ndim == 1, "digests of rows")
        _require(bool((seen[1:] >= seen[:-1]).all()), "digests of rows that are out of order")


def _fits(one: Question, looks: int) -> bool:
    """Whether the parts of a question fit together, and the number of looks."""
    low, high = one.allowed
    since, shown = one.broken or (1, 1)
    if not _finite(one.history, (looks, len(COLUMNS))):
        return False
    of = dict(zip(COLUMNS, one.history.T, strict=True))
    rows, units = of["rows"], of["units"]
    return (
        one.kind == one.key.partition(":")[0]
        and (low is None) == (one.kind == GAIN)
        and (low is None or low <= high)
        and since <= shown <= looks
        and (one.place is not None) == (one.kind == FINDING)
        and (one.threshold is not None) == (one.kind == THRESHOLD)
        and bool((units <= rows).all() and np.abs(one.history).max() <= MOST)
        and all((values >= 0).all() for name, values in of.items() if name not in ("total", "cross"))
        and all((of[name] <= rows * (1 + 1e-9)).all() for name in MEANS)
    )


def _finite(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    return array.shape == shape and array.dtype == np.float64 and bool(np.isfinite(array).all())


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)


def refuse_other(state: MonitorState, model: tuple[str, ...], tolerance: float | None, group: str | None) -> None:
    """Refuse to go on with a monitor of another model or with other settings."""
    if state.model != model:
        raise MismatchError(
            "the model or the summary of the run is not the one that this monitor began with: begin a new monitor with "
            f"{argument('out')}, or put the old run back"
        )
    if tolerance is not None and tolerance != state.tolerance:
        began = "its default" if state.tolerance is None else f"{state.tolerance:g}"
        raise MismatchError(
            f"this monitor began with a tolerance of {began}, and keeps it; got {tolerance:g}: leave it out, "
            f"or begin a new monitor with {argument('out')}"
        )
    if group is not None and group != state.group:
        began = "without groups" if state.group is None else f"with groups of {state.group!r}"
        raise MismatchError(
            f"this monitor began {began}, and keeps it so; got {group!r}: leave it out, or begin a new monitor "
            f"with {argument('out')}"
        )


def refuse_unfit(state: MonitorState, n_findings: int, n_features: int) -> None:
    """Refuse a state that asks for findings or inputs that the run has not."""
    places = [one.place for one in state.questions if one.place is not None]
    if max(places, default=-1) >= n_findings or state.grid.shape[1] != n_features:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")
