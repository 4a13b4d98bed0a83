"""Plans made from files and folders: what each pair is, and what is refused in one line."""

import json

import polars as pl
import pytest
import yaml

from miscal.base.errors import FileError, InputError
from miscal.cli import main
from miscal.study import read_plan
from miscal.study.plan_file import plan_from

from .conftest import answers


@pytest.fixture
def file(tmp_path):
    """Answers of two models in one file, one of which needs its name quoted."""
    place = tmp_path / "quiz.parquet"
    named = (answers(model, n=30).with_columns(model=pl.lit(model)) for model in ("a", "o'b"))
    pl.concat(named).write_parquet(place)
    return place


def test_a_file_gives_a_pair_for_each_model_and_keeps_what_is_set(file, tmp_path):
    found = read_plan(plan_from(file, "model", keys={"interpret": "all", "names_only": "kind", "where": "x_0 > 0"}))
    assert [(pair.pair, pair.dataset, pair.model) for pair in found.pairs] == [
        ("quiz.a", "quiz", "a"), ("quiz.o-b", "quiz", "o'b"),
    ]  # fmt: skip
    assert found.pairs[1].where == "(model == 'o''b') and (x_0 > 0)"
    assert (found.interpret, found.pairs[0].names_only, found.pairs[0].metadata) == ("all", "kind", "auto")
    assert {(pair.evidence, pair.method) for pair in found.pairs} == {("all", "auto")}
    assert read_plan(plan_from(file)).pairs == read_plan(plan_from(file, "model")).pairs
    assert (read_plan(plan_from(file)).by, read_plan(plan_from(file, "kind")).by) == ("model", "kind")


def test_a_folder_gives_its_tables_and_scored_folders(file, tmp_path):
    folder = tmp_path / "sets"
    (folder / "scored").mkdir(parents=True)
    answers("a", n=30).write_parquet(folder / "scored" / "triples.parquet")
    (folder / "scored" / "manifest.json").write_text(json.dumps({"settings": {"model": "org/m", "task": "mmlu"}}))
    answers("a", n=30).write_csv(folder / "one.small.csv")
    answers("a", n=30).write_csv(folder / "large.csv")
    (folder / "notes.txt").write_text("")
    pairs = read_plan(plan_from(folder)).pairs
    assert [(pair.dataset, pair.model) for pair in pairs] == [("sets", "large"), ("one", "small"), ("mmlu", "m")]
    by_column = read_plan(plan_from(file.parent, "model")).pairs
    assert [pair.pair for pair in by_column] == ["quiz.a", "quiz.o-b"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--from", "{}/quiz.parquet", "--by", "modle"], "no column 'modle' that could name the models; did you mean"),
        (["--from", "{}/quiz.parqet"], "there is no file or folder '{}/quiz.parqet' to make a plan from; did you mean"),
        (["--from", "{}/empty"], "{}/empty holds nothing to make a plan from: it must hold"),
        (["--from", "{}/quiz.parquet", "--set", "data=x"], "--set cannot give data with --from"),
        (["--from", "{}/quiz.parquet", "--set", "metod=auto"], "the plan has no key 'metod' (did you mean 'method'?)"),
        (["paper48", "--from", "{}/quiz.parquet"], "name either a plan, PLAN.yaml or paper48, or --from"),
        (["paper48", "--by", "model"], "--by names the column of models for --from, which is not given"),
        ([], "name either a plan, PLAN.yaml or paper48, or --from DIR|FILE"),
    ],
)
def test_what_cannot_be_a_plan_is_refused_in_one_line(file, tmp_path, capsys, more, said):
    (tmp_path / "empty").mkdir()
    told = [word.format(tmp_path) for word in more]
    assert main(["study", *told, "--out", str(tmp_path / "out"), "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said.format(tmp_path) in line


def test_a_column_of_too_many_values_names_no_models(tmp_path):
    place = tmp_path / "many.csv"
    answers("a", n=600).write_csv(place)
    with pytest.raises(InputError, match=r"the column 'id' of many\.csv has 600 different values, but --by must name"):
        plan_from(place, "id")
    with pytest.raises(FileError, match="no file or folder"):
        plan_from(tmp_path / "no" / "such")


def test_the_plan_that_was_made_lies_beside_the_results_and_gives_the_same_study(file, tmp_path):
    from miscal.study.tables import PLAN_YAML, StudyFolder

    made, folder = plan_from(file), StudyFolder.open(tmp_path / "out")
    folder.write_yaml(made)
    assert yaml.safe_load((tmp_path / "out" / PLAN_YAML).read_text()) == made
    assert read_plan(tmp_path / "out" / PLAN_YAML) == read_plan(made)
