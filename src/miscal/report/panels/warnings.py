"""What the reader must know before trusting the numbers."""

from typing import Any

from miscal.report.source import Source

NAME = "warnings"
TITLE = "Before you read on"
SHORT = "Warnings"


def context(source: Source) -> dict[str, Any]:
    """Return the warnings of the run."""
    return {"warnings": [text for text in source.summary["warnings"] if text.strip()]}
