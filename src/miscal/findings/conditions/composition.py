"""What a group is made of, as a value: the named groups that fit a found one, or how mixed it is.

It says nothing about which rows belong to a group, so new rows are placed by the condition alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from miscal.base.number_wording import percent
from miscal.findings.conditions.condition import Stored


@dataclass(frozen=True)
class Alike:
    """A condition that means nearly the same rows.

    `overlap`: jaccard index of the rows that it means and those of the group, in [0, 1].
    """

    condition: Stored
    overlap: float
    kind: Literal["alike"] = "alike"

    @property
    def words(self) -> str:
        """``"subject = law or history (overlap 84 %)"``."""
        return f"{self.condition.words} (overlap {percent(self.overlap)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of."""
        return self.condition.columns


@dataclass(frozen=True)
class Mostly:
    """A condition that most rows of a group meet, far more often than other rows do.

    `share`: of the rows of the group, in (0, 1].
    """

    condition: Stored
    share: float
    kind: Literal["mostly"] = "mostly"

    @property
    def words(self) -> str:
        """``"74 % have subject = law"``."""
        return f"{percent(self.share)} have {self.condition.words}"


@dataclass(frozen=True)
class TermShare:
    """How common a condition is in a group and elsewhere, each in [0, 1].

    `elsewhere`: share of the other rows.
    """

    condition: Stored
    share: float
    elsewhere: float

    @property
    def words(self) -> str:
        """``'"court" in 60 % of the texts (3 % elsewhere)'``."""
        own = self.condition.wording.own
        return f"{own} in {percent(self.share)} of the texts ({percent(self.elsewhere)} elsewhere)"


@dataclass(frozen=True)
class Mixed:
    """How mixed a group is that no named groups fit.

    `values`: how many values of one column its rows have; 0 where no column tells. `common`: the most common of them.
    `share`: share of the rows that have it, in [0, 1]. `nearly_all`: whether these are so many that the others are not
    named. `terms`: terms of the texts that tell the group from other rows, where no column does. `typical`: numbers of
    typical rows.
    """

    values: int = 0
    common: Stored | None = None
    share: float = 0.0
    nearly_all: bool = False
    terms: tuple[TermShare, ...] = ()
    typical: tuple[int, ...] = ()
    kind: Literal["mixed"] = "mixed"

    @property
    def words(self) -> str:
        """``"mixed: 23 values of subject, law the most common (31 %); rows 4 and 8 are typical"``."""
        most_common = self._most_common
        typical = f"; rows {' and '.join(map(str, self.typical))} are typical" if self.typical else ""
        return f"mixed: {most_common}{typical}" if most_common else f"mixed{typical}"

    @property
    def _most_common(self) -> str:
        if self.common is None:
            return ", ".join(one.words for one in self.terms)
        if self.nearly_all:
            return f"{percent(self.share)} of the rows have {self.common.words}"
        of = f"{self.values} values of {self.common.columns[0]}"
        return f"{of}, {self.common.wording.own} the most common ({percent(self.share)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of."""
        conditions = [*([] if self.common is None else [self.common]), *(one.condition for one in self.terms)]
        return tuple(dict.fromkeys(column for one in conditions for column in one.columns))
