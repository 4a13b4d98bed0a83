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

    "Not tuned" means: set once on the packaged demo and synthetic clouds, never varied systematically. The laws that
    the values must keep (planted parts are found, one cloud stays one part, noise confirms nothing) are tests in
    ``tests/findings``.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(SETTINGS, max_parts=3).max_parts
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

    # The geometry in which parts are cut.
    coordinates_weight: float = 0.5
    """Scale of the learned coordinates beside the inputs: parts that are miscalibrated alike (high) against parts with
    a common subject (low). Not tuned."""
    n_components: int = 8
    """Leading components of the inputs: common subjects against dimensions of noise. Not tuned."""
    component_rows: int = 5_000
    """Rows that the components are fitted on (time against their noise). Not tuned."""
    sample_rows: int = 10_000
    """Rows that clusters are fitted on (time against their noise). Not tuned."""

    # How many parts.
    prediction_strength: float = 0.8
    """Least prediction strength of a number of parts: fewer, surer parts against more. Tibshirani and Walther (2005)
    recommend 0.8 to 0.9."""
    halvings: int = 4
    """Random halvings that it is averaged over (time against its noise). Not tuned."""
    starts: int = 4
    """Starts of k-means (time against poor optima). Not tuned."""
    separation: float = 0.78
    """Neighbouring parts with like fields stay apart from here on: halves of one cloud called parts (lower) against two
    clouds called one (higher). Between 0.75, the halves of a uniform cloud, and 0.8, two normal clouds four standard
    deviations apart (:func:`miscal.findings.parts.separation`)."""
    delta_step: float = 0.03
    """Difference of mean fields from which neighbouring parts are two in any case: about the standard error of a mean
    residual of 250 rows. Not tuned."""
    max_parts: int = 8
    """Parts of a regime that a person still reads. Not tuned."""
    min_rows: int = 50
    """Least train and validation rows of a part: small parts against parts that no test could confirm. Not tuned."""
    min_share: float = 0.01
    """Least share of the train and validation rows of a part, for large data. Not tuned."""

    # Metadata that are commoner in a part than elsewhere.
    max_items: int = 6
    """Values shown of a part. Not tuned."""
    min_count: int = 5
    """Rows that a value needs in a part to be shown, and hence in all to be tested. Not tuned."""
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
    """Keywords of a part. Not tuned."""
    min_term_texts: int = 5
    """Texts of all that a keyword needs to be counted at all (memory against rare words). Not tuned."""
    min_term_rows: int = 3
    """Rows of a part that a keyword needs. Not tuned."""
    min_term_share: float = 0.02
    """Share of the part's rows that a keyword needs: typical words against rare ones. Not tuned."""

    # Names.
    clause_share: float = 0.4
    """Least share of a part that the values in its name cover, or that its rule holds for. Not tuned."""
    clause_lift: float = 2.0
    """How many times as common as overall they must be there: true names (high) against any name (low). Less is asked
    of large parts (:func:`miscal.findings.naming.needed_lift`). Looked at on the answers of two language models."""
    value_share: float = 0.1
    """Least share of the part of each value in its name. Not tuned."""
    whole_share: float = 0.95
    """Share of the part from which its name does not say that some rows are different. Not tuned."""
    word_share: float = 0.3
    """Least share of a part's rows that have one of the words in its name: true names (high) against any name (low).
    Looked at on the answers of two language models."""
    word_lift: float = 3.0
    """How many times as common as outside each of these words must be, and so the share of rows with one. As above."""
    max_words: int = 4
    """Words in a name. Not tuned."""
    max_values: int = 3
    """Values in a name: precise names against short ones. Not tuned."""
    nearly_best: float = 0.85
    """Of columns that tell at least this share of what the best tells, the user's first is named. Not tuned."""
    max_named_features: int = 30
    """With more features than this, names do not mention any: embeddings have none that mean something."""
    rule_depth: int = 2
    """Thresholds on features in a name: precise against short. Not tuned."""

    # Exemplars.
    n_exemplars: int = 5
    """Exemplars of a part. Not tuned."""
    exemplar_pool: int = 500
    """Rows nearest the centre that they are chosen from (typical against different). Not tuned."""
    text_start: int = 80
    """Texts begin alike if so many first characters are the same. Not tuned."""


SETTINGS = FindingsSettings()
