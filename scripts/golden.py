"""Write the golden runs, and compare those of two checkouts: how a refactoring shows that it changed no result.

    python scripts/golden.py write DIR [--only NAME,NAME] [--jobs 2]
    python scripts/golden.py compare BEFORE AFTER [--texts]

Ten small runs of planted rows, each with what follows a run: a comparison, a monitor, an audit, corrected rows; a
study and cells of a synthetic experiment. `write` leaves for each a folder of numbers (json and parquet) and of
texts (what terminal, page and markdown say).

`compare` counts numbers as equal within 1e-9 of their size (or of 1, for those below 1). It lists the files that
differ, in which places and by how much, and ends with status 1 if a number does. --texts prints the differences of
texts, to be read; without it they are counted.
"""

from __future__ import annotations

import argparse
import difflib
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, timedelta
from html.parser import HTMLParser
from io import StringIO
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

TOLERANCE = 1e-9
UNTIMED = re.compile(
    r"seconds|cpu|started|version|created|timing|elapsed|peak|host|memory|bytes|digest|sha256|fingerprint"
)
"""Keys and columns that differ between two runs of one checkout."""
DURATION = re.compile(r"\b\d+(\.\d+)? (s|ms|seconds|min|minutes)\b")
HASH = re.compile(r"[0-9a-f]{64}")
SHOWN = 20
"""Places and files that `compare` lists, at most."""


class Commands:
    """The commands of one golden run, in a folder of their own; what each prints is kept beside the files it writes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work = folder, folder / "work"
        self.work.mkdir(parents=True)
        os.chdir(self.work)

    def __call__(self, name: str, *arguments: str, status: tuple[int, ...] = (0,)) -> None:
        """Run a command, and keep what it prints under a name."""
        from miscal.cli import main

        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            ended = main([*arguments])
        if (ended or 0) not in status:
            raise SystemExit(f"miscal {' '.join(arguments)} ended with status {ended}:\n{err.getvalue()}")
        self._write(f"{name}.terminal.txt", out.getvalue())

    def _write(self, name: str, text: str) -> None:
        text = DURATION.sub("some time", text.replace(str(self.folder), "."))
        (self.folder / name).write_text(text, encoding="utf-8")

    def keep(self) -> None:
        """Keep the numbers of the files that the commands wrote, and the words of their pages; remove the rest."""
        for path in sorted(self.work.rglob("*")):
            name = ".".join(path.relative_to(self.work).parts)
            if path.suffix == ".parquet" and not name.startswith("data."):
                shutil.copy(path, self.folder / name)
            elif path.suffix == ".json":
                self._write(name, path.read_text(encoding="utf-8"))
            elif path.suffix == ".html":
                self._write(f"{name}.txt", "\n".join(_Words(path.read_text(encoding="utf-8")).lines))
        os.chdir(self.folder)
        shutil.rmtree(self.work)


class _Words(HTMLParser):
    """The texts of a page, without scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = False

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def answers(n: int, seed: int, model: int = 0) -> pl.DataFrame:
    """Answers of a model that is over-confident where x_0 > 0 and of one kind, and under-confident elsewhere."""
    rng = np.random.default_rng((seed, 1))
    X = rng.normal(size=(n, 4)).round(6)
    kind = np.where(X[:, 1] > 0.3, "law", np.where(X[:, 1] > -0.6, "sums", "maps"))
    rng = np.random.default_rng((seed, 2, model))
    f = rng.uniform(0.3, 0.7, n).round(4)
    chance = f + np.where(X[:, 0] > 0, -0.2, 0.15) + np.where(kind == "law", -0.1, 0.05)
    words = np.array(["tort", "sum", "river", "court", "prime", "coast", "judge", "root"])
    text = [
        " ".join(words[(np.abs(x[:3]) * 7).astype(int) % 8]) + f" {k} {i}"
        for i, (x, k) in enumerate(zip(X, kind, strict=True))
    ]
    return pl.DataFrame(
        {"id": [f"q{row}" for row in range(n)], "question": text, "kind": kind}
        | {f"x_{k}": X[:, k] for k in range(4)}
        | {"confidence": f, "correct": (rng.random(n) < chance).astype(int)}
    )


def risks(n: int, seed: int) -> pl.DataFrame:
    """Risks of an event with dates, blanks, customers, weights; too high on some days, too low for older people."""
    rng = np.random.default_rng((seed, 3))
    day, age, load = rng.integers(0, 90, n), rng.uniform(18, 90, n).round(4), rng.lognormal(0, 1, n).round(3)
    place, customer = rng.choice(["north", "south", "east"], n), rng.integers(0, n // 4, n)
    shared = 0.3 * rng.normal(size=n)[customer] + 0.4 * rng.normal(size=90)[day]
    f = rng.uniform(0.05, 0.6, n).round(4)
    given = np.log(f / (1 - f)) + shared + np.where(age > 70, 0.9, -0.2) + np.where(place == "east", -0.8, 0)
    start = date(2024, 1, 1)
    return pl.DataFrame(
        {
            "day": [start + timedelta(int(one)) for one in day],
            "age": [None if blank else float(a) for a, blank in zip(age, rng.random(n) < 0.08, strict=True)],
            "load": load, "place": place, "customer": customer, "weight": rng.choice([1.0, 2.0, 3.0], n),
            "risk": f, "happened": (rng.random(n) < 1 / (1 + np.exp(-given))).astype(int),
        }
    )  # fmt: skip


def verdicts(n: int, seed: int) -> pl.DataFrame:
    """Scores by a judge who is too kind to long answers of one model, and what a person says of some of them."""
    rng = np.random.default_rng((seed, 4))
    length, model = rng.normal(size=n).round(4), rng.choice(["a", "b", "c"], n)
    score = rng.uniform(0.1, 0.9, n).round(3)
    right = rng.random(n) < np.clip(score - 0.25 * ((length > 0.3) & (model == "a")), 0, 1)
    asked = rng.random(n) < 0.6
    return pl.DataFrame(
        {
            "length": length, "topic": rng.normal(size=n).round(4), "model": model, "judge": score,
            "human": [int(r) if a else None for r, a in zip(right, asked, strict=True)],
        }
    )  # fmt: skip


def digits(n: int, seed: int) -> pl.DataFrame:
    """Probabilities of three classes; one is predicted too often where x_0 > 0."""
    rng = np.random.default_rng((seed, 5))
    X = rng.normal(size=(n, 3)).round(5)
    scores = rng.normal(size=(n, 3))
    true = scores + np.where(X[:, :1] > 0, [[-1.2, 0.5, 0]], [[0.2, 0, 0]])
    p, q = (np.exp(one) / np.exp(one).sum(1, keepdims=True) for one in (scores, true))
    label = (rng.random((n, 1)) > np.cumsum(q, axis=1)).sum(1)
    return pl.DataFrame(
        {f"p_{k}": p[:, k] for k in range(3)}
        | {f"x_{k}": X[:, k] for k in range(3)}
        | {"site": np.where(X[:, 1] > 0, "here", "there"), "label": label}
    )


DISCOVER = ("--map", "pca", "--seed", "3")
ANSWERS = ("--features", "x_*", "--metadata", "kind", *DISCOVER)


def embeddings(run: Commands) -> None:
    """Answers with embeddings: discover, audit, page again, the table of a column, corrected rows."""
    table = answers(600, 0)
    table.drop("x_0", "x_1", "x_2", "x_3").write_parquet("data.parquet")
    X = table.select("x_0", "x_1", "x_2", "x_3").to_numpy()
    np.save("data.npy", np.hstack([X, np.random.default_rng(9).normal(size=(600, 8))]).astype(np.float32))
    inputs = ("--embeddings", "data.npy")
    run("discover", "discover", "data.parquet", "--out", "run", "--metadata", "kind", *inputs, *DISCOVER)
    run("audit", "audit", "run", "--draws", "2", "--seeds", "2")
    run("report", "report", "run")
    run("show", "show", "run", "--by", "kind")
    run("show-markdown", "show", "run", "--by", "kind", "--markdown")
    run("calibrate", "calibrate", "run/model", "data.parquet", "--out", "corrected.parquet", *inputs)


def texts(run: Commands) -> None:
    """Answers with texts alone, from a csv file; printed as markdown."""
    answers(500, 1).select("id", "question", "confidence", "correct").write_csv("data.csv")
    run("discover", "discover", "data.csv", "--out", "run", "--text", "question", "--markdown", *DISCOVER)
    run("calibrate", "calibrate", "run/model", "data.csv", "--out", "corrected.csv")


def blanks(run: Commands) -> None:
    """Risks with dates and blanks, with everything found automatically; then two looks of a monitor."""
    table = risks(1_500, 2)
    table[:900].write_parquet("data.parquet")
    columns = ("--probability", "risk", "--event", "happened")
    run("discover", "discover", "data.parquet", "--out", "run", *columns, *DISCOVER, "--threshold", "0.3")
    for look, rows in enumerate((table[900:1_200], table[1_200:])):
        rows.write_parquet("data.new.parquet")
        run(f"monitor-{look}", "monitor", "run", "data.new.parquet", status=(0, 3))
    run("calibrate", "calibrate", "run/model", "data.new.parquet", "--out", "corrected.parquet")


def weighted(run: Commands) -> None:
    """Risks in the order of time, weighted, by customers that are named."""
    risks(900, 4).write_parquet("data.parquet")
    columns = ("--probability", "risk", "--event", "happened", "--weight", "weight", "--group", "customer")
    run("discover", "discover", "data.parquet", "--out", "run", *columns, "--time", "day", *DISCOVER)


def split(run: Commands) -> None:
    """Answers with test rows of their own, told as JSON."""
    table = answers(700, 5).with_columns(part=pl.Series(["train", "train", "val", "test", "test"] * 140))
    table.write_parquet("data.parquet")
    run("discover", "discover", "data.parquet", "--out", "run", "--split", "part", *ANSWERS)


def judge(run: Commands) -> None:
    """Scores of a judge, of which people looked at some."""
    table = verdicts(800, 6)
    table.write_parquet("data.parquet")
    run("discover", "discover", "data.parquet", "--out", "run", "--judge", "judge", "--human", "human", *DISCOVER)


def classes(run: Commands) -> None:
    """Run a model of three classes."""
    digits(700, 7).write_parquet("data.parquet")
    run(
        "discover",
        "discover",
        "data.parquet",
        "--out",
        "run",
        "--probabilities",
        "p_*",
        "--metadata",
        "site",
        *DISCOVER,
    )
    run("calibrate", "calibrate", "run/model", "data.parquet", "--out", "corrected.parquet")


def paper(run: Commands) -> None:
    """Run the paper's method, with an audit."""
    answers(300, 8).write_parquet("data.parquet")
    few = ("--option", "max_epochs=4", "--option", "sigmas=[0.5]", "--option", "lambdas=[1]")
    run("discover", "discover", "data.parquet", "--out", "run", "--method", "paper", *few, *ANSWERS)
    run("audit", "audit", "run", "--draws", "2", "--seeds", "2")


def pair(run: Commands) -> None:
    """Two models that answered the same questions, compared."""
    for model in range(2):
        answers(500, 10, model).write_parquet(f"data.{model}.parquet")
        run(f"discover-{model}", "discover", f"data.{model}.parquet", "--out", f"run{model}", *ANSWERS)
    run("compare", "compare", "run0", "run1", "--match", "id", "--out", "compared")


def studies(run: Commands) -> None:
    """Study two models on two sets, with an audit; do two cells of a synthetic experiment."""
    for number, dataset in enumerate(("one", "two")):
        for model, named in enumerate(("a", "bb")):
            answers(300, 20 + number, model).write_parquet(f"data.{dataset}.{named}.parquet")
    each = [{"model": name, "family": "made-up", "billions": size} for name, size in (("a", 1), ("bb", 4))]
    inputs = {"features": "x_*", "metadata": "kind", "each": each}
    entries = [{"dataset": one, "data": f"data.{one}.{{model}}.parquet"} | inputs for one in ("one", "two")]
    audit = {"pairs": ["one.a"], "draws": 2, "seeds": 2, "null": "permuted"}
    plan = {"method": "auto", "evidence": "test", "interpret": ["one.a"], "audit": audit}
    Path("data.plan.yaml").write_text(json.dumps(plan | {"pairs": entries}), encoding="utf-8")
    run("study", "study", "data.plan.yaml", "--out", "study", "--jobs", "1")
    few = ("--rows", "300", "--amplitudes", "0.2", "--frequencies", "2", "--jobs", "1")
    run("synthetic", "synthetic", "sinusoid", "--method", "auto", "--out", "cells", *few)


RUNS: dict[str, Callable[[Commands], None]] = {
    one.__name__: one
    for one in (studies, pair, blanks, paper, embeddings, texts, weighted, split, judge, classes)
}  # fmt: skip


def write_one(name: str, folder: Path) -> str:
    """Do one golden run in a folder of its own."""
    if (folder / name).exists():
        shutil.rmtree(folder / name)
    commands = Commands((folder / name).resolve())
    RUNS[name](commands)
    commands.keep()
    from joblib.externals.loky import get_reusable_executor

    # its idle processes would keep this one waiting for minutes
    get_reusable_executor().shutdown(wait=True, kill_workers=True)
    return name


def write(folder: Path, names: list[str], jobs: int) -> int:
    """Do the named runs, so many at a time."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["COLUMNS"] = "100"
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for name in pool.map(write_one, names, [folder] * len(names)):
            print(name, flush=True)
    return 0


def differences(before: Any, after: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Places where two values of json differ, and how."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if UNTIMED.search(key):
                continue
            if key not in before or key not in after:
                yield f"{where}.{key}", "is new" if key in after else "is gone"
            else:
                yield from differences(before[key], after[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield where, f"{len(before)} values, then {len(after)}"
        for at, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, other, f"{where}[{at}]")
    elif isinstance(before, (int, float)) and isinstance(after, (int, float)):
        if not math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield where, f"{before!r}, then {after!r}"
    elif isinstance(before, str) and isinstance(after, str):
        if before != after and not HASH.fullmatch(before):
            yield where, f'text "{before[:60]}", then "{after[:60]}"'
    elif before != after:
        yield where, f"{before!r}, then {after!r}"


def columns_that_differ(before: pl.DataFrame, after: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Columns of two tables that differ, and how."""
    if before.height != after.height:
        yield "", f"{before.height} rows, then {after.height}"
        return
    for name in sorted({*before.columns, *after.columns}):
        if UNTIMED.search(name):
            continue
        if name not in before.columns or name not in after.columns:
            yield name, "is new" if name in after.columns else "is gone"
            continue
        one, other = before[name], after[name]
        if one.dtype.is_float() and other.dtype.is_float():
            x, y = one.to_numpy(), other.to_numpy()
            same = np.isclose(x, y, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
            if not same.all():
                size = np.nanmax(np.abs(x - y), initial=0)
                yield name, f"{(~same).sum()} of {len(x)} rows, by up to {size:.2g}"
        elif not one.equals(other, check_dtypes=True, null_equal=True):
            yield name, f"values or type ({one.dtype}, then {other.dtype})"


def compare(before: Path, after: Path, show_texts: bool) -> int:
    """Compare all runs that both folders have; return 1 if a number differs."""
    numbers, words = 0, 0
    runs = [{one.name for one in side.iterdir()} for side in (before, after)]
    names = sorted(runs[0] & runs[1])
    if not names:
        print(f"no run to compare; in one folder alone: {', '.join(sorted(runs[0] ^ runs[1]))}")
        return 1
    for name in names:
        files = [{one.name for one in (side / name).iterdir()} for side in (before, after)]
        for file in sorted(files[0] ^ files[1]):
            numbers += not file.endswith(".txt")
            print(f"{name}/{file}: {'is new' if file in files[1] else 'is gone'}")
        for file in sorted(files[0] & files[1]):
            one, other = before / name / file, after / name / file
            if file.endswith(".txt"):
                sides = (path.read_text(encoding="utf-8").splitlines() for path in (one, other))
                if lines := list(
                    difflib.unified_diff(*sides, f"before/{name}/{file}", f"after/{name}/{file}", n=0, lineterm="")
                ):
                    words += 1
                    print("\n".join(lines) if show_texts else f"{name}/{file}: {len(lines)} lines of text differ")
                continue
            if file.endswith(".json"):
                found = differences(*(json.loads(path.read_text(encoding="utf-8")) for path in (one, other)))
            else:
                found = columns_that_differ(pl.read_parquet(one), pl.read_parquet(other))
            listed = list(islice(found, SHOWN + 1))
            numbers += bool(listed)
            for place, how in listed[:SHOWN]:
                print(f"{name}/{file} {place}: {how}")
            if len(listed) > SHOWN:
                print(f"{name}/{file}: and more")
    print(f"{len(names)} runs: numbers differ in {numbers} files, texts in {words}")
    return int(numbers > 0)


def main() -> int:
    """Write or compare, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    writing = what.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--only", default=",".join(RUNS), help="names of runs")
    writing.add_argument("--jobs", type=int, default=2)
    comparing = what.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--texts", action="store_true")
    asked = parser.parse_args()
    if asked.what == "compare":
        return compare(asked.before, asked.after, asked.texts)
    asked.folder.mkdir(parents=True, exist_ok=True)
    return write(asked.folder, asked.only.split(","), asked.jobs)


if __name__ == "__main__":
    sys.exit(main())
