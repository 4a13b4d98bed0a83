"""The page of a monitor, drawn from its document."""

from pathlib import Path

from miscal.base.vocabulary import vocabulary
from miscal.report.formatting import signed
from miscal.report.frame import render_page
from miscal.report.source import printable
from miscal.runs.monitor.document import Monitoring
from miscal.runs.monitor.views import question_rows

STYLES = ("base.css", "tables.css", "figures.css", "print.css", "monitor.css")

GLOSSARY = (
    ("Look", "One call of `miscal monitor`, with a batch of rows that came after those before it."),
    (
        "Holds, does not hold, not known",
        "Each question has an interval, and a zone that is allowed. The correction does not hold where the "
        "interval is clear of the zone, it holds where the interval lies within it, and else it is not known. The "
        "chance that anything which holds is ever said not to is at most 5 %, however often one looks.",
    ),
    (
        "Interval",
        "Of the mean outcome less the mean corrected {probability}. It counts units, holds at all looks together, and "
        "allows for all that is asked.",
    ),
    (
        "Allowed",
        "Two points to either side, or what the run could be off by without knowing it. A correction is never exact; "
        "how far off it was when it was made is no change.",
    ),
    (
        "Alarm",
        "It is raised where the correction does not hold for all rows. Once raised, it stays: the rows that raised it "
        "are still there. It ends with a new run and its monitor.",
    ),
)


def build(document: Monitoring) -> str:
    """Return the page of a monitor as text.

    Parameters
    ----------
    document : Monitoring

    Returns
    -------
    str
        One HTML file without program or outside resource; the same document gives the same text.
    """
    shown = printable(document)
    terms = vocabulary(shown.kind)
    return render_page(
        "monitor.html",
        STYLES,
        folder=Path(__file__).parent,
        filters=(("nats", lambda value: signed(value, 4)),),
        document=shown,
        questions=question_rows(shown),
        glossary=[(word, meaning.format(probability=terms.probability)) for word, meaning in GLOSSARY],
        terms=terms,
        version=shown.versions.get("miscal"),
    )
