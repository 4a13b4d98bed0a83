"""The warnings that a reader should know before trusting the numbers."""

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
    """Return the warnings of the run; None where there are none."""
    alarms = source.summary.alarms
    return [text for text in source.summary.warnings if text.strip() and text not in alarms] or None


PANEL = Panel("warnings", "Before you read on", view, TEMPLATE)
