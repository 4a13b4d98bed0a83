"""Pairs of which both methods have a run."""

from miscal.study.plan import StudyPair


def named(pair, dataset, model):
    return StudyPair(pair=pair, dataset=dataset, model=model, data="data.parquet")
