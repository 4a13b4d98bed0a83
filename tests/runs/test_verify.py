"""Runs are verified: what follows from their rows is computed again, and what was changed is named."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import miscal
from miscal.base.errors import FileError
from miscal.cli import main


def table(seed=0, n=1_500):
    rng = np.random.default_rng(seed)
    kind, risk = rng.choice(list("abc"), n), rng.uniform(0.05, 0.95, n)
    late = (rng.random(n) < expit(logit(risk) + 1.5 * (kind == "b"))).astype(int)
    return pl.DataFrame({"risk": risk, "late": late, "kind": kind, "w": rng.uniform(0.5, 2.0, n)})


@pytest.fixture(scope="module", params=[None, "w"])
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    table().write_parquet(folder / "rows.parquet")
    options = {} if request.param is None else {"weight": request.param}
    run = miscal.discover(folder / "rows.parquet", probability="risk", event="late", quick=True, **options)
    run.save(folder / "out")
    return folder / "out"


def test_what_follows_from_the_rows_is_computed_again(saved, capsys):
    found = miscal.verify(saved)
    assert found.equal
    assert found.numbers > 150
    assert main(["verify", str(saved)]) == 0
    said = capsys.readouterr().out
    assert "follow from the rows" in said
    assert "not checked: intervals" in said


def number(path):
    content = json.loads(path.read_text())
    content["findings"][0]["accuracy"] += 1e-6
    path.write_text(json.dumps(content))


def setting(path):
    content = json.loads(path.read_text())
    content["settings"]["epsilon"] = 0.9
    path.write_text(json.dumps(content))


def cell(path):
    rows = pl.read_parquet(path)
    rows.with_columns(corrected=pl.when(pl.col("row") == 3).then(0.5).otherwise("corrected")).write_parquet(path)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("summary.json", number, "summary.findings[0].accuracy"),
        ("summary.json", setting, "summary.histogram.edges"),
        ("field.parquet", cell, "summary.correction.miscal.all.log_loss"),
    ],
)
def test_what_was_changed_is_named(saved, tmp_path, name, change, said, capsys):
    shutil.copytree(saved, tmp_path / "out")
    change(tmp_path / "out" / name)
    assert main(["verify", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert f"{name} changed since miscal wrote it" in shown


def test_findings_need_the_data(tmp_path):
    table().write_parquet(tmp_path / "rows.parquet")
    for weight, what in ((None, "findings, because"), ("w", "weighted means")):
        out = tmp_path / f"out{weight}"
        miscal.discover(tmp_path / "rows.parquet", probability="risk", event="late", weight=weight, quick=True).save(
            out
        )
        table(1).write_parquet(tmp_path / "rows.parquet")
        found = miscal.verify(out)
        assert found.equal
        assert any(one.startswith(what) for one in found.not_checked)
        table().write_parquet(tmp_path / "rows.parquet")


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"neither cells\.parquet nor field\.parquet"):
        miscal.verify(tmp_path)
