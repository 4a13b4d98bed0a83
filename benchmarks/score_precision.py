"""Ties and answers that depend on the precision: a bfloat16 model, its output layer in bfloat16 or float32.

Usage::

    python benchmarks/score_precision.py --task questions.parquet [--n 200] [--seed 0] [--model M]

The same questions are put to the same weights three times: all in float32; in bfloat16 with the output layer in
float32, as `miscal score --dtype bfloat16` does; and all in bfloat16. Printed are the rows whose most probable letter
ties with another, and how answers and confidences differ from those in float32.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np

from miscal.scoring import HuggingFaceModel, ModelSpec, forward
from miscal.scoring.command import draw
from miscal.scoring.questions import Item
from miscal.scoring.registry import SMOLLM2
from miscal.scoring.scorer import Outcome, as_items, evaluate_items, judge
from miscal.scoring.tasks import read_task


def questions(task: str, n: int, seed: int) -> list[Item]:
    """Return the items that ``miscal score --limit n --seed seed`` asks."""
    asked = read_task(task).questions
    columns = {name: [question.metadata[name] for question in asked] for name in asked[0].metadata}
    rows, _ = draw([question.id for question in asked], columns, n, seed)
    return as_items([asked[row] for row in rows])


def outcomes(model: HuggingFaceModel, items: Sequence[Item]) -> tuple[tuple[Outcome, ...], float]:
    """Return what a model answers, and the seconds it took."""
    start = time.monotonic()
    answers = evaluate_items(model, items)
    return judge(items, answers)[0].outcomes, time.monotonic() - start


def line(name: str, found: Sequence[Outcome], exact: Sequence[Outcome], seconds: float) -> str:
    """Return a row of the table."""
    tied = np.mean([one.tied for one in found])
    differs = np.mean([one.predicted != other.predicted for one, other in zip(found, exact, strict=True)])
    apart = [abs(one.confidence - other.confidence) for one, other in zip(found, exact, strict=True)]
    return f"| {name} | {tied:.1%} | {differs:.1%} | {np.mean(apart):.4f} | {np.max(apart):.4f} | {seconds:.0f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", required=True, metavar="FILE", help="file of questions")
    parser.add_argument("--model", default=SMOLLM2, help=f"default: {SMOLLM2}")
    parser.add_argument("--n", type=int, default=200, help="questions, drawn by --seed; default: 200")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    items = questions(args.task, args.n, args.seed)
    exact, seconds = outcomes(HuggingFaceModel(ModelSpec(args.model, dtype="float32")), items)
    print(f"{len(items)} questions\n")
    print("| precision | rows that tie | answers unlike float32 | mean | largest difference of confidence | seconds |")
    print("|---|---|---|---|---|---|")
    print(line("float32", exact, exact, seconds))
    narrow = ModelSpec(args.model, dtype="bfloat16")
    found, seconds = outcomes(HuggingFaceModel(narrow), items)
    print(line("bfloat16, output layer in float32", found, exact, seconds))
    with patch.object(forward, "compute_in_float32"):
        before, seconds = outcomes(HuggingFaceModel(narrow), items)
    print(line("bfloat16", before, exact, seconds))


if __name__ == "__main__":
    main()
