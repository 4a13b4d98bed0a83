"""What core costs before it answers: size on disk, seconds from the wheel to the first report, and the import.

    python benchmarks/bench_install.py

The packages of requirements-core.lock are downloaded once, which is not counted: that is the warm package cache. Then
an environment is made from nothing, the wheel and those packages are installed into it, and `miscal demo` runs there to
its report. Size is the sum of the files in site-packages, compiled ones too, without pip and setuptools, which every
environment has. Wall seconds count the machine's other work, processor seconds do not.

Fails where core is larger than 650 MB, its first report takes more than 90 s, or `import miscal` 0.15 s.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

from _script import options, show, target

ROOT = Path(__file__).parents[1]
VERSION = "{}.{}".format(*sys.version_info)
LOCK = ROOT / f"requirements-core{'' if VERSION == '3.11' else f'-{VERSION}'}.lock"
MEGABYTES, SECONDS, IMPORT = 650, 90.0, 0.15
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
LARGEST = 8
TIMED = "import time; t = time.perf_counter(); import miscal; print(time.perf_counter() - t)"


def run(*command: str | Path) -> str:
    """Run a command as a person would: on all cores, and with nothing of this source tree on its path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OMP_"))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def timed(*command: str | Path) -> tuple[float, float]:
    """Wall and processor seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(*command)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sizes(packages: Path) -> Counter[str]:
    """Megabytes (10^6 bytes) of each folder or file in site-packages."""
    found: Counter[str] = Counter()
    for path in packages.rglob("*"):
        name = path.relative_to(packages).parts[0]
        if path.is_file() and not name.startswith(NOT_OURS):
            found[name] += path.stat().st_size / 1e6
    return found


def main() -> int:
    args = options(__doc__, imports=9).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment, cache = place / "venv", place / "cache"
        pip = ("-m", "pip", "-q", "--disable-pip-version-check")
        run(sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "-w", cache, ROOT)
        run(sys.executable, *pip, "download", "--no-deps", "-d", cache, "-r", LOCK)
        python, miscal = environment / "bin" / "python", environment / "bin" / "miscal"
        offline = ("install", "--no-deps", "--no-index", "--find-links", cache)
        steps = {
            "environment": timed(sys.executable, "-m", "venv", environment),
            "packages": timed(python, *pip, *offline, "-r", LOCK, *cache.glob("miscal-*.whl")),
            "demo": timed(miscal, "demo", "--out", place / "demo"),
        }
        size = sizes(next(environment.glob("lib/python*/site-packages")))
        imported = median(float(run(python, "-c", TIMED)) for _ in range(args.imports))
    total = [sum(spent) for spent in zip(*steps.values(), strict=True)]
    rows = [[name, *(f"{value:.1f}" for value in spent)] for name, spent in {**steps, "all": total}.items()]
    show(args, "install", "from an empty environment to the first report", ["step", "wall s", "processor s"], rows)
    largest = [[name, f"{value:.0f}"] for name, value in size.most_common(LARGEST)]
    rest = size.total() - sum(value for _, value in size.most_common(LARGEST))
    rows = [*largest, [f"{len(size) - len(largest)} others", f"{rest:.0f}"], ["all", f"{size.total():.0f}"]]
    show(args, "install-size", "size on disk", ["in site-packages", "MB"], rows)
    met = [
        target(f"core takes {size.total():.0f} MB (at most {MEGABYTES})", size.total() <= MEGABYTES),
        target(f"first report after {total[0]:.1f} s (at most {SECONDS:.0f})", total[0] <= SECONDS),
        target(f"import miscal {imported:.3f} s, median of {args.imports} (below {IMPORT})", imported < IMPORT),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
