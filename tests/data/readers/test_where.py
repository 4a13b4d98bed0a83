"""Conditions on rows: decided by each row alone, of bounded size, and by exact names."""

from datetime import datetime

import polars as pl
import pytest

from miscal.base.errors import InputError, MissingColumn
from miscal.data.readers.names import MOST_CHARACTERS, MOST_LEVELS, columns_of, decide

ROWS = pl.DataFrame(
    {
        "a": [1.0, 2.0, 3.0, None],
        "n": [1, 2, 3, 4],
        "b": ["x", "y", "2020-01-31", "x"],
        "c": [[1, 2], [3], [4], []],
        "d": [True, False, None, True],
        "t": [datetime(2020, 1, 1), datetime(2021, 2, 2), None, datetime(2022, 3, 3)],
    }
)

# every aggregate and window function that the SQL of polars knows, alone and where it cannot change the outcome
ACROSS = [
    "a > avg(a)", "a > min(a)", "a < max(a)", "a > sum(a)", "a > median(a)", "a > first(a)", "a > last(a)",
    "a > stddev(a)", "a > stddev_samp(a)", "a > stdev(a)", "a > variance(a)", "a > var(a)", "a > var_samp(a)",
    "a > quantile_cont(a, 0.5)", "a > quantile_disc(a, 0.5)", "a > corr(a, n)", "a > covar(a, n)",
    "a > covar_pop(a, n)", "a > covar_samp(a, n)", "n > count(a)", "n > count(*)", "n > count(distinct a)",
    "sum(distinct a) > a", "sum(a) filter (where d) > a", "b = string_agg(b, ',')", "b = group_concat(b)",
    "b = listagg(b)", "array_length(array_agg(a)) > n", "unnest(c) > 1",
    "a > avg(a) over ()", "a > sum(a) over (partition by b)", "n > count(a) over (partition by b)",
    "row_number() over (order by a) > 1", "rank() over (order by a) > 1", "dense_rank() over (order by a) > 1",
    "ntile(2) over (order by a) > 1", "cume_dist() over (order by a) > 0.5", "percent_rank() over (order by a) > 0.5",
    "a > lag(a) over (order by a)", "a > lead(a) over (order by a)", "first_value(a) over (order by a) > 1",
    "last_value(a) over (order by a) > 1", "nth_value(a, 2) over (order by a) > 1",
    "n > 100 and a > avg(a)", "n > 0 or a > avg(a)", "not (n > 100 and coalesce(abs(avg(a)), 1) > a)",
    "case when n > 100 then a > max(a) else d end", "a in (avg(a), 2)", "lower(max(b)) = 'x'",
]  # fmt: skip

ALONE = [
    "a > 1", "a > 1.5 and n < 3 or d", "n in (1, 3)", "b in ('x', 'z')", "b not in ('x')", "b like 'x%'",
    "b rlike '^x'", "a is null", "a is not distinct from 2", "n between 2 and 3", "not d", "d is true",
    "case when a > 1 then d else n > 3 end", "substr(b, 1, 4) = '2020'", "coalesce(a, 0) > 1", "greatest(a, n) > 2",
    "cast(n as float) / 2 > 1", "n % 2 = 1", "array_length(c) > 1", "array_contains(c, 3)", "array_sum(c) > 2",
    "c[1] = 1", "date_part('year', t) > 2020", "t > date '2020-06-01'", "round(a, 1) > 1", "sqrt(n) > 1.5",
]  # fmt: skip


@pytest.mark.parametrize("expression", ACROSS)
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]], ids=["rows", "row"])
def test_what_looks_at_other_rows_is_refused(expression, rows):
    with pytest.raises(InputError, match=r"must be decided by each row alone, .* compute such a value beforehand"):
        decide(expression, rows)


@pytest.mark.parametrize("expression", ALONE)
def test_what_a_row_alone_decides_is_the_same_in_pieces(expression):
    whole, unknown = decide(expression, ROWS)
    parts = [decide(expression, ROWS[i : i + 1]) for i in range(len(ROWS))]
    assert whole.tolist() == [bool(keep[0]) for keep, _ in parts]
    assert unknown == sum(part[1] for part in parts)
    assert 0 < whole.sum() < len(ROWS)


@pytest.mark.parametrize(
    "expression", [" AND ".join(["n>1"] * 20_000), "+".join("n" * 8_000) + " > 1", "NOT " * 5_000 + "d"]
)
def test_a_condition_of_any_length_is_refused_at_once(expression):
    with pytest.raises(InputError, match=rf"at most {MOST_CHARACTERS:,} characters; this one has \d+,\d+"):
        columns_of(expression, ROWS.columns)


@pytest.mark.parametrize(
    "expression",
    [
        " AND ".join(["n>1"] * (MOST_LEVELS + 2)),
        " or ".join(["n=1"] * 500),
        "+".join("n" * 1_900) + " > 1",
        "n" + "::int" * 750 + " > 1",
        "case " + "when d then d " * 280 + "end",
        "n" + " is null" * 490,
        " > ".join("n" * 900),
    ],
)
def test_a_deep_condition_is_refused_before_it_is_evaluated(expression):
    assert len(expression) <= MOST_CHARACTERS
    with pytest.raises(InputError, match=rf"at most {MOST_LEVELS} levels deep"):
        columns_of(expression, ROWS.columns)


@pytest.mark.parametrize("expression", ["(" * 1_900 + "n>1" + ")" * 1_900, "not " * 900 + "d", "- " * 1_900 + "n > 1"])
def test_what_the_parser_finds_too_deep_is_refused(expression):
    with pytest.raises(InputError, match="is not a condition"):
        columns_of(expression, ROWS.columns)


def test_as_many_parts_as_are_allowed_are_decided():
    expression = " and ".join(f"n <> {i}" for i in range(10, 10 + MOST_LEVELS - 1))
    assert decide(expression, ROWS)[0].all()
    assert decide("n in (" + ",".join(map(str, range(3, 900))) + ")", ROWS)[0].sum() == 2


PATTERNS = pl.DataFrame({"^a$": [1, 2], "a": [3, 1], "*": [1, 5], "^.*$": [9, 1], "x y": [0, 1]})


@pytest.mark.parametrize(
    ("expression", "names", "kept"),
    [
        ('"^a$" > 1', ("^a$",), [False, True]),
        ('"*" = 1', ("*",), [True, False]),
        ('"^.*$" > a', ("^.*$", "a"), [True, False]),
        ('`^a$` = 1 and "x y" = 0', ("^a$", "x y"), [True, False]),
        ("a = 3 and '\"^a$\"' <> 'x'", ("a",), [True, False]),
    ],
)
def test_names_are_exact(expression, names, kept):
    assert columns_of(expression, PATTERNS.columns) == names
    assert decide(expression, PATTERNS)[0].tolist() == kept


@pytest.mark.parametrize("expression", ['"^n|d$" > 1', '"*" > 1', "columns('a') > 1"])
def test_a_pattern_of_names_is_refused(expression):
    with pytest.raises((InputError, MissingColumn), match=r"pattern|names no column"):
        decide(expression, ROWS)
