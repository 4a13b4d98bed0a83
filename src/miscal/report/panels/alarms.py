"""The alarms, which come before everything else on the page."""

from dataclasses import dataclass

from miscal.report.panel import Panel
from miscal.report.source import Source
from miscal.report.texts import first_sentence

TEMPLATE = """
<ul>
{% for text in view %}
<li>{{ text.headline | short(300) }}{% if text.rest %} <span class="check">{{ text.rest | short(600) }}</span>\
{% endif %}</li>
{% endfor %}
</ul>
"""


@dataclass(frozen=True)
class Alarm:
    """An alarm: its first sentence, and what to do about it."""

    headline: str
    rest: str


def view(source: Source) -> list[Alarm] | None:
    """Return the alarms of the run; None where there are none."""
    return [Alarm(*first_sentence(text)) for text in source.summary.alarms if text.strip()] or None


PANEL = Panel("alarms", "Alarm", view, TEMPLATE)
