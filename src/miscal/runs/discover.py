"""Discover from Python: from a frame, arrays, a file or triples to a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

from miscal.base.arrays import without_batches
from miscal.base.errors import InputError, argument
from miscal.base.signatures import checked_call

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.discovery.run import GivenRows
    from miscal.runs.given import Given
    from miscal.runs.run import Run


@checked_call
def discover(
    data: Any,
    y: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
    probability: Any = None,
    event: Any = None,
    positive: Any = None,
    judge: Any = None,
    human: Any = None,
    labelling_probability: Any = None,
    probabilities: Any = None,
    label: Any = None,
    classes: Any = None,
    embeddings: Any = None,
    embedding_rows: Any = None,
    features: str | float | Sequence[str | float] | None = None,
    text: Any = None,
    metadata: Any = (),
    names_only: Any = (),
    method: Literal["auto", "paper"] = "auto",
    option: Mapping[str, Any] | None = None,
    seed: int = 0,
    epsilon: float | None = None,
    min_rows: int = 30,
    split: Any = None,
    evidence: Literal["all", "test", "time"] | None = None,
    sample: int | None = None,
    adjustment: Literal["family-wise", "fdr"] = "family-wise",
    where: str | None = None,
    allow_leak: str | float | Sequence[str | float] = (),
    leave_out: str | float | Sequence[str | float] = (),
    group: Any = "auto",
    weight: Any = None,
    time: Any = None,
    on_invalid: Literal["error", "drop"] = "error",
    encoding: str = "utf-8",
    csv_escape: str | None = None,
    embed_model: str | None = None,
    threshold: float | Sequence[float] = (),
    cost: tuple[float, float] | None = None,
    map: Literal["auto", "pca", "tsne", "umap"] = "auto",
    redact_text: bool = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Run:
    """Find where a model is over- and under-confident, and test it with outcomes that nothing has learned from.

    The options are those of ``miscal discover``, by the same names. One that names a column may also be the values of
    that column, one for each row. Values are matched to rows by their place, never by an index.

    Parameters
    ----------
    data : frame, array of shape (n, d), path or Triples
        A table with a row for each prediction: a frame of pandas, polars (also lazy), pyarrow or another library that
        narwhals knows, or a dictionary of arrays. An array is the inputs, as embeddings are, and `y` and `confidence`
        stand beside it. A path is read as by the command.
    y : array-like of shape (n,), optional
        Outcomes, 0 or 1: the values of `correct`, or of `event` with `probability`. All columns of a frame are then
        inputs.
    confidence, correct : str or array-like of shape (n,), optional
        Columns of the model's confidence, in [0, 1], and of the outcome, 0 or 1. By default the columns so called, or
        the only one with a usual synonym for name.
    probability, event : str or array-like of shape (n,), optional
        The same two where the probability is of an event, such as a delay or a default.
    positive : optional
        The value of the event's column that is the event, where it does not hold 0/1, false/true or no/yes; or the
        verdict by which people approve.
    judge, human : str or array-like of shape (n,), optional
        The same two where a judge scores answers (a probability, a scale such as 1 to 5, or pass and fail) and people
        approve or reject some of them. Rows without a verdict of people only say how often people would approve.
    labelling_probability : str or array-like of shape (n,), optional
        Beside a judge: the probability by which each row was chosen for people to judge, where they differ.
    probabilities : str, sequence of str, path, frame, or array of shape (n, K), optional
        Probabilities of three or more classes, which sum to 1 in each row, or their logarithms: columns by name or
        pattern, such as ``"p_*"``; or values, which are called by the columns of a frame, or by `classes`.
    label : str or array-like of shape (n,), optional
        Column of the class that each row has. By default the column so called, or the only one with a usual synonym.
    classes : sequence, str or path, optional
        Names of the classes in the order of the probabilities, as the labels write them; of a file one on each line.
    embeddings : array of shape (n, d) or path, optional
        Inputs, in the order of the rows.
    embedding_rows : str or array-like of shape (n,), optional
        Row numbers of `embeddings`, from 0, where they lie in another order.
    features : str or sequence of str, optional
        Columns that describe the inputs, by names or patterns; "auto" takes every column that plays no other part, and
        is the default where nothing else says what the inputs are.
    text : str or sequence of n str, optional
        Column of texts.
    metadata : str, sequence of str, or table of n rows
        Columns that say of what kind a row is; "auto" takes every column that plays no other part.
    names_only : str, sequence of str, or table of n rows
        Columns that name what is found, but that new rows will not have.
    method : {"auto", "paper"}, default "auto"
        How the field is estimated.
    option : mapping of str to object, optional
        Settings of method "paper", such as ``{"neighbours": 50}``.
    seed : int, default 0
        Of all random numbers: the same seed gives the same run.
    epsilon : float in [0, 1), optional
        Rows count as well calibrated where |delta| is at most this. By default 0.05; of events half of the mean
        probability, or of what is missing to 1, where that is less.
    min_rows : int, default 30
        The fewest rows of a regime whose gap is measured.
    split : str or array-like of shape (n,), optional
        Column that says train, val or test; then the test rows alone are evaluated.
    evidence : {"all", "test", "time"}, optional
        Which rows are evaluated: by default all, each judged by fits that have not seen its outcome; with `split` and
        with method "paper", the test rows.
    sample : int, optional
        Learn the field from so many rows. By default from all, or from 200,000 of more than 500,000.
    adjustment : {"family-wise", "fdr"}, default "family-wise"
        What the list of findings promises.
    where : str, optional
        Condition that rows must meet, such as ``"model == 'gpt-4o'"``.
    allow_leak : str or sequence of str
        Columns to use although they tell the outcome as only what comes after it.
    leave_out : str or sequence of str
        Columns, by name or pattern, that "auto" passes over.
    group : {"auto", "none"}, str or array-like of shape (n,), default "auto"
        What is counted once, and stays together in every fold. "auto" finds it: equal inputs, near copies, and the
        column that widens intervals most; ``found.summary.units`` says what was taken. A column, or "seen:day" for the
        days of a column of dates. "none": every row, which is what "auto" means to method "paper".
    weight, time : str or array-like of shape (n,), optional
        Columns of weights, and of dates or numbers that rise with time.
    on_invalid : {"error", "drop"}, default "error"
        What to do about rows with missing or invalid values.
    encoding : str, default "utf-8"
        Of a csv or jsonl file.
    csv_escape : str, optional
        Character before quotation marks inside the quoted fields of a csv file.
    embed_model : str, optional
        What turns texts into numbers: "tfidf", or a sentence-transformers folder or hub id.
    threshold : float or sequence of float in (0, 1)
        Thresholds at which decisions are made; the first is told first.
    cost : (float, float), optional
        What a miss and a needless action cost.
    map : {"auto", "pca", "tsne", "umap"}, default "auto"
        Layout of the two-dimensional maps.
    redact_text : bool, default False
        Leave out texts, and what is made of them.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where method "paper" trains.
    n_jobs : int, optional
        Processes for the fit; by default as many as the processors this process may use.
    progress : bool, optional
        Whether to show how far the work is; by default where somebody can see it, in a notebook or on a terminal.

    Returns
    -------
    Run
        What was found: it shows itself, corrects new rows, and can be audited, compared, monitored and saved.

    Raises
    ------
    InputError
        For anything that cannot be used, with the argument or column, what is allowed, what came and how to mend it.

    Examples
    --------
    >>> import miscal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> region, risk = rng.choice(["north", "south"], 300), rng.uniform(0.3, 0.7, 300)
    >>> defaulted = rng.random(300) < risk + np.where(region == "south", 0.28, -0.28)
    >>> loans = {"risk": risk, "defaulted": defaulted, "region": region}
    >>> found = miscal.discover(loans, probability="risk", event="defaulted", evidence="test", n_jobs=1)
    >>> found.findings["columns"].to_list()
    [['region']]
    >>> found.correct({"risk": [0.5], "region": ["south"]})["corrected"].item() > 0.6
    True
    """
    given = {name: value for name, value in locals().items() if name in COLUMNS}
    settings = {
        "method": method, "options": option or None, "seed": seed, "epsilon": epsilon, "min_rows": min_rows,
        "evidence": evidence, "sample": sample, "adjustment": adjustment, "device": device, "map_method": map,
        "redact_text": redact_text, "threshold": threshold, "cost": cost, "n_jobs": n_jobs,
    }  # fmt: skip
    check_method(method, option, device)
    # a stream can be read once
    data = without_batches(data)
    from miscal.data.triples import Triples
    from miscal.discovery.discover import discover as discover_triples
    from miscal.discovery.run import GivenRows, RunContent, RunMemory
    from miscal.runs.given import together
    from miscal.runs.run import Run
    from miscal.runs.shown_progress import stages

    with stages(progress) as tell:
        if isinstance(data, Triples):
            _refuse_columns(given, y)
            table, triples = None, _with_encoder(data)
        else:
            table = together(data, y, **given)
            triples = read_rows(table.source, method=method, seed=seed, **table.options)
        found = discover_triples(triples, progress=tell, **settings)
    if table is None:
        return Run(RunContent.of(RunMemory(found, triples, GivenRows(), data)))
    rows = GivenRows() if redact_text else _kept(table, triples)
    return Run(RunContent.of(RunMemory(found, triples, rows, data)), table.frames)


COLUMNS = (
    "confidence", "correct", "probability", "event", "positive", "judge", "human", "labelling_probability",
    "probabilities", "label", "classes", "embeddings",
    "embedding_rows", "features", "text", "metadata", "names_only", "split", "where", "allow_leak", "leave_out",
    "group", "weight", "time", "on_invalid", "encoding", "csv_escape", "embed_model",
)  # fmt: skip
"""Arguments that say what the data are; the others say what is done with them."""


def check_method(method: str, option: Mapping[str, Any] | None, device: str) -> None:
    """Refuse a method whose extra is missing, its settings, and a GPU that is not there, before any data are read."""
    from miscal.estimators.registry import make_estimator

    if option and method != "paper":
        paper = argument("method", "paper")
        raise InputError(f"{argument('option')} is for settings of {paper}: leave it out, or add {paper}")
    make_estimator(method, options=option or None, device=device)


def read_rows(source: Any, *, method: str, seed: int, **columns: Any) -> Triples:
    """Read the rows of a run as its method sees them.

    Parameters
    ----------
    source : path or table
    method : str
    seed : int
    **columns
        Options of :func:`miscal.read_triples`.
    """
    from miscal.data.readers import naming_alone, read_triples
    from miscal.estimators.registry import estimator_class

    if not estimator_class(method).sees_columns:
        # the paper counts rows
        columns["group"] = "none" if columns.get("group", "auto") == "auto" else columns["group"]
        columns |= naming_alone(columns.get("metadata", ()), columns.get("names_only", ()))
    return read_triples(source, seed=seed, **columns)


def _refuse_columns(given: Mapping[str, Any], y: Any) -> None:
    defaults = {"on_invalid": "error", "encoding": "utf-8", "group": "auto"}
    plain = {name: one for name, one in given.items() if isinstance(one, (str, tuple, NoneType))}
    asked = [name for name in given if name not in plain or plain[name] not in (None, (), defaults.get(name))]
    if asked or y is not None:
        raise InputError(f"{(asked or ['y'])[0]} says how rows are read, but triples are read already: leave it out")


def _with_encoder(triples: Triples) -> Triples:
    """Return triples whose model can take new rows: what was made of arrays takes arrays."""
    if triples.encoder is not None:
        return triples
    from miscal.data.encoders import Embeddings

    return replace(triples, encoder=Embeddings().fit(triples.X))


def _kept(given: Given, triples: Triples) -> GivenRows:
    """Return what a folder must keep of the rows that were in memory."""
    from miscal.data.readers import open_table
    from miscal.data.readers.matrix import read_matrix
    from miscal.data.readers.rows import numbers_or_checked
    from miscal.discovery.run import GivenRows

    memory = triples.source.get("in_memory", {})
    table = open_table(given.source).load(memory["columns"]) if memory.get("columns") else None
    embeddings = numbers_or_checked(read_matrix(given.options["embeddings"])) if memory.get("embeddings") else None
    return GivenRows.of(table, embeddings)
