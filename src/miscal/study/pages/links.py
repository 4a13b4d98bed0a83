"""Where the files of a study lie, as its pages link to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote


def report_link(out: Path, pair: str, method: str, *, above: str = "") -> str | None:
    """Return the address of a pair's report; None where there is none.

    Parameters
    ----------
    out : Path
        Folder of the study.
    pair, method : str
    above : str
        From the page to the folder of the study: empty, or ``"../"``.
    """
    inside = Path("pairs") / pair / method / "report.html"
    return f"{above}{quote(inside.as_posix())}" if (out / inside).exists() else None


def sheet_names(datasets: Iterable[str]) -> dict[str, str]:
    """Return the name of each data set's sheet, without its ending; no two are the same.

    Examples
    --------
    >>> sheet_names(["MMLU", "law exam", "law/exam"])
    {'MMLU': 'MMLU', 'law exam': 'law-exam', 'law/exam': 'law-exam-2'}
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    for dataset in datasets:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", dataset).strip("-")[:60] or "data"
        name, number = plain, 1
        # some file systems do not tell upper from lower case
        while name.lower() in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name.lower())
        names[dataset] = name
    return names
