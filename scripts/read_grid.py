"""Read a grid of rows, and compare what two checkouts read: options x formats, old and new rows, good and bad values.

    python scripts/read_grid.py write FILE [REGEX]
    python scripts/read_grid.py compare BEFORE AFTER [--texts]

`write` keeps for each case digests of everything that was read, or the refusal. `compare` lists the cases whose values
or kinds of refusal differ, and ends with status 1 if there are any. --texts prints refusals and notes in other words.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.errors import MiscalError
from miscal.data.readers.class_columns import ClassColumns
from miscal.data.readers.new_rows import open_new_rows
from miscal.data.readers.read import read_triples

N, NEW, PIECE = 240, 90, 40


def table(n: int, seed: int) -> pl.DataFrame:
    """Answers, risks, judgements and classes beside inputs of every kind."""
    rng = np.random.default_rng(seed)
    f, p = rng.uniform(0.05, 0.95, n).round(4), rng.dirichlet([2, 2, 2], n)
    right, words = (rng.random(n) < f).astype(int), ["tort law", "sum of two", "blue river"]
    columns = {f"x_{k}": rng.normal(size=n).round(4) for k in range(2)} | {f"p_{k}": p[:, k] for k in range(3)}
    blank = [None if k % 9 == 0 else float(k % 50) for k in range(n)]
    return pl.DataFrame(
        {"key": [f"q{k}" for k in range(n)], "confidence": f, "correct": right, "age": blank, "happened": right == 1}
        | {"kind": [["law", "maths", None][k % 3] for k in range(n)], "class": rng.integers(0, 3, n), **columns}
        | {"day": [f"2024-0{1 + k % 9}-{10 + k % 19}" for k in range(n)], "ward": rng.integers(0, 40, n)}
        | {"said": [f"{words[k % 3]} {k % 7}" for k in range(n)], "sure": rng.integers(1, 6, n), "w": 1.0 + right}
        | {"human": [None if k % 4 == 0 else int(v) for k, v in enumerate(right)], "fate": np.where(right, "ok", "bad")}
        | {"part": [["train", "train", "train", "val", "test"][k % 5] for k in range(n)]}
    )


def given(rows: pl.DataFrame, kind: str, folder: Path) -> Any:
    """Give rows as a file, a frame or a dictionary."""
    if hasattr(rows, f"to_{kind}"):
        return getattr(rows, f"to_{kind}")()
    path = folder / f"rows.{kind.replace('ndjson', 'jsonl')}"
    getattr(rows, f"write_{kind}")(path)
    return path


def options(folder: Path, n: int) -> dict[str, dict[str, Any]]:
    """Which column plays which part."""
    X, p = np.random.default_rng(7).normal(size=(n, 5)).astype(np.float32), table(n, 1).select("^p_.*$").to_numpy()
    np.save(folder / f"X{n}.npy", X)
    of_event = {"probability": "confidence", "features": "x_*,kind"}
    of_judge, of_text = {"judge": "sure", "human": "human"}, {"text": "said", "embed_model": "tfidf"}
    of_classes = {"label": "class", "features": "x_*"}
    parts = {"weight": "w", "group": "ward", "time": "day", "split": "part", "metadata": "kind"}
    return {
        "columns": {"features": "x_*,age,kind,day"}, "auto": {"leave_out": "p_*,human,fate,happened,w"},
        "vectors": {"embeddings": X}, "file": {"embeddings": str(folder / f"X{n}.npy"), "metadata": "kind"},
        "beside": {"embeddings": X, "features": "age"}, "texts": of_text, "both": of_text | {"features": "kind"},
        "event": of_event | {"event": "happened"}, "named": of_event | {"event": "fate", "positive": "ok"},
        "judge": of_judge | {"features": "x_*"}, "score": {"judge": "confidence", "human": "human", "features": "kind"},
        "classes": of_classes | {"probabilities": "p_*"},
        "matrix": of_classes | {"probabilities": p, "classes": "0,1,2"}, "parts": parts | {"features": "x_*"},
        "days": {"features": "x_*", "group": "day:month", "names_only": "kind"}, "late": {"features": "sure,human"},
        "where": {"features": "x_*,age", "where": "age > 10 and kind = 'law' or ward < 20"},
        "none": {"where": "ward > 99"}, "absent": {"features": "z_*"}, "told": {"features": "x_0,correct"},
    }  # fmt: skip


FAULTS: dict[str, tuple[str, Any]] = {
    "no confidence": ("confidence", None), "above 1": ("confidence", 1.5), "infinite": ("confidence", float("inf")),
    "no outcome": ("correct", None), "outcome 2": ("correct", 2), "no number": ("age", float("nan")),
    "infinite number": ("x_0", float("inf")), "no text": ("said", None), "new category": ("kind", "new"),
    "no score": ("sure", None), "sum": ("p_0", 0.99), "no share": ("p_1", None), "no weight": ("w", None),
    "negative": ("w", -1.0), "weightless": ("w", 0.0), "no ward": ("ward", None), "no day": ("day", None),
    "no class": ("class", None), "class 9": ("class", 9), "split": ("part", "hold"), "verdict": ("human", 3),
    "nothing there": ("x_1", None), "huge": ("x_1", 1e300),
}  # fmt: skip


def damaged(rows: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield rows with one fault in rows 3 and 50, and with a column in another form as a whole."""
    at = pl.int_range(pl.len()).is_in([3, 50])
    for name, (column, value) in FAULTS.items():
        yield name, column, rows.with_columns(pl.when(at).then(pl.lit(value)).otherwise(column).alias(column))
    yield "percent", "confidence", rows.with_columns(pl.col("confidence") * 100)
    yield "words", "confidence", rows.with_columns(pl.format("{} sure", "confidence").alias("confidence"))
    yield "dropped", "x_0", rows.drop("x_0")
    yield "no rows", "x_0", rows.head(0)


def digest(value: Any) -> Any:
    """Return digests of what was read, which are equal where it is; notes and numbers as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if one.name not in ("encoder", "source")]
        return {name: digest(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray):
        held = value.astype(str) if value.dtype == object else np.ascontiguousarray(value)
        return f"{value.dtype} {value.shape} {sha256(held.tobytes()).hexdigest()[:12]}"
    if isinstance(value, dict):
        unlike = {"path", "sha256", "files", "reader", "in_memory"}
        return {str(getattr(key, "name", key)): digest(one) for key, one in value.items() if key not in unlike}
    if isinstance(value, (tuple, list)):
        return [digest(one) for one in value][:50]
    return value if isinstance(value, (int, float, str, type(None))) else str(value)


def attempt(read: Callable[..., Any], *given: Any) -> Any:
    """Return what is read, or why it is not."""
    try:
        return digest(read(*given))
    except MiscalError as error:
        return {"refused": type(error).__name__, "message": str(error)}


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of every case, and what reads it."""
    old, new, fresh = table(N, 1), table(NEW, 2), options(folder, NEW)
    known = cache(lambda asked: read_triples(old, **options(folder, N)[asked]))

    def read(asked: str, rows: pl.DataFrame, kind: str, way: str) -> Any:
        return (t := read_triples(given(rows, kind, folder), **options(folder, N)[asked], on_invalid=way)), t.source

    def pieces(asked: str, rows: pl.DataFrame, kind: str, way: str) -> Any:
        t = known(asked)
        taken = {name: fresh[asked][name] for name in ("embeddings", "where") if name in fresh[asked]}
        if t.classes is not None:
            taken["classes"] = ClassColumns(t.classes.names, columns=t.classes.columns, log=t.classes.log)
            taken["probabilities"] = fresh[asked]["probabilities"] if asked == "matrix" else None
        taken |= {"encoder": t.encoder, "kind": t.kind, "scale": t.judged and t.judged.scale}
        opened = open_new_rows(
            given(rows, kind, folder), on_invalid=way, fitted_on=t.source["columns"]["confidence"], **taken
        )
        return [opened.read(piece) for piece in opened.pieces(PIECE)]

    for asked, chosen in options(folder, N).items():
        plays = str({"confidence", "correct", *map(str, chosen.values())}).replace("_*", "_0 x_1 p_1")
        for kind in ("csv", "parquet", "ndjson", "pandas", "arrow", "dict"):
            yield f"old/{asked}/{kind}", partial(read, asked, old, kind, "error")
            for fault, column, rows in [("good", "correct", new), *damaged(new)] if kind != "arrow" else ():
                for way in ("error", "drop", "null") if column in plays else ():
                    yield f"new/{asked}/{kind}/{fault}/{way}", partial(pieces, asked, rows, kind, way)
            for fault, column, rows in damaged(old) if kind in ("csv", "pandas") else ():
                for way in ("error", "drop") if column in plays else ():
                    yield f"old/{asked}/{kind}/{fault}/{way}", partial(read, asked, rows, kind, way)


def values(case: Any) -> Any:
    """Return a case without its words: of a refusal the kind of error, of rows all but notes, reasons and digest."""
    words = ("notes", "message", "reason", "faults", "digest")
    if isinstance(case, dict):
        return {name: values(one) for name, one in case.items() if name not in words}
    return [values(one) for one in case] if isinstance(case, list) else case


if __name__ == "__main__":
    command, *files = sys.argv[1:]
    if command == "write":
        with tempfile.TemporaryDirectory() as place:
            found = {name: attempt(read) for name, read in cases(Path(place)) if re.search("".join(files[1:]), name)}
            Path(files[0]).write_text(json.dumps(found, indent=1).replace(place, "FOLDER"), encoding="utf-8")
    else:
        before, after = (json.loads(Path(file).read_text(encoding="utf-8")) for file in files[:2])
        unlike = [name for name in sorted({*before} & {*after}) if before[name] != after[name]]
        differ = [name for name in unlike if values(before[name]) != values(after[name])]
        for name in unlike if "--texts" in files else differ:
            print(f"{name}\n  - {json.dumps(before[name])}\n  + {json.dumps(after[name])}")
        print(f"{len(before)} and {len(after)} cases: {len(differ)} differ, {len(unlike) - len(differ)} in words")
        sys.exit(bool(differ))
