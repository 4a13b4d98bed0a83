"""The words and signs of the page, for someone who never saw the paper."""

from typing import Any

from miscal.report.source import Source
from miscal.report.words import finite

NAME = "glossary"
TITLE = "Words and signs"
SHORT = "Glossary"


def context(source: Source) -> dict[str, Any]:
    """Return the threshold; the entries are in the template."""
    return {"epsilon": finite(source.summary["settings"].get("epsilon"))}
