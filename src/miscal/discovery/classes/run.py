"""The part of a discovery that is of several classes."""

from __future__ import annotations

from dataclasses import dataclass

from miscal.base.errors import InputError, argument
from miscal.discovery.classes.correction import CorrectedClasses, correct_classes, with_top_label_corrected
from miscal.discovery.classes.document import ClassNumbers
from miscal.discovery.classes.findings import TOP_LABEL_ERROR, ClassLedgers, class_ledgers
from miscal.discovery.classes.measurements import class_numbers
from miscal.discovery.fitted_rows import TIME, Evidence, FittedRows
from miscal.findings.ledger import LedgerSettings


@dataclass(frozen=True, eq=False)
class ClassRun:
    """What is known of several classes before anything is told of it."""

    corrected: CorrectedClasses
    ledgers: ClassLedgers

    @property
    def error_left(self) -> float:
        """Share of the family-wise error that is left for the top label."""
        return TOP_LABEL_ERROR if self.ledgers.found else 1.0

    def told(self, rows: FittedRows) -> ClassNumbers:
        """Measure what is told."""
        return class_numbers(rows, self.corrected, self.ledgers)


def refuse_time(evidence: Evidence) -> None:
    """Refuse several classes in the order of time."""
    if evidence == TIME:
        raise InputError(
            "evidence 'time' is not offered for several classes yet: use evidence 'all' or 'test', or give one class "
            f"as an event ({argument('probability', takes='COL')} {argument('event', takes='COL')} "
            f"{argument('positive', takes='VALUE')})"
        )


def run_classes(
    rows: FittedRows, *, own_split: bool, seed: int, settings: LedgerSettings
) -> tuple[FittedRows, ClassRun | None]:
    """Correct all classes and test each, if there are several.

    Returns `rows`: with the top label corrected as its class is.
    """
    if rows.triples.classes is None:
        return rows, None
    corrected = correct_classes(rows, seed)
    ledgers = class_ledgers(rows, corrected.probability, own_split=own_split, seed=seed, settings=settings)
    return with_top_label_corrected(rows, corrected, seed), ClassRun(corrected, ledgers)


def with_share(adjustment: str, found: ClassRun | None) -> str:
    """Say, after how findings of the top label are adjusted, that the classes have a part of the error.

    Examples
    --------
    >>> with_share("family-wise", None)
    'family-wise'
    """
    if found is None or not found.ledgers.found:
        return adjustment
    many = len(found.ledgers.found)
    return (
        f"{adjustment}; of the error of all, a half is for the top label, and the other half for the "
        f"{many} classes looked at, in equal parts"
    )
