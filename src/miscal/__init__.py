"""Find where a probabilistic model is wrong about its own confidence.

In: tables, arrays or files with inputs, confidences and outcomes.
Out: runs with findings and corrections; names are imported when first used, so that ``import miscal`` costs little.

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
    from miscal import metrics
    from miscal.base.errors import MiscalError
    from miscal.data.readers.read import read_triples
    from miscal.data.triples import Triples
    from miscal.estimators.field import MiscalibrationField
    from miscal.estimators.honest import honest_field
    from miscal.estimators.registry import FieldEstimate
    from miscal.report.displays import FindingsDisplay
    from miscal.report.reliability import ReliabilityDisplay
    from miscal.runs.classifier import LocalCalibratedClassifier
    from miscal.runs.compare.comparison import RunComparison, compare
    from miscal.runs.discover import discover
    from miscal.runs.monitor.command import monitor
    from miscal.runs.monitor.document import Monitoring
    from miscal.runs.run import Run, load
    from miscal.runs.scan.command import Scan, scan

__all__ = [
    "FieldEstimate",
    "FindingsDisplay",
    "LocalCalibratedClassifier",
    "MiscalError",
    "MiscalibrationField",
    "Monitoring",
    "ReliabilityDisplay",
    "Run",
    "RunComparison",
    "Scan",
    "Triples",
    "__version__",
    "compare",
    "discover",
    "honest_field",
    "load",
    "metrics",
    "monitor",
    "read_triples",
    "scan",
]

_HOMES = {
    "FieldEstimate": "estimators.registry",
    "FindingsDisplay": "report.displays",
    "LocalCalibratedClassifier": "runs.classifier",
    "MiscalError": "base.errors",
    "MiscalibrationField": "estimators.field",
    "Monitoring": "runs.monitor.document",
    "ReliabilityDisplay": "report.reliability",
    "Run": "runs.run",
    "RunComparison": "runs.compare.comparison",
    "Scan": "runs.scan.command",
    "Triples": "data.triples",
    "compare": "runs.compare.comparison",
    "discover": "runs.discover",
    "honest_field": "estimators.honest",
    "load": "runs.run",
    "monitor": "runs.monitor.command",
    "read_triples": "data.readers.read",
    "scan": "runs.scan.command",
}
_ROOMS = ("calibration", "metrics", "study")


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
    return sorted(__all__)
