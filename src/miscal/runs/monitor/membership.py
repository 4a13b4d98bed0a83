"""Which new rows belong to a finding of the run: read from its description, since its rows are those of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from miscal.findings.enrichment import written_date
from miscal.findings.ledger import IN_TEXT

Mask = NDArray[np.bool_]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ][\d:]+)?"
_MISSING = "(missing)"


def members(
    description: str, columns: Sequence[str], values: Mapping[str, np.ndarray], text: Sequence[str] | None
) -> Mask | None:
    """Say which rows a description means.

    Parameters
    ----------
    description : str
        Of a finding: a value, a span or a missing value of a column, two of them, or a term of the texts. Bounds of
        spans are those written, with six digits.
    columns : sequence of str
        The columns that it speaks of.
    values : mapping of str to array of shape (n,)
        Columns of the new rows: numbers, dates or text.
    text : sequence of n str, optional

    Returns
    -------
    (n,) bool or None
        None where it cannot be told: the group has no name by columns, or a column is not there.

    Examples
    --------
    >>> members("year at least 2002", ["year"], {"year": np.array([2001.0, 2003.0])}, None).tolist()
    [False, True]
    >>> members("mixed: 3 values of kind, art the most common (35 %)", ["kind"], {"kind": np.array(["art"])}, None)
    """
    if description.endswith(IN_TEXT):
        return _with_term(description, text)
    if not columns or any(name not in values for name in columns):
        return None
    if len(columns) == 1:
        return _cell(description, columns[0], values[columns[0]])
    if len(columns) != 2:
        return None
    found = list(_both(description, (columns[0], columns[1]), values))
    # a value that holds the words between two columns could be cut in two ways
    return found[0] if len(found) == 1 else None


def _both(description: str, columns: tuple[str, str], values: Mapping[str, np.ndarray]) -> Iterator[Mask]:
    for place in re.finditer(re.escape(f" and {columns[1]} "), description):
        parts = description[: place.start()], description[place.start() + len(" and ") :]
        masks = [_cell(part, name, values[name]) for part, name in zip(parts, columns, strict=True)]
        if masks[0] is not None and masks[1] is not None:
            yield masks[0] & masks[1]


def _cell(description: str, column: str, values: np.ndarray) -> Mask | None:
    if not description.startswith(f"{column} "):
        return None
    label = description[len(column) + 1 :]
    if label.startswith("= "):
        return None if " (overlap " in label else _written(values) == label.removeprefix("= ")
    return _span(label, values)


def _written(values: np.ndarray) -> np.ndarray:
    """Values as descriptions write them."""
    if values.dtype.kind in "iuf":
        return np.array(
            [_MISSING if value != value else f"{value:.6g}" for value in values.astype(float)], dtype=object
        )
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        return np.array([_MISSING if np.isnat(value) else written_date(value) for value in seconds], dtype=object)
    return np.array([_MISSING if value is None or value != value else str(value) for value in values], dtype=object)


def _span(label: str, values: np.ndarray) -> Mask | None:
    if values.dtype.kind == "M":
        return _dates(label, values.astype("datetime64[s]"))
    if values.dtype.kind not in "iuf":
        return None
    numbers, n = values.astype(np.float64), _NUMBER
    # NaN is in no span
    if found := re.fullmatch(f"below ({n})", label):
        return numbers < float(found[1])
    if found := re.fullmatch(f"at least ({n})", label):
        return numbers >= float(found[1])
    if found := re.fullmatch(f"from ({n}) to below ({n})", label):
        return (numbers >= float(found[1])) & (numbers < float(found[2]))
    return None


def _dates(label: str, values: np.ndarray) -> Mask | None:
    # both ends of a span are whole days or seconds as written: what is later on the last day belongs to it
    if found := re.fullmatch(f"before ({_DATE})", label):
        return values < np.datetime64(found[1].replace(" ", "T"))
    if found := re.fullmatch(f"after ({_DATE})", label):
        return values >= _end(found[1])
    if found := re.fullmatch(f"between ({_DATE}) and ({_DATE})", label):
        return (values >= np.datetime64(found[1].replace(" ", "T"))) & (values < _end(found[2]))
    return None


def _end(written: str) -> np.datetime64:
    """Return the first second after a day or second."""
    unit = "D" if len(written) == len("2000-01-01") else "s"
    return (np.datetime64(written.replace(" ", "T"), unit) + np.timedelta64(1, unit)).astype("datetime64[s]")


def _with_term(description: str, text: Sequence[str] | None) -> Mask | None:
    found = re.fullmatch(f'"([^"]+)" {re.escape(IN_TEXT)}', description)
    if found is None or text is None:
        return None
    from sklearn.feature_extraction.text import CountVectorizer

    words = CountVectorizer(binary=True, vocabulary=[found[1]]).transform(text)
    return words.toarray()[:, 0] > 0
