"""Tasks: the hub's schemas, local files, task files, and files that cannot be used."""

import gzip
import json
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn
from miscal.scoring.questions import question_items
from miscal.scoring.tasks import read_task, rows_to_questions, split_dialogues

MMLU = {"question": " Why? ", "subject": "law", "choices": ["a", "b", "c", "d"], "answer": 2}
PRO = {
    "question_id": 7,
    "question": "Why?",
    "options": ["a", "b"],
    "answer": "B",
    "answer_index": 1,
    "cot_content": "",
    "category": "law",
    "src": "x",
}
MED = {"id": "m", "question": "Why?", "opa": "a", "opb": "b", "opc": "c", "opd": "d", "cop": 3, "subject_name": "S"}
HH = {
    "chosen": "\n\nHuman: Hi\n\nAssistant: Hello\n\nHuman: Go\n\nAssistant: Gone.",
    "rejected": "\n\nHuman: Hi\n\nAssistant: Hello\n\nHuman: Go\n\nAssistant: Going nowhere.",
}


@pytest.mark.parametrize(
    ("row", "choices", "answer", "metadata"),
    [
        (MMLU, ("a", "b", "c", "d"), 2, {"subject": "law"}),
        (PRO, ("a", "b"), 1, {"question_id": 7, "answer": "B", "cot_content": "", "category": "law", "src": "x"}),
        (MED, ("a", "b", "c", "d"), 3, {"subject_name": "S"}),
    ],
)
def test_the_hubs_schemas(row, choices, answer, metadata):
    question = rows_to_questions([row], "task")[0]
    assert (question.question, question.choices, question.answer_index) == (row["question"], choices, answer)
    assert dict(question.metadata) == metadata


def test_dialogues_are_split_at_the_last_shared_turn():
    pair = rows_to_questions([HH], "task")[0]
    assert pair.prompt == "Human: Hi\n\nAssistant: Hello\n\nHuman: Go\n\nAssistant:"
    assert (pair.chosen, pair.rejected) == ("Gone.", "Going nowhere.")
    assert split_dialogues("no turns", "at all") == ("", "no turns", "at all")


TURN = st.sampled_from(["\n\nHuman:", "\n\nAssistant:", " Hi", " Ah", "\n\n", " Assist"])


@given(st.lists(TURN, max_size=6), st.lists(TURN, max_size=4), st.lists(TURN, max_size=4))
@example(["\n\nHuman:", " Hi", "\n\nAssistant:", " Hi"], ["\n\nAssistant:", " Ah"], ["\n\nHuman:", " Ah"])
def test_dialogues_share_all_turns_up_to_the_last_common_mark(shared, one, other):
    chosen, rejected = "".join(shared + one), "".join(shared + other)
    prompt, answer, other_answer = split_dialogues(chosen, rejected)
    assert (prompt + answer, prompt + other_answer) == (chosen, rejected)
    ends = [end for end in range(len(chosen) + 1) if chosen[:end].endswith("\n\nAssistant:")]
    assert len(prompt) == max((end for end in ends if chosen[:end] == rejected[:end]), default=0)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_files_of_questions(tmp_path, ending):
    rows = [{"id": f"q{k}", "question": "What?", "choices": ["x", "y, z"], "answer_index": k % 2} for k in range(3)]
    path = tmp_path / f"task.{ending}"
    if ending == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pl.DataFrame([row | {"choices": json.dumps(row["choices"])} for row in rows]).write_csv(path)
    task = read_task(str(path))
    assert task.kind == "choice"
    assert [question.choices for question in task.questions] == [("x", "y, z")] * 3
    assert [question.answer_index for question in task.questions] == [0, 1, 0]
    assert [question.id for question in task.questions] == ["q0", "q1", "q2"]


def test_a_task_file_names_form_and_prompt(tmp_path):
    pl.DataFrame([MMLU]).write_parquet(tmp_path / "data.parquet")
    (tmp_path / "prompt.txt").write_text("{question}\n{choices}\nAnswer:\n")
    path = tmp_path / "task.yaml"
    path.write_text("data: data.parquet\nform: text_per_byte\nprompt_file: prompt.txt\n")
    task = read_task(str(path))
    assert (task.form, task.template) == ("text_per_byte", "{question}\n{choices}\nAnswer:")
    for wrong, said in {
        "data: data.parquet\nfrom: text\n": "from",
        "data: 3\n": "data must .*got 3",
        "data: data.parquet\nprompt_file: [a]\n": "prompt_file must .*got .'a'.",
        "data: data.parquet\n1: 2\nx: 3\n": "unknown: 1, x",
        "form: letter\n": "data is missing",
        "- data\n": "not a mapping",
        "data: a.parquet\ndata: data.parquet\n": "'data' twice",
        "data: data.parquet\nform: words\n": "words",
    }.items():
        path.write_text(wrong)
        with pytest.raises(InputError, match=said):
            read_task(str(path))


def test_unusable_tasks_are_refused_in_words(tmp_path):
    with pytest.raises(InputError, match="did you mean 'mmlu-pro'"):
        read_task("mmlu_pro")
    with pytest.raises(InputError, match="did you mean 'mmlu'"):
        read_task("MMLU")
    with pytest.raises(InputError, match="or a file; got") as caught:
        read_task("https://me:hunter2@host/task.parquet")
    assert "hunter2" not in str(caught.value)
    for ending in ("parquet", "yaml"):
        with pytest.raises(FileError, match="does not exist"):
            read_task(str(tmp_path / f"none.{ending}"))
    cut = tmp_path / "cut.jsonl"
    cut.write_text(json.dumps({"question": "?", "choices": ["a", "b"], "answer_index": 0}) + '\n{"question": "b')
    with pytest.raises(CorruptFile, match="line 2"):
        read_task(str(cut))
    with pytest.raises(MissingColumn, match="'awnser_index' looks like 'answer_index'"):
        rows_to_questions([{"question": "?", "choices": ["a", "b"], "awnser_index": 0}], "task")
    with pytest.raises(InputError, match=r"2 rows repeat one: rows \[1, 3\]"):
        rows_to_questions([MED, MED, MED | {"id": "n"}, MED], "task")
    with pytest.raises(InputError, match="no rows"):
        rows_to_questions([], "task")


def test_an_unreadable_row_becomes_a_row_to_mark():
    rows = [
        {"question": "?", "choices": choices, "answer_index": 0}
        for choices in ("not json", '"text"', None, ["a", None], ["a", ["b"]])
    ]
    problems = [item.problem for item in question_items(rows_to_questions(rows, "task"))]
    said = ["Expecting value", "must be a list", "must be a list", "choice 1 is missing", "choice 1 must be text"]
    assert all(words in problem for words, problem in zip(said, problems, strict=True))
    assert "opc is missing" in rows_to_questions([MED | {"opc": None}], "task")[0].problem
    assert (
        "chosen must be text"
        in rows_to_questions([{"prompt": "?", "chosen": ["a"], "rejected": "b"}], "task")[0].problem
    )


@pytest.mark.parametrize("answer", ["x", None, 0.5, float("nan"), float("inf"), 10**400, -2, [1]])
def test_an_answer_that_is_no_position_becomes_a_row_to_mark(answer):
    question = rows_to_questions([{"question": "?", "choices": ["a", "b"], "answer_index": answer}], "task")[0]
    problem = question_items([question])[0].problem
    assert repr(answer)[:40] in problem
    assert "position" in problem or "outside" in problem


def test_numbers_are_texts_too():
    question = rows_to_questions([{"question": 7, "choices": [1, 2.5], "answer_index": "1"}], "task")[0]
    assert (question.question, question.choices, question.answer_index) == ("7", ("1", "2.5"), 1)


def test_line_ends_and_marks_of_other_systems(tmp_path):
    row = json.dumps({"question": "?", "choices": ["a", "b"], "answer_index": 0})
    (tmp_path / "task.jsonl").write_bytes(f"\ufeff{row}\r\n\r\n{row}\r\n".encode())
    assert [question.question for question in read_task(str(tmp_path / "task.jsonl")).questions] == ["?", "?"]


@pytest.mark.parametrize("name", ["medmcqa", "hh-rlhf"])
def test_a_benchmark_of_the_hub_is_pinned_and_its_parts_joined(name, monkeypatch):
    datasets, hub = pytest.importorskip("datasets"), pytest.importorskip("huggingface_hub")
    asked = []

    def load_dataset(dataset, config, *, split, revision, data_dir=None):
        asked.append((dataset, data_dir, split))
        assert (config, revision) == (None, "abc123")
        return [(HH if data_dir else MED) | {"id": f"{data_dir}-{split}-{k}"} for k in range(2)]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    info = SimpleNamespace(sha="abc123")
    monkeypatch.setattr(hub.HfApi, "dataset_info", lambda *arguments, **options: info)
    task = read_task(name)
    parts = {
        "medmcqa": [("openlifescienceai/medmcqa", None, split) for split in ("train", "validation")],
        "hh-rlhf": [
            ("Anthropic/hh-rlhf", f"{kind}-base", split)
            for kind in ("harmless", "helpful")
            for split in ("train", "test")
        ],
    }[name]
    assert asked == parts
    assert [one.id for one in task.questions] == [f"{place}-{split}-{k}" for _, place, split in parts for k in (0, 1)]
    assert (task.revision, task.kind) == ("abc123", "choice" if name == "medmcqa" else "preference")
    assert task.note  # of what is left out


def test_pairs_of_a_file_need_no_subset(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(HH) + "\n")
    task = read_task(str(path))
    assert dict(task.questions[0].metadata) == {}
    assert task.note is None


# --- without a network ---------------------------------------------------------------------------------------------


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """The cache of the hub as its documentation lays it out, and no network; puts a commit of a data set into it."""
    hub, datasets = pytest.importorskip("huggingface_hub"), pytest.importorskip("datasets")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    load = datasets.load_dataset
    cached = {"cache_dir": str(tmp_path / "datasets")}
    monkeypatch.setattr(datasets, "load_dataset", lambda *given, **options: load(*given, **options, **cached))

    def put(dataset: str, commit: str, files: dict[str, list[dict]], branch: str | None = None):
        place = tmp_path / "hub" / f"datasets--{dataset.replace('/', '--')}"
        for name, rows in files.items():
            blob = place / "blobs" / f"{commit}-{len(list(place.rglob('*')))}"
            link = place / "snapshots" / commit / name
            for path in (blob, link):
                path.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
            link.symlink_to(blob)
        if branch:
            (place / "refs").mkdir(exist_ok=True)
            (place / "refs" / branch).write_text(commit)

    return put


def medmcqa(commit: str) -> dict[str, list[dict]]:
    return {f"data/{split}.jsonl.gz": [MED | {"id": f"{commit}-{split}"}] for split in ("train", "validation")}


def test_a_cached_data_set_works_without_a_network(offline):
    name = "openlifescienceai/medmcqa"
    with pytest.raises(FileError, match=rf"{name}: it is not in the cache .*: fetch it once"):
        read_task("medmcqa")
    offline(name, "aaa", medmcqa("aaa"))
    task = read_task("medmcqa")
    assert (task.revision, [question.id for question in task.questions]) == ("aaa", ["aaa-train", "aaa-validation"])
    offline(name, "bbb", medmcqa("bbb"))
    with pytest.raises(InputError, match=r"several commits \(aaa, bbb\).*name one with --task-revision"):
        read_task("medmcqa")
    assert read_task("medmcqa", revision="aaa").questions[0].id == "aaa-train"
    offline(name, "ccc", medmcqa("ccc"), branch="main")
    assert read_task("medmcqa").revision == "ccc"
    with pytest.raises(FileError, match="ddd is not in the cache"):
        read_task("medmcqa", revision="ddd")


SIZES = {("harmless-base", "train"): 5, ("harmless-base", "test"): 2, ("helpful-base", "train"): 4,
         ("helpful-base", "test"): 3, ("helpful-online", "train"): 6, ("red-team-attempts", "train"): 2}  # fmt: skip


def test_of_the_folders_of_a_cached_data_set_the_two_base_ones_are_asked(offline):
    def rows(folder, split):
        turns = [f"\n\nHuman: {folder} {split} {k}\n\nAssistant:" for k in range(SIZES[folder, split])]
        return [{"chosen": f"{turn} Good.", "rejected": f"{turn} Bad."} for turn in turns]

    files = {f"{folder}/{split}.jsonl.gz": rows(folder, split) for folder, split in SIZES}
    offline("Anthropic/hh-rlhf", "aaa", files, branch="main")
    pairs = read_task("hh-rlhf").questions
    assert [(pair.prompt, pair.metadata["subset"]) for pair in pairs] == [
        (f"Human: {kind}-base {split} {k}\n\nAssistant:", kind)
        for kind in ("harmless", "helpful")
        for split in ("train", "test")
        for k in range(SIZES[f"{kind}-base", split])
    ]
    assert {(pair.chosen, pair.rejected) for pair in pairs} == {("Good.", "Bad.")}
    assert len({pair.id for pair in pairs}) == 14


def test_where_the_hub_cannot_be_reached_the_cache_is_asked(offline, monkeypatch):
    import huggingface_hub

    def unreachable(*arguments, **options):
        raise ConnectionError("no route")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)
    monkeypatch.setattr("miscal.scoring.model_source.time.sleep", lambda seconds: None)
    with pytest.raises(FileError, match=r"no route \(tried 5 times\); .*not in the cache"):
        read_task("medmcqa")
    offline("openlifescienceai/medmcqa", "aaa", medmcqa("aaa"))
    assert read_task("medmcqa").revision == "aaa"
