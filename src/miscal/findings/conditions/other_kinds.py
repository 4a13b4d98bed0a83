"""Kinds of conditions on texts and inputs, and on several conditions together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from miscal.findings.conditions.composition import Alike, Mixed, Mostly
from miscal.findings.conditions.condition import TEXT, Condition, Frame, Mask, Stored, Wording


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

    It holds `n` rows of the run: those of the centres `members`, from 0, of `scale` centres
    (:class:`~miscal.findings.input_clusters.InputClusters`). `made_of`: what they are, where the run described it; no
    part of its identity.

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
