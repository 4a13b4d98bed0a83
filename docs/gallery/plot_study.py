"""
Four classifiers side by side
=============================

Which of four classifiers of handwritten digits promises more than it keeps, and what would correcting each save? A
study answers this for any number of models and sets. Every answer here comes from a fit that has not seen the image. To
be quick, the study evaluates one part of the images and learns from the others.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from miscal.study import read_tables, study

X, y = load_digits(return_X_y=True)
models = {
    "naive Bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "neighbours": KNeighborsClassifier(30, weights="distance"),
    "logistic regression": LogisticRegression(C=1e-4, max_iter=200),
}
folder = tempfile.TemporaryDirectory()
rows, out = Path(folder.name) / "digits.parquet", Path(folder.name) / "study"
answers = []
for name, model in models.items():
    p = cross_val_predict(model, X, y, method="predict_proba")
    told = {"id": range(len(y)), "model": name, "confidence": p.max(axis=1), "correct": p.argmax(axis=1) == y}
    answers.append(pl.DataFrame(told | {"ink": X.mean(axis=1), "digit": y.astype(str)}))
pl.concat(answers).write_parquet(rows)

pair = {"dataset": "digits", "data": str(rows), "where": "model == '{model}'", "features": "ink", "metadata": "digit"}
done = study({"evidence": "test", "pairs": [pair | {"each": [{"model": name} for name in models]}]}, out)
print("\n".join(done.lines))

# %%
# How far each model's accuracy is from what it says, with its interval: on the left are models that promise too much.

board = read_tables(out)["board"].filter(pl.col("measure") == "residual")
value, low, high = (100 * board[name].to_numpy() for name in ("value", "low", "high"))
figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
axis.errorbar(value, board["model"], xerr=[value - low, high - value], fmt="o", color="black")
axis.axvline(0, color="grey", linewidth=1)
axis.margins(y=0.15)
axis.set(xlabel="accuracy less confidence, points")
plt.show()
folder.cleanup()
