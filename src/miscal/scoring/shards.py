"""What a scoring run writes: the numbers of each batch, checksummed, JSON, and one table of floats row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from miscal.base.cell_store import CellStore
from miscal.base.files import replace_file, write_whole
from miscal.base.tables import read_parquet
from miscal.scoring.engine import BatchResult

FLOATS = {"float32": ("F32", "<f4", 4), "float16": ("F16", "<f2", 2)}
"""Precision: its name in safetensors, its type in numpy, little-endian, and its bytes."""

_SCHEMA = {"row": pl.Int64, "log_probs": pl.List(pl.Float64), "response": pl.String, "error": pl.String}


class ShardRows(NamedTuple):
    """By row: log-probabilities, what was written, why it failed, and place (shard, position) of its hidden state."""

    log_probs: dict[int, np.ndarray]
    responses: dict[int, str]
    failed: dict[int, str]
    places: dict[int, tuple[int, int]]


class Shards(CellStore):
    """The batches of a run: cells with a file of rows (parquet) and one of hidden states (safetensors)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, (".parquet", ".safetensors"))

    def is_done(self, index: int) -> bool:
        """Say whether the shard is there and undamaged."""
        return self.find(f"{index:06}") is not None

    def write(self, index: int, result: BatchResult) -> None:
        """Put the numbers of a batch on disk; see `save`."""
        from safetensors.numpy import save_file

        responses = result.responses or (None,) * len(result.rows)
        rows = [
            {"row": row, "log_probs": values.tolist(), "response": response}
            for row, values, response in zip(result.rows, result.log_probs, responses, strict=True)
        ]
        rows += [{"row": row, "log_probs": [], "error": reason} for row, reason in sorted(result.failed.items())]
        files = {
            ".parquet": pl.DataFrame(rows, schema=_SCHEMA).write_parquet,
            ".safetensors": lambda path: save_file({"x": result.hidden}, path),
        }
        self.save(f"{index:06}", {}, files)

    def rows(self, n: int) -> ShardRows:
        """Read the rows of the first n shards."""
        found = ShardRows({}, {}, {}, {})
        for index in range(n):
            table = read_parquet(self.path(f"{index:06}", ".parquet"))
            good = table.filter(pl.col("error").is_null())
            for at, (row, values) in enumerate(zip(good["row"], good["log_probs"], strict=True)):
                found.log_probs[row] = values.to_numpy()
                found.places[row] = (index, at)
            found.responses.update(good.select("row", "response").drop_nulls().iter_rows())
            found.failed.update(table.select("row", "error").drop_nulls().iter_rows())
        return found

    def states(self, index: int) -> np.ndarray:
        """Return the hidden states of a shard."""
        from safetensors.numpy import load_file

        return load_file(self.path(f"{index:06}", ".safetensors"))["x"]

    def hidden(self, places: Sequence[tuple[int, int]], block: int = 4096) -> Iterator[np.ndarray]:
        """Yield the hidden states in the order of the places, a block of rows at a time."""
        for start in range(0, len(places), block):
            wanted = places[start : start + block]
            found: dict[int, np.ndarray] = {}
            for index in sorted({shard for shard, _ in wanted}):
                states = self.states(index)
                found |= {at: states[place] for at, (shard, place) in enumerate(wanted) if shard == index}
            yield np.stack([found[at] for at in range(len(wanted))])

    def largest(self, n: int) -> float:
        """Return the largest absolute value of the hidden states of the first n shards; 0 where there are none."""
        return max((float(np.abs(part).max()) for part in map(self.states, range(n)) if part.size), default=0.0)


def write_json(path: Path, value: object) -> None:
    """Write JSON, keys in the order given."""
    replace_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def write_float_table(
    path: Path,
    name: str,
    rows: Iterator[np.ndarray],
    shape: tuple[int, int],
    about: Mapping[str, str],
    dtype: str = "float32",
) -> None:
    """Write a safetensors file of one tensor, block by block of its rows, so that memory does not grow with them."""
    kind, stored, width = FLOATS[dtype]
    size = shape[0] * shape[1] * width
    tensor = {"dtype": kind, "shape": list(shape), "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": dict(about), name: tensor}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the format wants its data aligned to 8 bytes

    def write(partial: Path) -> None:
        with partial.open("wb") as stream:
            stream.write(len(header).to_bytes(8, "little") + header)
            for block in rows:
                stream.write(np.ascontiguousarray(block, dtype=stored).tobytes())

    write_whole(path, write)
