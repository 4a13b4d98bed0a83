"""What reads folders that miscal wrote, with checksums renewed after the edit, as somebody who means harm would."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import miscal
from _fuzz_edits import EDITS, edited, json_edits
from _fuzz_target import N, Target, rows
from miscal.base.folders import CONFIG, TENSORS, VERSION, _content_digest
from miscal.data.readers.read import read_triples
from miscal.discovery.discover import discover
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import seal
from miscal.discovery.saved_model import SavedModel, load_model
from miscal.report import write_run
from miscal.report.page import render


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
    SavedModel(field_.to_saved(), data.encoder, "confidence").save(folder / "model")
    place, new = folder / "model", rows()
    kept, tensors = json.loads((place / CONFIG).read_text()), (place / TENSORS).read_bytes()

    def call(content: Any, blob: bytes = tensors) -> Any:
        (place / TENSORS).write_bytes(blob)
        resealed(place, kept["format"], content)
        return load_model(place).correct(new)

    return [
        Target("model", json_edits(kept["content"]), call, _answers),
        Target("tensors", EDITS, lambda edits: call(kept["content"], edited(tensors, edits)), _answers),
    ]


def _answers(told: Any) -> bool:
    corrected = told["corrected"].drop_nulls()
    return bool(corrected.is_between(0, 1).all())


def run_targets(folder: Path) -> list[Target]:
    """Make targets of a run folder, sealed again after the edit, and of the page drawn from it."""
    found = discover(read_triples(rows(), features="x_1", metadata="kind", text="text"), evidence="test")
    run = folder / "run"
    write_run(found, run)
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


def monitor_targets(folder: Path) -> list[Target]:
    """Make targets of the state of a monitor, whose checksums are renewed, and of the look that goes on from it."""
    rows().write_parquet(folder / "old.parquet")
    data = read_triples(folder / "old.parquet", features="x_1", metadata="kind")
    run, batches = folder / "run", [rows(seed).to_dict(as_series=False) for seed in (1, 2)]
    write_run(discover(data, evidence="test"), run, report=False)
    miscal.monitor(run, batches[0])
    place = run / "monitor" / "state"
    kept, tensors = json.loads((place / CONFIG).read_text()), (place / TENSORS).read_bytes()

    def call(content: Any, blob: bytes) -> Any:
        (place / TENSORS).write_bytes(blob)
        resealed(place, kept["format"], content)
        return miscal.monitor(run, batches[1])

    def told(found: Any) -> bool:
        return found.rows >= N and (run / "monitor" / "monitor.html").read_text().startswith("<!doctype html>")

    return [
        Target("monitor, state", json_edits(kept["content"]), lambda drawn: call(drawn, tensors), told),
        Target("monitor, tensors", EDITS, lambda edits: call(kept["content"], edited(tensors, edits)), told),
    ]
