"""Write the names that 1.0 promises to keep into tests/stable_names.json.

    python scripts/stable_names.py

Names of Python with their arguments, commands with their options, and the keys and columns of every file that a command
writes. A test fails where one of these is gone. A name that joins is added by this script; one that leaves was
deprecated before (docs/stable.md), and is taken out by hand.
"""

from __future__ import annotations

import inspect
import json
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import miscal
from miscal import metrics, testing

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests" / "stable_names.json"
Names = dict[str, list[str]]


def arguments(called: Any) -> list[str]:
    """Return the names of the arguments of a function or a class."""
    try:
        return [name for name in inspect.signature(called).parameters if name != "self"]
    except ValueError:
        return []


CLASSES = {
    "Run": "classes class_findings columns correct compare audit decide decisions field findings frame map"
    " monitor path plot report save summary",
    "MiscalibrationField": "calibrate fit load mass neighbours predict regimes save score transform",
    "LocalCalibratedClassifier": "fit load predict predict_proba save",
    "FieldEstimate": "corrected delta hidden mass supported visible",
    "ReliabilityDisplay": "alt_text from_estimator from_predictions plot",
    "FindingsDisplay": "alt_text from_predictions plot",
    "RunComparison": "answer save to_json",
    "Monitoring": "answer to_json",
    "Scan": "findings python save sql summary",
    "Triples": "X confidence correct group of residual weight",
}
"""What of each class is promised: the rest serves miscal itself."""

MADE_BY_USERS = ("MiscalibrationField", "LocalCalibratedClassifier", "scorer")
"""Classes whose arguments are promised; miscal makes the others."""


def of_module(module: ModuleType, exported: list[str]) -> Names:
    """Return each exported name with its arguments, of a class also each promised method and attribute."""
    names: Names = {}
    for name in exported:
        value = getattr(module, name)
        if callable(value):
            made = not inspect.isclass(value) or name in MADE_BY_USERS
            names[f"{module.__name__}.{name}"] = arguments(value) if made else []
        for part in CLASSES.get(name, "").split():
            # an attribute without a default is an annotation, and nothing of the class
            if hasattr(value, part) or part in value.__annotations__:
                called = getattr(value, part, None)
                names[f"{module.__name__}.{name}.{part}"] = arguments(called) if callable(called) else []
    return names


def of_page(text: str) -> Names:
    """Return what the tables of a made page name, under each heading."""
    pieces = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)[1:]
    tables = {
        head: re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE)
        for head, body in zip(pieces[::2], pieces[1::2], strict=True)
    }
    return {head: names for head, names in tables.items() if names}


def stable_names() -> dict[str, Names]:
    """Return every name that is promised, as it is now."""
    pages = runpy.run_path(str(ROOT / "scripts" / "made_pages.py"))["PAGES"]
    exported = [name for name in miscal.__all__ if name != "__version__"]
    return {
        "python": of_module(miscal, exported)
        | of_module(metrics, metrics.__all__)
        | of_module(testing, ["assert_calibrated"]),
        "commands": of_page(pages["commands"]()),
        "files": of_page(pages["outputs"]()),
    }


def main() -> None:
    """Write the file, a line for each list of names."""
    lines = {part: {head: " ".join(names) for head, names in some.items()} for part, some in stable_names().items()}
    FILE.write_text(json.dumps(lines, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
