"""Write a class with its findings as lines for a terminal."""

from miscal.base.number_wording import percent
from miscal.base.terminal import fact_lines, wrapped
from miscal.discovery.classes.document import ClassEvent
from miscal.discovery.classes.wording import words_of
from miscal.report.printed_finding import finding_words


def class_lines(one: ClassEvent) -> list[str]:
    """Write what was found of a class: its numbers before and after the correction, and a line for each finding."""
    numbers = (
        f"class {one.name}: the label of {one.labels:,} rows ({percent(one.rate, 1)}), predicted in "
        f"{one.predicted:,}; its probability is {percent(one.probability, 1)} on average"
    )
    scores = [
        (name, f"smECE {score.smece or 0.0:.4f}, log loss {score.log_loss or 0.0:.4f}")
        for name, score in (("before", one.raw), ("after", one.corrected))
    ]
    found = [
        (f"finding {place}", f"{finding.description}: {finding_words(finding, words_of(one.name))}")
        for place, finding in enumerate(one.findings, start=1)
    ]
    nothing = "no finding" if one.looked_at else "not looked at: too few rows have it, or 20 classes have more"
    return [*wrapped(numbers, indent=0), "", *fact_lines(scores), *fact_lines(found or [("findings", nothing)])]
