"""Discover from Python: from a frame, arrays, a file or triples to a run."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from miscal.base.arrays import without_batches
from miscal.base.errors import InputError, argument
from miscal.base.options import of_fields, takes
from miscal.base.signatures import checked_call
from miscal.data.columns import Columns
from miscal.runs.settings import DiscoverySettings
from miscal.runs.shown_progress import stages

if TYPE_CHECKING:
    from miscal.data.triples import Triples
    from miscal.runs.run import Run


@checked_call
@takes(Columns, DiscoverySettings)
def discover(
    data: Any,
    y: Any = None,
    *,
    min_rows: int = 30,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
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
    **options
    min_rows : int, default 30
        The fewest rows of a regime whose gap is measured; 1, as in the paper, measures regimes of any size.
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
        For anything that cannot be used, with the argument or column, what is allowed, what came and how to fix it.

    Examples
    --------
    >>> import miscal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> region, risk = rng.choice(["north", "south"], 300), rng.uniform(0.3, 0.7, 300)
    >>> defaulted = rng.random(300) < risk + np.where(region == "south", 0.28, -0.28)
    >>> loans = {"risk": risk, "defaulted": defaulted, "region": region}
    >>> found = miscal.discover(loans, probability="risk", event="defaulted", evidence="test", n_jobs=1)
    >>> found.findings["group"].to_list()
    ['region = north']
    >>> found.correct({"risk": [0.5], "region": ["south"]})["corrected"].item() > 0.6
    True
    """
    columns, settings = of_fields(Columns, options), of_fields(DiscoverySettings, options)
    check_settings(settings)
    # a stream can be read once
    data = without_batches(data)
    from miscal.data.encoders.features import Embeddings
    from miscal.data.readers.opening import open_source
    from miscal.data.readers.source import numbers_or_checked, read_matrix
    from miscal.data.triples import Triples
    from miscal.discovery.discover import discover as discover_triples
    from miscal.discovery.run import GivenRows
    from miscal.runs.given import put_together
    from miscal.runs.run import Run

    with stages(progress) as tell:
        if isinstance(data, Triples):
            asked = {one.name: (getattr(columns, one.name), one.default) for one in fields(columns)} | {"y": (y, None)}
            # values of a column, such as an array, are compared with nothing
            named = [
                name
                for name, (value, default) in asked.items()
                if value is not None and not (isinstance(value, (str, tuple)) and value in ((), default))
            ]
            if named:
                raise InputError(f"{named[0]} says how rows are read, but triples are read already: leave it out")
            # a model can take new rows: what was made of arrays takes arrays
            triples = data if data.encoder is not None else replace(data, encoder=Embeddings().fit(data.X))
        else:
            table = put_together(data, y, **vars(columns))
            triples = read_rows(table.source, settings, **table.options)
        found = discover_triples(triples, progress=tell, n_jobs=n_jobs, min_rows=min_rows, **settings.of_discovery())
    if isinstance(data, Triples):
        return Run(replace(found, given=data))
    # what a folder must keep of the rows that were in memory
    memory = triples.source.get("in_memory", {})
    rows = open_source(table.source).load(memory["columns"]) if memory.get("columns") else None
    embeddings = numbers_or_checked(read_matrix(table.options["embeddings"])) if memory.get("embeddings") else None
    return Run(replace(found, kept=GivenRows.of(rows, embeddings), given=data), table.frames)


def check_settings(settings: DiscoverySettings) -> None:
    """Refuse a method or map whose extra is missing, settings, or a GPU that is not there, before data are read."""
    from miscal.discovery.layout import check_layout
    from miscal.estimators.registry import make_estimator

    if settings.option and settings.method != "paper":
        paper = argument("method", "paper")
        raise InputError(f"{argument('option')} is for settings of {paper}: leave it out, or add {paper}")
    if settings.quick and settings.method != "auto":
        raise InputError(f"{argument('quick', True)} has an estimator of its own: leave {argument('method')} out")
    make_estimator(settings.estimator, options=settings.option or None, device=settings.device)
    check_layout(settings.map)


def read_rows(source: Any, settings: DiscoverySettings, **columns: Any) -> Triples:
    """Read the rows of a run as its method sees them; the columns are those of :func:`miscal.read_triples`."""
    from miscal.data.readers.read import read_triples
    from miscal.data.readers.roles import naming_alone
    from miscal.estimators.registry import estimator_class

    if not estimator_class(settings.estimator).sees_columns:
        # the paper counts rows
        columns["group"] = "none" if columns.get("group", "auto") == "auto" else columns["group"]
        columns |= naming_alone(columns.get("metadata", ()), columns.get("names_only", ()))
    return read_triples(source, seed=settings.seed, **columns)
