"""Runs of planted pairs on disk: three models on one data set, and one on another that shares some questions."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from miscal.data.readers import read_triples
from miscal.discovery.discover import discover
from miscal.discovery.run import write_files
from miscal.study.plan import StudyPair

N, COPIED = 400, 40
SMALL = {"sigmas": [0.3], "lambdas": [0.01], "max_epochs": 3}


class PairRun(NamedTuple):
    pair: StudyPair
    folder: Path


def named(pair, dataset, model):
    return StudyPair(pair=pair, dataset=dataset, model=model, data="data.parquet")


def questions(seed, n=N):
    rng = np.random.default_rng(seed)
    return {"id": [f"s{seed}-q{i}" for i in range(n)], **{f"x_{j}": rng.normal(size=n) for j in range(3)}}


def answers(asked, sign, seed):
    """A model that is under-confident where sign * x_0 > 0 and over-confident elsewhere, hardly ever by chance."""
    rng = np.random.default_rng(100 + seed)
    n = len(asked["id"])
    confidence = rng.uniform(0.45, 0.55, n)
    correct = rng.random(n) < confidence + 0.44 * np.sign(sign * np.asarray(asked["x_0"]))
    return pl.DataFrame({**asked, "confidence": confidence, "correct": correct.astype(int)})


def write_run(table, folder, pair, split, **inputs):
    folder.mkdir()
    table.write_parquet(folder / "data.parquet")
    # what decides nearly all outcomes would be taken for something known only after them
    triples = read_triples(folder / "data.parquet", **(inputs or {"features": "x_*", "allow_leak": "x_0"}))
    split = None if split is None else np.array(split)
    found = discover(
        replace(triples, split=split), method="paper", options=SMALL, n_jobs=1, map_method="pca",
        evidence=None if split is not None else "all",
    )  # fmt: skip
    (folder / "run").mkdir()
    write_files(found, folder / "run")
    return PairRun(pair, folder / "run")


SPLIT = ["train"] * 200 + ["val"] * 40 + ["test"] * 160


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    base = tmp_path_factory.mktemp("pairs")
    one, other = questions(0), questions(1)
    # questions of the other set that the first set has too, some of its training rows, under other ids
    for name in ("x_0", "x_1", "x_2"):
        other[name][-COPIED:] = one[name][:COPIED]
    return {
        "a": write_run(answers(one, 1, 1), base / "a", named("a", "one", "A"), SPLIT),
        "like": write_run(answers(one, 1, 2), base / "like", named("like", "one", "B"), SPLIT),
        "opposite": write_run(answers(one, -1, 3), base / "opposite", named("opposite", "one", "C"), SPLIT),
        "other": write_run(answers(other, 1, 4), base / "other", named("other", "two", "A"), SPLIT),
    }
