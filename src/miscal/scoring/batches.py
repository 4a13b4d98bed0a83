"""The batch plan: rows sorted by length and cut by a budget of tokens, fixed before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.errors import InputError
from miscal.scoring.candidates import Encoded


def plan(encoded: Sequence[Encoded], batch_tokens: int) -> list[list[Encoded]]:
    """Cut the rows into batches of at most ``batch_tokens`` padded tokens.

    Rows are sorted by cost, longest first (memory runs out at once or not at all), then by row number, so the plan
    depends on the data and the budget alone: a resumed run meets the same neighbours.

    Parameters
    ----------
    encoded : sequence of Encoded
    batch_tokens : int
        Budget per batch, at least 1; a row above it makes a batch of its own.

    Returns
    -------
    list of list of Encoded

    Raises
    ------
    InputError
        If the budget is below 1.
    """
    if batch_tokens < 1:
        raise InputError(f"batch_tokens must be at least 1; got {batch_tokens}")
    batches: list[list[Encoded]] = []
    widest = 0
    for row in sorted(encoded, key=lambda row: (-row.cost, row.row)):
        if not batches or (len(batches[-1]) + 1) * widest > batch_tokens:
            batches.append([])
            widest = row.cost
        batches[-1].append(row)
    return batches
