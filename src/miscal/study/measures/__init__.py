"""The numbers of one pair, or of all pairs on a data set: each module fills the tables that it names."""

from collections.abc import Callable, Sequence

from miscal.study.measures import (
    corrections,
    group_rankings,
    groups,
    pairs,
    purity,
    rankings,
    shared,
    slices,
    spaces,
    transfer_shifts,
)
from miscal.study.pair_result import PairResult, TableRows
from miscal.study.pairs_together import ModelRows

MEASURES: tuple[Callable[[PairResult], TableRows], ...] = (
    pairs.measure,
    corrections.measure_corrections,
    slices.measure_thresholds,
    slices.measure_curves,
    slices.measure_histograms,
    corrections.measure_deferral,
    groups.measure_board,
)
"""What is measured of every pair."""

INTERPRETING: tuple[Callable[[PairResult], TableRows], ...] = (purity.measure, spaces.measure_layouts)
"""What takes long, and is measured only of the pairs that a plan names under ``interpret``."""

TOGETHER: tuple[Callable[[Sequence[ModelRows]], TableRows], ...] = (groups.measure_groups,)
"""What is measured of all pairs on a data set at once."""

COMPARING: tuple[Callable[[Sequence[ModelRows]], TableRows], ...] = (
    shared.measure_shared,
    rankings.measure_rankings,
    group_rankings.measure_group_rankings,
    transfer_shifts.measure_transfer_shifts,
)
"""What sets the pairs on a data set side by side, of which there must be two."""
