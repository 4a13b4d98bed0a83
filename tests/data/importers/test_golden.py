"""The contract of every importer, on the files of `golden`: read exactly, or refused in one line."""

import json
import re
import shutil

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import MiscalError
from miscal.data.importers.imported import read_log
from miscal.data.importers.stated_confidences import IN_TEXT
from miscal.data.importers.tools import importer, tool_names

from .golden.formats import FORMATS, HERE, REFUSED, SAID
from .written import log_json

each_format = pytest.mark.parametrize("golden", FORMATS, ids=lambda golden: golden.file)
HUGE = "x" * 300_000
IN_WORDS = re.compile(r"Confidence: (\d+)%")


def loaded(golden):
    """Return the file's records, and a function that writes others in their place."""
    suffix, content = golden.path.suffix, None
    if suffix in (".parquet", ".csv"):
        records = (pl.read_parquet if suffix == ".parquet" else pl.read_csv)(golden.path).to_dicts()
    elif suffix == ".jsonl":
        records = [json.loads(line) for line in golden.path.read_text().splitlines()]
    else:
        content = json.loads(golden.path.read_text())
        records = content
        for key in golden.records:
            records = records[key]
    head = records[: golden.head]

    def write(place, changed):
        changed = head + changed
        if suffix == ".parquet":
            pl.DataFrame(changed, infer_schema_length=None).write_parquet(place)
        elif suffix == ".csv":
            pl.DataFrame(changed, infer_schema_length=None).write_csv(place)
        elif suffix == ".jsonl":
            place.write_text("".join(json.dumps(one) + "\n" for one in changed))
        elif not golden.records:
            place.write_text(json.dumps(changed))
        else:
            whole = inner = json.loads(golden.path.read_text())
            for key in golden.records[:-1]:
                inner = inner[key]
            inner[golden.records[-1]] = changed
            place.write_text(json.dumps(whole))

    return records[golden.head :], write


def edited(value, key, change, words):
    """Change the values of a key anywhere, and texts by `words`."""
    if isinstance(value, dict):
        return {name: change(one) if name == key else edited(one, key, change, words) for name, one in value.items()}
    if isinstance(value, list):
        return [edited(one, key, change, words) for one in value]
    return words(value) if isinstance(value, str) else value


def nothing(value):
    return value


def read_twin(golden, folder, records, write):
    """Return the table of changed records; None if they are refused in one line."""
    place = folder / golden.path.name
    for beside in golden.path.parent.iterdir() if golden.path.parent != HERE else ():
        shutil.copy(beside, folder)
    write(place, records)
    try:
        return read_log(golden.tool, place).table
    except MiscalError as error:
        refused = str(error).replace(str(place), "")
    if "\n" in refused or len(refused) > 600:
        pytest.fail(f"refused in more than one line: {refused[:2000]}")
    return None


def values(table):
    """Return the confidence and the outcome of each row, or the judge's score and the person's verdict."""
    names = ("confidence", "correct") if "confidence" in table.columns else ("judge", "human")
    return list(zip(*(table[name].to_list() for name in names), strict=True))


@each_format
def test_golden_files_are_read_exactly(golden):
    found = read_log(golden.tool, golden.path)
    assert len(golden.confidence) <= len(found.table)
    for got, confidence, outcome in zip(values(found.table), golden.confidence, golden.outcome, strict=False):
        assert got == (pytest.approx(confidence, abs=1e-12), outcome)
    assert found.table["text"][0].startswith("Capital of France?")
    assert found.table.select(golden.key).is_unique().all()
    assert found.notes


@each_format
def test_a_row_without_confidence_is_left_out_and_counted(golden, tmp_path):
    records, write = loaded(golden)
    bare = edited(records[0], golden.at, lambda _: None, lambda text: IN_WORDS.sub("", text))
    changed = [bare, *records[1:]]
    table = read_twin(golden, tmp_path, changed, write)
    if table is not None:
        assert values(table) == values(read_log(golden.tool, golden.path).table)[1:]


@each_format
def test_percent_and_probabilities_are_read_alike_or_refused(golden, tmp_path):
    records, write = loaded(golden)
    if golden.stated:
        share = lambda value: value / 100  # noqa: E731
        words = lambda text: IN_WORDS.sub(lambda found: f"Confidence: {int(found[1]) / 100}", text)  # noqa: E731
    else:
        share = lambda value: 100 * value if isinstance(value, float) else value  # noqa: E731
        words = nothing
    table = read_twin(golden, tmp_path, [edited(one, golden.at, share, words) for one in records], write)
    if golden.stated:
        whole = read_log(golden.tool, golden.path).table
        assert values(table) == [(pytest.approx(f), y) for f, y in values(whole)]
    elif table is not None and "confidence" in table.columns:
        assert table["confidence"].is_between(0, 1).all()


@each_format
def test_repeats_keep_ids_apart_or_are_counted_once(golden, tmp_path):
    records, write = loaded(golden)
    table = read_twin(golden, tmp_path, [*records, *records], write)
    whole = values(read_log(golden.tool, golden.path).table)
    assert values(table) in (whole, whole + whole)
    assert table.select(golden.key).is_unique().all()


@pytest.mark.parametrize("golden", [one for one in FORMATS if one.error], ids=lambda golden: golden.file)
def test_tests_that_ended_in_an_error_are_left_out(golden, tmp_path):
    records, write = loaded(golden)
    table = read_twin(golden, tmp_path, [records[0] | golden.error, *records[1:]], write)
    assert values(table) == values(read_log(golden.tool, golden.path).table)[1:]


@each_format
def test_huge_texts_change_nothing_else(golden, tmp_path):
    records, write = loaded(golden)
    longer = lambda text: text.replace("Capital of France?", f"Capital of France?{HUGE}")  # noqa: E731
    table = read_twin(golden, tmp_path, [edited(one, None, nothing, longer) for one in records], write)
    assert values(table) == values(read_log(golden.tool, golden.path).table)


@pytest.mark.parametrize(("tool", "file", "words"), REFUSED)
def test_other_files_are_refused_in_one_line(tool, file, words):
    with pytest.raises(MiscalError, match=words) as raised:
        read_log(tool, HERE / file)
    assert "\n" not in str(raised.value)


def test_pickles_are_refused_whatever_they_are_called(tmp_path):
    place = tmp_path / "scores.json"
    place.write_bytes(b"\x80\x04\x95")
    with pytest.raises(MiscalError, match=r"is a pickle.*to_parquet"):
        read_log("phoenix", place)
    with pytest.raises(MiscalError, match="LM-Polygraph saves pickles"):
        read_log("lm-polygraph", place)
    with pytest.raises(MiscalError, match="records no confidence"):
        read_log("openai-evals", place)


def test_certainty_that_the_text_does_not_state_is_an_alarm(tmp_path):
    samples = [
        {
            "id": at,
            "input": "?",
            "output": {"completion": text},
            "scores": {"judge": {"value": "C", "metadata": {"confidence": said}}},
        }
        for at, (text, said) in enumerate((("Answer: A\nConfidence: 90%", 90), ("Answer: B", 100)))
    ]
    place = log_json(tmp_path / "log.json", samples)
    found = read_log("inspect", place)
    assert any(note.startswith("ALARM") and "the text of 1 of them states none" in note for note in found.notes)
    assert found.table[IN_TEXT].to_list() == [True, False]
    # where confidences never come from the text, the text says nothing about them
    assert not any(note.startswith("ALARM") for note in read_log("promptfoo", HERE / "promptfoo.json").notes)


def test_one_of_several_confidences_is_chosen_by_name(tmp_path):
    place = tmp_path / "promptfoo.json"
    content = json.loads((HERE / "promptfoo.json").read_text())
    for result in content["results"]["results"]:
        result["response"]["logProbs"] = [-0.25, -0.75]
    place.write_text(json.dumps(content))
    found = read_log("promptfoo", place, confidence="likelihood", confidence_columns=["likelihood", "stated"])
    assert found.table["confidence"].to_list() == [pytest.approx(np.exp(-1.0))] * len(SAID)
    assert found.table["stated"].to_list() == [pytest.approx(share) for share in SAID]
    assert "likelihood_per_token" not in found.table.columns
    with pytest.raises(MiscalError, match="did you mean 'likelihood'"):
        read_log("promptfoo", place, confidence="likelyhood")


def test_every_importer_has_a_golden_file():
    elsewhere = {"inspect"}  # tests of their own
    assert {golden.tool for golden in FORMATS} | elsewhere == set(tool_names()), "add a line to golden/formats.py"


@pytest.mark.parametrize("golden", FORMATS, ids=lambda golden: golden.file)
def test_a_log_is_found_in_its_folder_by_its_name(golden, tmp_path):
    (tmp_path / golden.path.name).write_bytes(golden.path.read_bytes())
    assert any(list(tmp_path.glob(pattern)) for pattern in importer(golden.tool).FILES)
