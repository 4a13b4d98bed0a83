"""The rows whose text has a term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from miscal.findings.conditions.condition import Condition, Mask, Wording
from miscal.findings.conditions.frame import TEXT, Frame


@dataclass(frozen=True)
class Term(Condition):
    """The rows whose text has a term, in any case: ``'"court" in the text'``.

    Attributes
    ----------
    term : str or None
        In lower case; None where the run leaves texts out.
    number : int or None
        What it is called there: ``"term 1 of the texts (left out)"``.

    Examples
    --------
    >>> Term("court").rows(Frame(2, text=["The Court of Appeal", "courtyard"])).tolist()
    [True, False]
    >>> Term("court").redacted(lambda term: 1).words
    'term 1 of the texts (left out)'
    """

    kind: ClassVar[str] = "term"
    term: str | None
    number: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (TEXT,)

    @property
    def wording(self) -> Wording:
        if self.term is None:
            return Wording("", f"term {self.number}", " of the texts (left out)")
        return Wording("", f'"{self.term}"', " in the text")

    def lacks(self, frame: Frame) -> str | None:
        if self.term is None:
            return "the run leaves texts out, and so does not say which term it is"
        return "the rows have no texts" if frame.text is None else None

    def rows(self, frame: Frame) -> Mask:
        from sklearn.feature_extraction.text import CountVectorizer

        member = CountVectorizer(binary=True, vocabulary=[self.term]).transform(frame.text)
        return member.toarray()[:, 0] > 0

    def redacted(self, number: Callable[[str], int]) -> Term:
        return self if self.term is None else Term(None, number(self.term))
