"""The numbers of one pair, or of all pairs on a data set.

In: finished runs of the pairs.
Out: rows of the tables of a study.
"""

from collections.abc import Callable, Sequence

from miscal.study.measures import models, pairs, spaces
from miscal.study.measures.models import ModelRows
from miscal.study.pair_result import PairResult, TableRows

MEASURES: tuple[Callable[[PairResult], TableRows], ...] = (
    pairs.measure_pair,
    pairs.measure_corrections,
    pairs.measure_thresholds,
    pairs.measure_curves,
    pairs.measure_histograms,
    pairs.measure_deferral,
    pairs.measure_board,
)
"""What is measured of every pair."""

INTERPRETING: tuple[Callable[[PairResult], TableRows], ...] = (spaces.measure_purity, spaces.measure_layouts)
"""What takes long, and is measured only of the pairs that a plan names under ``interpret``."""

TOGETHER: tuple[Callable[[Sequence[ModelRows]], TableRows], ...] = (models.measure_groups,)
"""What is measured of all pairs on a data set at once."""

COMPARING: tuple[Callable[[Sequence[ModelRows]], TableRows], ...] = (
    models.measure_shared,
    models.measure_rankings,
    models.measure_group_rankings,
    models.measure_transfer_shifts,
)
"""What sets the pairs on a data set side by side, of which there must be two."""
