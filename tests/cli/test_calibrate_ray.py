"""`miscal calibrate --engine ray`: the same table, to the byte, as this machine's threads make."""

import pytest

from miscal.runs.correct import command
from miscal.runs.correct.command import calibrate_file

from .new_rows import rows

ray = pytest.importorskip("ray", reason="needs the extra ray")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_both_engines_write_the_same_bytes(models, tmp_path, ending, monkeypatch):
    monkeypatch.setattr(command, "_PIECE_ROWS", (64, 64))
    data = rows().with_columns(age=rows()["age"].set(rows()["count"] == 1, None))
    data.write_parquet(tmp_path / "new.parquet")
    done = {
        engine: calibrate_file(
            models["features"],
            tmp_path / "new.parquet",
            tmp_path / f"{engine}{ending}",
            engine=engine,
            on_invalid="null",
        )
        for engine in ("local", "ray")
    }
    assert done["local"].tally == done["ray"].tally
    assert done["local"].warnings == done["ray"].warnings
    assert (tmp_path / f"local{ending}").read_bytes() == (tmp_path / f"ray{ending}").read_bytes()


def test_an_error_in_a_task_is_said_as_this_machine_says_it(models, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_PIECE_ROWS", (64, 64))
    data = rows().with_columns(age=rows()["age"].set(rows()["count"] == 1, None))
    data.write_parquet(tmp_path / "new.parquet")
    said = []
    for engine in ("local", "ray"):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            calibrate_file(models["features"], tmp_path / "new.parquet", tmp_path / "out.csv", engine=engine)
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]
