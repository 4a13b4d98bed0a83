"""Every number that the ledger of findings was given rather than learned, with what it trades."""

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
    value_share: float = 0.8
    """Share of that error that values of columns get; intervals, pairs and terms, of which there are many more, have
    the rest. Named subjects would otherwise pay for a thousand terms."""
    few_rows: int = 3_000
    """Rows from which strata are wide: a wide stratum leaves more of the group's variance, a narrow one follows f
    better where rows are few. The two widths were compared on planted tables of 10,000 and null tables of 1,000 rows
    before the ledger was built; not tuned since."""
    stratum_rows_of_few: int = 8
    stratum_rows: int = 32
    exact_stratum_rows: int = 8
    """Rows of a stratum of the exact test: at 32 a saturated confidence varies too much within one."""
    exact_below: float = 1e-3
    """Normal p-value below which the exact one is computed: it costs a convolution per stratum."""
    largest_exact_variance: float = 400.0
    """Variance of the number of right answers above which the normal law is taken as exact."""
    min_rows: int = 20
    """Fewest rows of a group, and of the rows outside it: smaller ones could not be told from chance."""
    pair_share: float = 0.01
    """Share of the rows that a pair of values needs: many small pairs cost every other candidate its significance."""
    max_pairs: int = 3_000
    """Pairs at most, the largest first: the order is fixed before any outcome is seen."""
    bins: int = 20
    """Bins of equal counts that intervals are made of; more bins place an end better and cost candidates."""
    widest_interval: float = 0.5
    """Share of the rows of the widest interval: a wider one is told by its complement."""
    few_values: int = 12
    """Numbers of at most so many distinct values are taken value by value."""
    identifier_share: float = 0.5
    """A column of texts with more distinct values than this share of the rows names rows, not groups."""
    max_feature_columns: int = 40
    """Named feature columns are candidates up to so many; beyond, they are the coordinates of an embedding."""
    term_share: float = 0.005
    """Share of the texts that a term needs."""
    max_terms: int = 1_000
    """Terms at most, the commonest first."""
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
