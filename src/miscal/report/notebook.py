"""A run in a notebook: the three lines, the groups and the curves, as HTML that stands by itself."""

from __future__ import annotations

from markupsafe import Markup

from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.report.formatting import decimals_for, finite
from miscal.report.frame import ASSETS, environment
from miscal.report.legend import colour_rules
from miscal.report.panels.answer import first_screen


def notebook(summary: Summary) -> str:
    """Return the first screen of a run's page for a notebook: no program, nothing from a network."""
    style = (ASSETS / "answer.css").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("notebook.html")
        .render(
            terms=vocabulary(summary.kind),
            decimals=decimals_for(finite(summary.settings.get("epsilon"))),
            style=Markup(style),  # noqa: S704 - our own file
            colours=Markup(colour_rules().replace(":root", ".miscal-run")),  # noqa: S704
            **first_screen(summary),
        )
    )
