"""Small files that unpack to more than the memory of the process: one line says so, and no process is killed."""

import gzip
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from miscal.base.errors import FileError
from miscal.data.readers.read import read_triples

from ..data.importers.written import archive, header

pytestmark = pytest.mark.whole

GIB = 2**30
UNDER_LIMIT = """
import json, resource, sys
import polars, numpy
from miscal.base.errors import MiscalError
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples

kind, path = sys.argv[1], sys.argv[2]
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    if kind == "log":
        read_log("inspect", path)
    elif kind == "embeddings":
        rows = {"confidence": numpy.linspace(0, 1, 200), "correct": numpy.arange(200) % 2}
        read_triples(rows, embeddings=path)
    else:
        read_triples(path, **json.loads(kind))
    print("read")
except MiscalError as error:
    print(f"{type(error).__name__}: {error}")
"""


def repeated(path, table, times, **options):
    """Write the same rows many times, a group at a time."""
    with pq.ParquetWriter(path, table.schema, compression="zstd", **options) as writer:
        for _ in range(times):
            writer.write_table(table)
    return path


def outcomes(n):
    return {"confidence": np.full(n, 0.5), "correct": np.arange(n) % 2}


def numbers(folder):
    table = pa.table(outcomes(10**6) | {"x": np.zeros(10**6)})
    return repeated(folder / "numbers.parquet", table, 40), json.dumps({"features": "x"})


def texts(folder):
    table = pa.table(outcomes(1_000) | {"text": ["x" * 50_000] * 1_000})
    path = repeated(folder / "texts.parquet", table, 30, use_dictionary=False)
    return path, json.dumps({"text": "text", "embed_model": "tfidf"})


def log(folder):
    """The archive names the size itself; one that lies about it is tested with the importer."""
    return archive(folder / "log.eval", {"header.json": json.dumps(header()).encode()}, claim=GIB + 1), "log"


def embeddings(folder):
    """A sparse file: it takes no room on disk."""
    path = folder / "x.npy"
    np.lib.format.open_memmap(path, "w+", np.float32, (200, 10**8))
    return path, "embeddings"


def lying_header(folder):
    """A header that promises more than there is."""
    begin = json.dumps({"x": {"dtype": "F32", "shape": [200, 10**8], "data_offsets": [0, 8 * 10**10]}}).encode()
    (folder / "x.safetensors").write_bytes(len(begin).to_bytes(8, "little") + begin + b"\0" * 800)
    return folder / "x.safetensors", "embeddings"


@pytest.mark.parametrize("bomb", [numbers, texts, log, embeddings, lying_header], ids=lambda bomb: bomb.__name__)
def test_what_unpacks_to_more_than_memory_is_refused(tmp_path, bomb):
    path, kind = bomb(tmp_path)
    told = subprocess.run(
        [sys.executable, "-c", UNDER_LIMIT, kind, str(path)], capture_output=True, text=True, timeout=120
    )
    assert told.returncode == 0, told.stderr[-2000:]
    refusal = "CorruptFile" if bomb is lying_header else "ResourceError"
    assert told.stdout.startswith(f"{refusal}: "), told.stdout
    assert path.name in told.stdout


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.tsv"])
@pytest.mark.parametrize("pack", ["gzip", "zip", "zstandard"])
def test_compressed_text_is_not_unpacked(tmp_path, name, pack):
    """Nothing but Parquet and the archives of logs is ever unpacked."""
    table = pl.DataFrame(outcomes(200) | {"x": np.zeros(200)})
    content = table.write_ndjson().encode() if name == "d.jsonl" else table.write_csv().encode()
    if pack == "zip":
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as out:
            out.writestr(name, content)
        packed = held.getvalue()
    else:
        packed = gzip.compress(content) if pack == "gzip" else zstandard.compress(content)
    (tmp_path / name).write_bytes(packed)
    with pytest.raises(FileError, match=name):
        read_triples(tmp_path / name, features="x")
