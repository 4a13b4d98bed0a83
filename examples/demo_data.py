"""Ask SmolLM2-135M-Instruct the demo questions and package the answers.

Usage::

    python examples/demo_questions.py --out questions.parquet
    python examples/demo_data.py questions.parquet --out src/miscal/data/demo.parquet

The form of the candidates is the one with the highest accuracy, averaged over the domains, on the first questions of
every domain; nothing about confidence or calibration enters the choice. Both tables are printed (demo-data.md).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

from miscal.scoring.demo import DIMENSIONS, MODEL, principal_components
from miscal.scoring.huggingface import HuggingFaceModel
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.questions import FORMS, Question, question_items
from miscal.scoring.scorer import evaluate_items, judge


def pack(table: pl.DataFrame, hidden: np.ndarray, dimensions: int = DIMENSIONS) -> tuple[pl.DataFrame, float]:
    """Join a scored table and its hidden states, reduced and rounded to half precision, into the demo's table.

    Returns
    -------
    table : polars.DataFrame
        As `read` describes.
    kept : float
        Share of the variance of the hidden state kept, in [0, 1].
    """
    scores, kept = principal_components(hidden, dimensions)
    rounded = scores.astype(np.float16).astype(np.float32)
    named = {f"x_{i:03}": rounded[:, i] for i in range(dimensions)}
    asked = table["text"].str.split("\nA. ").list.first().alias("question")
    beside = table.with_columns(asked, pl.lit(MODEL).alias("model"))
    precise = [
        pl.col("confidence").round(6),
        pl.col("candidate_mass").cast(pl.Float32),
        pl.col("choice_probs").cast(pl.List(pl.Float32)),
    ]
    return beside.with_columns(*precise, **{name: pl.Series(values) for name, values in named.items()}), kept


def write(table: pl.DataFrame, out: str | Path, *, form: str, kept: float) -> None:
    """Write the demo's table as parquet, with how it was made in the file's metadata."""
    about = {
        "model": MODEL,
        "form": form,
        "variance_kept": round(kept, 4),
        "reduction": "principal components, float16",
    }
    table.write_parquet(out, compression="zstd", compression_level=19, metadata={"miscal": json.dumps(about)})


def read_questions(path: str) -> list[Question]:
    """Read the questions that `demo_questions.py` wrote."""
    return [
        Question(row["id"], row["question"], tuple(row["choices"]), row["answer_index"], {"domain": row["domain"]})
        for row in pl.read_parquet(path).iter_rows(named=True)
    ]


def first_of_each_domain(questions: list[Question], n: int) -> list[Question]:
    """Return the first n questions of every domain; their order within a domain is random."""
    counted: dict[object, int] = {}
    kept = []
    for question in questions:
        counted[question.metadata["domain"]] = counted.get(question.metadata["domain"], 0) + 1
        if counted[question.metadata["domain"]] <= n:
            kept.append(question)
    return kept


def accuracies(model: HuggingFaceModel, questions: list[Question]) -> pl.DataFrame:
    """Return the accuracy per domain (rows) and candidate form (columns); confidences are not looked at."""
    table = pl.DataFrame({"domain": [q.metadata["domain"] for q in questions]})
    for asked, forms in (("letter", FORMS[:1]), ("text", FORMS[1:])):
        items = question_items(questions, form=asked)
        raw = evaluate_items(model, items)
        for form in forms:
            correct = [result.correct for result in judge(items, *raw, form)[0].outcomes]
            table = table.with_columns(pl.Series(form, correct))
    means = [pl.len().alias("n"), *(pl.col(form).mean().round(3) for form in FORMS)]
    total = table.select(pl.lit("all").alias("domain"), *means)
    return pl.concat([table.group_by("domain", maintain_order=True).agg(means), total])


def best_form(table: pl.DataFrame) -> str:
    """Return the form with the highest mean accuracy over the domains, the first of equals."""
    means = table.filter(pl.col("domain") != "all").select(pl.col(FORMS).mean()).row(0, named=True)
    return max(FORMS, key=lambda form: means[form])


def show(table: pl.DataFrame) -> None:
    """Print a table in full."""
    with pl.Config(tbl_rows=-1, tbl_formatting="ASCII_MARKDOWN", tbl_hide_column_data_types=True):
        print(table, flush=True)


def main() -> None:
    """Choose the form, score with it and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions")
    parser.add_argument("--compare", type=int, default=40, metavar="N", help="questions per domain to compare forms on")
    parser.add_argument("--out", default="demo.parquet")
    options = parser.parse_args()
    questions, model = read_questions(options.questions), HuggingFaceModel(ModelSpec(MODEL, dtype="bfloat16"))
    compared = accuracies(model, first_of_each_domain(questions, options.compare))
    form = best_form(compared)
    show(compared)
    print(f"form: {form}", flush=True)
    items = question_items(questions, form=form)
    scored, hidden = judge(items, *evaluate_items(model, items), form)
    table, kept = pack(scored.table(), hidden)
    write(table, options.out, form=form, kept=kept)
    accuracy = pl.col("correct").mean().round(3).alias("accuracy")
    show(table.group_by("domain", maintain_order=True).agg(pl.len().alias("n"), accuracy))
    print(f"{len(table)} rows, accuracy {table['correct'].mean():.3f}, variance of the hidden state kept {kept:.3f}")


if __name__ == "__main__":
    main()
