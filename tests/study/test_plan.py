"""Plans: what they may hold, how one entry stands for several pairs, and the words that refuse the rest."""

import inspect
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml

from miscal.base.errors import FileError, InputError
from miscal.cli import main
from miscal.data.readers.read import read_triples
from miscal.scoring.command import run as score
from miscal.scoring.model_source import BASE_MODELS
from miscal.study import read_plan
from miscal.study.plan import READ_OPTIONS, ScoreOptions, cells_of
from miscal.study.plan_file import plan_from

from .conftest import answers

PAIR = {"dataset": "d", "model": "m", "data": "a.csv", "features": "x_*"}


def plan(*pairs, **settings):
    return read_plan({"pairs": list(pairs or [PAIR]), **settings})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"pairs": [PAIR], "methd": "auto"}, r"the plan has no key 'methd' \(did you mean 'method'\?\): .* use one of"),
        ({"pairs": [PAIR | {"emmbeddings": "a.npy"}]}, r"pair 'd.m' has no key 'emmbeddings' \(did you mean 'embedd"),
        ({"pairs": [PAIR | {"split": "grouped"}]}, "pair 'd.m' has no key 'split'"),
        ({"pairs": [PAIR | {"epsilon": 1.5}]}, r"pair 'd.m': epsilon: .*less than 1; got 1.5"),
        ({"pairs": [PAIR], "epsilon": "wide"}, "the plan: epsilon: .*number; got 'wide'"),
        ({"pairs": [PAIR], "method": "papr"}, "the plan: method: .*'paper', 'auto' or 'both'; got 'papr'"),
        ({"pairs": [PAIR], "seed": True}, "the plan: seed: .*integer; got True"),
        ({"pairs": [{"dataset": "d", "model": "m"}]}, "pair 'd.m': name either score.* or data.*exactly one"),
        ({"pairs": [PAIR | {"score": {"model": "m", "task": "t"}}]}, "exactly one"),
        ({"pairs": [PAIR | {"data": None, "score": {"model": "m"}}]}, "pair 'd.m', score: the key task is missing"),
        ({"pairs": [PAIR | {"data": None, "score": {"modl": "m"}}]}, "pair 'd.m', score has no key 'modl'"),
        ({"pairs": [{"model": "m", "data": "a.csv"}]}, "pair 1 of the plan: the key (pair|dataset) is missing"),
        ({"pairs": [PAIR, PAIR | {"model": "M"}]}, "two pairs of the plan have the id 'd.m'"),
        ({"pairs": [PAIR | {"pair": "../up"}]}, "the id '../up' cannot name a folder"),
        ({"pairs": []}, "pairs must be a list"),
        ({}, "pairs must be a list"),
        ({"pairs": ["d"]}, "pair 1 of the plan must be a mapping of its keys; it is a str"),
        ({"pairs": [PAIR | {"each": {"model": "m"}}]}, "each must be a list of mappings"),
        ({"pairs": [PAIR], "interpret": ["d.n"]}, "interpret names a pair that the plan does not have: 'd.n'; did you"),
        ({"pairs": [PAIR], "audit": {"pairs": ["x"]}}, "audit.pairs names a pair that the plan does not have: 'x'"),
        ({"pairs": [PAIR], "score": {"limits": 3}}, r"score has no key 'limits' \(did you mean 'limit'\?\)"),
        ({"pairs": [PAIR], "audit": {"draw": 3}}, r"audit has no key 'draw' \(did you mean 'draws'\?\)"),
        ({"pairs": [PAIR | {"data": "${DATA}/a.csv"}]}, "leaves DATA open.*--set DATA="),
        ({"pairs": [PAIR | {"method": "paper", "options": {"sigma": 1}}]}, "has no option 'sigma'; its options are"),
        ({"pairs": [PAIR | {"dataset": "a b"}, PAIR | {"dataset": "a-b", "model": "n"}]}, "'a b' and 'a-b'"),
    ],
)
def test_what_is_not_allowed_is_named_with_what_is(content, said):
    with pytest.raises(InputError, match=said):
        read_plan(content)


def test_a_file_that_is_no_plan_is_refused(tmp_path):
    with pytest.raises(FileError, match="does not exist; give a YAML file, or the name paper48"):
        read_plan(tmp_path / "no.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("pairs: [")
    with pytest.raises(FileError, match="is not YAML"):
        read_plan(bad)
    bad.write_text("!!python/object/apply:os.getcwd []")
    with pytest.raises(FileError, match="is not YAML"):
        read_plan(bad)
    bad.write_text("method: auto\npairs: []\nmethod: paper\n")
    with pytest.raises(InputError, match=r"bad.yaml gives the key 'method' twice, in line 1 and in line 3: keep one"):
        read_plan(bad)
    bad.write_text("")
    with pytest.raises(InputError, match="must be a mapping with the key pairs; it is empty"):
        read_plan(bad)


def test_a_name_with_a_null_byte_is_no_plan():
    with pytest.raises(FileError, match="cannot be read: embedded null byte"):
        read_plan("plan\0.yaml")


def test_a_file_is_read_from_its_own_folder_with_what_was_set(tmp_path):
    pairs = [PAIR | {"embeddings": "${WHERE}/x.npy", "metadata": "${NAME}"}]
    content = {"seed": "${SEED}", "audit": {"null": "visible"}, "pairs": pairs}
    path = tmp_path / "plan.yaml"
    # YAML reads an unquoted key null as its null
    path.write_text(yaml.safe_dump(content).replace("'null'", "null"))
    found = read_plan(path, sets={"SEED": "7", "WHERE": "/far", "NAME": "kind"})
    pair = found.pairs[0]
    assert (found.seed, pair.seed, found.audit.null) == (7, 7, "visible")
    assert (pair.data, pair.embeddings) == (str(tmp_path / "a.csv"), "/far/x.npy")


@pytest.mark.parametrize("source", [{"pairs": [PAIR | {"metadata": "${NAME}"}]}, "paper48"], ids=["own", "paper48"])
def test_a_name_that_a_plan_does_not_leave_open_is_refused(source):
    with pytest.raises(
        InputError, match=r"--set NAM: the plan has no \$\{NAM\} to fill in.* it leaves open (NAME|nothing)"
    ):
        read_plan(source, sets={"NAME": "kind", "NAM": "kind"} if isinstance(source, dict) else {"NAM": "kind"})


def test_each_stands_for_the_pairs_written_out():
    short = plan(
        PAIR | {"where": "model == '{model}' and n > {billions}", "seed": 3, "billions": 1}
        | {"each": [{"model": "a"}, {"model": "b c", "billions": 2.5, "seed": 4}]},
        epsilon=0.1,
    )  # fmt: skip
    common = PAIR | {"epsilon": 0.1}
    long = plan(
        common | {"model": "a", "where": "model == 'a' and n > 1", "seed": 3, "billions": 1},
        common | {"model": "b c", "where": "model == 'b c' and n > 2.5", "seed": 4, "billions": 2.5, "pair": "d.b-c"},
    )
    assert short.pairs == long.pairs


def test_a_pair_may_have_settings_of_its_own():
    found = plan(
        PAIR,
        PAIR | {"model": "n", "method": "both", "min_rows": 1, "options": {"patience": 2}},
        min_rows=5, options={"max_epochs": 3},
    )  # fmt: skip
    one, two = found.pairs
    assert (one.methods, one.min_rows, one.options) == (("auto",), 5, {"max_epochs": 3})
    assert (two.methods, two.min_rows, two.options) == (("paper", "auto"), 1, {"max_epochs": 3, "patience": 2})


def test_the_paper_stays_with_test_rows():
    pair = plan(PAIR | {"method": "both", "evidence": "all"}).pairs[0]
    assert [pair.evidence_under(method) for method in pair.methods] == ["test", "all"]


@pytest.mark.parametrize("name", ["planted", "real_sets", "smollm2"])
def test_studies_set_beside_the_paper_judge_on_test_rows_as_they_did(name):
    sets = dict.fromkeys(("DATA", "WORLDS"), "/sets") | {"LIMIT": "9"}
    path = Path(__file__).parents[2] / "examples" / "studies" / f"{name}.yaml"
    found = read_plan(path, sets={one: value for one, value in sets.items() if f"${{{one}}}" in path.read_text()})
    assert {pair.evidence for pair in found.pairs} == {"test"}
    # their fits rest on the settings that they rested on when all plans judged on test rows
    fits = [cell.settings for cell in cells_of(found) if cell.kind == "discover"]
    assert all(one["evidence"] == "test" and one["split"] == "grouped" for one in fits)


def test_a_plan_of_ones_own_judges_all_rows_by_method_auto():
    assert (plan().pairs[0].evidence, plan().pairs[0].method) == ("all", "auto")


def test_a_plan_offers_what_scoring_and_reading_take():
    left_out = {"out", "engine", "ray_address", "workers"}
    assert set(ScoreOptions.model_fields) == set(inspect.signature(score).parameters) - left_out
    # the tables of a study count rows alike; what the probability is of is told by `outcome`
    apart = {"source", "split", "seed", "weight", "kind"}
    # a pair of a study has one probability: several classes are a run of their own
    apart |= {"probabilities", "label", "classes"}
    # and so is a judge
    apart |= {"judge", "human", "labelling_probability"}
    assert set(READ_OPTIONS) == set(inspect.signature(read_triples).parameters) - apart
    defaults = {name: one.default for name, one in inspect.signature(score).parameters.items()}
    assert all(one.is_required() or one.default == defaults[name] for name, one in ScoreOptions.model_fields.items())


# --- the paper's pairs --------------------------------------------------------------------------------------------


def test_the_48_pairs_are_twelve_models_on_four_benchmarks():
    found = read_plan("paper48")
    assert {(pair.dataset, pair.model) for pair in found.pairs} == {
        (dataset, model) for dataset in ("mmlu", "mmlu-pro", "medmcqa", "hh-rlhf") for model in BASE_MODELS
    }
    assert len(found.pairs) == len({pair.pair for pair in found.pairs}) == 48
    for pair in found.pairs:
        assert (pair.score.task, pair.score.model) == (pair.dataset, pair.model)
        known = BASE_MODELS[pair.model]
        assert (pair.family, pair.billions) == (known.family, known.billions)
        # the paper's prompts, all rows
        assert (pair.score.prompt_file, pair.score.form, pair.score.limit) == (None, None, None)
        assert (pair.method, pair.evidence, pair.min_rows, pair.epsilon) == ("paper", "test", 1, 0.05)
        assert (pair.options, pair.score.embeddings_dtype) == ({}, "float16")
    assert (found.split, found.audit.draws, found.audit.seeds, found.audit.null) == ("permutation", 20, 5, "permuted")
    kinds = Counter(cell.kind for cell in cells_of(found))
    assert kinds == {
        "score": 48, "read": 48, "split": 4, "discover": 48, "measure": 48, "audit": 6, "interpret": 1, "together": 4,
    }  # fmt: skip


def test_the_paper_s_pairs_may_be_studied_with_other_settings():
    asked = {"score": {"device": "cuda"}, "options": {"max_epochs": 5}}
    found = read_plan({"pairs": "paper48", "method": "both", "audit": None, **asked})
    # what the plan leaves open stays as it is for the paper's pairs
    assert {(pair.score.embeddings_dtype, pair.score.device) for pair in found.pairs} == {("float16", "cuda")}
    assert all(pair.options == {"max_epochs": 5} for pair in found.pairs)
    full = read_plan({"pairs": "paper48", "score": {"embeddings_dtype": "float32"}})
    assert {pair.score.embeddings_dtype for pair in full.pairs} == {"float32"}
    assert {pair.method for pair in found.pairs} == {"both"}
    assert (found.audit, found.split, found.name) == (None, "permutation", "paper48")


# --- plans made from files and folders: what each pair is, and what is refused in one line ---


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
