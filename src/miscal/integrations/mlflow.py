"""Log a run to MLflow, or to any tracker with the same three functions."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from miscal.base.extras import need

if TYPE_CHECKING:
    from miscal.discovery.summary import Summary
    from miscal.runs.run import Run

__all__ = ["Tracker", "log_run"]


class Tracker(Protocol):
    """What a tracker must have; the module ``mlflow`` is one."""

    def log_metrics(self, metrics: dict[str, float]) -> Any:
        """Store numbers."""

    def log_params(self, params: dict[str, Any]) -> Any:
        """Store settings."""

    def log_artifact(self, local_path: str, artifact_path: str | None = None) -> Any:
        """Store a file."""


def log_run(run: Run | str | Path, *, tracker: Tracker | None = None, prefix: str = "miscal") -> None:
    """Log the numbers, the settings, the table of findings and the page of a run.

    Parameters
    ----------
    run : Run, str or Path
        What :func:`miscal.discover` returned, or the folder of a run.
    tracker : Tracker, optional
        By default the module ``mlflow``, which logs to its active run and starts one where there is none.
    prefix : str, default "miscal"
        Begins the names of numbers and settings, as in ``miscal.smece``, and names the folder of the files.

    Raises
    ------
    InputError
        If no tracker is given and MLflow is not installed.
    FileError, CorruptFile
        If a folder is given that is not that of a run.

    Examples
    --------
    >>> import miscal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(300, 2)), rng.uniform(0.3, 0.9, 300)
    >>> found = miscal.discover(X, rng.random(300) < f, confidence=f, evidence="test", n_jobs=1)
    >>> class Printed:
    ...     def log_metrics(self, metrics):
    ...         print(len(metrics) > 5, metrics["miscal.findings"])
    ...     def log_params(self, params):
    ...         print(params["miscal.rows"])
    ...     def log_artifact(self, local_path, artifact_path=None):
    ...         print(artifact_path, Path(local_path).name)
    >>> log_run(found, tracker=Printed())
    300
    True 0.0
    miscal report.html
    miscal findings.csv
    miscal summary.json
    """
    from miscal.discovery.run import read_run
    from miscal.runs.run import Run

    if tracker is None:
        need("mlflow", "log_run without a tracker of your own")
        import mlflow as tracker
    found = Run(read_run(run)) if isinstance(run, str | Path) else run
    summary = found.summary
    tracker.log_params(_named(prefix, _settings(summary)))
    tracker.log_metrics(_named(prefix, _numbers(summary)))
    with tempfile.TemporaryDirectory(prefix="miscal-") as folder:
        place = Path(folder)
        files = [
            found.report(place / "report.html"),
            _findings(found, place / "findings.csv"),
            _written(summary.to_json(), place / "summary.json"),
        ]
        for path in files:
            tracker.log_artifact(str(path), artifact_path=prefix)


def _named(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in values.items() if value is not None}


def _settings(summary: Summary) -> dict[str, Any]:
    return {
        "rows": summary.n,
        "method": summary.method,
        "evidence": summary.evidence,
        "seed": summary.seed,
        "kind": summary.kind,
        "version": summary.versions.get("miscal"),
    }


def _numbers(summary: Summary) -> dict[str, float | None]:
    """Return the numbers by the names that they have in summary.json; trackers take no None."""
    limits, measured = summary.certificate, summary.global_
    corrected = summary.correction.get("miscal")
    return {
        **{name: getattr(measured, name).value for name in ("accuracy", "confidence", "smece", "ece", "brier")},
        "log_loss": measured.log_loss.value,
        "corrected_smece": summary.corrected_smece.value,
        "corrected_log_loss": None if corrected is None else corrected.all.log_loss,
        "lower_bound_total": _low(limits.lower_bound_total.interval),
        "lower_bound_hidden": _low(limits.lower_bound_hidden.interval),
        "p_value": limits.p_value,
        "findings": float(len(summary.findings)),
    }


def _low(interval: tuple[float | None, float | None] | None) -> float | None:
    return None if interval is None else interval[0]


def _findings(run: Run, path: Path) -> Path:
    """Write the columns of the findings that csv can hold."""
    table = run.content.findings
    flat = [name for name, kind in table.schema.items() if not kind.is_nested()]
    table.select(flat).write_csv(path)
    return path


def _written(text: str, path: Path) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
