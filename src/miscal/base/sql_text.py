"""Expressions in SQL: how dialects write names, texts and numbers; log-odds, their inverse and straight lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from miscal.base.errors import InputError, argument

Dialect = Literal["ansi", "spark"]


@dataclass(frozen=True)
class Writer:
    """How a dialect writes names, texts and casts."""

    quote: str
    number: str
    text: str
    escapes: bool = False
    """Whether a backslash stands before a quote within a text, not a second quote."""

    def name(self, column: str) -> str:
        """Quote the name of a column."""
        return f"{self.quote}{column.replace(self.quote, self.quote * 2)}{self.quote}"

    def as_number(self, column: str) -> str:
        """Take a column as numbers."""
        return f"CAST({self.name(column)} AS {self.number})"

    def one_of(self, column: str, values: Sequence[str]) -> str:
        """Say that a column is one of some values; true or false where it is not NULL."""
        quote = "\\'" if self.escapes else "''"
        texts = [one.replace("\\", "\\\\") if self.escapes else one for one in values]
        texts = ", ".join(f"'{one.replace(chr(39), quote)}'" for one in texts)
        return f"CAST({self.name(column)} AS {self.text}) IN ({texts})"

    def known(self, column: str, condition: str) -> str:
        """Say that a column is there and meets a condition: never NULL."""
        return f"({self.name(column)} IS NOT NULL AND {condition})"


DIALECTS = {"ansi": Writer('"', "DOUBLE PRECISION", "VARCHAR"), "spark": Writer("`", "DOUBLE", "STRING", escapes=True)}


def writer_of(dialect: str) -> Writer:
    """Return how a dialect writes, or refuse it."""
    if dialect not in DIALECTS:
        raise InputError(f"{argument('dialect')} must be one of {', '.join(DIALECTS)}; got {dialect!r}")
    return DIALECTS[dialect]


def real(number: float) -> str:
    """Write a number that engines take in double precision, where a plain one may be a decimal.

    Examples
    --------
    >>> real(0.25), real(1e-20)
    ('0.25e0', '1e-20')
    """
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"


def odds_of(p: str, clip: float) -> str:
    """Write the log-odds of a probability that is taken as at least `clip` away from 0 and 1."""
    low, high, end = float(clip), 1 - float(clip), farthest(clip)
    return f"CASE WHEN {p} <= {low!r} THEN {-end!r} WHEN {p} >= {high!r} THEN {end!r} ELSE LN({p} / (1 - {p})) END"


def farthest(clip: float) -> float:
    """Return the largest log-odds that a clip leaves."""
    return float(np.log1p(-clip) - np.log(clip))


def sigmoid(odds: str) -> str:
    """Write the probability that has some log-odds."""
    return f"(1 / (1 + EXP(-({odds}))))"


def steps(f: str, knots: list[float], values: list[float]) -> str:
    """Write linear interpolation between knots, constant beyond them."""
    parts = [f"WHEN {f} <= {real(knots[0])} THEN {real(values[0])}"]
    for low, high, start, end in zip(knots, knots[1:], values, values[1:], strict=False):
        line = f" + ({f} - {real(low)}) * {real((end - start) / (high - low))}" if end != start else ""
        parts.append(f"WHEN {f} <= {real(high)} THEN {real(start)}{line}")
    return f"(CASE {' '.join(parts)} ELSE {real(values[-1])} END)"
