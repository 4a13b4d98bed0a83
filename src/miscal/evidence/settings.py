"""The constants of certificates and audits: what each of them trades, and where its value comes from."""

from __future__ import annotations

from dataclasses import dataclass

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL

SIGNIFICANCE = 0.05
"""Largest p-value that counts as a rejection, everywhere in miscal: a convention, one false alarm in twenty."""


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of the claim, the certificates and the audits.

    Size and coverage under the defaults are measured by ``benchmarks/nothing.py``, the power of the claim by
    ``benchmarks/power.py``. "Not tuned" means: set once, never varied.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(EVIDENCE_DEFAULTS, n_draws=499).n_draws
    499
    """

    # The claim and its limits.
    significance: float = SIGNIFICANCE
    """False claims against power. A convention."""
    confidence_level: float = CONFIDENCE_LEVEL
    """Coverage of the one-sided lower limits against their height. A convention."""
    z_power: float = 0.8416
    """Normal quantile of the 80 % power that is stated. A higher power promises less. Cohen (1988) suggests 80 %."""
    field_weight: float = 0.25
    """How much the test of the field counts beside the kernel score (1 less this) in the p-value of the claim. Of 0.1
    to 0.5, chosen on 40 draws of three planted regimes: more loses where the field has learned little, less where it
    alone sees the structure."""
    size_quantile: float = 0.95
    """Quantile of the size of a field above which all rows weigh alike: below it, rare regimes drown in the noise of
    other rows; above it, few rows decide. Of 0.6, 0.8, 0.9 and 0.95, by how often a limit is above 0."""
    believed_share: float = 0.5
    """Share of the field that decides whether its sign alone is tried: more gives up limits above 0 where it is noisy,
    less makes them lower where it is strong. Of 0.3, 0.5, 0.7 and 1."""

    # Draws: time and memory against Monte-Carlo error.
    n_draws: int = 1_999
    """Draws behind the hidden limit and p-value; the smallest p-value is 1 / 2,000. Not tuned."""
    drawn_rows: int = 5_000
    """Up to so many rows everything is drawn; above, only sums that few rows decide (time against exactness)."""
    normal_ratio: float = 0.03
    """Largest sum E|part|^3 / variance^1.5 that counts as near to normal (speed against size). A skewness as large as
    this makes a normal p-value of 0.05 one of 0.051, and of 0.001 one of 0.0011 (first Edgeworth term)."""
    most_step: float = 0.05
    """Step of a sum, in its standard deviations, up to which its tail is read off the saddlepoint, not drawn (speed
    against size): half a step is then half of the Monte-Carlo error of 1,999 draws at 5 %. Not tuned."""
    keys_in_memory: int = 1 << 16
    """Sort keys that a block of shuffles holds (memory against calls). Not tuned."""
    draws_in_memory: int = 1 << 19
    """Expected draws that a block of Bernoulli sums holds (memory against calls). Not tuned."""
    least_octave: int = -40
    """Probabilities below 2**-40 are drawn in one group: finer groups would save nothing. Not tuned."""
    drawn_halvings: int = 12
    """Halvings of the range of a limit from draws: 1 / 4,096, finer than their Monte-Carlo error. Not tuned."""
    halvings: int = 20
    """Halvings of the range of a limit without draws: one part in a million. Not tuned."""

    # E[y | f] and the strata of near-equal confidence.
    stratum_rows: int = 8
    """Rows of a stratum: more leave a trend in f inside a stratum (size), fewer leave less to compare (power).
    ``benchmarks/nothing.py`` holds the size with 8; other values were not compared."""
    smoothed_rows: int = 4
    """Rows over which the field is regressed on the confidence: more leave a curve of f in blocks of few rows (size),
    fewer take away more of the field (power). Chosen among 3 to 8 for a field that is a wave in f, in blocks of 30
    rows: 14 of 200 draws are rejected at 5 % (8: 30; without the regression: 48)."""
    lone_share: float = 0.1
    """Share of rows that have a stated confidence to themselves above which a run warns. Not tuned."""
    smallest_window: int = 16
    """Rows of the narrowest window of the local linear fit that is tried (bias against noise). Not tuned."""

    # The kernel score, chosen by power on other draws than those of ``benchmarks/small.py``.
    score_stratum_rows: int = 16
    """Rows of a stratum where all rows are shuffled at once, which is finer in the confidence than blocks are: 16 keep
    15 parts in 16 of what there is to compare (8: 7 in 8), and lose more where a curve of f is steep."""
    score_widths: tuple[float, ...] = (0.5, 1.0)
    """Widths of the local sums in median distances. At 0.35 and below, few columns alone show anything."""
    score_clusters: tuple[int, ...] = (2, 4, 8, 16)
    """Sizes of the partitions: few clusters see broad errors, many see rare ones."""
    score_landmarks: int = 128
    """Places of the local sums (time against chance): 64 and 256 did as well."""
    most_score_rows: int = 50_000
    """Rows beyond these are sampled: by then, what is large enough to matter is seen. Not tuned."""
    most_score_values: int = 100_000_000
    """Inputs beyond these are sampled too (memory): 12,000 rows of 8,192 columns. Not tuned."""
    least_columns: int = 8
    """Columns from which the largest of them counts by itself: the other sums see each of fewer. Not tuned."""
    most_column_values: int = 50_000_000
    """Slopes and steps times rows (memory, 200 MB): of more there are slopes alone, and of twice as many none."""
    column_weight: int = 8
    """As how many of the other eight statistics slopes and steps of columns count. Of 0, 2, 3, 4, 6 and 8, chosen by
    power on draws that ``benchmarks/small.py`` does not have, with one column of 600 and with many that
    matter."""
    score_work: int = 20_000_000
    """Rows times draws: time against Monte-Carlo error. Not tuned."""
    least_score_draws: int = 399
    """Draws of very many rows. Not tuned."""
    shuffled_in_memory: int = 1 << 20
    """Shuffled residuals held at a time (memory against calls). Not tuned."""

    # The power of the kernel score.
    planted_clusters: int = 10
    """Clusters of which a planted error affects one, so that it is on about a tenth of the rows. Not tuned."""
    planted_partitions: int = 4
    """Starts of the clusters (time against chance). Not tuned."""
    planted_places: int = 100
    """Random places whose power is averaged (time against chance). Not tuned."""
    planted_noises: int = 4
    """Draws of the noise for each place; with 400 in all, the power of a size is known to 2 points. Not tuned."""
    planted_halvings: int = 11
    """Bisection steps of a size: one part in 2,000, finer than the noise of the power."""

    # The exact law of a count, by Fourier inversion: time against the last digits.
    count_deviations: float = 8.0
    """Standard deviations on both sides of the mean that the window holds: what is left out is below 1e-14."""
    count_margin: float = 32.0
    """Counts added to them on both sides, for laws so narrow that 8 standard deviations are less than one count."""
    count_exponent: float = 42.0
    """Frequencies at which the transform is below exp(-42) = 6e-19, so lost in rounding, are left out."""

    least_units: int = 10
    """Least units among the evaluation rows: of fewer nothing is claimed, as how much they differ is hardly known."""

    # The audits.
    null_draws: int = 20
    """Refits under a null; each costs a whole fit. The paper's number."""
    n_seeds: int = 5
    """Seeds whose fields are compared; each costs a whole fit. Not tuned."""
    epsilons: tuple[float, ...] = (0.01, 0.05, 0.10, 0.15)
    """Thresholds at which the regimes are cut again. The paper's numbers."""
    bootstrap_draws: int = 1_000
    """Resampled test sets: time against the noise of the 2.5 % and 97.5 % quantiles. Not tuned."""


EVIDENCE_DEFAULTS = EvidenceSettings()
