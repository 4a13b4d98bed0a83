"""The parts of the page, in order.

A panel is a module with ``NAME`` (its anchor and template), ``TITLE``, ``SHORT`` (for the contents) and
``context(source) -> dict``. A new panel is one such file, one template and one line here.
"""

from miscal.report.panels import (
    atlas,
    corrections,
    glossary,
    histogram,
    making,
    regimes,
    reliability,
    subregimes,
    verdict,
    warnings,
)

PANELS = (
    verdict,
    warnings,
    regimes,
    reliability,
    histogram,
    atlas,
    subregimes,
    corrections,
    making,
    glossary,
)
