"""Metrics of calibration for Inspect, and a report beside the log of every task.

Inspect finds both by the entry point of this package. It calls the metrics ``miscal/smece``, ``miscal/brier`` and
``miscal/overconfidence``; scorers import them from here. The confidence is the entry ``confidence`` of a score's
metadata, or of its value where that holds several: percent or probabilities. Scores without one, or neither right nor
wrong, are left out, with a warning.

The report is written where the environment variable `VARIABLE` is set.
"""

from __future__ import annotations

import os
import sys
from logging import getLogger
from subprocess import DEVNULL, PIPE

from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.scorer import Metric, SampleScore, metric

__all__ = ["VARIABLE", "CalibrationReport", "brier", "overconfidence", "smece"]

VARIABLE = "MISCAL_INSPECT"
"""Environment variable: 1 to write a report after each task."""

logger = getLogger(__name__)


# every epoch is an answer of its own: averaged, four answers of which half are right would be one of 0.5
@metric(scores="unreduced")
def smece(percent: bool | None = None) -> Metric:
    """Smooth calibration error, in [0, 1]; lower is better (:func:`miscal.metrics.smece`).

    Parameters
    ----------
    percent : bool, optional
        Whether confidences are percent. By default they are if one of them is above 1.
    """
    return _measured("smece", percent)


@metric(scores="unreduced")
def brier(percent: bool | None = None) -> Metric:
    """Brier score, the mean of (confidence - outcome)^2, in [0, 1]; lower is better.

    Parameters
    ----------
    percent : bool, optional
        Whether confidences are percent. By default they are if one of them is above 1.
    """
    return _measured("brier", percent)


@metric(scores="unreduced")
def overconfidence(percent: bool | None = None) -> Metric:
    """Mean confidence minus accuracy, in [-1, 1]: positive where the model is surer than it is right.

    Parameters
    ----------
    percent : bool, optional
        Whether confidences are percent. By default they are if one of them is above 1.
    """
    return _measured("overconfidence", percent)


def _measured(name: str, percent: bool | None) -> Metric:
    from miscal.integrations import inspect_report

    measure = getattr(inspect_report, name)

    def measured(scores: list[SampleScore]) -> float:
        return measure([(one.score.value, one.score.metadata) for one in scores], percent)

    return measured


@hooks(name="calibration_report", description=f"Writes miscal's report beside each log where {VARIABLE}=1.")
class CalibrationReport(Hooks):
    """Write a run folder with ``report.html`` beside the log of a task.

    The work is done by a process of its own, and only read by this one: whatever happens to it, the evaluation goes on
    and its log stays as it is.
    """

    def enabled(self) -> bool:
        """Whether the environment variable asks for it."""
        return os.environ.get(VARIABLE, "").lower() in ("1", "true", "yes", "on")

    async def on_task_end(self, data: TaskEnd) -> None:
        """Write the report, or warn in one line why there is none."""
        import anyio

        try:
            command = [sys.executable, "-m", "miscal.integrations.inspect_report", str(data.log.location)]
            ended = await anyio.run_process(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, check=False)
        except Exception as error:
            logger.warning("miscal wrote no report: %s", error)
            return
        said = (ended.stdout if ended.returncode == 0 else ended.stderr).decode(errors="replace").strip()
        last = said.splitlines()[-1] if said else f"its process ended with status {ended.returncode}"
        if ended.returncode == 0:
            logger.info("miscal wrote %s", last)
        else:
            logger.warning("miscal wrote no report: %s", last)
