"""The constants of regimes, parts, names and enrichment: what each trades, and where its value comes from."""

from collections.abc import Mapping
from dataclasses import dataclass

from miscal.base.vocabulary import Kind
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.evidence.settings import EVIDENCE_DEFAULTS, SIGNIFICANCE

EPSILON = 0.05
"""Default least size of a field that counts as miscalibrated: small errors called miscalibrated against errors passed
over. The paper's number; each run may choose another, and ``miscal audit`` shows how much depends on it."""

RELATIVE: Mapping[Kind, float] = {"event": 0.5}
"""The default is no more than this share of the mean probability, or of what is missing to 1, where that is less: five
points are no small error of a risk of one in a hundred. A convention, not tuned: with it a risk of 2 in 1,000 counts as
well calibrated where the event happens in 1 to 3 of 1,000. It meets the usual band at mean risks of 10 and 90 %."""


def default_epsilon(kind: Kind, mean: float) -> float:
    """Return the default half-width of the band of the field that counts as well calibrated.

    `mean`: mean probability that the model states, in [0, 1]. No outcome takes part in the choice.

    Examples
    --------
    >>> default_epsilon("event", 0.3), default_epsilon("event", 0.00374), default_epsilon("answer", 1.0)
    (0.05, 0.0019, 0.05)
    """
    relative = RELATIVE.get(kind, 0.0) * min(mean, 1 - mean)
    # two digits are enough, and can be read
    return EPSILON if relative >= EPSILON or relative == 0 else float(f"{relative:.1e}")


@dataclass(frozen=True)
class FindingsSettings:
    """Settings of what is said of a field.

    "Not tuned" means: set once on the packaged demo and synthetic clouds, never varied systematically.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(SETTINGS, max_items=3).max_items
    3
    """

    # Tests.
    significance: float = SIGNIFICANCE
    """False alarms against missed parts, after adjustment for how many are tested. A convention."""
    confidence_level: float = CONFIDENCE_LEVEL
    """Of the intervals of residuals. A convention."""
    z_interval: float = 1.959964
    """Normal quantile of the 95 % interval of an odds ratio. A convention."""

    stratum_rows: int = EVIDENCE_DEFAULTS.stratum_rows
    """Rows of near-equal confidence that a part is compared with: more leave a trend in them (size), fewer leave less
    to compare (power). That of the certificates."""

    # Metadata that are commoner in a regime than elsewhere.
    max_items: int = 6
    """Values shown of a regime. Not tuned."""
    min_count: int = 5
    """Rows that a value needs in a regime to be shown, and hence in all to be tested. Not tuned."""
    numeric_values: int = 12
    """A numeric column with more distinct values is cut at its quartiles. Not tuned."""
    identifier_share: float = 0.5
    """A column with more distinct values than this share of its rows is an identifier and explains nothing."""
    label_length: int = 40
    """Characters of a value that are shown. Not tuned."""

    # Keywords.
    max_texts: int = 20_000
    """Rows that keywords are counted in (time and memory against rare words). Not tuned."""
    text_length: int = 2_000
    """Characters of a text that are counted. Not tuned."""
    max_keywords: int = 8
    """Keywords of a regime. Not tuned."""
    min_term_texts: int = 5
    """Texts of all that a keyword needs to be counted at all (memory against rare words). Not tuned."""
    min_term_rows: int = 3
    """Rows of a regime that a keyword needs. Not tuned."""
    min_term_share: float = 0.02
    """Share of the regime's rows that a keyword needs: typical words against rare ones. Not tuned."""

    # Exemplars.
    n_exemplars: int = 5
    """Exemplars of a regime. Not tuned."""
    exemplar_pool: int = 500
    """Rows nearest the mean field that they are chosen from (typical against different). Not tuned."""
    text_start: int = 80
    """Texts begin alike if so many first characters are the same. Not tuned."""


SETTINGS = FindingsSettings()
