"""What the summary says of a judge."""

from __future__ import annotations

from pydantic import NonNegativeInt

from miscal.base.document import Number, Part, Probability, Share, Text


class Rate(Part):
    """How often people approve, from 0 to 1; ``lacking`` says why there is no interval.

    ``n_labelled`` of the ``n`` rows have a verdict of people.
    """

    estimate: Number
    interval: tuple[Share, Share] | None = None
    lacking: str | None = None
    n_labelled: NonNegativeInt
    n: NonNegativeInt


class GroupRate(Part):
    """How often people would approve the answers of a group, estimated in several ways.

    ``name`` says what the group is; ``column`` and ``value`` name it where it is a value of a column, ``finding`` is
    its place among the findings, from 1. ``rate`` is of prediction-powered inference, ``judge`` the mean of the judge's
    scores, ``labelled`` of the rows with a verdict alone, and ``rogan_gladen`` of a judge that passes or fails.
    ``ranks`` are of models: the best and the worst rank that one may have, 1 the best; at 95 %, all hold at once.
    """

    name: Text
    column: Text | None = None
    value: Text | None = None
    finding: NonNegativeInt | None = None
    rate: Rate
    judge: Rate
    labelled: Rate
    rogan_gladen: Rate | None = None
    ranks: tuple[NonNegativeInt, NonNegativeInt] | None = None


class ScalePoint(Part):
    """A score of the judge, and how often people approve at it."""

    score: Text
    approval: Probability


class JudgeNumbers(Part):
    """The judge of a run.

    ``scale`` is empty where its scores are probabilities. ``n_unjudged`` rows have no verdict of people. ``groups`` are
    the findings, and the values of columns with few of them; ``model_column`` says which model answered.
    """

    scale: tuple[ScalePoint, ...] = ()
    n_unjudged: NonNegativeInt
    whole: GroupRate
    groups: tuple[GroupRate, ...] = ()
    model_column: Text | None = None
