"""Write licences.csv: the licence of each distribution that miscal and its extras bring, from their metadata.

    python scripts/licences.py    # on Python 3.11, with what requirements.lock names

`for` is `core`, what `pip install miscal` brings, or `extras`, all of them but ray and inspect, which no lock holds. A
licence that no rule knows is refused: read it, and add it to `WORDS` or `PERMISSIVE`.
"""

from __future__ import annotations

import csv
import re
import runpy
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "licences.csv"
PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "CNRI-Python", "ISC", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib", "BSD",
}  # fmt: skip
"""Licences under which a package may be used and passed on beside miscal, which is Apache-2.0. MPL-2.0 asks that files
of its own stay open where they are changed. BSD is written where the metadata do not say with how many clauses."""

WORDS = {
    r"apache": "Apache-2.0",
    r"bsd[ -]3|3-clause bsd": "BSD-3-Clause",
    r"bsd[ -]2": "BSD-2-Clause",
    r"bsd": "BSD",
    r"\bmit\b": "MIT",
    r"\bisc\b": "ISC",
    r"mozilla|mpl": "MPL-2.0",
    r"python software foundation": "PSF-2.0",
}


def licence_of(about: metadata.PackageMetadata) -> str:
    """Return the SPDX expression of a distribution's metadata, or what its licence and classifiers say in words."""
    stated = about.get("License-Expression") or about.get("License") or ""
    if parts(stated) <= PERMISSIVE:
        return stated
    classified = [one.split(" :: ")[-1] for one in about.get_all("Classifier") or () if one.startswith("License ::")]
    # a field that holds the whole text says less than a classifier
    said = [one for one in classified if one != "OSI Approved"] or [stated[:80]]
    found = {next((name for word, name in WORDS.items() if re.search(word, one, re.I)), "") for one in said}
    if not all(found):
        raise SystemExit(f"{about['Name']}: no rule knows the licence {said}; read it, and add it to WORDS")
    return " OR ".join(sorted(found))


def parts(expression: str) -> set[str]:
    """Return the licences of an SPDX expression; that of nothing is itself, and no licence."""
    return set(re.split(r" (?:AND|OR) ", re.sub(r"[()]", "", expression)))


def licences() -> list[tuple[str, str, str, str]]:
    """Name, version, licence and use of each distribution."""
    lock = runpy.run_path(str(ROOT / "scripts" / "lock.py"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [need for extra in lock["EXTRAS"] for need in project["optional-dependencies"][extra]]
    core = lock["closure"](project["dependencies"])
    return [
        (name, version, licence_of(metadata.metadata(name)), "core" if name in core else "extras")
        for name, version in sorted(lock["closure"](project["dependencies"] + extras).items())
    ]


def main() -> None:
    """Write the file."""
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "version", "licence", "for"])
        writer.writerows(licences())


if __name__ == "__main__":
    main()
