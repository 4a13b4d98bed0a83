"""What is so wrong that it comes before everything else."""

from miscal.report.panel import Panel
from miscal.report.source import Source

TEMPLATE = """
<ul>
{% for text in view %}
<li>{{ text | short(600) }}</li>
{% endfor %}
</ul>
"""


def view(source: Source) -> list[str] | None:
    """Return the alarms of the run; None where there are none."""
    return [text for text in source.summary.alarms if text.strip()] or None


PANEL = Panel("alarms", "Alarm", view, TEMPLATE)
