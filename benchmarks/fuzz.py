"""Fuzz readers, importers and loaders with damaged and made-up files: the outcome is valid, or an error of ours.

Hypothesis draws edits of a valid file: bits, bytes, cuts, pieces moved or repeated, and for JSON values of other types
anywhere. Saved models and runs get their checksums renewed after the edit, as somebody who means harm would.

    python benchmarks/fuzz.py --minutes 12
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import miscal
from miscal.base.errors import InternalError, MiscalError
from miscal.base.state_folder import CONFIG, TENSORS, VERSION, _content_digest
from miscal.data.importers import read_log
from miscal.data.readers import read_triples
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import seal
from miscal.discovery.saved_model import load_model, save_model
from miscal.report.page import render
from miscal.study.reading import read_plan

N = 120
BATCH = 100


# --- edits --------------------------------------------------------------------------------------------------------

EDITS = st.lists(
    st.tuples(
        st.sampled_from(["bit", "byte", "cut", "drop", "repeat", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 255),
        st.binary(min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=4,
)


def edited(content: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    """Apply edits to the bytes of a file."""
    for kind, place, value, more in edits:
        at = int(place * max(1, len(content)))
        if kind == "bit":
            content = content[:at] + bytes([content[at] ^ 1 << value % 8]) + content[at + 1 :] if content else content
        elif kind == "byte":
            content = content[:at] + bytes([value]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "drop":
            content = content[:at] + content[at + value :]
        elif kind == "repeat":
            content = content[: at + value] + content[at:]
        else:
            content = content[:at] + more + content[at:]
    return content


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Every place in a JSON value, up to some hundreds."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:20]) if isinstance(value, list) else ()
    return [at, *(place for key, inner in items for place in places(inner, (*at, key)))][:2_000]


def changed(value: Any, at: tuple, junk: Any, *, drop: bool) -> Any:
    """Put junk at a place of a JSON value, or leave the place out."""
    if not at:
        return junk
    value = copy.deepcopy(value)
    inner = value
    for key in at[:-1]:
        inner = inner[key]
    if drop:
        del inner[at[-1]]
    else:
        inner[at[-1]] = junk
    return value


@st.composite
def json_edits(draw: Callable, value: Any) -> Any:
    """Draw a JSON value with junk somewhere."""
    for _ in range(draw(st.integers(1, 2))):
        value = changed(value, draw(st.sampled_from(places(value))), draw(JUNK), drop=draw(st.booleans()))
    return value


# --- targets ------------------------------------------------------------------------------------------------------


@dataclass
class Target:
    """A reader: how its input is drawn, how it is called with it, and what must be true of what it returns."""

    name: str
    inputs: st.SearchStrategy
    call: Callable[[Any], Any]
    valid: Callable[[Any], bool]
    examples: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def try_one(self, drawn: Any) -> None:
        """Try one input, and note how it ended."""
        self.examples += 1
        try:
            if not self.valid(self.call(drawn)):
                raise AssertionError("what was returned is not valid")
        except InternalError as error:
            self._failed(error)
        except MiscalError:
            self.refused += 1
        except (Exception, pl.exceptions.PanicException) as error:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "miscal" in frame.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        key = f"{type(error).__name__} at {place}"
        self.failures[key] += 1
        self.first.setdefault(key, str(error).split("\n")[0][:200])


def rows() -> pl.DataFrame:
    """Rows whose confidences are right."""
    rng = np.random.default_rng(0)
    f = rng.uniform(0.2, 0.8, N)
    return pl.DataFrame(
        {
            "confidence": f,
            "correct": (rng.random(N) < f).astype(int),
            "x_1": rng.normal(size=N),
            "kind": rng.choice(["a", "b"], N),
            "text": [f'what of "{k}", é?' for k in range(N)],
        }
    )


def valid_triples(triples: Any) -> bool:
    """Whether rows are such as every other part of miscal trusts."""
    finite = np.isfinite(triples.X).all() and np.isin(triples.correct, [0, 1]).all()
    return bool(finite and ((triples.confidence >= 0) & (triples.confidence <= 1)).all())


def valid_import(imported: Any) -> bool:
    """Whether an import can be read as data."""
    table = imported.table
    return bool(table["confidence"].is_between(0, 1).all() and table["correct"].is_in([0, 1]).all())


def of_bytes(name: str, path: Path, read: Callable[[], Any], valid: Callable[[Any], bool]) -> Target:
    """Make a target of a file whose bytes are edited."""
    whole = path.read_bytes()

    def call(edits: list) -> Any:
        path.write_bytes(edited(whole, edits))
        return read()

    return Target(name, EDITS, call, valid)


def of_json(name: str, path: Path, read: Callable[[], Any], valid: Callable[[Any], bool]) -> Target:
    """Make a target of a file of JSON, one value or lines, whose values are edited."""
    text = path.read_text(encoding="utf-8")
    lines = path.suffix == ".jsonl"
    value = [json.loads(line) for line in text.splitlines()[:3]] if lines else json.loads(text)

    def call(drawn: Any) -> Any:
        values = drawn if isinstance(drawn, list) and lines else [drawn]
        path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
        return read()

    return Target(name, json_edits(value), call, valid)


FORMS = {"bytes": of_bytes, "values": of_json}


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
    helm = folder / "helm"
    helm.mkdir()
    means = [{"name": {"name": name, "split": "test"}, "count": 1, "mean": 0.5} for name in ("max_prob", "exact_match")]
    stats = [{"instance_id": "a", "perturbation": None, "train_trial_index": 0, "stats": means}]
    stats[0]["stats"][1]["mean"] = 1.0
    (helm / "per_instance_stats.json").write_text(json.dumps(stats))
    targets = []
    for tool, path in (("lm-eval", lm_eval), ("inspect", inspect), ("helm", helm / "per_instance_stats.json")):
        read = lambda tool=tool, path=path: read_log(tool, path)  # noqa: E731
        targets += [make(f"{tool}, {kind}", path, read, valid_import) for kind, make in FORMS.items()]
    targets.append(of_bytes("inspect archive", archive, lambda: read_log("inspect", archive), valid_import))
    return targets


def resealed(folder: Path, form: str, content: Any) -> None:
    """Write a saved state whose checksum is right."""
    sums = {TENSORS: hashlib.sha256((folder / TENSORS).read_bytes()).hexdigest()}
    try:
        sums["content"] = _content_digest(form, VERSION, content)
    except ValueError:
        sums["content"] = ""
    config = {"format": form, "version": VERSION, "content": content, "sha256": sums}
    (folder / CONFIG).write_text(json.dumps(config))


def model_targets(folder: Path) -> list[Target]:
    """Make targets of the model folder, whose checksums are renewed."""
    data = read_triples(rows(), features="x_1,kind")
    field_ = miscal.MiscalibrationField().fit_triples(data)
    save_model(field_, data.encoder, folder / "model", confidence="confidence")
    targets = []
    new = rows()
    for name in (".", "input"):
        place = folder / "model" / name
        kept, tensors = json.loads((place / CONFIG).read_text()), (place / TENSORS).read_bytes()

        def call(content: Any, place: Path = place, kept: dict = kept, tensors: bytes = tensors) -> Any:
            (place / TENSORS).write_bytes(tensors)
            resealed(place, kept["format"], content)
            try:
                return load_model(folder / "model").correct(new)
            finally:
                (place / CONFIG).write_text(json.dumps(kept))

        targets.append(
            Target(f"model, {'field' if name == '.' else name}", json_edits(kept["content"]), call, _answers)
        )

        def of_tensors(edits: list, place: Path = place, kept: dict = kept, tensors: bytes = tensors) -> Any:
            (place / TENSORS).write_bytes(edited(tensors, edits))
            resealed(place, kept["format"], kept["content"])
            try:
                return load_model(folder / "model").correct(new)
            finally:
                (place / TENSORS).write_bytes(tensors)
                (place / CONFIG).write_text(json.dumps(kept))

        targets.append(Target(f"tensors, {'field' if name == '.' else name}", EDITS, of_tensors, _answers))
    return targets


def _answers(told: Any) -> bool:
    corrected = told["corrected"].drop_nulls()
    return bool(corrected.is_between(0, 1).all())


def run_targets(folder: Path) -> list[Target]:
    """Make targets of a run folder, sealed again after the edit, and of the page drawn from it."""
    found = miscal.discover(read_triples(rows(), features="x_1", metadata="kind", text="text"), evidence="test")
    run = folder / "run"
    miscal.write_run(found, run)
    targets = []
    for name in ("summary.json", "field.parquet", "map.parquet"):
        path = run / name
        whole = path.read_bytes()

        def call(drawn: Any, path: Path = path, whole: bytes = whole) -> Any:
            json_ = path.suffix == ".json"
            path.write_bytes(json.dumps(drawn).encode() if json_ else edited(whole, drawn))
            try:
                seal(run)
                read_run(run)
                return render(run).read_text(encoding="utf-8")
            finally:
                path.write_bytes(whole)

        inputs = json_edits(json.loads(whole)) if path.suffix == ".json" else EDITS
        targets.append(Target(f"run, {name}", inputs, call, lambda page: page.startswith("<!doctype html>")))
    return targets


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


# --- the run ------------------------------------------------------------------------------------------------------

GROUPS = {
    "data": data_targets, "logs": log_targets, "models": model_targets, "runs": run_targets, "plans": plan_targets,
}  # fmt: skip


def fuzz(target: Target, seconds: float, number: int) -> None:
    """Try a target for so long, and tell of every batch."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()

        @seed(number)
        @settings(
            max_examples=BATCH, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(target.inputs)
        def batch(drawn: Any) -> None:
            if time.monotonic() < end:
                target.try_one(drawn)

        print(json.dumps({"name": target.name, "begun": number}), flush=True)
        batch()
        told = {name: getattr(target, name) for name in ("name", "examples", "refused", "failures", "first")}
        print(json.dumps(told | {"seconds": time.monotonic() - begun}), flush=True)
        target.examples = target.refused = 0
        target.failures, target.first = Counter(), {}
        number += 1


def work(group: str, left: dict[str, float], number: int) -> None:
    """Fuzz the targets of a group, in a process of their own: a library written in Rust may end it."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        targets = GROUPS[group](Path(name))
        print(json.dumps({"targets": [target.name for target in targets]}), flush=True)
        for target in targets:
            fuzz(target, left.get(target.name, left["*"]), number)


@dataclass
class Result:
    """What is known of a target."""

    examples: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)


def supervise(group: str, seconds: float, number: int) -> dict[str, Result]:
    """Run a group until the time of each target is spent, again after a process that ended."""
    left: dict[str, float] = {"*": seconds}
    results: dict[str, Result] = {}
    while True:
        command = [sys.executable, __file__, "--group", group, "--left", json.dumps(left), "--seed", str(number)]
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        now = ""
        for line in process.stdout.splitlines():
            now, number = _take(json.loads(line), results, left, now, number)
        if process.returncode == 0:
            return results
        key = f"the process ended by signal {-process.returncode}"
        results[now].failures[key] += 1
        results[now].first.setdefault(key, f"with seed {number}")
        number += 1


def _take(told: dict[str, Any], results: dict[str, Result], left: dict[str, float], now: str, number: int) -> tuple:
    """Take up what a process tells; return the target and the seed that it is at."""
    if "targets" in told:
        for name in told["targets"]:
            results.setdefault(name, Result())
            left.setdefault(name, left["*"])
        return now, number
    if "begun" in told:
        return told["name"], told["begun"]
    result = results[told["name"]]
    left[told["name"]] -= told["seconds"]
    result.examples += told["examples"]
    result.refused += told["refused"]
    result.failures.update(told["failures"])
    result.first = told["first"] | result.first
    return now, number


def main() -> int:
    """Fuzz every target for its share of the time, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="for each of the five groups")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--group", choices=GROUPS, help=argparse.SUPPRESS)
    parser.add_argument("--left", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.group:
        work(args.group, json.loads(args.left), args.seed)
        return 0
    print(f"{'reader':26}{'examples':>10}{'refused':>10}{'failures':>10}", flush=True)
    examples = failures = 0
    for group, n_targets in SIZES.items():
        for name, found in supervise(group, 60 * args.minutes / n_targets, args.seed).items():
            failed = sum(found.failures.values())
            print(f"{name:26}{found.examples:10,}{found.refused:10,}{failed:10,}", flush=True)
            for key, count in found.failures.most_common():
                print(f"    {count:6,}  {key}: {found.first[key]}", flush=True)
            examples, failures = examples + found.examples, failures + failed
    print(f"{examples:,} examples, {failures:,} failures")
    return 1 if failures else 0


SIZES = {"data": 7, "logs": 7, "models": 4, "runs": 3, "plans": 2}
"""How many targets share the time of a group."""

if __name__ == "__main__":
    sys.exit(main())
