"""One commit of each benchmark for a whole study, so that all models are asked the same questions."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from miscal.base.errors import MiscalError
from miscal.study.cells import Cell, dataset_of
from miscal.study.folder import StudyFolder
from miscal.study.plan import Pair, Plan


def pinned(plan: Plan, folder: StudyFolder, coming: Sequence[Cell]) -> Plan:
    """Give the pairs on a benchmark of the hub the commit that the study asks, and note it in the folder.

    The commit is the one that the study asked before; else the newest. Pairs that name a revision keep it. Where the
    hub cannot be asked nothing is changed: the cells themselves say so.

    Parameters
    ----------
    plan : Plan
    folder : StudyFolder
    coming : sequence of Cell
        That are to be computed; without one that asks a benchmark the hub is left alone.

    Returns
    -------
    Plan
    """
    from miscal.scoring.hub import HUB_TASKS, commit_of

    known = folder.revisions()
    asking = [dataset_of(plan, cell)[0].score for cell in coming if cell.kind == "score"]
    for task in dict.fromkeys(one.task for one in asking if one.task in HUB_TASKS and one.task_revision is None):
        if task not in known:
            with contextlib.suppress(MiscalError):
                known[task] = commit_of(task)
                folder.save_revisions(known)
    return plan.model_copy(update={"pairs": [_with(pair, known) for pair in plan.pairs]})


def _with(pair: Pair, known: dict[str, str]) -> Pair:
    if pair.score is None or pair.score.task_revision is not None or pair.score.task not in known:
        return pair
    return pair.model_copy(update={"score": pair.score.model_copy(update={"task_revision": known[pair.score.task]})})
