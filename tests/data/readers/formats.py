"""Rows of which every format carries the same, and how each is written."""

import json

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl

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


def _placed(name, write):
    """Return a function that writes rows into a folder, and returns the path."""

    def written(data, folder):
        write(data, folder / name)
        return folder / name

    return written


def _bom_crlf_csv(data, path):
    flat = data.with_columns(pl.col("text").str.replace("\n", " "))
    path.write_bytes(b"\xef\xbb\xbf" + flat.write_csv().replace("\n", "\r\n").encode())


def _bom_blank_jsonl(data, path):
    lines = [json.dumps(record) for record in data.to_dicts()]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())


def _link(data, path):
    path.symlink_to(write_parquet(data, path.parent))


def _pandas_csv(data, path):
    pd.DataFrame(data.to_dict(as_series=False)).assign(correct=lambda d: d.correct == 1).to_csv(path, index=False)


write_csv = _placed("d.csv", pl.DataFrame.write_csv)
write_parquet = _placed("d.parquet", pl.DataFrame.write_parquet)
write_jsonl = _placed("d.jsonl", pl.DataFrame.write_ndjson)
write_latin_csv = _placed("l.csv", lambda data, path: path.write_bytes(data.write_csv().encode("latin-1")))

FORMATS = {
    "parquet": write_parquet,
    "parquet, odd name": _placed("weïrd [name]* \U0001f600 & spaces.parquet", pl.DataFrame.write_parquet),
    "parquet, link": _placed("link.parquet", _link),
    "csv": write_csv,
    "csv of pandas": _placed("p.csv", _pandas_csv),
    "csv with BOM and CRLF": _placed("b.csv", _bom_crlf_csv),
    "tsv": _placed("d.tsv", lambda data, path: data.write_csv(path, separator="\t")),
    "jsonl": write_jsonl,
    "jsonl with BOM, CRLF and blank lines": _placed("b.jsonl", _bom_blank_jsonl),
    "polars": lambda data, folder: data,
    "polars lazy": lambda data, folder: data.lazy(),
    "pandas": lambda data, folder: pd.DataFrame(data.to_dict(as_series=False), index=range(N, 0, -1)),
    "pandas nullable": lambda data, folder: pd.DataFrame(data.to_dict(as_series=False)).convert_dtypes(),
    "pyarrow": lambda data, folder: nw.from_native(data).to_arrow(),
    "pyarrow batch": lambda data, folder: nw.from_native(data).to_arrow().combine_chunks().to_batches()[0],
    "pyarrow stream": lambda data, folder: nw.from_native(data).to_arrow().to_reader(),
    "dictionary of arrays": lambda data, folder: {c: data[c].to_numpy() for c in data.columns},
    "dictionary of lists": lambda data, folder: data.to_dict(as_series=False),
}
