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
    from miscal import calibration, synthetic
    from miscal.base.errors import MiscalError
    from miscal.data.readers import read_triples
    from miscal.data.triples import Triples
    from miscal.discovery.compare import compare
    from miscal.discovery.comparing.document import RunComparison
    from miscal.discovery.discover import Discovery, discover
    from miscal.discovery.monitoring.document import Monitoring
    from miscal.discovery.run import read_run
    from miscal.discovery.saved_model import load_model
    from miscal.estimators.estimate import FieldEstimate
    from miscal.estimators.field import MiscalibrationField
    from miscal.estimators.honest import honest_field
    from miscal.report import write_comparison, write_run
    from miscal.report.monitoring.run import monitor

__all__ = [
    "Discovery",
    "FieldEstimate",
    "MiscalError",
    "MiscalibrationField",
    "Monitoring",
    "RunComparison",
    "Triples",
    "__version__",
    "calibration",
    "compare",
    "discover",
    "honest_field",
    "load_model",
    "monitor",
    "read_run",
    "read_triples",
    "synthetic",
    "write_comparison",
    "write_run",
]

_HOMES = {
    "Discovery": "discovery.discover",
    "FieldEstimate": "estimators.estimate",
    "MiscalError": "base.errors",
    "MiscalibrationField": "estimators.field",
    "Monitoring": "discovery.monitoring.document",
    "RunComparison": "discovery.comparing.document",
    "Triples": "data.triples",
    "compare": "discovery.compare",
    "discover": "discovery.discover",
    "honest_field": "estimators.honest",
    "load_model": "discovery.saved_model",
    "monitor": "report.monitoring.run",
    "read_run": "discovery.run",
    "read_triples": "data.readers",
    "write_comparison": "report",
    "write_run": "report",
}
_ROOMS = ("calibration", "study", "synthetic")


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
