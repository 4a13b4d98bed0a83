"""Find where a probabilistic model is wrong about its own confidence.

Names are imported when they are first used, so that ``import miscal`` costs next to nothing.

Examples
--------
>>> import miscal
>>> miscal.MiscalibrationField().method
'auto'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from miscal import metrics, synthetic
    from miscal.base.errors import MiscalError
    from miscal.data.readers import read_triples
    from miscal.data.triples import Triples
    from miscal.discovery.discover import Discovery, discover
    from miscal.discovery.run import read_run
    from miscal.discovery.saved_model import load_model
    from miscal.estimators.estimate import FieldEstimate
    from miscal.estimators.field import MiscalibrationField
    from miscal.estimators.honest import honest_field
    from miscal.report import write_run
    from miscal.report.displays import (
        DecisionDisplay,
        FieldDisplay,
        FindingsDisplay,
        MapDisplay,
        ReliabilityDisplay,
    )
    from miscal.runs.compare.command import write_comparison
    from miscal.runs.compare.comparison import compare
    from miscal.runs.compare.document import RunComparison
    from miscal.runs.monitor.command import monitor
    from miscal.runs.monitor.document import Monitoring

__all__ = [
    "DecisionDisplay",
    "Discovery",
    "FieldDisplay",
    "FieldEstimate",
    "FindingsDisplay",
    "MapDisplay",
    "MiscalError",
    "MiscalibrationField",
    "Monitoring",
    "ReliabilityDisplay",
    "RunComparison",
    "Triples",
    "__version__",
    "compare",
    "discover",
    "honest_field",
    "load_model",
    "metrics",
    "monitor",
    "read_run",
    "read_triples",
    "synthetic",
    "write_comparison",
    "write_run",
]

_HOMES = {
    "DecisionDisplay": "report.displays",
    "Discovery": "discovery.discover",
    "FieldDisplay": "report.displays",
    "FieldEstimate": "estimators.estimate",
    "FindingsDisplay": "report.displays",
    "MapDisplay": "report.displays",
    "MiscalError": "base.errors",
    "MiscalibrationField": "estimators.field",
    "Monitoring": "runs.monitor.document",
    "ReliabilityDisplay": "report.displays",
    "RunComparison": "runs.compare.document",
    "Triples": "data.triples",
    "compare": "runs.compare.comparison",
    "discover": "discovery.discover",
    "honest_field": "estimators.honest",
    "load_model": "discovery.saved_model",
    "monitor": "runs.monitor.command",
    "read_run": "discovery.run",
    "read_triples": "data.readers",
    "write_comparison": "runs.compare.command",
    "write_run": "report",
}
_ROOMS = ("calibration", "metrics", "study", "synthetic")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"miscal.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("miscal")
    if name in _HOMES:
        return getattr(import_module(f"miscal.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'miscal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
