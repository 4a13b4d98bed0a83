"""Write a class with its findings as lines for a terminal."""

from miscal.base.markdown import markdown
from miscal.base.number_wording import percent
from miscal.base.shown import Shown, SignedBar
from miscal.base.terminal import fact_lines, wrapped
from miscal.discovery.summary_parts import ClassEvent
from miscal.discovery.wording import words_of
from miscal.report.printed import finding_words


def class_lines(one: ClassEvent) -> list[str]:
    """Write what was found of a class: its numbers before and after the correction, and a line for each finding."""
    found = [(f"finding {place}", f"{about}: {said}") for place, (about, said) in enumerate(_findings(one), start=1)]
    facts = [*_scores(one), *(found or [("findings", _nothing(one))])]
    return [*wrapped(_numbers(one), indent=0), "", *fact_lines(facts)]


def class_markdown(one: ClassEvent) -> str:
    """Write the same as GitHub-flavoured markdown."""
    found = _findings(one)
    bars = tuple(SignedBar(about, 0.0, said) for about, said in found)
    nothing = [] if found else [("findings", _nothing(one))]
    return markdown(Shown(_numbers(one), bars=bars, facts=(*_scores(one), *nothing)))


def _numbers(one: ClassEvent) -> str:
    return (
        f"class {one.name}: the label of {one.labels:,} rows ({percent(one.rate, 1)}), predicted in "
        f"{one.predicted:,}; its probability is {percent(one.probability, 1)} on average"
    )


def _scores(one: ClassEvent) -> list[tuple[str, str]]:
    return [
        (name, f"smECE {score.smece or 0.0:.4f}, log loss {score.log_loss or 0.0:.4f}")
        for name, score in (("before", one.raw), ("after", one.corrected))
    ]


def _findings(one: ClassEvent) -> list[tuple[str, str]]:
    words = words_of(one.name)
    return [(finding.description, finding_words(finding, words, one.findings)) for finding in one.findings]


def _nothing(one: ClassEvent) -> str:
    return "no finding" if one.looked_at else "not looked at: too few rows have it, or 20 classes have more"
