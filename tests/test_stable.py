"""What docs/stable.md promises is there: no name of Python, of a command or of a file is gone without a warning."""

import json
from pathlib import Path

import pytest

from .conftest import script_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def now():
    return script_of("stable_names").stable_names()


def missing(now: dict) -> dict[str, set[str]]:
    """Return what was promised and is gone, by its heading."""
    promised = json.loads((ROOT / "tests" / "stable_names.json").read_text())
    assert promised.keys() == now.keys()
    gone = {}
    for part, lists in promised.items():
        for head, names in lists.items():
            left = {head} if head not in now[part] else set(names.split()) - set(now[part][head])
            if left:
                gone[head] = left
    return gone


def test_no_promised_name_is_gone(now):
    assert missing(now) == {}


def test_a_name_that_is_gone_is_noticed(now):
    python = {**now["python"], "miscal.load": ["folder"]}
    files = {head: names for head, names in now["files"].items() if head != "Finding"}
    assert missing({**now, "python": python, "files": files}) == {"miscal.load": {"frames"}, "Finding": {"Finding"}}


def test_what_is_promised_covers_every_export_command_and_file(now):
    import miscal

    exported = {f"miscal.{name}" for name in miscal.__all__} - {"miscal.__version__", "miscal.metrics"}
    assert exported <= now["python"].keys()
    reference = (ROOT / "docs" / "reference.md").read_text().split()
    assert {name.removeprefix("miscal.") for name in exported} <= set(reference)
    assert {f"miscal.metrics.{name}" for name in miscal.metrics.__all__} <= now["python"].keys()
    assert {"miscal discover", "miscal calibrate", "miscal monitor"} <= now["commands"].keys()
    assert {"field.parquet", "Summary", "Finding", "ColumnValue"} <= now["files"].keys()
