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
    from miscal.calibration import calibrators
    from miscal.calibration import metrics
    from miscal.synthetic.worlds import worlds as synthetic
    from miscal.discovery.discover import Discovery, discover
    from miscal.base.errors import MiscalError
    from miscal.estimators.field import FieldEstimate, MiscalibrationField, honest_field
    from miscal.data.readers import read_triples
    from miscal.discovery.run_folder import load_model, read_run, write_run
    from miscal.data.triples import Triples

__all__ = [
    "Discovery",
    "FieldEstimate",
    "MiscalError",
    "MiscalibrationField",
    "Triples",
    "__version__",
    "calibrators",
    "discover",
    "honest_field",
    "load_model",
    "metrics",
    "read_run",
    "read_triples",
    "synthetic",
    "write_run",
]

_HOMES = {
    "Discovery": "discovery",
    "FieldEstimate": "estimate",
    "MiscalError": "errors",
    "MiscalibrationField": "field",
    "Triples": "triples",
    "discover": "discovery",
    "honest_field": "field",
    "load_model": "saved",
    "read_run": "saved",
    "read_triples": "readers",
    "write_run": "saved",
}
_MODULES = ("calibrators", "metrics", "synthetic")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"miscal.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("miscal")
    if name in _HOMES:
        return getattr(import_module(f"miscal.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'miscal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
