"""From the field to regimes and subregimes.

A regime is where the field is below ``-epsilon`` (``over``), above it (``under``) or between (``good``); a subregime is
a coherent, named part of the over or the under regime. Layers: parts, enrichment, naming, residuals are formulas;
cut and subregimes put them together.
"""

from miscal.findings.cut import EPSILON, cut
from miscal.findings.enrichment import Enriched
from miscal.findings.residuals import Residual, holm, mean_residual
from miscal.findings.subregimes import Partition, Subregime, Subregimes, find_subregimes

__all__ = [
    "EPSILON",
    "Enriched",
    "Partition",
    "Residual",
    "Subregime",
    "Subregimes",
    "cut",
    "find_subregimes",
    "holm",
    "mean_residual",
]
