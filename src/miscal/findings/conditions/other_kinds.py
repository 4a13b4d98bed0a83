"""Kinds of conditions on texts and inputs, and on several conditions together.

Beside them stands what a found group is made of: the named groups that fit it, or how mixed it is. That says nothing
about which rows belong to a group, so new rows are placed by the condition alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from miscal.base.number_wording import percent
from miscal.findings.conditions.condition import TEXT, Condition, Frame, Mask, Stored, Wording


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


@dataclass(frozen=True)
class Term(Condition):
    """The rows whose text has a term, in any case: ``'"court" in the text'``.

    `term` is in lower case. `made_of`: what most of them are, where the run found that; no part of its identity.

    Examples
    --------
    >>> Term("court").rows(Frame(2, text=["The Court of Appeal", "courtyard"])).tolist()
    [True, False]
    """

    kind: ClassVar[str] = "term"
    columns: ClassVar[tuple[str, ...]] = (TEXT,)
    term: str
    made_of: Mostly | None = field(default=None, compare=False)

    @property
    def wording(self) -> Wording:
        return Wording("", f'"{self.term}"', " in the text")

    @property
    def description(self) -> str:
        return self.words if self.made_of is None else f"{self.words} ({self.made_of.words})"

    def lacks(self, frame: Frame) -> str | None:
        return "the rows have no texts" if frame.text is None else None

    def rows(self, frame: Frame) -> Mask:
        from sklearn.feature_extraction.text import CountVectorizer

        member = CountVectorizer(binary=True, vocabulary=[self.term]).transform(frame.text)
        return member.toarray()[:, 0] > 0


@dataclass(frozen=True)
class Cluster(Condition):
    """The rows whose inputs lie nearest to some centres that the run stored: ``"a cluster of 120 similar inputs"``.

    It holds `n` rows of the run: those of the centres `members`, from 0, of `scale` centres (:class:`.InputClusters`).
    `made_of`: what they are, where the run described it; no part of its identity.

    Examples
    --------
    >>> from miscal.findings.conditions.column_kinds import Value
    >>> law = Value("subject", "law", "text")
    >>> Cluster(120, 8, (3,), Alike(law, 0.84)).description
    'a cluster of 120 similar inputs: subject = law (overlap 84 %)'
    >>> Cluster(120, 8, (3,), Mixed(3, law, 0.35)).description
    'a cluster of 120 similar inputs, mixed: 3 values of subject, law the most common (35 %)'
    """

    kind: ClassVar[str] = "cluster"
    columns: ClassVar[tuple[str, ...]] = ()
    n: int
    scale: int
    members: tuple[int, ...]
    made_of: Annotated[Alike | Mixed, Field(discriminator="kind")] | None = field(default=None, compare=False)

    @property
    def wording(self) -> Wording:
        return Wording("", f"a cluster of {self.n:,} similar inputs")

    @property
    def description(self) -> str:
        return f"{self.words}, {self.made_of.words}" if isinstance(self.made_of, Mixed) else self.phrase

    @property
    def phrase(self) -> str:
        return f"{self.words}: {self.made_of.words}" if isinstance(self.made_of, Alike) else self.words

    def lacks(self, frame: Frame) -> str | None:
        if frame.X is None:
            return "the rows have no inputs"
        if frame.clusters is None or self.scale not in frame.clusters.centres:
            return "the centres of the cluster are not stored"
        return None

    def rows(self, frame: Frame) -> Mask:
        return np.isin(frame.cluster_of(self.scale), self.members)


@dataclass(frozen=True)
class Several(Condition):
    """A condition made of several others, at least one."""

    conditions: tuple[Stored, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for one in self.conditions for column in one.columns))

    def lacks(self, frame: Frame) -> str | None:
        return next((lacking for one in self.conditions if (lacking := one.lacks(frame)) is not None), None)


@dataclass(frozen=True)
class Both(Several):
    """The rows that meet several conditions at once: ``"subject = law and year = 2001"``.

    Examples
    --------
    >>> from miscal.findings.conditions.column_kinds import Missing
    >>> Both((Missing("year"), Missing("place"))).words
    'year = (missing) and place = (missing)'
    """

    kind: ClassVar[str] = "both"

    @property
    def wording(self) -> Wording:
        return Wording("", " and ".join(one.words for one in self.conditions))

    def rows(self, frame: Frame) -> Mask:
        return np.logical_and.reduce([one.rows(frame) for one in self.conditions])


@dataclass(frozen=True)
class AnyOf(Several):
    """The rows that meet at least one of several conditions: ``"subject = law or history"``.

    Examples
    --------
    >>> from miscal.findings.conditions.column_kinds import Value
    >>> AnyOf((Value("subject", "law", "text"), Value("subject", "history", "text"))).words
    'subject = law or history'
    """

    kind: ClassVar[str] = "any_of"

    @property
    def wording(self) -> Wording:
        parts = [one.wording for one in self.conditions]
        before, _, after = parts[0]
        if all((part.before, part.after) == (before, after) for part in parts):
            return Wording(before, " or ".join(part.own for part in parts), after)
        return Wording("", " or ".join(one.words for one in self.conditions))

    def rows(self, frame: Frame) -> Mask:
        return np.logical_or.reduce([one.rows(frame) for one in self.conditions])


@dataclass(frozen=True)
class NoneOf(Several):
    """The rows that meet none of several conditions: ``"subject other than law"``.

    Examples
    --------
    >>> from miscal.findings.conditions.column_kinds import Value
    >>> others = NoneOf((Value("subject", "law", "text"),))
    >>> others.words, others.rows(Frame(3, {"subject": np.array(["law", "art", None], object)})).tolist()
    ('subject other than law', [False, True, True])
    """

    kind: ClassVar[str] = "none_of"

    @property
    def wording(self) -> Wording:
        before, own, after = AnyOf(self.conditions).wording
        if before.endswith("= "):
            other = "not " if own.startswith("(") else "other than "  # not (missing)
            return Wording(f"{before.removesuffix('= ')}{other}", own, after)
        return Wording("", f"anything but {before}{own}{after}")

    def rows(self, frame: Frame) -> Mask:
        return ~AnyOf(self.conditions).rows(frame)
