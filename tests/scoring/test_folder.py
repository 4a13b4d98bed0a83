"""A run into a folder: what it leaves, and what kills, faults, damage and changed settings do to it."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file

from miscal.base.errors import CorruptFile, FileError, InputError, LockedError, MiscalError, MismatchError
from miscal.base.workers import Processes
from miscal.data.readers.read import read_triples
from miscal.scoring import FakeModel, Question
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items, score

TASK = {"task": "test", "form": "letter"}
BUDGET = 150  # a few rows per batch


def questions(n: int = 30) -> list[Question]:
    return [
        Question(
            f"q{k}", f"Question {k} " + "and more " * (k % 7), ("one", "two", "three"), k % 3, {"topic": f"t{k % 4}"}
        )
        for k in range(n)
    ]


def run(out: Path, *, model=None, items=None, **options):
    options = {"task": TASK, "batch_tokens": BUDGET} | options
    return score_folder(model or FakeModel(), as_items(questions()) if items is None else items, out, **options)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def states(folder: Path) -> np.ndarray:
    return load_file(folder / "embeddings.safetensors")["x"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """What an undisturbed run leaves."""
    folder = tmp_path_factory.mktemp("whole")
    run(folder)
    return content(folder)


class Stops(FakeModel):
    """Fails at the n-th batch."""

    def __init__(self, at: int, error: BaseException) -> None:
        super().__init__()
        self.left, self.error, self.calls = at, error, 0

    def evaluate(self, batch):
        self.calls += 1
        if self.left == 0:
            raise self.error
        self.left -= 1
        return super().evaluate(batch)


def break_off(out: Path, at: int = 4, **options) -> Stops:
    """Stop a run at its n-th batch."""
    model = Stops(at, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(out, model=model, **options)
    return model


def test_a_finished_run_leaves_three_files_that_agree_with_the_python_api(tmp_path):
    done = run(tmp_path)
    assert sorted(content(tmp_path)) == ["embeddings.safetensors", "manifest.json", "triples.parquet"]
    table = pl.read_parquet(tmp_path / "triples.parquet")
    triples = score(FakeModel(), questions())
    own = ["id", "text", "confidence", "correct", "predicted", "choices", "choice_probs", "candidate_mass"]
    assert table.columns[:8] == own
    assert table["id"].to_list() == [q.id for q in questions()]
    assert table["topic"].to_list() == [q.metadata["topic"] for q in questions()]
    assert states(tmp_path).dtype == np.float32
    np.testing.assert_array_equal(states(tmp_path), triples.X)
    np.testing.assert_array_equal(table["confidence"].to_numpy(), triples.confidence)
    np.testing.assert_array_equal(table["correct"].to_numpy(), triples.correct)
    assert (done.n_scored, done.n_failed) == (30, 0)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["candidate_ids"].keys() == {" A", " B", " C"}
    assert manifest["settings"]["model.revision"] == "1"


def test_rows_whose_best_candidates_tie_are_counted(tmp_path):
    class Undecided(FakeModel):
        def evaluate(self, batch):
            found = super().evaluate(batch)
            even = [np.zeros(3) if item.row in (4, 7) else v for item, v in zip(batch, found.log_probs, strict=True)]
            return replace(found, log_probs=tuple(even))

    assert run(tmp_path, model=Undecided()).manifest["ties"] == {"n": 2, "rows": [4, 7]}


def test_batch_budget_changes_no_number(tmp_path, whole):
    run(tmp_path, batch_tokens=10_000)
    after = content(tmp_path)
    assert after["triples.parquet"] == whole["triples.parquet"]
    assert after["embeddings.safetensors"] == whole["embeddings.safetensors"]


def test_a_broken_run_goes_on_where_it_was_and_leaves_the_same_bytes(tmp_path, whole):
    first, second, complete, told = break_off(tmp_path), *(Stops(-1, RuntimeError()) for _ in range(2)), []
    run(tmp_path, model=second, progress=lambda rows, total: told.append((rows, total)))
    assert content(tmp_path) == whole
    run(tmp_path / "again", model=complete)
    assert first.calls + second.calls == complete.calls + 1  # the batch that was broken off, and no other, twice
    # what was done before counts as progress
    assert sum(rows for rows, _ in told) == 30
    assert {total for _, total in told} == {30}


def test_a_finished_run_is_not_computed_again(tmp_path, whole):
    run(tmp_path)
    again = Stops(0, RuntimeError())
    done = run(tmp_path, model=again)
    assert (done.n_scored, done.n_new) == (30, 0)
    assert again.calls == 0
    assert content(tmp_path) == whole


@pytest.mark.parametrize("name", ["triples.parquet", "embeddings.safetensors"])
@pytest.mark.parametrize("damage", ["flip", "gone"])
def test_a_finished_run_that_was_damaged_is_not_passed_off_as_whole(tmp_path, name, damage):
    run(tmp_path)
    data = bytearray((tmp_path / name).read_bytes())
    (tmp_path / name).unlink()
    if damage == "flip":
        data[-20] ^= 1
        (tmp_path / name).write_bytes(data)
    with pytest.raises(CorruptFile, match=name):
        run(tmp_path)


@pytest.mark.parametrize("name", ["triples.parquet", "embeddings.safetensors", "shards/mine"])
def test_files_of_something_else_are_left_alone(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileError, match=f"holds {name.split('/')[0]}"):
        run(tmp_path)
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("text", ["3", "{}", '{"settings": {}}', "not json"])
@pytest.mark.parametrize("name", ["manifest.json", "settings.json"])
def test_a_manifest_that_is_not_ours_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "000000.json").write_text("{}")
    with pytest.raises(MiscalError, match="score into a new folder"):
        run(tmp_path)
    assert (tmp_path / name).read_text() == text


def test_a_run_that_never_got_to_its_first_batch_may_be_begun_otherwise(tmp_path, whole):
    break_off(tmp_path, 0, batch_tokens=BUDGET + 1)
    assert run(tmp_path).n_new == 30
    assert content(tmp_path) == whole


def test_what_a_run_killed_at_its_very_end_leaves_is_tidied(tmp_path, whole, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("miscal.scoring.folder.shutil.rmtree", lambda *given, **options: None)
        run(tmp_path)
    (tmp_path / "settings.json").write_text("{}")
    assert (tmp_path / "shards").exists()
    run(tmp_path)
    assert content(tmp_path) == whole


@pytest.mark.parametrize("ending", [".parquet", ".safetensors", ".json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_a_damaged_shard_is_computed_again(tmp_path, whole, ending, damage):
    break_off(tmp_path)
    path = sorted((tmp_path / "shards").glob(f"*{ending}"))[1]
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 0xFF
    path.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    if damage == "gone":
        path.unlink()
    run(tmp_path)
    assert content(tmp_path) == whole


CHANGES = {
    "model.width": {"model": FakeModel(width=8)},
    "task.form": {"task": TASK | {"form": "text"}, "form": "text", "items": as_items(questions(), form="text")},
    "task.prompt": {"task": TASK | {"prompt": "other"}},
    "batch_tokens": {"batch_tokens": BUDGET + 1},
    "embeddings_dtype": {"embeddings_dtype": "float16"},
    "n_rows": {"items": as_items(questions(29))},
    "data_sha256": {"items": as_items(questions()[::-1])},
}


@pytest.mark.parametrize("key", CHANGES)
@pytest.mark.parametrize("finished", [False, True])
def test_changed_settings_are_refused_by_name(tmp_path, whole, key, finished):
    if finished:
        run(tmp_path)
    else:
        break_off(tmp_path, 2)
    with pytest.raises(MismatchError, match=key):
        run(tmp_path, **CHANGES[key])
    if finished:
        assert content(tmp_path) == whole


def test_a_second_owner_is_refused_and_a_dead_one_is_forgotten(tmp_path):
    code = "import sys, time\nfrom miscal.base.files import locked\n"
    code += "with locked(sys.argv[1], inside=True):\n    print('mine', flush=True)\n    time.sleep(60)\n"
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"mine\n"
        with pytest.raises(LockedError, match="another miscal process"):
            run(tmp_path)
        other.kill()
    assert run(tmp_path).n_scored == 30


def test_poisoned_rows_are_named_and_the_others_go_on_in_a_folder_and_in_memory(tmp_path):
    bad = [Question("empty", " ", ("a", "b"), 0), Question("single", "?", ("a",), 0)]
    asked = [*questions(3), *bad, Question("last", "?", ("a", "b"), 1)]
    done = run(tmp_path, items=as_items(asked))
    assert (done.n_scored, done.n_failed) == (4, 2)
    assert [row["id"] for row in done.manifest["failed"]] == ["empty", "single"]
    assert pl.read_parquet(tmp_path / "triples.parquet")["id"].to_list() == ["q0", "q1", "q2", "last"]
    assert len(states(tmp_path)) == 4
    triples = score(FakeModel(), asked)
    assert triples.row.tolist() == [0, 1, 2, 5]
    (note,) = triples.notes
    assert "row 3: empty question; row 4: " in note
    assert score(FakeModel(), questions(3)).notes == ()
    with pytest.raises(InputError, match="empty question"):
        run(tmp_path / "nothing", items=as_items(bad[:1]))


# --- hidden states in half precision: the same numbers rounded, whoever computes them and however often --------------


class Large(FakeModel):
    """Has one hidden state of a given magnitude, in a batch of its own."""

    def __init__(self, magnitude: float) -> None:
        super().__init__()
        self.magnitude = magnitude

    def evaluate(self, batch):
        found = super().evaluate(batch)
        hidden, lengths = found.hidden.copy(), [len(row.context) for row in batch]
        hidden[lengths.index(max(lengths)), 3] = -self.magnitude
        return replace(found, hidden=hidden)


def test_half_precision_takes_half_the_space_and_is_read_in_single_precision(tmp_path, whole):
    done = run(tmp_path, embeddings_dtype="float16")
    exact, rounded = score(FakeModel(), questions()).X, states(tmp_path)
    assert rounded.dtype == np.float16
    np.testing.assert_array_equal(rounded, exact.astype(np.float16))
    # but for the header, whose numbers have another digit
    sizes = [len(one["embeddings.safetensors"]) for one in (whole, content(tmp_path))]
    assert sizes[0] - sizes[1] == pytest.approx(exact.size * 2, abs=8)
    assert content(tmp_path)["triples.parquet"] == whole["triples.parquet"]
    assert done.manifest["embeddings"] == {"dtype": "float16"}
    # a run of rows enough to be read
    run(tmp_path / "many", items=as_items(questions(120)), embeddings_dtype="float16")
    X = read_triples(tmp_path / "many").X
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, states(tmp_path / "many").astype(np.float32))


def test_a_broken_run_and_one_in_processes_leave_the_same_bytes(tmp_path):
    straight, broken, apart = (tmp_path / name for name in ("straight", "broken", "apart"))
    run(straight, embeddings_dtype="float16")
    break_off(broken, 2, embeddings_dtype="float16")
    run(broken, embeddings_dtype="float16")
    run(apart, embeddings_dtype="float16", workers=Processes(2))
    assert content(straight) == content(broken) == content(apart)


@pytest.mark.parametrize(("magnitude", "dtype"), [(65_504.0, "float16"), (65_505.0, "float32")])
def test_a_number_that_does_not_fit_keeps_all_in_single_precision_and_is_told(tmp_path, magnitude, dtype):
    done = run(tmp_path, model=Large(magnitude), embeddings_dtype="float16")
    assert states(tmp_path).dtype == np.dtype(dtype)
    assert np.isfinite(states(tmp_path)).all()
    assert states(tmp_path).min() == -magnitude
    told = done.manifest["embeddings"]
    assert told["dtype"] == dtype
    assert (f"{magnitude:,.0f}" in told.get("note", "")) == (dtype == "float32")


# --- killed ----------------------------------------------------------------------------------------------------------

SLOW_RUN = """
import sys, time
from miscal.scoring import FakeModel, Question
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items

class Slow(FakeModel):
    def evaluate(self, batch):
        time.sleep(0.01)
        with open(sys.argv[2], "a") as log:
            log.write(f"{[row.row for row in batch]}\\n")
        return super().evaluate(batch)

questions = [
    Question(f"q{k}", f"Question {k} " + "and more " * (k % 7), ("one", "two", "three"), k % 3, {"topic": f"t{k % 4}"})
    for k in range(30)
]
print("ready", flush=True)
score_folder(Slow(), as_items(questions), sys.argv[1], task={"task": "test", "form": "letter"}, batch_tokens=150)
"""


def killed_runs(folder: Path, n_kills: int, seed: int) -> tuple[int, list[str]]:
    """Kill runs at random moments, starting a new one each time; then let one end. Return kills that hit, and log."""
    rng, log, hits = random.Random(seed), folder.with_suffix(".log"), 0
    for _ in range(n_kills):
        process = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(folder), str(log)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        hits += process.wait() == -signal.SIGKILL
        process.stdout.close()
        if (folder / "manifest.json").exists():
            break
    subprocess.run([sys.executable, "-c", SLOW_RUN, str(folder), str(log)], check=True, capture_output=True)
    return hits, log.read_text().splitlines()


def check_killed(tmp_path: Path, whole: dict[str, bytes], n_kills: int, seed: int) -> int:
    folder = tmp_path / f"killed{seed}"
    hits, log = killed_runs(folder, n_kills, seed)
    assert content(folder) == whole
    assert len(log) - len(set(log)) <= hits  # at most one batch redone per kill
    return hits


@pytest.mark.whole
def test_kill_9_and_resume(tmp_path, whole):
    assert check_killed(tmp_path, whole, 2, 0) > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_hundred_kills(tmp_path, whole):
    hits, seed = 0, 1
    while hits < 100:
        hits += check_killed(tmp_path, whole, 8, seed)
        seed += 1
