"""Logs of Inspect: packed and plain, shuffled and not, with stated confidences, and what must be refused."""

import json
import zipfile

import numpy as np
import pytest

from miscal.base.errors import CorruptFile, InputError, ResourceError
from miscal.data.importers import logs
from miscal.data.importers.imported import read_log
from miscal.data.importers.stated_confidences import confidence_of, in_text, shares_of

from .golden.formats import HERE
from .written import CHOICES, answered, header, inspected, log_eval, log_json, shuffled, token
from .written import archive as written_archive

PROBS = (0.1, 0.5, 0.2, 0.1)
ONE = inspected("q", answered("B", PROBS), answer="B")


def imported(path):
    return read_log("inspect", path)


def only(tmp_path, one, **about):
    return imported(log_json(tmp_path / "x.json", [one], **about)).table.row(0, named=True)


def refused(tmp_path, one, **about):
    """The reason for which a sample is left out beside one that is not."""
    found = imported(log_json(tmp_path / "x.json", [inspected("good", answered("B", PROBS), answer="B"), one], **about))
    assert found.table["sample_id"].to_list() == ["good"]
    return " ".join(found.notes)


@pytest.mark.parametrize("blank", ["\u0120", "\u2581", " ", ""])
def test_letters_at_the_answer(tmp_path, blank):
    row = only(tmp_path, inspected("q", answered("B", PROBS, blank=blank), answer="B"))
    np.testing.assert_allclose(row["choice_probs"], np.array(PROBS) / 0.9)
    assert row["confidence"] == pytest.approx(0.5 / 0.9)
    assert row["candidate_mass"] == pytest.approx(0.9)
    assert (row["correct"], row["predicted"], row["answer_index"]) == (1, 1, 1)
    assert (row["text"], row["task"], row["model"], row["subject"]) == (
        "Question q?",
        "colours",
        "mock/model",
        "colour",
    )
    assert not row["truncated"]


def test_variants_of_a_letter_are_summed(tmp_path):
    row = only(tmp_path, inspected("q", answered("B", PROBS, extra=[("A", 0.05), ("**A", 0.02)]), answer="B"))
    np.testing.assert_allclose(row["choice_probs"], np.array([0.17, 0.5, 0.2, 0.1]) / 0.97)


def test_letters_that_are_not_among_the_top(tmp_path):
    found = imported(log_json(tmp_path / "x.json", [inspected("q", answered("B", (0.3, 0.6, 0, 0)), answer="B")]))
    row = found.table.row(0, named=True)
    np.testing.assert_allclose(row["choice_probs"], [1 / 3, 2 / 3, 0, 0])
    assert row["truncated"]
    assert any("1 rows" in note and "truncated" in note for note in found.notes)


def test_shuffled_letters_are_led_back(tmp_path):
    """Sent as A) grey B) red C) blue D) green; the tokens say B, which is red, the first choice."""
    order = [3, 0, 2, 1]
    one = inspected("q", answered("B", PROBS), answer="A", target="A", explanation=shuffled(order, "B"))
    row = only(tmp_path, one, shuffle=True)
    np.testing.assert_allclose(row["choice_probs"], np.array([0.5, 0.1, 0.2, 0.1]) / 0.9)
    assert (row["predicted"], row["correct"]) == (0, 1)
    assert row["confidence"] == pytest.approx(0.5 / 0.9)


def test_shuffle_of_choices_that_look_like_options(tmp_path):
    choices = ("x", "x\nB) x", "B) y", "x\nB) x\nC)")
    order = [1, 3, 0, 2]
    one = inspected(
        "q", answered("C", PROBS), answer="A", target="A", choices=choices, explanation=shuffled(order, "C", choices)
    )
    row = only(tmp_path, one, shuffle=True)
    assert row["predicted"] == 0
    np.testing.assert_allclose(row["choice_probs"], np.array([0.2, 0.1, 0.1, 0.5]) / 0.9)


def test_shuffles_that_cannot_be_undone_are_left_out(tmp_path):
    twins = ("red", "red", "blue", "grey")
    one = inspected(
        "q", answered("B", PROBS), answer="A", choices=twins, explanation=shuffled([1, 0, 2, 3], "B", twins)
    )
    assert "the log does not tell their order" in refused(tmp_path, one)
    garbled = inspected(
        "q", answered("B", PROBS), answer="A", explanation=shuffled([3, 0, 2, 1], "B", CHOICES[::-1]) + "?"
    )
    assert "left out" in refused(tmp_path, garbled)
    other = inspected("q", answered("B", PROBS), answer="B")
    other["scores"] = {"letter": other["scores"]["choice"]}
    assert "the log does not tell their order" in refused(tmp_path, other, shuffle=True)


def test_shuffle_that_the_score_does_not_confirm(tmp_path):
    one = inspected("q", answered("B", PROBS), answer="C", explanation="ANSWER: C")
    assert "differs from the letter that was generated" in refused(tmp_path, one)


def test_last_answer_of_a_reasoning_counts(tmp_path):
    words = [token(t, 0.9, [(t, 0.9), ("z", 0.1)]) for t in ("A", " good", " ANSWER", ":", " D", ".", "\n", "No", ", ")]
    row = only(tmp_path, inspected("q", words + answered("B", PROBS), answer="B"))
    assert row["predicted"] == 1


def test_a_bare_letter_is_an_answer(tmp_path):
    assert only(tmp_path, inspected("q", answered("B", PROBS)[-1:], answer="B"))["predicted"] == 1


NONE = [token(t, 0.9, [(t, 0.9), ("z", 0.1)]) for t in ("I", " do", " not", " know")]


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (inspected("q", NONE, answer="B"), "no token is the letter"),
        (inspected("q", None, answer="B"), "no log-probabilities"),
        (inspected("q", answered("B", PROBS), answer="B", choices=None or ()), "choices"),
        (inspected("q", answered("B", PROBS), answer="A, B"), "several letters"),
        (inspected("q", answered("B", PROBS), answer=""), "recognised"),
        (inspected("q", answered("B", PROBS), answer="B", error={"message": "x"}), "error"),
        (inspected("q", answered("B", PROBS), answer="B", scores={"choice": {"value": "N", "answer": "B"}}), "neither"),
        (inspected("q", answered("B", PROBS), answer="B", scores=None), "no score"),
    ],
)
def test_samples_left_out_are_counted(tmp_path, one, reason):
    told = refused(tmp_path, one)
    assert reason in told
    assert "1 rows left out" in told
    assert "q/epoch 1" in told


def test_logs_without_probabilities(tmp_path):
    bare = inspected("q", None, answer="B")
    chosen_only = inspected("q", [token(" B", 0.9, [(" B", 0.9)])], answer="B")
    for one in (bare, chosen_only):
        with pytest.raises(InputError, match=r"(?s)no probabilities.*top_logprobs"):
            imported(log_json(tmp_path / "x.json", [one]))


def test_epochs_have_ids_of_their_own(tmp_path):
    samples = [inspected(7, answered("B", PROBS), answer="B", epoch=epoch) for epoch in (1, 2)]
    found = imported(log_eval(tmp_path / "x.eval", samples))
    assert found.table["id"].to_list() == ["7/epoch 1", "7/epoch 2"]
    assert found.table["sample_id"].to_list() == ["7", "7"]
    assert any("--group sample_id" in note for note in found.notes)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("method", "frames"), [(0, 1), (8, 1), (93, 1), (93, 5)])
def test_archives_and_json_agree(tmp_path, method, frames, chunked):
    samples = [inspected(f"q/{i}", answered("B", PROBS), answer="B") for i in range(3)]
    path = log_eval(tmp_path / "log", samples, method=method, frames=frames, chunked=chunked)
    assert imported(path).table.equals(imported(log_json(tmp_path / "x.json", samples)).table)


def test_nan_constants(tmp_path):
    path = log_json(tmp_path / "x.json", [ONE | {"metadata": {"score": float("nan")}}])
    assert "NaN" in path.read_text()
    assert len(imported(path).table) == 1


def test_run_that_broke_off(tmp_path):
    members = {"_journal/start.json": {"version": 2, "eval": header()["eval"]}, "samples/q_epoch_1.json": ONE}
    path = written_archive(tmp_path / "x.eval", {name: json.dumps(value).encode() for name, value in members.items()})
    found = imported(path)
    assert len(found.table) == 1
    assert any("did not finish" in note for note in found.notes)


@pytest.mark.parametrize("claim", [10, 100_000])
def test_bombs_and_lies_about_size(tmp_path, claim):
    members = {"header.json": b" " * 1_000_000}
    with pytest.raises(CorruptFile, match="size or checksum"):
        imported(written_archive(tmp_path / "x.eval", members, claim=claim))
    with pytest.raises(ResourceError, match="would unpack"):
        imported(written_archive(tmp_path / "x.eval", members, claim=logs.MAX_MEMBER + 1))


@pytest.mark.parametrize("method", [8, 93])
@pytest.mark.parametrize("split", [1, 40])
def test_what_unpacks_to_hundreds_of_times_its_size_is_refused_before_it_is_read(tmp_path, method, split, monkeypatch):
    size = logs.FREE_BYTES + 1
    members = {f"samples/q{i}_epoch_1.json": b" " * (size // split + 1) for i in range(split)}
    path = written_archive(tmp_path / "x.eval", members, method=method)
    assert path.stat().st_size < size / logs.MAX_RATIO
    monkeypatch.setattr(logs, "_bounded", lambda *_: pytest.fail("a member was read"))
    with pytest.raises(ResourceError, match=r"x\.eval has .* bytes, but would unpack to 67,1"):
        imported(path)


def test_a_member_is_held_once(tmp_path):
    import tracemalloc

    content = b" " * 20_000_000
    path = written_archive(tmp_path / "x.eval", {"header.json": content})
    with logs.Archive(path) as members:
        tracemalloc.start()
        assert members.content("header.json") == content
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # a bytearray grows by an eighth at a time
    assert peak < 1.5 * len(content)


def test_no_zstandard(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(InputError, match=r"miscal\[logs\]"):
        imported(log_eval(tmp_path / "x.eval", [ONE]))


def test_files_that_are_no_logs(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="not a log of Inspect"):
        imported(tmp_path / "x.json")
    with zipfile.ZipFile(tmp_path / "x.eval", "w") as out:
        out.writestr("a.txt", "a")
    with pytest.raises(InputError, match=r"header\.json"):
        imported(tmp_path / "x.eval")


def test_messages_as_input(tmp_path):
    given = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": [{"type": "text", "text": "Which?"}, {"type": "image", "image": "x"}]},
    ]
    assert only(tmp_path, ONE | {"input": given})["text"] == "Which?"


def share(found):
    return None if found is None else shares_of([found])[0]


def test_a_confidence_in_words_is_read_right_or_left_out():
    ways = [line.split("\t") for line in (HERE / "stated.tsv").read_text(encoding="utf-8").split("\n")[1:-1]]
    for where, stated_log, reading in ways:
        words = stated_log.replace(r"\r", "\r").replace(r"\n", "\n")
        means = pytest.approx(None if reading == "left out" else float(reading))
        assert share(in_text(words if where == "text" else f"Answer: A\nConfidence: {words}")) == means, stated_log
        if where == "alone":
            assert share(confidence_of(words)) == means, stated_log


def stated_log(folder, scores):
    """Write a log with one sample for each (value, metadata)."""
    samples = [
        {"id": k, "epoch": 1, "input": f"question {k}", "target": "x", "metadata": {"subject": "law"},
         "scores": {"judge": {"value": value, "metadata": metadata}}}
        for k, (value, metadata) in enumerate(scores)
    ]  # fmt: skip
    return log_json(folder / "log.json", samples)


def test_percent_texts_and_dictionaries(tmp_path):
    scores = [("C", {"confidence": 90}), ({"score": "I", "confidence": "75%"}, None), ("I", {"confidence": 0})]
    found = read_log("inspect", stated_log(tmp_path, scores))
    assert found.table.select("id", "confidence", "correct").rows() == [
        ("0/epoch 1", 0.9, 1),
        ("1/epoch 1", 0.75, 0),
        ("2/epoch 1", 0.0, 0),
    ]
    assert set(found.table["subject"]) == {"law"}
    assert "what the model stated" in found.notes[0]


def test_probabilities_stay_what_they_are(tmp_path):
    found = read_log("inspect", stated_log(tmp_path, [("C", {"confidence": 0.9}), ("I", {"confidence": 1})]))
    assert found.table["confidence"].to_list() == [0.9, 1.0]
    assert any("1 of 2 stated confidences are 100 %" in note for note in found.notes)


def test_what_cannot_be_used_is_left_out_and_counted(tmp_path):
    scores = [
        ("C", {"confidence": 90}),
        ("C", {"confidence": None}),
        ("P", {"confidence": 50}),
        ("I", {"confidence": -1}),
    ]
    scores += [("I", {"confidence": "x" * 10**6}), ("I", {"confidence": [1]}), ("I", {"confidence": float("nan")})]
    found = read_log("inspect", stated_log(tmp_path, scores))
    assert len(found.table) == 1
    assert any("5 rows left out: the stated confidence is no number from 0 to 100" in note for note in found.notes)
    assert any("1 rows left out: the score is neither right nor wrong" in note for note in found.notes)


def test_percent_and_probabilities_in_one_log_are_refused(tmp_path):
    with pytest.raises(InputError, match="1 confidences are above 1 and 1 lie between 0 and 1"):
        read_log("inspect", stated_log(tmp_path, [("C", {"confidence": 90}), ("I", {"confidence": 0.5})]))
