"""The rows that meet none of several conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from miscal.findings.conditions.condition import Mask, Wording
from miscal.findings.conditions.frame import Frame
from miscal.findings.conditions.kinds.any_of import AnyOf
from miscal.findings.conditions.several import Several


@dataclass(frozen=True)
class NoneOf(Several):
    """The rows that meet none of several conditions: ``"subject other than law"``.

    Examples
    --------
    >>> import numpy as np
    >>> from miscal.findings.conditions.kinds.value import Value
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
