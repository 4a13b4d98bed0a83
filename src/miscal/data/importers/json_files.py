"""Read logs as JSON or as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.readers.text_file import text_of


def parsed(text: str | bytes | bytearray, where: str) -> Any:
    """Parse JSON; the constants NaN and Infinity are read as such.

    Raises
    ------
    CorruptFile
        With `where` and the place of the fault.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        reason = getattr(error, "msg", error)
        raise CorruptFile(
            f"{where}: not valid JSON{at} ({reason}); the file is damaged, cut short, or of another kind"
        ) from None


def whole(path: Path) -> Any:
    """Read a file that is one JSON value."""
    return parsed(text_of(path, "utf-8"), str(path))


def records(path: Path) -> list[Any]:
    """Read a file that is one JSON array, or one JSON value per line; blank lines are skipped."""
    text = text_of(path, "utf-8")
    if text.lstrip().startswith("["):
        return parsed(text, str(path))
    return list(_lines(text, path))


def _lines(text: str, path: Path) -> Iterator[Any]:
    # not splitlines: texts in JSON may hold other line separators as they are
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield parsed(line, f"{path}, line {number}")


def as_dict(value: Any) -> dict[str, Any]:
    """Return an object of JSON as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return an array of JSON as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []
