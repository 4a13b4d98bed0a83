"""A run in a tracker: a fake one, and MLflow where it is installed."""

import json

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.integrations.mlflow import log_run


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    subject, sure = rng.choice(["law", "sums"], 400), rng.uniform(0.3, 0.7, 400)
    right = rng.random(400) < sure + np.where(subject == "law", -0.28, 0.28)
    return miscal.discover(
        {"confidence": sure, "correct": right, "subject": subject}, evidence="test", n_jobs=1, progress=False
    )


class Fake:
    def __init__(self):
        self.metrics, self.params, self.files = {}, {}, {}

    def log_metrics(self, metrics):
        self.metrics |= metrics

    def log_params(self, params):
        self.params |= params

    def log_artifact(self, local_path, artifact_path=None):
        with open(local_path, "rb") as stream:
            self.files[f"{artifact_path}/{local_path.rpartition('/')[2]}"] = stream.read()


def test_a_tracker_gets_numbers_settings_findings_and_the_page(found, tmp_path):
    tracker, folder = Fake(), found.save(tmp_path / "run")
    log_run(folder, tracker=tracker, prefix="val")
    summary = found.summary
    assert tracker.metrics["val.smece"] == summary.global_.smece.value
    assert tracker.metrics["val.lower_bound_hidden"] == summary.certificate.lower_bound_hidden.interval[0]
    assert tracker.metrics["val.findings"] == len(summary.findings) > 0
    assert all(isinstance(one, float) for one in tracker.metrics.values())
    assert tracker.params["val.rows"] == summary.n
    assert b"<html" in tracker.files["val/report.html"]
    table = pl.read_csv(tracker.files["val/findings.csv"])
    assert table["description"].to_list() == [one.description for one in summary.findings]
    assert json.loads(tracker.files["val/summary.json"])["n"] == summary.n


def test_mlflow_keeps_what_it_is_given(found, tmp_path, monkeypatch):
    # the one store that needs no database
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"file://{tmp_path}/tracked")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("here", artifact_location=f"file://{tmp_path}/files"))
    with mlflow.start_run() as active:
        log_run(found)
    kept = mlflow.get_run(active.info.run_id).data
    assert kept.metrics["miscal.smece"] == pytest.approx(found.summary.global_.smece.value)
    assert kept.params["miscal.rows"] == str(found.summary.n)
    assert len(list((tmp_path / "files").rglob("report.html"))) == 1
