"""Quotation marks in csv: no record is lost to one that csv does not allow, whole or in pieces."""

import csv
import io

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miscal.base.errors import CorruptFile
from miscal.data.readers.delimited import ends_of
from miscal.data.readers.opening import open_source

CELLS = st.text(alphabet='a",\n\r\\ ', max_size=6)
TABLES = st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6)


def written(rows, **how):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n", **how).writerows([("a", "b"), *rows])
    return out.getvalue()


def both_ways(path):
    """The columns as text, read whole and in pieces of two rows."""
    table = open_source(path).load(["a", "b"]).cast(pl.String)
    source = open_source(path, whole=False)
    pieces = pl.concat([source.load(["a", "b"], piece) for piece in source.pieces(2)])
    return [table.fill_null("").rows(), pieces.fill_null("").rows()]


def found(data, size=None):
    blocks = [data[i : i + size] for i in range(0, len(data), size)] if size else [data]
    return [int(end) for ends in ends_of(blocks, ",", "f.csv", lambda place: place) for end in ends]


@given(rows=TABLES, size=st.integers(1, 9))
@example(rows=[("", "x"), ('"', '""')], size=1)
def test_what_a_csv_writer_writes_is_read_again(rows, size, tmp_path_factory):
    path = tmp_path_factory.mktemp("a") / "a.csv"
    path.write_text(written(rows), newline="")
    assert both_ways(path) == [rows, rows]
    ends = found(path.read_bytes())
    assert len(ends) == len(rows) + 1
    assert found(path.read_bytes(), size=size) == ends


PIPE = '"5\\" pipe"'
SPARK = "word,n\n" + "".join(f"{PIPE if i in (100, 400) else 'pipe'},{i}\n" for i in range(600))


def test_marks_escaped_by_a_backslash_are_refused_with_their_line(tmp_path):
    (tmp_path / "a.csv").write_text(SPARK)
    with pytest.raises(CorruptFile) as error:
        open_source(tmp_path / "a.csv").pieces(50)
    assert all(said in error.value.in_shell() for said in ("a.csv, line 102: ", "pipe"))


@pytest.mark.parametrize(
    "line", ['he said "yes",1', '"x"y,1', 'x "y",1', '"x" ,1', ' "x",1', 'a""b,1', '"a\r",1\n"b"\rc,2']
)
def test_marks_that_csv_does_not_allow_are_refused(line, tmp_path):
    (tmp_path / "a.csv").write_text(f"a,b\n1,2\n{line}\n", newline="")
    with pytest.raises(CorruptFile, match=r"a\.csv, line [345]: .*RFC 4180"):
        open_source(tmp_path / "a.csv").pieces(10)


RAGGED = {
    "too few": (b"a,b,c\n1,2,3\n1,2\n1,2,3\n", "line 3: the header has 3 fields, but the record here has 2"),
    "too many": (b"a,b\n1,2\n1,2,3\n", "line 3: the header has 2 fields, but the record here has 3"),
    "one column": (b"a\n1\n\n1,2\n", "line 4: the header has 1 field, but the record here has 2"),
    "spaces alone": (b"a,b\n1,2\n \n1,2\n", "line 3: .* has 1;"),
    "a break in a field": (b'a,b\n"x\ny",2\n"x,\ny"\n1,2\n', "line 4: .* has 1;"),
    "a break in the header": (b'"a\nb",c\n1\n1,2\n', "line 3: .* has 1;"),
    "carriage returns": (b"a,b\r\n1,2\r\n1\r\n1,2\r\n", "line 3: .* has 1;"),
    "at the end": (b"a,b\n1,2\n1", "cut short: line 3 at its end has 1 of 2 fields"),
    "quoted, at the end": (b'a,b\n1,2\n"1,2"', "cut short: line 3 at its end has 1 of 2 fields"),
    "too many at the end": (b"a,b\n1,2\n1,2,3", "line 3: .* has 3;"),
}


@pytest.mark.parametrize("kind", RAGGED)
def test_records_with_another_number_of_fields_are_refused_with_their_line(kind, tmp_path):
    content, said = RAGGED[kind]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(CorruptFile, match=said):
        open_source(tmp_path / "a.csv").pieces(1)


@settings(max_examples=60)
@given(rows=TABLES, at=st.integers(0, 5), more=st.booleans(), size=st.integers(1, 9))
def test_a_record_with_another_number_of_fields_is_found_in_blocks_of_any_size(rows, at, more, size):
    at = min(at, len(rows) - 1)
    out = io.StringIO()
    wrong = (*rows[at], "x") if more else rows[at][:1]
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([*rows[:at], wrong, *rows[at + 1 :]])
    data, begin = out.getvalue().encode(), len(written(rows[:at])) - len(written([]))
    blocks = [data[i : i + size] for i in range(0, len(data), size)]
    with pytest.raises(
        CorruptFile, match=f"line {begin}: the header has 2 fields, but the record here has {len(wrong)}"
    ):
        [*ends_of(blocks, ",", "f.csv", lambda place: place, fields=2)]


@pytest.mark.parametrize("text", ["a,b\n\n1,2\n\n", "a,b\r\n\r\n1,2\r\n\r\n"])
def test_a_blank_line_is_a_record_of_missing_values(text, tmp_path):
    (tmp_path / "a.csv").write_text(text, newline="")
    assert both_ways(tmp_path / "a.csv") == [[("", ""), ("1", "2"), ("", "")]] * 2


def test_blank_lines_of_a_single_column_are_missing_values(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n\n3\n\n")
    source = open_source(tmp_path / "a.csv", whole=False)
    pieces = pl.concat([source.load(["a"], piece) for piece in source.pieces(2)])
    assert open_source(tmp_path / "a.csv").load(["a"])["a"].to_list() == [1, None, 3, None]
    assert pieces["a"].to_list() == ["1", None, "3", None]


def test_a_blank_line_is_no_header(tmp_path):
    (tmp_path / "a.csv").write_text("\na,b\n1,2\n")
    with pytest.raises(CorruptFile, match="first line is blank; it must hold the names"):
        open_source(tmp_path / "a.csv")
