"""The packaged demo: real answers of a small real model, as one parquet file."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from miscal.base.arrays import leading_eigenvectors, oriented
from miscal.base.errors import CorruptFile, InputError
from miscal.base.frames import read_parquet
from miscal.data.triples import Triples
from miscal.scoring.questions import Question, question_items

MODEL = "smollm2-135m-instruct"
DIMENSIONS = 128


def path() -> Path:
    """Return the path of the packaged file."""
    return Path(str(files("miscal") / "data" / "demo.parquet"))


def read() -> pl.DataFrame:
    """Return the packaged table.

    Returns
    -------
    polars.DataFrame
        One row per question: ``id``, ``text``, ``confidence`` in [0, 1], ``correct`` 0/1, ``predicted``, ``choices``,
        ``choice_probs``, ``candidate_mass``, ``answer_index``, ``question``, ``domain``, ``model`` and the reduced
        hidden state in ``x_000``, ``x_001``, ... (float32).
    """
    try:
        return read_parquet(path())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise CorruptFile(f"{path()}: the packaged demo cannot be read ({error}); install miscal again") from error


def load() -> Triples:
    """Return the packaged demo as triples: what SmolLM2-135M-Instruct answered to multiple-choice questions.

    Returns
    -------
    Triples
        X float32 (n, 128): principal components of the hidden state at the last prompt token; confidence float64 (n,);
        correct float64 (n,) 0/1; text: question and choices; metadata: ``domain``.

    Examples
    --------
    >>> triples = load()
    >>> len(triples) >= 6000, triples.X.shape[1], sorted(triples.metadata)
    (True, 128, ['domain'])
    """
    table = read()
    return Triples.of(
        table.select(pl.col("^x_[0-9]+$")).to_numpy(),
        confidence=table["confidence"].to_numpy(),
        correct=table["correct"].to_numpy(),
        text=table["text"].to_list(),
        metadata={"domain": table["domain"].to_numpy()},
    )


def questions() -> list[Question]:
    """Return the questions of the packaged demo, to be asked again.

    >>> questions()[0].metadata
    {'domain': 'capitals'}
    """
    columns = read().select("id", "question", "choices", "answer_index", "domain")
    return [
        Question(row["id"], row["question"], tuple(row["choices"]), row["answer_index"], {"domain": row["domain"]})
        for row in columns.iter_rows(named=True)
    ]


def candidate_form() -> str:
    """Return the form of the candidates the packaged answers were scored with."""
    return json.loads(pl.read_parquet_metadata(path())["miscal"])["form"]


def live(*, limit: int | None = None) -> Triples:
    """Ask the model the questions of the packaged demo again and return triples like those of `load`.

    Parameters
    ----------
    limit : int, optional
        Ask the first questions only.

    Returns
    -------
    Triples
        X: principal components of the hidden states of this run, as many as the packaged file has where there are
        enough rows.
    """
    from miscal.scoring.model_source import ModelSpec
    from miscal.scoring.scorer import as_model, evaluate_items, judge

    form = candidate_form()
    items = question_items(questions()[:limit], form=form)
    scored, hidden = judge(items, *evaluate_items(as_model(ModelSpec(MODEL)), items), form)
    reduced, _ = principal_components(hidden, min(DIMENSIONS, *hidden.shape))
    return scored.triples(reduced)


def principal_components(hidden: np.ndarray, dimensions: int) -> tuple[np.ndarray, float]:
    """Project rows on their leading principal components; no label is looked at.

    Parameters
    ----------
    hidden : ndarray of float32, shape (n, width)
    dimensions : int
        Components to keep, at most n and width.

    Returns
    -------
    scores : ndarray of float32, shape (n, dimensions)
        Centred; each component's sign is such that its largest loading is positive.
    kept : float
        Share of the variance kept, in [0, 1].
    """
    if not 1 <= dimensions <= min(hidden.shape):
        raise InputError(f"dimensions must be 1 to {min(hidden.shape)}; got {dimensions}")
    centred = hidden.astype(np.float64) - hidden.mean(axis=0, dtype=np.float64)
    products = centred.T @ centred
    values, vectors = leading_eigenvectors(products, dimensions)
    return (centred @ oriented(vectors)).astype(np.float32), float(values.sum() / np.trace(products))
