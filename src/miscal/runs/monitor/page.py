"""The page of a monitor, drawn from its document."""

from pathlib import Path

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import vocabulary
from miscal.findings.decision_wording import ends
from miscal.report.formatting import signed
from miscal.report.frame import render_page
from miscal.report.precision import decimals_for
from miscal.report.source import printable
from miscal.runs.monitor.document import Monitoring
from miscal.runs.monitor.views import charts, feature_rows, group_rows, worse

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
        "The capital at which a question is answered with no. The alarm is raised when the mean of all capitals that "
        "can raise it, weighted by their shares of the error, reaches its line. While nothing changed, that ever "
        "happens with a probability of at most 5 %. A group or feature that reaches its own "
        "line proves the change alone.",
    ),
    ("Look", "One call of `miscal monitor`, with a batch of rows that came after those before it."),
    (
        "No change",
        "What the run measured of its own rows, give or take its standard errors, and at least 0.05 in log-odds. A "
        "correction is never exact; how far off it was when it was made is no change.",
    ),
    (
        "Shift",
        "By how much the log-odds of the outcomes differ from those of the corrected {probabilities}: of a group, all "
        "its rows; of a feature, where it is two standard deviations above its mean, and the opposite where it is as "
        "far below. The interval of a look holds for this look alone, at 95 %.",
    ),
    (
        "Advice",
        "Whether a correction that is learned anew, from these rows too, could be better. It is no alarm: a correction "
        "from few rows can be far from the best one and better than none.",
    ),
    (
        "Hidden residual",
        "The outcome minus the {rate} expected at its raw {probability}, by the global map of the run. Where it is "
        "negative, {in_group} less often {than}. Its interval holds at all looks together.",
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
    terms = vocabulary(shown.kind)
    fills = {name: getattr(terms, name) for name in ("probability", "probabilities", "rate")}
    fills |= {"in_group": terms.in_rows("a group", one=True), "than": terms.than_equal_rows()}
    return render_page(
        "monitor.html",
        STYLES,
        folder=Path(__file__).parent,
        filters=(
            ("nats", lambda value: "" if value is None else signed(value, 4)),
            ("rate", rate),
            ("threshold_text", threshold_text),
            ("ends", ends),
        ),
        document=shown,
        charts=charts(shown),
        groups=group_rows(shown),
        features=feature_rows(shown),
        worse=worse,
        glossary=[(word, meaning.format(**fills)) for word, meaning in GLOSSARY],
        terms=terms,
        decimals=decimals_for(shown.epsilon),
        version=shown.versions.get("miscal"),
    )
