"""What the two maps of a run cost against the fit, in seconds of processor time: a layout may cost a fifth of it.

    python benchmarks/bench_layout.py                       300 to 14,000 rows, some minutes
    python benchmarks/bench_layout.py --rows 500 5000

Made embeddings of 384 columns with planted topics (study.synthetic.worlds.planted). Every cell runs in a process of
its own, so that importing and compiling count. "fit" and "auto" are the stages of one discovery, on one core; the
others lay out the same inputs and six columns in place of the learned coordinates.

Fails where auto costs more than a fifth of the fit.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec

from _measure import apart
from _script import options, show, target

WIDTH, LEARNED = 384, 6
SHARE = 0.2
METHODS = ("tsne", "pca", "umap")


def discovered(n: int) -> dict[str, float]:
    """Seconds of the fit and of the maps that auto draws."""
    from miscal.discovery.discover import discover

    began: dict[str, float] = {}
    taken: dict[str, float] = {}

    def tell(now) -> None:
        began.setdefault(now.stage, time.process_time())
        taken[now.stage] = time.process_time() - began[now.stage]

    picture = discover(_rows(n), n_jobs=1, progress=tell).picture
    start = time.process_time()
    _ = picture.drawn
    return {"fit": taken["field"], "auto": time.process_time() - start}


def laid_out(n: int, method: str) -> dict[str, float]:
    """Seconds of two maps by a method."""
    from miscal.discovery.layout import lay_out, shown_rows

    X = _rows(n).X[shown_rows(n, seed=0)]
    start = time.process_time()
    for part in (X, X[:, :LEARNED]):
        lay_out(part, method=method)
    return {method: time.process_time() - start}


def _rows(n: int):
    from miscal.data.triples import Triples
    from miscal.study.synthetic.worlds import planted

    world = planted(n, WIDTH, random_state=0)
    return Triples.of(world.X, confidence=world.confidence, correct=world.correct)


def main() -> int:
    args = options(__doc__, rows=(300, 500, 1_000, 5_000, 14_000)).parse_args()
    methods = [name for name in METHODS if name != "umap" or find_spec("umap")]
    rows, shares = [], []
    for n in args.rows:
        seconds = apart(discovered, n)
        for name in methods:
            seconds |= apart(laid_out, n, name)
        shares.append(seconds["auto"] / seconds["fit"])
        rows.append([n, *(f"{value:.1f}" for value in seconds.values()), f"{shares[-1]:.0%}".replace("%", " %")])
    head = ["rows", "fit", "auto", *methods, "auto / fit"]
    show(args, "layout", f"seconds of processor time, {WIDTH} columns; two maps", head, rows)
    line = f"auto costs at most {100 * SHARE:.0f} % of the fit; most {100 * max(shares):.0f} %"
    met = target(line, max(shares) <= SHARE)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
