"""The lock files agree with pyproject.toml and with one another."""

import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

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
