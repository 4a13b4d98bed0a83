"""Verify a scan: every number of its summary, computed again from the cells that lie beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile, FileError
from miscal.base.files import digest
from miscal.base.signatures import checked_call
from miscal.runs.scan.command import summarised
from miscal.runs.scan.document import CELLS, CORRECTION, PYTHON, SQL, SUMMARY, read_cells

TOLERANCE = 1e-9
_NOT_COMPUTED = ("digest", "versions", "seconds")
NOT_FROM_CELLS = (
    "that the cells are counts of the rows they are said to be of: who has the rows can scan them again",
    "the time that the scan took",
)
"""What cells cannot show."""


@dataclass(frozen=True)
class Verified:
    """What became of a verification.

    Attributes
    ----------
    numbers : int
        Numbers and texts that were compared.
    differences : tuple of str
        Each place that differs: what is written, and what follows from the cells.
    not_checked : tuple of str
        What cannot be computed from cells.
    seconds : float
        How long it took.

    Examples
    --------
    >>> Verified(2, ("summary.n: 10 is written, 11 follows from the cells",), (), 0.1).equal
    False
    """

    numbers: int
    differences: tuple[str, ...]
    not_checked: tuple[str, ...]
    seconds: float

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


@checked_call
def verify(folder: str | Path) -> Verified:
    """Compute the summary of a scan again from its cells, and compare it number by number, to 1e-9.

    Parameters
    ----------
    folder : str or Path
        A folder that ``miscal scan`` wrote.

    Returns
    -------
    Verified
        What differs, if anything.

    Raises
    ------
    FileError, CorruptFile
        If files are missing, or hold something else.

    Examples
    --------
    >>> verify("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder is not a folder that `miscal scan` wrote: it has no cells.parquet
    """
    start, place = time.monotonic(), Path(folder)
    if not (place / CELLS).is_file():
        raise FileError(f"{folder} is not a folder that `miscal scan` wrote: it has no {CELLS}")
    written, correction = _json(place / SUMMARY), _json(place / CORRECTION)
    found = summarised(read_cells(place / CELLS), start)
    again = found.summary.model_dump(mode="json", by_alias=True)
    seen = digest(place / CELLS)
    differences = []
    if written.get("digest") != seen:
        differences.append(f"digest of {CELLS}: {written.get('digest')} is written, the file has {seen}")
    if (version := (written.get("versions") or {}).get("miscal")) != again["versions"]["miscal"]:
        differences.append(f"version: written by miscal {version}, computed by {again['versions']['miscal']}")
    for name in _NOT_COMPUTED:
        written.pop(name, None)
        again.pop(name, None)
    pairs = [("summary", written, again)]
    again_correction = again["correction"] | {"probability": again["probability"]}
    pairs.append(("correction", correction, again_correction))
    many = 0
    for name, one, other in pairs:
        for where, a, b, same in _compared(one, other, name):
            many += 1
            if not same:
                differences.append(f"{where}: {_shown(a)} is written, {_shown(b)} follows from the cells")
    for name, able in ((SQL, (found.sql("ansi"), found.sql("spark"))), (PYTHON, (found.python(),))):
        text = (place / name).read_text(encoding="utf-8") if (place / name).is_file() else ""
        if text.strip() not in map(str.strip, able):
            differences.append(f"{name} is not what follows from the cells")
    return Verified(many + 2, tuple(differences), NOT_FROM_CELLS, time.monotonic() - start)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"{path}: no such file; scan the rows again") from None
    except (ValueError, OSError) as error:
        raise CorruptFile(f"{path} is not readable as JSON ({str(error)[:200]})") from error
    if not isinstance(content, dict):
        raise CorruptFile(f"{path} holds something else than a summary of a scan")
    return content


def _compared(one: Any, other: Any, where: str) -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield every place of two documents, with both values and whether they are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from _compared(one.get(key), other.get(key), f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, pair in enumerate(zip(one, other, strict=True)):
            yield from _compared(*pair, f"{where}[{place}]")
    elif _is_number(one) and _is_number(other):
        yield where, one, other, abs(one - other) <= TOLERANCE * max(1.0, abs(one))
    else:
        yield where, one, other, one == other


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
