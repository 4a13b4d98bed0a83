"""What scripts of the repository keep: locks and licences that agree, promised names that are there, golden runs."""

import csv
import json
import tomllib
from email.message import Message
from importlib import metadata
from pathlib import Path

import polars as pl
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from .conftest import script_of

ROOT = Path(__file__).parents[1]
ASKED = [Requirement(need) for need in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]]
VERSIONS = ("", "-3.12", "-3.13")


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("name", [f"requirements-core{v}.lock" for v in (*VERSIONS, "-oldest")])
def test_core_is_locked_within_its_bounds_and_without_what_extras_bring(name):
    locked = pins(name)
    for need in ASKED:
        assert need.specifier.contains(locked[canonicalize_name(need.name)]), need
    assert not {"torch", "matplotlib", "transformers", "pyarrow", "pandas"} & set(locked)


def test_the_oldest_versions_are_the_lower_bounds():
    locked = pins("requirements-core-oldest.lock")
    for need in ASKED:
        [lowest] = [bound.version for bound in need.specifier if bound.operator == ">="]
        assert locked[canonicalize_name(need.name)] == lowest, need


@pytest.mark.parametrize("version", VERSIONS)
def test_the_lock_of_the_tests_adds_to_that_of_core(version):
    every = pins(f"requirements{version}.lock")
    for part in (f"requirements-core{version}.lock", "requirements-build.lock"):
        assert pins(part).items() <= every.items()


def test_the_recipe_of_conda_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == project["version"]
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    asked = {Requirement(need) for need in recipe["requirements"]["run"] if not need.startswith("python ")}
    assert asked == set(ASKED)


@pytest.mark.parametrize("name", ["requirements-docs.lock", "requirements-package.lock"])
def test_locks_of_tools_hold_the_versions_of_the_tests(name):
    every, tools = pins("requirements.lock"), pins(name)
    differing = {one: pin for one, pin in tools.items() if every.get(one, pin) != pin}
    assert not differing


@pytest.mark.parametrize(("name", "safe"), [("transformers", "5.3"), ("torch", "2.6"), ("pyarrow", "14.0.1")])
def test_no_version_with_a_known_hole_is_allowed(name, safe):
    """Each of the versions before ran code that came with a model or a file."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needs = [need for group in extras.values() for need in map(Requirement, group) if need.name == name]
    assert needs
    for need in needs:
        [lowest] = [Version(bound.version) for bound in need.specifier if bound.operator == ">="]
        assert lowest >= Version(safe)


def test_the_citation_is_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])


def test_every_distribution_that_is_brought_has_a_licence_that_allows_it():
    licences, lock = script_of("licences"), script_of("lock")
    with licences.FILE.open(newline="") as file:
        listed = {row["name"]: row for row in csv.DictReader(file)}
    core, every = pins("requirements-core.lock"), pins("requirements.lock")
    assert {name for name, row in listed.items() if row["for"] == "core"} == set(core)
    assert {name: row["version"] for name, row in listed.items()}.items() <= every.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [need for extra in lock.EXTRAS for need in project["optional-dependencies"][extra]]
    assert {canonicalize_name(Requirement(need).name) for need in extras} <= listed.keys()
    assert all(licences.parts(row["licence"]) <= licences.PERMISSIVE for row in listed.values())
    installed = {one.name: one for one in metadata.distributions() if one.name in core}
    assert installed
    for name, one in installed.items():
        if one.version == core[name]:
            assert licences.licence_of(one.metadata) == listed[name]["licence"], name


@pytest.mark.parametrize(
    ("about", "licence"),
    [
        ({"License-Expression": "BSD-3-Clause AND MIT"}, "BSD-3-Clause AND MIT"),
        ({"License": "Copyright (c) ... any text", "Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({"License": "Apache 2.0"}, "Apache-2.0"),
    ],
)
def test_a_licence_is_read_from_metadata(about, licence):
    assert script_of("licences").licence_of(message(about)) == licence


@pytest.mark.parametrize("stated", ["GPL-3.0-or-later", "All rights reserved", ""])
def test_a_licence_that_no_rule_knows_is_refused(stated):
    with pytest.raises(SystemExit, match="no rule knows"):
        script_of("licences").licence_of(message({"Name": "some", "License": stated}))


def message(about: dict[str, str]) -> Message:
    kept = Message()
    for name, value in about.items():
        kept[name] = value
    return kept


def test_a_release_is_tried_before_it_is_published_and_each_file_is_attested():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    publish = jobs["publish"]
    assert (publish["needs"], jobs["try"]["needs"]) == ("try", "build")
    assert publish["if"] == "github.ref_type == 'tag'"
    assert publish["permissions"] == {"id-token": "write"}
    [step] = [step for step in publish["steps"] if step["uses"].startswith("pypa/gh-action-pypi-publish@")]
    assert step["with"]["attestations"] is True
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {one.rpartition(" :: ")[2] for one in project["classifiers"] if "Python :: 3." in one}
    assert set(jobs["try"]["strategy"]["matrix"]["python"]) == named


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


TABLE = pl.DataFrame({"row": [0, 1], "delta": [0.1, None], "seconds": [1.0, 2.0]})
SUMMARY = {"gap": {"over": 0.25, "under": None}, "verdict": "Nothing is hidden.", "timing": {"field": 1.0}}


@pytest.fixture(scope="module")
def golden():
    return script_of("golden")


@pytest.fixture
def written(tmp_path):
    def write(name: str, table: pl.DataFrame = TABLE, summary: dict = SUMMARY, text: str = "Two findings.") -> Path:
        folder = tmp_path / name / "judge"
        folder.mkdir(parents=True)
        table.write_parquet(folder / "field.parquet")
        (folder / "summary.json").write_text(json.dumps(summary))
        (folder / "discover.terminal.txt").write_text(text)
        return folder.parent

    return write


@pytest.mark.parametrize(("changed", "status", "said"), [
    ({}, 0, "numbers differ in 0 files, texts in 0"),
    ({"table": TABLE.with_columns(seconds=pl.lit(9.0), delta=pl.Series([0.1 + 1e-12, None]))}, 0, "in 0 files"),
    ({"summary": SUMMARY | {"timing": {"field": 7.0}}}, 0, "in 0 files"),
    ({"table": TABLE.with_columns(delta=pl.Series([0.1 + 1e-6, None]))}, 1, "field.parquet delta: 1 of 2 rows"),
    ({"table": TABLE.with_columns(delta=pl.Series([0.1, 0.0]))}, 1, "field.parquet delta: 1 of 2 rows"),
    ({"table": TABLE.head(1)}, 1, "2 rows, then 1"),
    ({"table": TABLE.drop("delta")}, 1, "delta: is gone"),
    ({"summary": SUMMARY | {"gap": {"over": 0.26, "under": None}}}, 1, ".gap.over: 0.25, then 0.26"),
    ({"summary": SUMMARY | {"gap": {"over": 0.25, "under": 0.0}}}, 1, ".gap.under: None, then 0.0"),
    ({"text": "Three findings."}, 0, "texts in 1"),
])  # fmt: skip
def test_numbers_that_differ_are_named(golden, written, capsys, changed, status, said):
    assert golden.compare(written("before"), written("after", **changed), show_texts=False) == status
    assert said in capsys.readouterr().out


def test_a_run_that_one_side_lacks_is_not_passed_over(golden, written, tmp_path, capsys):
    before, after = written("before"), written("after")
    (after / "judge").rename(after / "classes")
    assert golden.compare(before, after, show_texts=False) == 1
    assert "in one folder alone: classes, judge" in capsys.readouterr().out
