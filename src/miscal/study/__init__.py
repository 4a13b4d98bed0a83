"""Many models on many sets in one command, with the paper's tables and figures and those beyond it.

In: a plan of models and sets.
Out: tables, pages and figures of all pairs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miscal.study.plan_file import read_plan
    from miscal.study.run import StudyDone, study, survey
    from miscal.study.tables import read_tables

__all__ = ["StudyDone", "read_plan", "read_tables", "study", "survey"]

_HOMES = {"StudyDone": "run", "read_plan": "plan_file", "read_tables": "tables", "study": "run", "survey": "run"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"miscal.study.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'miscal.study' has no attribute {name!r}")
