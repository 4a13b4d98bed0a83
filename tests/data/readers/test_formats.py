"""Every format carries the same rows, and a damaged file is named as such, never half read."""

import json
import os
from types import SimpleNamespace

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import CorruptFile, FileError, InputError, MiscalError, MissingColumn, ResourceError, TrustError
from miscal.base.files import digest
from miscal.data.readers import open_table, read_triples, registry, reread, table

N = 120


def frame(n=N):
    rng = np.random.default_rng(0)
    f = np.round(rng.uniform(size=n), 6)
    return pl.DataFrame(
        {
            "confidence": f,
            "correct": (rng.uniform(size=n) < f).astype(int),
            "x_1": np.round(rng.normal(size=n), 6),
            "x_2": np.arange(n),
            "text": [f'row {i}, said "so"\nand on é' for i in range(n)],
            "kind": ["a", "b", "c"] * (n // 3),
            "group": np.arange(n) // 2,
        }
    )


def write_csv(data, folder):
    data.write_csv(folder / "d.csv")
    return folder / "d.csv"


def write_tsv(data, folder):
    data.write_csv(folder / "d.tsv", separator="\t")
    return folder / "d.tsv"


def write_pandas_csv(data, folder):
    pd.DataFrame(data.to_dict(as_series=False)).assign(correct=lambda d: d.correct == 1).to_csv(
        folder / "p.csv", index=False
    )
    return folder / "p.csv"


def write_latin_csv(data, folder):
    (folder / "l.csv").write_bytes(data.write_csv().encode("latin-1"))
    return folder / "l.csv"


def write_bom_crlf_csv(data, folder):
    flat = data.with_columns(pl.col("text").str.replace("\n", " "))
    (folder / "b.csv").write_bytes(b"\xef\xbb\xbf" + flat.write_csv().replace("\n", "\r\n").encode())
    return folder / "b.csv"


def write_parquet(data, folder):
    data.write_parquet(folder / "d.parquet")
    return folder / "d.parquet"


def write_jsonl(data, folder):
    data.write_ndjson(folder / "d.jsonl")
    return folder / "d.jsonl"


def write_bom_blank_jsonl(data, folder):
    lines = [json.dumps(record) for record in data.to_dicts()]
    (folder / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())
    return folder / "b.jsonl"


def write_odd_name(data, folder):
    path = folder / "weïrd [name]* \U0001f600 & spaces.parquet"
    data.write_parquet(path)
    return path


def write_link(data, folder):
    (folder / "link.parquet").symlink_to(write_parquet(data, folder))
    return folder / "link.parquet"


def write_dataset(data, folder):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict(data.to_dict(as_series=False)).save_to_disk(str(folder / "hf"), num_shards=3)
    return folder / "hf"


FORMATS = {
    "parquet": write_parquet,
    "parquet, odd name": write_odd_name,
    "parquet, link": write_link,
    "csv": write_csv,
    "csv of pandas": write_pandas_csv,
    "csv with BOM and CRLF": write_bom_crlf_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "jsonl with BOM, CRLF and blank lines": write_bom_blank_jsonl,
    "dataset on disk": write_dataset,
    "polars": lambda data, folder: data,
    "polars lazy": lambda data, folder: data.lazy(),
    "pandas": lambda data, folder: pd.DataFrame(data.to_dict(as_series=False), index=range(N, 0, -1)),
    "pandas nullable": lambda data, folder: pd.DataFrame(data.to_dict(as_series=False)).convert_dtypes(),
    "pyarrow": lambda data, folder: nw.from_native(data).to_arrow(),
    "dictionary of arrays": lambda data, folder: {c: data[c].to_numpy() for c in data.columns},
    "dictionary of lists": lambda data, folder: data.to_dict(as_series=False),
}


@pytest.mark.promise("I15")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_triples(name, tmp_path):
    data = frame()
    got = read_triples(FORMATS[name](data, tmp_path), features="x_*,kind", metadata="kind", group="group")
    want = read_triples(data, features="x_*,kind", metadata="kind", group="group")
    np.testing.assert_array_equal(got.X, want.X)
    np.testing.assert_array_equal(got.confidence, data["confidence"])
    np.testing.assert_array_equal(got.correct, data["correct"])
    np.testing.assert_array_equal(got.split, want.split)
    assert got.metadata["kind"].tolist() == data["kind"].to_list()
    assert [t.replace("\n", " ") for t in got.text] == [t.replace("\n", " ") for t in data["text"]]
    assert got.X.shape == (N, 5)
    assert got.row.tolist() == list(range(N))


@pytest.mark.promise("F5")
def test_a_csv_in_another_encoding_is_read_when_named(tmp_path):
    path = write_latin_csv(frame(), tmp_path)
    assert read_triples(path, features="x_*", encoding="latin-1").text[0].endswith("é")
    with pytest.raises(FileError, match=r"line 3: byte b'\\xe9' .* is not utf-8.*--encoding"):
        read_triples(path, features="x_*")
    with pytest.raises(InputError, match="got 'klingon'"):
        read_triples(path, features="x_*", encoding="klingon")


def test_a_dataset_dict_brings_its_parts_as_split(tmp_path):
    datasets = pytest.importorskip("datasets")
    data = frame()
    parts = {"train": data[:90], "validation": data[90:105], "test": data[105:]}
    whole = datasets.DatasetDict({k: datasets.Dataset.from_dict(v.to_dict(as_series=False)) for k, v in parts.items()})
    whole.save_to_disk(str(tmp_path / "hf"))
    got = read_triples(tmp_path / "hf", features="x_*", split="split")
    assert got.split.tolist() == ["train"] * 90 + ["val"] * 15 + ["test"] * 15
    np.testing.assert_array_equal(got.confidence, data["confidence"])
    in_memory = read_triples(datasets.Dataset.from_dict(data.to_dict(as_series=False)), features="x_*")
    np.testing.assert_array_equal(in_memory.X, got.X)


@pytest.mark.promise("S6")
@pytest.mark.parametrize("name", ["../outside.arrow", "/etc/passwd", "a/b.arrow", "..", "", None, 3, "a\\b"])
def test_a_dataset_that_points_outside_its_folder_is_refused(name, tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(TrustError, match="outside itself"):
        open_table(tmp_path)


def scored(folder, n=N):
    frame(n).write_parquet(folder / "triples.parquet")
    X = np.random.default_rng(1).normal(size=(n, 4)).astype(np.float32)
    save_file({"x": X}, folder / "embeddings.safetensors")
    return X


def test_a_scored_folder_brings_its_embeddings(tmp_path):
    X = scored(tmp_path)
    got = read_triples(tmp_path)
    np.testing.assert_array_equal(got.X, X)
    assert got.text[0].startswith("row 0")
    assert "x was read from embeddings.safetensors, which lies beside the data" in got.notes
    assert {f["path"].rsplit("/", 1)[1] for f in got.source["files"]} == {"triples.parquet", "embeddings.safetensors"}


@pytest.mark.promise("F3")
def test_a_scored_folder_that_changed_is_refused_until_its_files_are_named(tmp_path):
    scored(tmp_path)
    names = ("triples.parquet", "embeddings.safetensors")
    (tmp_path / "manifest.json").write_text(json.dumps({"files": {n: digest(tmp_path / n) for n in names}}))
    assert len(read_triples(tmp_path)) == N
    frame().reverse().write_parquet(tmp_path / "triples.parquet")
    with pytest.raises(CorruptFile, match=r"triples\.parquet is missing or has changed since `miscal score` wrote it"):
        read_triples(tmp_path)
    named = read_triples(tmp_path / "triples.parquet", embeddings=tmp_path / "embeddings.safetensors")
    assert named.text[0].startswith(f"row {N - 1}")


@pytest.mark.promise("F3")
@pytest.mark.parametrize("content", ["", "[]", '{"files": 3}', "\x00"])
def test_a_scored_folder_with_a_damaged_manifest_is_refused(content, tmp_path):
    scored(tmp_path)
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"manifest\.json is damaged"):
        read_triples(tmp_path)


@pytest.mark.promise("I14")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_embeddings_of_every_type_become_float32(dtype, suffix, tmp_path):
    X = np.random.default_rng(1).integers(-8, 8, size=(N, 4)).astype(dtype)
    path = tmp_path / f"e{suffix}"
    np.save(path, X) if suffix == ".npy" else save_file({"only": X}, path)
    got = read_triples(frame(), embeddings=path, where="x_2 >= 10")
    np.testing.assert_array_equal(got.X, X[10:].astype(np.float32))
    assert got.row[0] == 10
    assert got.X.dtype == np.float32


@pytest.mark.promise("I14")
def test_bfloat16_embeddings(tmp_path):
    import torch
    from safetensors.torch import save_file as save_torch

    X = torch.randint(-8, 8, (N, 3), generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    save_torch({"x": X}, tmp_path / "e.safetensors")
    np.testing.assert_array_equal(read_triples(frame(), embeddings=tmp_path / "e.safetensors").X, X.float().numpy())
    np.testing.assert_array_equal(read_triples(frame(), embeddings=X).X, X.float().numpy())


@pytest.mark.promise("D5", "C7")
def test_the_same_rows_can_be_read_again_until_the_file_changes(tmp_path):
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(N, 3)))
    path = write_csv(frame(), tmp_path)
    first = read_triples(path, embeddings=str(tmp_path / "e.npy"), where="x_2 > 3", seed=5, metadata="kind")
    again = reread(json.loads(json.dumps(first.source)))
    for name in ("X", "confidence", "correct", "split", "row"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert again.source["options"] == first.source["options"]
    np.save(tmp_path / "e.npy", np.zeros((N, 3)))
    with pytest.raises(MiscalError, match="has changed since the run"):
        reread(first.source)
    (tmp_path / "e.npy").unlink()
    with pytest.raises(FileError, match="does not exist"):
        reread(first.source)
    with pytest.raises(InputError, match="given in memory"):
        reread(read_triples(frame(), features="x_*").source)


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.promise("F2", cases=50)
def test_a_parquet_file_cut_anywhere_is_corrupt(tmp_path):
    whole = write_parquet(frame(), tmp_path).read_bytes()
    for cut in np.random.default_rng(0).integers(1, len(whole), 50):
        (tmp_path / "cut.parquet").write_bytes(whole[:cut])
        with pytest.raises(CorruptFile, match=r"cut\.parquet"):
            read_triples(tmp_path / "cut.parquet", features="x_*")


@pytest.mark.promise("F2", cases=50)
@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_embeddings_cut_anywhere_are_corrupt(suffix, tmp_path):
    X = np.ones((N, 4), dtype=np.float32)
    path = tmp_path / f"e{suffix}"
    np.save(path, X) if suffix == ".npy" else save_file({"x": X}, path)
    whole = path.read_bytes()
    for cut in np.random.default_rng(0).integers(0, len(whole), 50):
        path.write_bytes(whole[:cut])
        with pytest.raises(CorruptFile, match=path.name):
            read_triples(frame(), embeddings=path)


def test_a_jsonl_file_cut_inside_a_line_names_the_line(tmp_path):
    whole = write_jsonl(frame(), tmp_path).read_text()
    for cut in np.random.default_rng(0).integers(1, len(whole), 50):
        (tmp_path / "cut.jsonl").write_text(whole[:cut])
        if whole[:cut].endswith(("}", "}\n")):
            continue
        with pytest.raises(CorruptFile, match=rf"line {whole[:cut].count(chr(10)) + 1}: not valid JSON"):
            read_triples(tmp_path / "cut.jsonl", features="x_*")


@pytest.mark.promise("F2")
def test_a_csv_file_cut_inside_its_last_row_is_corrupt(tmp_path):
    whole = frame().drop("text").write_csv()
    (tmp_path / "cut.csv").write_text(whole[: whole.rindex(",") - 1])
    with pytest.raises(CorruptFile, match="cut short: line 121"):
        read_triples(tmp_path / "cut.csv", features="x_*")


@pytest.mark.promise("F3", cases=100)
def test_a_flipped_bit_in_parquet_is_refused_by_name_or_gives_whole_and_valid_triples(tmp_path):
    whole = bytearray(write_parquet(frame(), tmp_path).read_bytes())
    rng = np.random.default_rng(0)
    corrupt = read = 0
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        (tmp_path / "flip.parquet").write_bytes(damaged)
        try:
            triples, error = read_triples(tmp_path / "flip.parquet", features="x_*"), None
        except InputError as caught:
            triples, error = None, caught
        if triples is None:  # where the flip made a value that cannot be, its column is named
            corrupt += isinstance(error, CorruptFile)
            named = ("flip.parquet",) if isinstance(error, CorruptFile) else ("confidence", "correct", "x_1", "x_2")
            assert any(name in str(error) for name in named)
            continue
        read += 1
        assert len(triples) == N
        assert np.isfinite(triples.X).all()
        assert ((triples.confidence >= 0) & (triples.confidence <= 1)).all()
        assert np.isin(triples.correct, [0, 1]).all()
    assert corrupt > 5  # flips in the footer
    assert read > 5  # flips in text or in the low bits of numbers, which no checksum guards


@pytest.mark.promise("F3")
@pytest.mark.parametrize("name", ["d.parquet", "d.csv", "d.jsonl", "e.npy", "e.safetensors"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe\x00" * 50, b"hello\n", b"PAR1", b"PK\x03\x04zip", b"{]"])
def test_files_that_are_not_what_their_name_says(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    source, x = (frame(), {"embeddings": path}) if name.startswith("e") else (path, {"features": "x_*"})
    with pytest.raises(FileError) as error:
        read_triples(source, **x)
    assert path.name in str(error.value) or "no column is called confidence" in str(error.value)


JSON_LINES = {
    "duplicate key": (
        '{"confidence": 0.5, "confidence": 0.6}',
        InputError,
        "line 2: the key 'confidence' occurs twice",
    ),
    "array": ("[1, 2]", CorruptFile, "line 2: each line must be an object .*; got list"),
    "number": ("7", CorruptFile, "line 2: each line must be .*; got number"),
    "deep": ("[" * 100_000, CorruptFile, "line 2"),
    "mixed types": (
        '{"confidence": "high", "correct": 1}',
        InputError,
        "line 2: 'confidence' is text .* number before",
    ),
    "missing key": ('{"correct": 1}', InputError, "confidence.*1 of 2 .*row 1"),
    "NaN": ('{"confidence": NaN, "correct": 1}', InputError, "confidence.*1 of 2 .*row 1"),
    "Infinity": ('{"confidence": -Infinity, "correct": 1}', InputError, "confidence.*1 of 2 .*row 1"),
    "list": ('{"confidence": [0.5], "correct": 1}', InputError, "line 2: 'confidence' is list"),
    "huge integer": ('{"confidence": 1' + "0" * 400 + ', "correct": 1}', InputError, "confidence"),
}


@pytest.mark.promise("F4")
@pytest.mark.parametrize("case", JSON_LINES)
def test_bad_json_lines_are_named(case, tmp_path):
    line, error, message = JSON_LINES[case]
    path = tmp_path / "d.jsonl"
    path.write_text('{"confidence": 0.5, "correct": 1}\n' + line + "\n")
    with pytest.raises(error, match=message):
        read_triples(path, embeddings=np.zeros((2, 1)))


@pytest.mark.promise("F4")
def test_other_odd_json_files(tmp_path):
    path = tmp_path / "d.json"
    path.write_text('[{"a": 1}]')
    with pytest.raises(CorruptFile, match="one JSON array"):
        open_table(path)
    path.write_text("\n \n\n")
    with pytest.raises(CorruptFile, match="only blank lines"):
        open_table(path)


@pytest.mark.promise("F5")
def test_a_lone_surrogate_becomes_the_replacement_character(tmp_path):
    records = frame().to_dicts()
    lines = [json.dumps(record | {"text": "a\ud800b"}) for record in records]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    assert read_triples(tmp_path / "d.jsonl", features="x_*").text[0] == "a\ufffdb"


@pytest.mark.promise("F1")
def test_csv_headers_that_cannot_be_used(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InputError, match="more than once in the header: 'a'"):
        open_table(tmp_path / "d.csv")
    (tmp_path / "d.csv").write_text("confidence;correct\n0,5;1\n")
    with pytest.raises(InputError, match="semicolons"):
        open_table(tmp_path / "d.csv")


# --- paths --------------------------------------------------------------------------------------------------------


@pytest.mark.promise("F8", cases=18)
def test_paths_that_cannot_be_opened(tmp_path):
    write_csv(frame(), tmp_path)
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "d.xlsx").write_bytes(b"x")
    cases = {
        tmp_path / "dd.csv": "does not exist; did you mean d.csv",
        tmp_path / "loop.csv": "cannot be opened",
        tmp_path / "pipe.csv": "pipe or a device",
        tmp_path / "folder.csv": "a folder that neither",
        tmp_path / "d.xlsx": "is of an unknown format; give a .parquet, .csv",
        tmp_path / ("n" * 300 + ".csv"): "cannot be opened",
        tmp_path / "a\0b.csv": "cannot be opened",
        "/dev/full": "pipe or a device",
        tmp_path / "d.csv" / "x.csv": "cannot be opened",
    }
    for path, message in cases.items():
        with pytest.raises(FileError, match=message):
            read_triples(path)
        with pytest.raises(FileError):
            read_triples(frame(), embeddings=path)
    for source in (3, None, [1, 2]):
        with pytest.raises(InputError, match="must be a path, a table or a dictionary"):
            read_triples(source)


@pytest.mark.promise("F8")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write_csv(frame(), tmp_path)
    path.chmod(0)
    with pytest.raises(FileError, match="permission"):
        read_triples(path)


# --- embeddings ---------------------------------------------------------------------------------------------------


@pytest.mark.promise("I7", cases=4)
def test_embeddings_must_match_the_data_before_the_condition(tmp_path):
    for n in (0, 1, N - 1, N + 1):
        with pytest.raises(InputError, match=rf"the data have {N} rows, the embeddings have shape \({n}, 2\)|0 sample"):
            read_triples(frame(), embeddings=np.zeros((n, 2)), where="x_2 < 1000")


@pytest.mark.promise("S4")
def test_python_objects_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "pwned"), "w"))

    np.save(tmp_path / "e.npy", np.array([[Evil()]] * N, dtype=object), allow_pickle=True)
    with pytest.raises(TrustError, match="Python objects"):
        read_triples(frame(), embeddings=tmp_path / "e.npy")
    assert not (tmp_path / "pwned").exists()


def test_embeddings_of_other_shapes_and_names(tmp_path):
    np.save(tmp_path / "e.npy", np.zeros(N))
    with pytest.raises(InputError, match=r"shape \(n, d\); its shape is \(120,\)"):
        read_triples(frame(), embeddings=tmp_path / "e.npy")
    save_file({"a": np.zeros((N, 2)), "b": np.zeros((N, 2))}, tmp_path / "e.safetensors")
    with pytest.raises(MissingColumn, match=r"tensor 'x'; it holds \['a', 'b'\]"):
        read_triples(frame(), embeddings=tmp_path / "e.safetensors")
    np.savez(tmp_path / "e.npz", x=np.zeros((N, 2)))
    with pytest.raises(FileError, match=r"\.npy or \.safetensors"):
        read_triples(frame(), embeddings=tmp_path / "e.npz")


@pytest.mark.promise("F7")
def test_what_memory_cannot_hold_is_refused_before_reading(tmp_path, monkeypatch):
    pl.DataFrame(
        {"confidence": pl.repeat(0.5, 2_000_000, eager=True), "correct": pl.repeat(1, 2_000_000, eager=True)}
    ).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    np.save(tmp_path / "e.npy", np.zeros((1000, 1000), dtype=np.float32))
    monkeypatch.setattr(table, "memory_limit", lambda: 10**6)
    with pytest.raises(ResourceError, match="2000000 rows"):
        read_triples(tmp_path / "bomb.parquet", embeddings=np.zeros((1, 1)))
    with pytest.raises(ResourceError, match="1000 rows of about 4000 bytes"):
        read_triples(frame(), embeddings=tmp_path / "e.npy")


@pytest.mark.promise("F7")
def test_the_memory_limit_is_that_of_the_process_where_it_is_the_least(monkeypatch):
    of_the_machine = table.memory_limit()
    assert 10**8 < of_the_machine <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(table, "_address_space", lambda: 4 * 10**9)
    for soft, left in ((4 * 10**9 + 10**7, 10**7), (10**7, 0)):
        limits = (soft, table.resource.RLIM_INFINITY)
        monkeypatch.setattr(table.resource, "getrlimit", lambda kind, limits=limits: limits)
        assert table.memory_limit() == left
    monkeypatch.setattr(table.resource, "getrlimit", lambda kind: (table.resource.RLIM_INFINITY,) * 2)
    assert table.memory_limit() >= of_the_machine


# --- another format -----------------------------------------------------------------------------------------------


def test_a_reader_is_one_module_and_its_line(tmp_path, monkeypatch):
    def read(path, *, encoding="utf-8"):
        lines = [line.split("|") for line in path.read_text(encoding).splitlines()]
        columns = {name: [float(cell) for cell in cells] for name, *cells in zip(*lines, strict=True)}
        return table.Table("pipes", tuple(columns), lambda names: pl.DataFrame(columns).select(names), (path,))

    toy = SimpleNamespace(accepts=lambda source: getattr(source, "suffix", "") == ".pipes", read=read)
    (tmp_path / "a.pipes").write_text(frame()["confidence", "correct", "x_1", "x_2"].write_csv(separator="|"))
    with pytest.raises(FileError, match=r"a\.pipes"):
        read_triples(tmp_path / "a.pipes", features="x_*")
    monkeypatch.setattr("miscal.data.readers.registry.READERS", (*registry.READERS, toy))
    triples = read_triples(tmp_path / "a.pipes", features="x_*")
    np.testing.assert_array_equal(triples.X, read_triples(frame(), features="x_*").X)
    assert triples.source["reader"] == "pipes"
