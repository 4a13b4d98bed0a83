"""How certain it is what was found; alarms and warnings."""

from dataclasses import dataclass
from typing import Any

from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.source import Source
from miscal.report.texts import first_sentence


@dataclass(frozen=True)
class Limit:
    """A certificate as shown: its lower limit, its p-value, and whether that alone proves something."""

    label: str
    quantity: str
    low: float | None
    p_value: float | None
    proven: bool

    @property
    def size(self) -> str:
        """The limit in points, where it is above zero and what it limits is proven; else empty."""
        return lower_limit(self.low) if self.proven and self.low else ""


def notes(source: Source) -> dict[str, Any] | None:
    """Return the alarms, each its first sentence and the rest, and the warnings; None where there are none."""
    summary = source.summary
    alarms = [first_sentence(text) for text in summary.alarms if text.strip()]
    warnings = [text for text in summary.warnings if text.strip() and text not in summary.alarms]
    return {"alarms": alarms, "warnings": warnings} if alarms or warnings else None


def verdict(source: Source) -> dict[str, Any]:
    """Return limits, and the scores before and after the correction."""
    return {"summary": source.summary, **headline(source)}


def headline(source: Source) -> dict[str, Any]:
    """Return both limits, and the scores of all evaluation rows before and after the correction, None where unknown."""
    summary, terms = source.summary, source.terms
    proof, smece = summary.certificate, summary.global_.smece
    total = lower_end(proof.lower_bound_total)
    # the field may have nothing to say of an error that smECE shows: one question has one answer
    by_smece = total == 0 and smece.p_value is not None and smece.p_value < SIGNIFICANCE
    limits = (
        Limit(
            label="Miscalibration",
            quantity=f"mean absolute difference between the {terms.probability} and the {terms.chance}",
            low=total,
            p_value=smece.p_value if by_smece else proof.p_value_total,
            proven=by_smece or bool(total),
        ),
        Limit(
            label="Hidden miscalibration",
            quantity=f"mean absolute miscalibration that the {terms.probability} alone does not explain",
            low=lower_end(proof.lower_bound_hidden),
            p_value=proof.p_value,
            proven=proof.claims_hidden,
        ),
    )
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    return {"limits": limits, "before": before, "after": after}


def lower_end(bound: Measure) -> float | None:
    """Return a lower limit; None where there is none.

    Examples
    --------
    >>> lower_end(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.0949
    """
    return bound.interval[0] if bound.interval else None
