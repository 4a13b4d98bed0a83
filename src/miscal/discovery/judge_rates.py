"""How often people would approve the answers of a run, by what people, the judge and the correction say together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.base.document import clean_text
from miscal.base.vocabulary import JUDGE
from miscal.data.judged import JudgeReading, UnjudgedRows
from miscal.data.readers.outcomes import scale_words
from miscal.data.triples import Triples
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.summary_parts import GroupRate, JudgeNumbers, Rate, ScalePoint
from miscal.evidence.judged_rows import JudgedRows, PassRate, judge_rate, pass_rate
from miscal.findings.conditions import Frame, Value
from miscal.findings.ledger.frames import frame_of_rows

MOST_VALUES = 20
"""Columns with more values than this are not listed value by value."""

_SHOWN_SCORES = 12
"""Scores of a scale that are listed; of longer ones so many from its lowest to its highest."""

_ANY_CHANCE = 0.5
"""Stands for the labelling probability of a row that was not labelled, which no estimate looks at."""


@dataclass(frozen=True, eq=False)
class _Scored:
    """All rows that the judge scored, those that people have judged first.

    `score`, (n,) float64: what the judge says, in [0, 1].
    """

    rows: JudgedRows
    score: NDArray[np.float64]
    frame: Frame


def judge_numbers(found: FittedRows) -> JudgeNumbers | None:
    """Estimate pass rates of all rows, of the findings, and of the values of columns.

    `found`: with its findings. Returns None where no judge was named.
    """
    reading = found.triples.judged
    if found.triples.kind != JUDGE or reading is None:
        return None
    scored = _scored(found, reading)
    everything = np.full(len(scored.score), True)
    groups = [_rate(scored, inside, **about) for about, inside in _groups(found, scored)]
    scale: tuple[ScalePoint, ...] = ()
    if reading.scale is not None:
        words = scale_words(reading.scale)
        chosen = np.unique(np.linspace(0, len(words) - 1, min(len(words), _SHOWN_SCORES)).round().astype(int))
        scale = tuple(ScalePoint(score=words[at], approval=reading.scale.approval[at]) for at in chosen)
    return JudgeNumbers(
        scale=scale,
        n_unjudged=len(reading.unjudged),
        whole=_rate(scored, everything, name="all answers"),
        groups=tuple(groups),
    )


def _scored(found: FittedRows, reading: JudgeReading) -> _Scored:
    triples, others = found.triples, reading.unjudged
    m = len(others)
    predicted = found.model.correct(others.X, others.confidence).corrected if m else np.zeros(0)
    X = np.concatenate([triples.X, others.X]) if m else triples.X
    metadata = {name: _joined(values, others.metadata[name]) for name, values in triples.metadata.items()}
    chance = None if reading.labelling is None else np.concatenate([reading.labelling, np.full(m, _ANY_CHANCE)])
    cluster = _clusters(triples, others) if m else triples.group
    weight = None if triples.weight is None else np.concatenate([triples.weight, others.weight])
    rows = JudgedRows.of(
        np.concatenate([found.estimate.corrected, predicted]),
        np.concatenate([triples.correct, np.full(m, np.nan)]),
        labelling_probability=chance, cluster=cluster, weight=weight,
    )  # fmt: skip
    text = None if triples.text is None else (*triples.text, *(others.text or ()))
    frame = frame_of_rows(metadata, X, triples.encoder, text=text, clusters=found.ledger.clusters)
    return _Scored(rows, np.concatenate([triples.confidence, others.confidence]), frame)


def _clusters(triples: Triples, others: UnjudgedRows) -> NDArray | None:
    """Return what rows are counted by; unjudged ones by themselves where the run found units that it cannot see."""
    if triples.group is None or others.group is not None:
        return None if triples.group is None else _joined(triples.group, others.group)
    by = triples.counted_by.column
    if by in triples.metadata and by in others.metadata:
        return _joined(triples.metadata[by], others.metadata[by]).astype(str)
    _, number = np.unique(triples.group, return_inverse=True)
    return np.concatenate([number, number.max() + 1 + np.arange(len(others))])


def _joined(first: NDArray, second: NDArray | None) -> NDArray:
    second = first[:0] if second is None else second
    if first.dtype.kind == second.dtype.kind and first.dtype.kind in "biufM":
        return np.concatenate([first, second])
    return np.concatenate([first.astype(object), second.astype(object)])


def _groups(found: FittedRows, scored: _Scored) -> Iterator[tuple[dict, NDArray[np.bool_]]]:
    for place, one in enumerate(found.ledger.findings, start=1):
        if one.condition.lacks(scored.frame) is None:
            yield {"name": one.description, "finding": place}, one.condition.rows(scored.frame)
    for column in found.triples.metadata:
        values = scored.frame.texts(column)
        known = sorted({value for value in values if value is not None})
        kind = scored.frame.columns[column].dtype.kind
        if 2 <= len(known) <= MOST_VALUES and kind in "Ob":
            for value in known:
                about = {"column": clean_text(column), "value": clean_text(value)}
                yield {"name": clean_text(Value(column, value, "text").words), **about}, values == value


def _rate(scored: _Scored, inside: NDArray[np.bool_], **about: object) -> GroupRate:
    rows, score = scored.rows.take(inside), scored.score[inside]
    return GroupRate(
        **about,  # type: ignore[arg-type]
        rate=_stored(pass_rate(rows)),
        judge=_stored(judge_rate(rows, score)),
    )


def _stored(rate: PassRate) -> Rate:
    known = rate.low is not None and rate.high is not None
    interval = (rate.low, rate.high) if known else None
    about = {"n_labelled": rate.n_labelled, "n": rate.n}
    return Rate(estimate=rate.estimate, interval=interval, lacking=rate.lacking, **about)  # type: ignore[arg-type]
