"""The page of a monitor, drawn from its document."""

from pathlib import Path

from miscal.report.frame import render_page
from miscal.report.source import printable
from miscal.runs.monitor.document import Monitoring
from miscal.runs.monitor.views import charts, group_rows

STYLES = ("base.css", "tables.css", "figures.css", "print.css", "monitor.css")

GLOSSARY = (
    (
        "Capital",
        "What bets against a hypothesis have made of a capital of 1. While the hypothesis holds, no bet gains on "
        "average, so that the capital ever reaches 100 with a probability of at most 1 in 100, however often one "
        "looks.",
    ),
    (
        "Line",
        "The capital at which a question is answered with no. The lines of all questions that can raise an alarm are "
        "set so that, while nothing is wrong, any of them is ever reached with a probability of at most 5 %.",
    ),
    ("Look", "One call of `miscal monitor`, with a batch of rows that came after those before it."),
    (
        "Corrected",
        "The confidence after the correction that the run saved. It counts as right within a tolerance: what the run "
        "could know of its own average, at least 0.1 in log-odds.",
    ),
    (
        "Hidden residual",
        "The outcome minus the accuracy expected at its raw confidence, by the global map of the run. A group with a "
        "negative one is right less often than rows of equal confidence. Its interval holds at all looks together.",
    ),
    (
        "Alarm",
        "Once raised, an alarm stays: the rows that raised it are still there. It ends with a new run and its monitor.",
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
    return render_page(
        "monitor.html",
        STYLES,
        folder=Path(__file__).parent,
        document=shown,
        charts=charts(shown),
        groups=group_rows(shown),
        glossary=GLOSSARY,
        version=shown.versions.get("miscal"),
    )
