"""The constants of the claim, the certificates and the audits: what each trades, and where its value comes from.

Size and coverage under them are measured by ``benchmarks/nothing.py``, the power of the claim by
``benchmarks/power.py``. "Not tuned" means: set once, never varied. They are read as ``settings.N_DRAWS``, so that a
test or a benchmark with fewer draws replaces one here.
"""

from miscal.calibration.metrics import scores

# The claim and its limits.
SIGNIFICANCE = 0.05
"""Largest p-value that counts as a rejection, everywhere in miscal: a convention, one false alarm in twenty."""
CONFIDENCE_LEVEL = scores.CONFIDENCE_LEVEL
"""Coverage of the one-sided lower limits against their height. A convention."""
Z_POWER = 0.8416
"""Normal quantile of the 80 % power that is stated. A higher power promises less. Cohen (1988) suggests 80 %."""
FIELD_WEIGHT = 0.25
"""How much the test of the field counts beside the kernel score (1 less this) in the p-value of the claim. Of 0.1
to 0.5, chosen on 40 draws of three planted regimes: more loses where the field has learned little, less where it
alone sees the structure."""
SIZE_QUANTILE = 0.95
"""Quantile of the size of a field above which all rows weigh alike: below it, rare regimes drown in the noise of
other rows; above it, few rows decide. Of 0.6, 0.8, 0.9 and 0.95, by how often a limit is above 0."""
BELIEVED_SHARE = 0.5
"""Share of the field that decides whether its sign alone is tried: more gives up limits above 0 where it is noisy,
less makes them lower where it is strong. Of 0.3, 0.5, 0.7 and 1."""

# Draws: time and memory against Monte-Carlo error.
N_DRAWS = 1_999
"""Draws behind the hidden limit and p-value; the smallest p-value is 1 / 2,000. Not tuned."""
DRAWN_ROWS = 5_000
"""Up to so many rows everything is drawn; above, only sums that few rows decide (time against exactness)."""
NORMAL_RATIO = 0.03
"""Largest sum E|part|^3 / variance^1.5 that counts as near to normal (speed against size). A skewness as large as
this makes a normal p-value of 0.05 one of 0.051, and of 0.001 one of 0.0011 (first Edgeworth term)."""
MOST_STEP = 0.05
"""Step of a sum, in its standard deviations, up to which its tail is read off the saddlepoint, not drawn (speed
against size): half a step is then half of the Monte-Carlo error of 1,999 draws at 5 %. Not tuned."""
KEYS_IN_MEMORY = 1 << 16
"""Sort keys that a block of shuffles holds (memory against calls). Not tuned."""
DRAWS_IN_MEMORY = 1 << 19
"""Expected draws that a block of Bernoulli sums holds (memory against calls). Not tuned."""
LEAST_OCTAVE = -40
"""Probabilities below 2**-40 are drawn in one group: finer groups would save nothing. Not tuned."""
DRAWN_HALVINGS = 12
"""Halvings of the range of a limit from draws: 1 / 4,096, finer than their Monte-Carlo error. Not tuned."""
HALVINGS = 20
"""Halvings of the range of a limit without draws: one part in a million. Not tuned."""

# E[y | f] and the strata of near-equal confidence.
STRATUM_ROWS = 8
"""Rows of a stratum: more leave a trend in f inside a stratum (size), fewer leave less to compare (power).
``benchmarks/nothing.py`` holds the size with 8; other values were not compared."""
SMOOTHED_ROWS = 4
"""Rows over which the field is regressed on the confidence: more leave a curve of f in blocks of few rows (size),
fewer take away more of the field (power). Chosen among 3 to 8 for a field that is a wave in f, in blocks of 30
rows: 14 of 200 draws are rejected at 5 % (8: 30; without the regression: 48)."""
LONE_SHARE = 0.1
"""Share of rows that have a stated confidence to themselves above which a run warns. Not tuned."""
SMALLEST_WINDOW = 16
"""Rows of the narrowest window of the local linear fit that is tried (bias against noise). Not tuned."""

# The kernel score, chosen by power on other draws than those of ``benchmarks/small.py``.
SCORE_STRATUM_ROWS = 16
"""Rows of a stratum where all rows are shuffled at once, which is finer in the confidence than blocks are: 16 keep
15 parts in 16 of what there is to compare (8: 7 in 8), and lose more where a curve of f is steep."""
SCORE_WIDTHS = (0.5, 1.0)
"""Widths of the local sums in median distances. At 0.35 and below, few columns alone show anything."""
SCORE_CLUSTERS = (2, 4, 8, 16)
"""Sizes of the partitions: few clusters see broad errors, many see rare ones."""
SCORE_LANDMARKS = 128
"""Places of the local sums (time against chance): 64 and 256 did as well."""
MOST_SCORE_ROWS = 50_000
"""Rows beyond these are sampled: by then, what is large enough to matter is seen. Not tuned."""
MOST_SCORE_VALUES = 100_000_000
"""Inputs beyond these are sampled too (memory): 12,000 rows of 8,192 columns. Not tuned."""
LEAST_COLUMNS = 8
"""Columns from which the largest of them counts by itself: the other sums see each of fewer. Not tuned."""
MOST_COLUMN_VALUES = 50_000_000
"""Slopes and steps times rows (memory, 200 MB): of more there are slopes alone, and of twice as many none."""
COLUMN_WEIGHT = 8
"""As how many of the other eight statistics slopes and steps of columns count. Of 0, 2, 3, 4, 6 and 8, chosen by
power on draws that ``benchmarks/small.py`` does not have, with one column of 600 and with many that
matter."""
SCORE_WORK = 20_000_000
"""Rows times draws: time against Monte-Carlo error. Not tuned."""
LEAST_SCORE_DRAWS = 399
"""Draws of very many rows. Not tuned."""
SHUFFLED_IN_MEMORY = 1 << 20
"""Shuffled residuals held at a time (memory against calls). Not tuned."""

# The power of the kernel score.
PLANTED_CLUSTERS = 10
"""Clusters of which a planted error affects one, so that it is on about a tenth of the rows. Not tuned."""
PLANTED_PARTITIONS = 4
"""Starts of the clusters (time against chance). Not tuned."""
PLANTED_PLACES = 100
"""Random places whose power is averaged (time against chance). Not tuned."""
PLANTED_NOISES = 4
"""Draws of the noise for each place; with 400 in all, the power of a size is known to 2 points. Not tuned."""
PLANTED_HALVINGS = 11
"""Bisection steps of a size: one part in 2,000, finer than the noise of the power."""

# The exact law of a count, by Fourier inversion: time against the last digits.
COUNT_DEVIATIONS = 8.0
"""Standard deviations on both sides of the mean that the window holds: what is left out is below 1e-14."""
COUNT_MARGIN = 32.0
"""Counts added to them on both sides, for laws so narrow that 8 standard deviations are less than one count."""
COUNT_EXPONENT = 42.0
"""Frequencies at which the transform is below exp(-42) = 6e-19, so lost in rounding, are left out."""

LEAST_UNITS = 10
"""Least units among the evaluation rows: of fewer nothing is claimed, as how much they differ is hardly known."""

# The audits.
NULL_DRAWS = 20
"""Refits under a null; each costs a whole fit. The paper's number."""
N_SEEDS = 5
"""Seeds whose fields are compared; each costs a whole fit. Not tuned."""
EPSILONS = (0.01, 0.05, 0.10, 0.15)
"""Thresholds at which the regimes are cut again. The paper's numbers."""
BOOTSTRAP_DRAWS = 1_000
"""Resampled test sets: time against the noise of the 2.5 % and 97.5 % quantiles. Not tuned."""
