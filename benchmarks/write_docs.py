"""Put what the benchmarks print into docs/benchmarks.md.

    python benchmarks/write_docs.py [--data DIR] [--cache bench_cache]

The page keeps, before each fenced block marked ``<!-- prints: COMMAND -->``, the command that made it. Each COMMAND is
run again with ``--print`` (nothing is computed) and its block replaced; DIR and CACHE in a command stand for the two
options. A command whose cache is missing leaves its block as it is. The line marked ``<!-- machine -->`` names the
machine and the versions.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BLOCK = re.compile(r"<!-- prints: (?P<command>.+?) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)
MACHINE = re.compile(r"<!-- machine -->\n.*\n")
PACKAGES = ("numpy", "scikit-learn", "lightgbm", "torch", "mcgrad")


def machine() -> str:
    """One line: cores, system, Python and versions."""
    cores = len(os.sched_getaffinity(0))
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"Machine: {cores} cores ({platform.machine()}, no GPU), Python {platform.python_version()}, {versions}."


def printed(command: str, data: str, cache: str) -> str | None:
    """What a command prints from its cache; None where that is missing."""
    words = [w.replace("DIR", data).replace("CACHE", cache) for w in shlex.split(command)]
    if "--cache" in words and not Path(words[words.index("--cache") + 1]).exists():
        return None
    # a missed target exits with 1 and prints all the same
    done = subprocess.run([sys.executable, *words, "--print"], capture_output=True, text=True, cwd=PAGE.parents[1])
    if done.returncode > 1 or done.stderr:
        raise SystemExit(f"{command}: {done.stderr}")
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="folder of real sets")
    parser.add_argument("--cache", default="bench_cache", help="folder of the cached results")
    args = parser.parse_args()

    def renew(match: re.Match[str]) -> str:
        text = printed(match["command"], str(Path(args.data).resolve()), str(Path(args.cache).resolve()))
        if text is None:
            print(f"no cache, left as it is: {match['command']}", file=sys.stderr)
            return match[0]
        return f"<!-- prints: {match['command']} -->\n\n{text}\n\n<!-- end -->"

    page = BLOCK.sub(renew, PAGE.read_text())
    PAGE.write_text(MACHINE.sub(f"<!-- machine -->\n{machine()}\n", page))


if __name__ == "__main__":
    main()
