"""The constants of the ledger of findings, and what each of them trades."""

from dataclasses import dataclass

from miscal.evidence.settings import SIGNIFICANCE


@dataclass(frozen=True)
class LedgerSettings:
    """The constants of the ledger. "Not tuned" means: set once, never varied by a committed command.

    Examples
    --------
    >>> LedgerSettings().significance
    0.05
    """

    significance: float = SIGNIFICANCE
    """Family-wise error of the whole ledger: the share of tables with nothing hidden in which it may name anything."""
    value_share: float = 0.77
    """Share of the error of named groups that values and trends of columns get; the others, of which there are many
    more, have the rest. With the next two, a value is cut at 0.1 standard errors more than in a scan of values
    alone."""
    pair_share: float = 0.5
    """Share of that rest that pairs of two columns get where there are intervals or terms too. Not tuned."""
    cluster_share_of_error: float = 0.1
    """Share of the error that clusters of inputs get where there are named groups too; at 0.1 the cut of a named group
    rises by 0.03 standard errors. Not tuned."""
    stratum_rows: int = 32
    """Rows of a stratum: a wide one leaves more of the group's variance, a narrow one follows f better. Tables of fewer
    than 3,000 rows had 8, and values a smaller share of the error: of 100 values of a tenth of 1,000 rows, 68 were
    named, now 80, by a plain scan of values 83 (``benchmarks/small.py``); where nothing is hidden, 5 % still
    hold (``benchmarks/nothing.py``)."""
    few_rows: int = 3_000
    stratum_rows_of_few: int = 8
    """Models beside each other have narrower strata below so many rows: not compared with wide ones."""
    exact_below: float = 1e-3
    """Normal p-value below which the exact one is computed: it costs a convolution per stratum."""
    largest_exact_variance: float = 400.0
    """Variance of the number of right answers above which the normal law is taken as exact."""
    min_rows: int = 20
    """Fewest rows of a group, and of the rows outside it: smaller ones do not differ from chance."""
    pair_rows: int = 50
    """Fewest rows of a pair of values: of so many, a difference of a third may be beyond the cut."""
    pair_work: int = 300_000_000
    """Rows times pairs of columns that are looked at, each pair of values counted as `pair_cost` rows: about half a
    minute. Columns of values come before those of bins; pairs of columns beyond it are told."""
    pair_cost: int = 1_000
    bins: int = 40
    """Bins of equal counts that intervals are made of; more bins place an end better and cost candidates. An interval
    of a tenth of the rows may lie half a bin off at either end: of 20 bins, the best then held a quarter other rows."""
    narrow_interval: float = 0.2
    """Share of the rows up to which an interval may end at every bin; a wider one ends at every second."""
    widest_interval: float = 0.5
    """Share of the rows of the widest interval: a wider one is named by its complement."""
    pair_bins: int = 10
    """Bins of a number that may be crossed with a value."""
    few_values: int = 12
    """Numbers of at most so many distinct values are taken value by value."""
    identifier_share: float = 0.5
    """A column of texts with more distinct values than this share of the rows names rows, not groups."""
    term_share: float = 0.005
    """Share of the texts that a term needs."""
    max_terms: int = 1_000
    """Terms at most, the commonest first."""
    cluster_scales: tuple[int, ...] = (8, 16, 32, 64)
    """Numbers of clusters, as rows allow; the finest are also joined to larger ones, one after the other. Groups of
    other sizes are met better by more scales, which cost every cluster its significance."""
    cluster_rows: int = 30
    cluster_share: float = 0.01
    """Fewest rows of a cluster, and least share of the rows."""
    components: int = 20
    """Principal components in which inputs are clustered: more hold finer topics and more noise. Not tuned."""
    cluster_sample: int = 20_000
    """Rows that components and centres are learned from: more cost time in proportion and move no centre."""
    described_overlap: float = 0.6
    """Jaccard index of rows from which named groups describe a found one; below, it is called mixed. At 0.6 of two
    groups of equal size, each holds three quarters of the other."""
    max_mixed: int = 3
    """Clusters at most that no names describe, where columns have names to give: they cannot be acted on, and they
    take rows away from names."""
    gain_of_part: float = 0.05
    """What a second or third part must add to that index: a longer description has to earn its words."""
    described_rows: int = 20_000
    """Rows by which descriptions are chosen: more cost time in proportion."""
    made_of_share: float = 0.5
    """Share of its rows that one or two values must hold for a term to be labelled by them."""
    nearly_all: float = 0.9
    """Share of a mixed group's rows from which on its most common value alone is named of the column. Not tuned."""
    telling_share: float = 0.4
    telling_lift: float = 3.0
    """A term is named of a mixed group where at least this share of its texts has it, and this many times the share of
    the others: a list of words that mean nothing is worse than none."""
    variance_left: float = 0.05
    """A candidate that the groups chosen before it leave less than this share of its variance says nothing new."""
    alias_overlap: float = 0.8
    """Jaccard index of rows from which two candidates name one group."""
    alias_distance: float = 0.5
    """A better kind of name is taken if its z is within so much of the strongest."""
    max_aliases: int = 5
    max_findings: int = 50
    """Findings at most: each costs one product with all candidates."""
    examples: int = 5
    """Rows that a finding names as examples."""

    def stratum_width(self, n: int) -> int:
        """Rows of a stratum of near-equal confidence, of n rows in all."""
        return self.stratum_rows_of_few if n < self.few_rows else self.stratum_rows


LEDGER_DEFAULTS = LedgerSettings()
