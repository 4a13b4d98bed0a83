"""The examples of the gallery run as scripts, and what is said of them holds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "docs" / "gallery").glob("plot_*.py"))


@pytest.mark.whole
@pytest.mark.timeout(300)
@pytest.mark.parametrize("example", EXAMPLES, ids=[example.stem for example in EXAMPLES])
def test_it_runs(example, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "agg"}
    ended = subprocess.run(
        [sys.executable, example], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    assert not list(tmp_path.iterdir())
