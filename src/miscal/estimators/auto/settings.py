"""The constants of the default estimator: what each of them trades, and where its value comes from.

"Set by hand" means that the number was chosen when its part was written and has not been tuned by any committed command
since. None was chosen on a test row of the real sets. What all of them together are worth is measured by
`benchmarks/real.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class AutoSettings:
    """The constants of ``method="auto"``; all sizes are numbers of rows unless a comment says otherwise."""

    # --- inputs ---
    # columns kept of a wide embedding, as principal components: time against detail; set by hand
    widest: int = 384
    # rows that learn the components: their error is below that of the labels long before; set by hand
    component_rows: int = 20_000
    # columns up to which products of columns are summed, 256 MB; beyond, products of rows, if fewer; set by hand
    most_products: int = 8_192
    # columns up to which every direction can be learned and the local shift always joins; set by hand
    few_columns: int = 16
    # leading components for trees and clusters: more only add noise columns; set by hand
    n_components: int = 50
    # extra directions and power steps of the randomised decomposition (Halko et al., 2011, advise 5 to 10 and 2; the
    # spectra of embeddings fall slowly)
    component_oversampling: int = 64
    component_power_steps: int = 8
    # logits of the confidence beyond this say the same: stated confidences of 0 and 1 would stretch the level
    level_clip: float = 4.0
    # quantiles that stand for the confidences learned from: a rank is right to 1 / 2,000
    rank_quantiles: int = 2_001

    # --- rows and folds ---
    # fewest rows of positive weight to learn from: some fewer than a run asks for, whose folds leave rows out
    least_rows: int = 20
    # folds of the cross-fitting, and units from which three folds lose little and save two fifths of the time: with
    # 10,000 rows of census the log loss left out changed by less than its error. Units, not rows: three folds of the 90
    # days of flights raised it by up to .026
    n_folds: int = 5
    many_units: int = 10_000
    n_folds_of_many: int = 3

    # points of a path (of penalties, of rounds) that are no better than the best before the rest are left out: the
    # out-of-fold loss falls and then rises, and a second such point changed 1 of 18 sets
    # (`benchmarks/notes/answered.md`)
    patience: int = 1

    # up to so many rows the fits of folds run in threads of one process, where another would take a second to start;
    # beyond, threads wait for each other in Python for longer than that. 500 rows of 384 columns took 9.4 processor
    # seconds in two threads, and 9.9 in one
    most_rows_in_threads: int = 5_000

    # --- kernel scores ---
    # landmarks that span the kernels (Williams & Seeger, 2001): cost grows with their square. With 500 the log loss
    # left out is the same (`benchmarks/notes/answered.md`)
    landmarks: int = 300
    # bandwidths sigma of exp(-d^2 / sigma^2), where two random rows are about 1 apart; set by hand
    many_columns_bandwidths: tuple[float, float] = (0.7 * sqrt(2), 1.4 * sqrt(2))
    few_columns_bandwidths: tuple[float, float] = (0.4 * sqrt(2), 0.8 * sqrt(2))
    few_columns_joint_bandwidth: float = 0.6 * sqrt(2)
    confidence_bandwidth: float = 0.7 * sqrt(2)
    # share of the kernel in x alone, and in the confidence alone, beside their product; set by hand
    alone_share: float = 0.3
    # penalties tried, by out-of-fold log loss: from "no shift" to hardly any smoothing
    penalties: tuple[float, ...] = (1000.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
    # prior variance of intercept and slope in the confidence, in that of a kernel coefficient; set by hand
    linear_variance: float = 1 / 0.3
    # the offset enters the linear part over this, so that it is of about unit size
    offset_scale: float = 3.0
    # eigenvalues of the landmarks' kernel below this share of the largest are rounding
    least_eigenvalue: float = 1e-6

    # --- refined kernels ---
    # fewer rows do not carry a second stage of scores; set by hand
    least_refined_rows: int = 2_000
    # components beside the first stack's score in refined kernels and in the geometry, and their size beside it
    leading_components: int = 10
    refined_component_scales: tuple[float, float] = (0.3, 0.5)

    # --- boosted trees ---
    # fewer rows leave a tree no leaves to speak of; set by hand, as the settings in trees.py
    least_tree_rows: int = 300
    # size of a step and rounds tried, by out-of-fold log loss; the second for trees of all inputs of at least so many
    # rows. Half as many rounds of twice the size had a log loss left out higher by 0.0012 with 500 rows, by up to 0.004
    # on a set with 3,000, and by 0.0001, less than its error, with 6,000; of columns of flights it was higher by 0.0004
    # (`benchmarks/notes/answered.md`)
    tree_rates: tuple[float, float] = (0.05, 0.1)
    tree_rounds: tuple[tuple[int, ...], tuple[int, ...]] = ((25, 50, 100, 150, 200), (12, 25, 50, 75, 100))
    fast_tree_rows: int = 5_000
    # rows of a leaf: a hundredth of all, within these; leaves of 30 rows leave a small table no splits at all
    leaf_rows: tuple[int, int] = (5, 30)
    leaf_share: int = 100

    # --- shift by cluster: chosen on worlds 10 to 15 of `benchmarks/real.py` ---
    n_clusters: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    # fewer rows to a cluster say nothing beyond the prior
    least_cluster_rows: int = 25
    # rows that learn the centres, and passes of k-means: both cost time and change shifts by less than their error
    centre_rows: int = 20_000
    centre_passes: int = 50
    # shifts of a cluster: from -4 to 4 log-odds; half a step of 0.05 is at most 0.006 in probability
    shift_reach: float = 4.0
    shift_steps: int = 161
    # steps of EM: the prior of most likelihood has a few atoms, approached slowly; after so many it is still smooth
    em_steps: int = 200

    # --- shifts by the levels of columns ---
    # standard deviations of the effects of a column's levels that are weighed, in log-odds; set by hand
    level_spreads: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)
    # rounds of backfitting: the effects of columns that go together settle in a few; set by hand
    level_sweeps: int = 5
    # pull of a level's shift to 0 where trees see it, in rows at even odds over 4: independent of any outcome
    level_ridge: float = 5.0

    # --- shifts and slopes of groups that stand out: chosen on draws 200 and 201 of the planted errors of
    # `benchmarks/real.py`, and by out-of-fold log loss of the rows that seed 0 of its columns learns from ---
    # spreads of the effects that differ from 0, in log-odds, and the shares of them that may
    sparse_spreads: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)
    sparse_shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    # nats that the shifts of a column's levels, their slopes, and the shifts of pairs must gain: without these, tables
    # in which nothing is wrong had effects (error 1.0 to 1.6 points, now 0.0)
    least_level_gain: float = 2.0
    least_slope_gain: float = 3.0
    least_pair_gain: float = 5.0
    # rows of a pair of levels that has a shift; groups of a pair of columns, columns paired, pairs kept: all for time
    least_pair_rows: int = 10
    most_pair_groups: int = 20_000
    most_paired_columns: int = 25
    most_pairs: int = 10
    # rounds of backfitting, half of them before pairs join; set by hand
    sparse_sweeps: int = 5

    # --- steps and slopes of few columns of many: chosen on draws that `benchmarks/small.py` does not have ---
    # fewer columns are seen whole by the other scores; fewer rows find nothing among many columns; set by hand
    least_many_columns: int = 8
    least_screened_rows: int = 200
    # shares of the rows below the steps that columns are screened by, the middle one that of signs; rows that tell them
    screened_steps: tuple[float, ...] = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6)
    screened_quantile_rows: int = 1_000
    # values that are screened, rows times columns: time; by then, what is large enough to matter is seen
    screened_values: int = 100_000_000
    # columns and pairs of columns that each fold looks at closely: time
    screened_columns: int = 32
    screened_pairs: int = 8
    # operations of all pairs, and rows below which they are not looked for: 1,000 columns of 4,000 rows take .2 s
    pair_work: int = 4_000_000_000
    least_pair_scan_rows: int = 1_000
    # bins of a screened column, whose edges are its steps, and share of the information that a step leaves on each side
    few_bins: int = 32
    least_side: float = 0.02
    # standard deviations beyond which a slope stays where it is
    slope_reach: float = 3.0
    # in units of chi-squared, for each factor e in the number of candidates; how many steps of a column differ
    candidate_charge: float = 2.0
    steps_to_a_slope: float = 8.0
    # single terms whose products are candidates, terms in all, and terms without a gain after which none is added
    multiplied_terms: int = 6
    most_terms: int = 24
    few_patience: int = 4
    # rows from which the first fold alone says whether terms are looked for at all: time
    least_tried_rows: int = 5_000
    # nats that the terms together must gain out of fold: of noise alone, 1 in 60 draws had that much, 1 in 17 any gain
    least_few_gain: float = 6.0
    # prior precisions of a coefficient: terms that are few and large, and terms that hardly stand out
    few_ridges: tuple[float, ...] = (10.0, 60.0)
    # Newton steps, and the least variance of an outcome in them
    few_newton_steps: int = 3
    least_variance: float = 0.02

    # --- local shift ---
    # rows read from: a query costs one kernel weight for each (the paper's bank is of the same size)
    bank_rows: int = 20_000
    # dimensions of the learned geometry: noise joins with every further one; set by hand
    dimensions: int = 6
    # batch and rate of Adam; the rate falls by a cosine to 0. The kernel of a batch of 512 stays in the cache: a step
    # costs a quarter of one of 1,024, with the same log loss left out (`benchmarks/notes/answered.md`)
    batch: int = 512
    rate: float = 0.05
    # Adam steps in a fold and in the last fit, with few columns and with many: a wide place starts from a fitted score,
    # and 40 steps from there fitted the rows too closely (log loss left out 0.003 worse than 10, at 2,000 rows). With
    # few columns twice as many change nothing (`benchmarks/notes/answered.md`)
    fold_steps: tuple[int, int] = (20, 10)
    final_steps: tuple[int, int] = (30, 10)
    # rows whose leave-one-out loss compares starts and ridges, with few columns and with many: a weak signal needs
    # many, but a wide place has its signal in the score, and fewer rows tell starts apart
    compared_rows: tuple[int, int] = (10_000, 3_000)
    # prior precisions of the shift, by leave-one-out log loss
    ridges: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0)
    # damped Newton steps of the readout, and the largest of them in log-odds: time against a rest that the ridge
    # makes small; set by hand
    newton_steps: int = 3
    newton_limit: float = 2.0
    # the search for one direction: random ones beside the axes, angles in two dimensions, cells of its grid, bandwidths
    # in standard deviations, and the ridge in it
    random_directions: int = 32
    plane_angles: int = 60
    direction_cells: int = 1_024
    direction_bandwidths: tuple[float, ...] = (0.04, 0.08, 0.16, 0.32, 0.64)
    direction_ridge: float = 5.0
    # inverse bandwidth of the start in the whole space, and size of the axes beside a single direction, which must not
    # be 0 or no gradient would find them
    whole_start: float = 1.5
    idle_axis: float = 0.1
    # share of the local shift that must improve the other parts' stack by a standard error for it to join
    trial_share: float = 0.2

    # --- stack and claim ---
    # pull of the weights to their prior, in nats: what a few dozen rows can outvote; set by hand
    stack_shrinkage: float = 3.0
    # units of the rarer outcome at which half of the stacked shift is kept. Of 0, 5, 10 and 20, it lowered the log loss
    # most where 100 to 800 rows hid a shift, and where none was hidden it harmed in a third of the fits of 0; chosen on
    # draws that `benchmarks/nothing.py --only harm` does not have
    trusted_outcomes: float = 10.0
    # score that counts beside any gain: the one-sided 1 % point of the standard normal
    least_score: float = 2.326
    # levels of the confidence in the score test: five, more where a stratum would hold over 200 rows, fewer where it
    # would hold under 10
    least_levels: int = 5
    stratum_rows: int = 200
    least_stratum_rows: int = 10

    # --- support ---
    # standard deviations from the mean beyond which a value of a new row is told of; set by hand
    far_value: float = 10.0
    # a row is supported within `support_stretch` times the distance that this share of the landmarks have to their
    # nearest other: rows of the same kind are left out in less than 1 in 100, and what lies apart is told; set by hand
    support_share: float = 0.99
    support_stretch: float = 2.0


AUTO = AutoSettings()
