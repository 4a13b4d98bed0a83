"""What reads files that others wrote: data, logs of other tools, plans of studies."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from hypothesis import strategies as st
from safetensors.numpy import save_file

from _fuzz_edits import JUNK, json_edits
from _fuzz_target import FORMS, N, Target, of_bytes, rows
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples
from miscal.study.plan_file import read_plan


def valid_triples(triples: Any) -> bool:
    """Whether rows are such as every other part of miscal trusts."""
    finite = np.isfinite(triples.X).all() and np.isin(triples.correct, [0, 1]).all()
    return bool(finite and ((triples.confidence >= 0) & (triples.confidence <= 1)).all())


def valid_import(imported: Any) -> bool:
    """Whether an import can be read as data."""
    table = imported.table
    if not table["id"].is_unique().all():
        return False
    if table.columns[2] == "judge":
        return bool(table["judge"].is_finite().all() and table["human"].drop_nulls().is_finite().all())
    return bool(table["confidence"].is_between(0, 1).all() and table["correct"].is_in([0, 1]).all())


def data_targets(folder: Path) -> list[Target]:
    """Make targets of all formats of data."""
    targets = []
    table = rows()
    for ending, write in {
        ".parquet": table.write_parquet,
        ".csv": table.write_csv,
        ".jsonl": table.write_ndjson,
    }.items():
        path = folder / f"d{ending}"
        write(path)
        read = lambda path=path: read_triples(path, features="x_1,kind", text="text")  # noqa: E731
        targets.append(of_bytes(f"data {ending}", path, read, valid_triples))
    X = np.random.default_rng(1).normal(size=(N, 3)).astype(np.float32)
    np.save(folder / "e.npy", X)
    save_file({"x": X}, folder / "e.safetensors")
    for name in ("e.npy", "e.safetensors"):
        read = lambda name=name: read_triples(table, embeddings=folder / name)  # noqa: E731
        targets.append(of_bytes(f"embeddings {Path(name).suffix}", folder / name, read, valid_triples))
    some = st.lists(st.tuples(st.integers(0, N - 1), st.sampled_from(table.columns), JUNK), min_size=1, max_size=3)
    targets.append(Target("dictionary of lists", some, _of_cells(table), valid_triples))
    words = st.sampled_from(
        ["kind", "x_1", "==", "!=", "<", ">", "and", "or", "not", "in", "'a'", "0.5", "(", ")", "[", "]"]
    )
    where = st.lists(words | st.text(max_size=5), min_size=1, max_size=8).map(" ".join)
    read_where = lambda text: read_triples(table, features="x_1", where=text)  # noqa: E731
    targets.append(Target("conditions", where, read_where, valid_triples))
    return targets


def _of_cells(table: pl.DataFrame) -> Callable[[Any], Any]:
    def call(cells: Any) -> Any:
        columns = table.to_dict(as_series=False)
        for row, name, value in cells:
            columns[name][row] = value
        return read_triples(columns, features="x_1,kind", text="text")

    return call


def log_targets(folder: Path) -> list[Target]:
    """Make targets of the logs of other tools, in the least form that each tool writes."""
    record = {
        "doc_id": 0, "doc": {"question": "?"}, "target": "1", "acc": 1.0,
        "arguments": {f"gen_args_{i}": {"arg_0": "?", "arg_1": f" {i}"} for i in range(3)},
        "filtered_resps": [["-2.0", "False"], ["-1.0", "True"], ["-3.0", "False"]],
    }  # fmt: skip
    lm_eval = folder / "samples.jsonl"
    lm_eval.write_text("".join(json.dumps(record | {"doc_id": k}) + "\n" for k in range(5)))
    top = [{"token": f" {letter}", "logprob": -1.0 - k} for k, letter in enumerate("ABCD")]
    token = {"token": " B", "logprob": -2.0, "bytes": None, "top_logprobs": top}
    sample = {
        "id": "a", "epoch": 1, "input": "?", "choices": ["r", "g", "b", "y"], "target": "B", "messages": [],
        "output": {"model": "m", "choices": [{"message": {}, "stop_reason": "stop", "logprobs": {"content": [token]}}]},
        "scores": {"choice": {"value": "C", "answer": "B", "explanation": "ANSWER: B"}}, "metadata": {"s": "t"},
    }  # fmt: skip
    about = {
        "version": 2, "status": "success", "eval": {"task": "t", "model": "m", "dataset": {"name": "d"}},
        "plan": {"steps": [{"solver": "multiple_choice", "params": {}}]},
    }  # fmt: skip
    inspect = folder / "log.json"
    inspect.write_text(json.dumps(about | {"samples": [sample]}))
    archive = folder / "log.eval"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("header.json", json.dumps(about))
        out.writestr("samples/a_epoch_1.json", json.dumps(sample))
    targets = []
    for tool, path in (("lm-eval", lm_eval), ("inspect", inspect)):
        read = lambda tool=tool, path=path: read_log(tool, path)  # noqa: E731
        targets += [make(f"{tool}, {kind}", path, read, valid_import) for kind, make in FORMS.items()]
    targets.append(of_bytes("inspect archive", archive, lambda: read_log("inspect", archive), valid_import))
    return targets + _golden_targets(folder)


def _golden_targets(folder: Path) -> list[Target]:
    """Make targets of the files that other tools have written, as the tests of importers keep them."""
    targets = []
    for golden in _golden_formats():
        place = folder / "golden" / golden.tool / golden.path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(golden.path, place)
        read = lambda tool=golden.tool, path=place: read_log(tool, path)  # noqa: E731
        forms = FORMS.items() if place.suffix in (".json", ".jsonl") else [("bytes", of_bytes)]
        targets += [make(f"{golden.path.name[:18]}, {kind}", place, read, valid_import) for kind, make in forms]
    return targets


def _golden_formats() -> Any:
    place = Path(__file__).resolve().parents[1] / "tests" / "data" / "importers" / "golden" / "formats.py"
    spec = importlib.util.spec_from_file_location("golden_formats", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module.FORMATS


PLAN = {
    "method": "both", "seed": 0, "options": {"max_epochs": 1},
    "pairs": [
        {"dataset": "d", "data": "d.{model}.parquet", "features": "x_*", "each": [{"model": "a"}, {"model": "b"}]},
    ],
}  # fmt: skip


def plan_targets(folder: Path) -> list[Target]:
    """Make targets of the plan of a study."""
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(PLAN))
    return [
        of_bytes("plan, bytes", path, lambda: read_plan(path), lambda plan: bool(plan.pairs)),
        Target("plan, values", json_edits(PLAN), read_plan, lambda plan: bool(plan.pairs)),
    ]
