"""What one pair teaches about another: fields on shared questions, and corrections that travel."""

from __future__ import annotations

from miscal.discovery.run import read_run
from miscal.study.studied import Rows
from miscal.study.transfer.corrections import correction_rows
from miscal.study.transfer.fields import field_rows
from miscal.study.transfer.runs import RunOf, open_run, same_space, shared, space_of


def transfer_rows(a: RunOf, b: RunOf, method: str, *, seed: int = 0) -> Rows:
    """Compare two pairs' fields, and judge each pair's correction on the other.

    Parameters
    ----------
    a, b : RunOf
        Two pairs under one method.
    method : str
        What the tables call the method.
    seed : int, default 0
        Of the draws behind the intervals of correlations.

    Returns
    -------
    dict of str to list of dict
        Tables ``transfer_fields`` (two rows, or none where the pairs share no questions) and ``transfer_corrections``
        (a row for each direction in which a correction can be judged).

    Raises
    ------
    FileError, CorruptFile, MismatchError
        If a folder is no run or was changed, or its data are gone or are no longer what they were.
    InputError
        If a run was made from arrays, which cannot be read again.
    """
    first, second = read_run(a.folder), read_run(b.folder)
    spaces = (space_of(run.summary.settings["source"], of.encoder) for run, of in ((first, a), (second, b)))
    if a.labels.dataset != b.labels.dataset and not same_space(*spaces):
        # nothing can be compared, so the embeddings need not be read
        return {"transfer_fields": [], "transfer_corrections": []}
    one, two = open_run(a.labels, first, a.encoder), open_run(b.labels, second, b.encoder)
    there, back = shared(one, two), shared(two, one)
    corrections = [*correction_rows(one, two, there, method), *correction_rows(two, one, back, method)]
    return {
        "transfer_fields": field_rows(one, two, there, method, seed=seed),
        "transfer_corrections": corrections,
    }


__all__ = ["RunOf", "transfer_rows"]
