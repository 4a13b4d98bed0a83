"""Toy steps of a study, in place of fits: numbers that depend on the cell and on what it rests on, in milliseconds.

Run as a script it is `miscal study` with these steps, in every process that it starts.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from miscal.base.errors import InputError
from miscal.study import run as running
from miscal.study import steps
from miscal.study.tables import TABLES

PAUSE = 0.02


def fit(job):
    time.sleep(PAUSE)
    pair = job.pair
    triples = steps.split_triples(job, pair)
    if "poison" in pair.model:
        raise InputError("the pair is poisoned: give it an antidote")
    if "bug" in pair.model:
        raise KeyError("no such key")
    place = job.folder.run(pair.pair, job.cell.method)
    place.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(job.cell.settings["seed"])
    drawn = float(rng.normal() + triples.residual[triples.split == "test"].mean())
    (place / "toy.json").write_text(json.dumps(drawn))
    return steps.CellResult()


def measure(job):
    time.sleep(PAUSE)
    pair = job.pair
    named = {"pair": pair.pair, "dataset": pair.dataset, "model": pair.model, "method": job.cell.method}
    risk = json.loads((job.folder.run(pair.pair, job.cell.method) / "toy.json").read_text())
    rows = [{**named, "score": score, "coverage": 0.5, "risk": risk} for score in ("raw", "corrected")]
    timed = dict.fromkeys(TABLES["pairs"]) | named | {"seconds": time.time()}
    return steps.CellResult({"deferral": rows, "pairs": [timed]})


def interpret(job):
    pair = job.pair
    named = {"pair": pair.pair, "dataset": pair.dataset, "model": pair.model, "method": job.cell.method}
    return steps.CellResult({"purity": [dict.fromkeys(TABLES["purity"]) | named]})


def duel(job):
    pair = job.pair
    auto, paper = (
        json.loads((job.folder.run(pair.pair, method) / "toy.json").read_text()) for method in ("auto", "paper")
    )
    named = {"pair": pair.pair, "dataset": pair.dataset, "model": pair.model}
    losses = {"log_loss_auto": auto, "log_loss_paper": paper, "saved": paper - auto}
    return steps.CellResult({"duels": [dict.fromkeys(TABLES["duels"]) | named | losses]})


def together(job):
    return steps.CellResult(facts={"pairs": [pair.pair for pair in job.plan.on(job.cell.of)]})


def draw_pages(out: Path, *, paper: bool = False):
    (out / "index.html").write_text("a page")
    return out / "index.html", ("a verdict",)


TOYS = {"discover": fit, "measure": measure, "interpret": interpret, "duel": duel, "together": together}


def install() -> None:
    steps.STEPS.update(TOYS)
    running.draw_pages = draw_pages


# processes that are started import this file again
if "--toy" in sys.argv or __name__ == "__mp_main__":
    install()

if __name__ == "__main__":
    from miscal.cli import main

    sys.argv.remove("--toy")
    sys.exit(main())
