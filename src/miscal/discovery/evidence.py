"""Which rows are evaluated: the kinds of evidence, and what data cannot have them."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from miscal.base.errors import InputError, argument
from miscal.data.splits import MIN_SPLIT
from miscal.data.triples import Triples

Evidence = Literal["all", "test", "time"]

ALL: Evidence = "all"
"""Every row is evaluated: each is judged by fits that never saw its outcome."""

TEST: Evidence = "test"
"""The rows of the split 'test' are evaluated, and nothing is learned from them."""

TIME: Evidence = "time"
"""Rows in the order of time: each is judged by a fit on strictly earlier rows. The first block only teaches."""


def evidence_of(triples: Triples, method: str, evidence: Evidence | None) -> Evidence:
    """Say which rows are evaluated: what the user asked for, or the default.

    `triples`: a split that they carry is the user's. `method`: the estimator. "paper" chooses on one validation split,
    so that its default is ``"test"``. `evidence`: what the user asked for.

    Examples
    --------
    >>> rows = Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0])
    >>> evidence_of(rows, "auto", None), evidence_of(rows, "paper", None)
    ('all', 'test')
    """
    if evidence not in (None, ALL, TEST, TIME):
        raise InputError(f"evidence must be 'all', 'test' or 'time'; got {evidence!r}")
    if evidence in (ALL, TIME) and triples.split is not None:
        who = "every row be evaluated" if evidence == ALL else "rows are evaluated in the order of time"
        raise InputError(
            f"evidence {evidence!r} lets {who}, but the data name a split, whose test rows are set apart: leave the "
            "split out, or use evidence 'test'"
        )
    if evidence == TIME:
        refuse_no_order(triples)
    return evidence or (TEST if method == "paper" or triples.split is not None else ALL)


def refuse_learned_scale(triples: Triples, evidence: Evidence) -> None:
    """Refuse test rows that would have taken part in learning what the scores stand for."""
    learned = triples.judged is not None and triples.judged.scale is not None
    if learned and evidence != ALL and triples.split is None:
        raise InputError(
            f"evidence {evidence!r} sets rows apart, but what the judge's scores stand for was learned from all rows "
            f"that people have judged: use evidence 'all', name the test rows ({argument('split', takes='COL')}), or "
            "give the judge's probability in place of its score"
        )


def refuse_time(evidence: Evidence) -> None:
    """Refuse several classes in the order of time."""
    if evidence == TIME:
        raise InputError(
            "evidence 'time' is not offered for several classes yet: use evidence 'all' or 'test', or give one class "
            f"as an event ({argument('probability', takes='COL')} {argument('event', takes='COL')} "
            f"{argument('positive', takes='VALUE')})"
        )


def refuse_no_order(triples: Triples) -> None:
    """Refuse rows without times, of one time, or in groups that span blocks of time.

    Examples
    --------
    >>> refuse_no_order(Triples.of([[0.0], [1.0]], confidence=[0.5, 0.9], correct=[1, 0]))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: evidence 'time' judges rows by earlier ones: name the column of times (`time`)
    """
    if triples.time is None:
        raise InputError(
            f"evidence 'time' judges rows by earlier ones: name the column of times ({argument('time', takes='COL')})"
        )
    block = triples.time_block
    if block.max() == 0:
        raise InputError(
            "evidence 'time' judges rows by earlier ones, but nearly all rows have one time: name another column with "
            f"{argument('time')}, or use evidence 'all'"
        )
    parts = [triples.time[block == number] for number in np.unique(block)]
    if any(one.max() >= two.min() for one, two in pairwise(parts)):
        raise InputError(
            "evidence 'time' judges rows by strictly earlier ones, but the groups reach so far in time that no five "
            f"blocks of time keep each of them together: group by time ({argument('group', 'COL:day')}), leave the "
            "groups out, or use evidence 'all'"
        )


def check_first_block(triples: Triples) -> None:
    """Refuse rows whose first block of time is too small to teach."""
    first = triples.correct[triples.time_block == 0]
    if len(first) < MIN_SPLIT["train"] or first.min() == first.max():
        raise InputError(
            f"evidence 'time': the first block of time only teaches, and needs at least {MIN_SPLIT['train']} rows with "
            f"both outcomes; it has {len(first)} rows, {int(first.sum())} of them with outcome 1: give more rows, or "
            "use evidence 'all'"
        )
