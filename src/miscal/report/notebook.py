"""A run in a notebook: the three lines, the groups and the curves, as HTML that stands by itself."""

from __future__ import annotations

from markupsafe import Markup

from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.report.formatting import decimals_for, finite
from miscal.report.frame import ASSETS, environment
from miscal.report.legend import COLOURS
from miscal.report.panels.answer import first_screen

USED = ("paper", "ink", "muted", "rule", "link", "use", "good", "g1", "g2", "g3")
"""Colours of the first screen."""
THEMES = {
    "light": ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]'),
    "dark": ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]'),
}
"""How Jupyter, VS Code and Colab say that they are light or dark, whatever the screen is."""


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
            colours=Markup(_colours()),  # noqa: S704
            **first_screen(summary),
        )
    )


def _colours() -> str:
    """Return the colours as style rules: by the theme of the notebook, else by that of the screen."""
    light, dark = (" ".join(f"--{name}: {COLOURS[name][place]};" for name in USED) for place in range(2))
    rules = [f".miscal-run {{ {light} }}", f"@media (prefers-color-scheme: dark) {{ .miscal-run {{ {dark} }} }}"]
    for theme, shades in zip(THEMES.values(), (light, dark), strict=True):
        rules.append(f"{', '.join(f'{one} .miscal-run' for one in theme)} {{ {shades} }}")
    return "\n".join(rules) + "\n"
