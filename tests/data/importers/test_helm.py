"""Run folders of HELM."""

import pytest

from miscal.base.errors import CorruptFile, InputError
from miscal.data.importers import read_log

from .written import asked, run_folder, stats


def test_confidence_and_outcome(tmp_path):
    entries = [
        stats("id0", max_prob=0.7, exact_match=1.0),
        stats("id1", max_prob=0.4),
        stats("id1", exact_match=0.0, logprob=-0.9),
    ]
    folder = run_folder(tmp_path / "runs" / "r", entries, [asked("id0"), asked("id1", completion=" A")])
    table = read_log("helm", folder).table
    assert table["confidence"].to_list() == [0.7, 0.4]
    assert table["correct"].to_list() == [1, 0]
    assert table["predicted"].to_list() == [1, 0]
    assert table["answer_index"].to_list() == [1, 1]
    assert table["text"].to_list() == ["Question id0?", "Question id1?"]
    assert table.select("model", "subject", "split").row(0) == ("org/model", "anatomy", "test")
    assert table.equals(read_log("helm", folder / "per_instance_stats.json").table)
    assert table.equals(read_log("helm", tmp_path).table)


def test_a_tie_is_decided_by_the_first(tmp_path):
    entries = [stats("a", max_prob=0.5, exact_match=0.5, predicted_index=i) for i in (1,)]
    entries += [stats("b", max_prob=0.5, exact_match=0.5, predicted_index=0)]
    states = [asked(name, mapped=False) for name in "ab"]
    table = read_log("helm", run_folder(tmp_path, entries, states, method="multiple_choice_separate_original")).table
    assert table["correct"].to_list() == [1, 0]


def test_perturbed_instances_are_rows_of_their_own(tmp_path):
    typos = {"perturbation": {"name": "typos"}}
    entries = [stats("a", max_prob=0.9, exact_match=1), stats("a", max_prob=0.8, exact_match=0) | typos]
    second = asked("a")
    second["instance"] |= typos | {"input": {"text": "Qestion?"}}
    found = read_log("helm", run_folder(tmp_path, entries, [asked("a"), second]))
    assert found.table["id"].to_list() == ["a", "a/typos"]
    assert found.table["text"].to_list() == ["Question a?", "Qestion?"]
    assert any("--group instance_id" in note for note in found.notes)


def test_without_the_texts(tmp_path):
    found = read_log("helm", run_folder(tmp_path, [stats("a", max_prob=0.9, exact_match=1)]))
    assert found.table["text"].to_list() == [None]
    assert any("scenario_state.json" in note for note in found.notes)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([stats(str(i), max_prob=1.0, exact_match=1) for i in range(5)], "no log-probabilities"),
        ([stats("a", exact_match=1)], "no max_prob"),
        ([stats("a", max_prob=0.5)], "no exact_match"),
        ({"a": 1}, "instance_id"),
    ],
)
def test_no_probabilities(tmp_path, entries, words):
    with pytest.raises(InputError, match=words):
        read_log("helm", run_folder(tmp_path, entries))


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    entries = [
        stats("a", max_prob=0.5, exact_match=1),
        stats("b", max_prob=1.5, exact_match=1),
        stats("c", max_prob=0.5, exact_match=0.5),
        stats("d", max_prob=0.5),
    ]
    found = read_log("helm", run_folder(tmp_path, entries))
    assert found.table["id"].to_list() == ["a"]
    assert sum("1 rows left out" in note for note in found.notes) == 3


@pytest.mark.promise("F3")
def test_damaged_state(tmp_path):
    folder = run_folder(tmp_path, [stats("a", max_prob=0.5, exact_match=1)], [])
    (folder / "scenario_state.json").write_text("{}")
    with pytest.raises(CorruptFile, match="request_states"):
        read_log("helm", folder)
