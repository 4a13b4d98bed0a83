"""Tools in their own environments: name an interpreter that has the tool and miscal in MISCAL_INSPECT_PYTHON and so on.

The scripts that other interpreters run are not collected: what they import may not be here.
"""

import os
import subprocess
import sys

import pytest

collect_ignore_glob = ["tool_*.py"]


def interpreter(package: str, variable: str) -> str:
    """Return an interpreter that has the package and miscal, or skip."""
    python = os.environ.get(variable, sys.executable)
    if subprocess.run([python, "-c", f"import {package}, miscal"], capture_output=True).returncode:
        pytest.skip(f"no interpreter with {package} and miscal: name one in {variable}")
    return python


def run_tool(python: str, *arguments: object, cwd: object, **environment: str) -> str:
    settings = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HOME": f"{cwd}/cache", **environment}
    ended = subprocess.run(
        [python, *map(str, arguments)], env=settings, cwd=cwd, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout
