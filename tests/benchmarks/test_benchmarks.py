"""The page of benchmarks: its tables hold numbers of the csv files beside it, and a list names every one of those.

And small cases of the scripts that judge the ledger: what judges must itself be right.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from miscal.data.triples import Triples

pytestmark = pytest.mark.whole

NOTES = Path(__file__).parents[2] / "benchmarks" / "notes"
PAGE = (NOTES / "benchmarks.md").read_text()
LIST = (NOTES / "README.md").read_text()
FILES = sorted(NOTES.glob("*.csv"))


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+", text))


def test_every_csv_is_in_the_list():
    assert FILES
    assert {path.name for path in FILES} == set(re.findall(r"\(([\w-]+\.csv)\)", LIST))


@pytest.mark.parametrize(
    ("page", "least"), [("benchmarks", 80), *((page, 20) for page in ("power", "columns", "scikit-learn", "judges"))]
)
def test_every_decimal_of_the_tables_of_a_page_is_in_a_csv(page, least):
    # of the page of benchmarks, from the real sets on, but for speed
    measured = (NOTES / f"{page}.md").read_text().split("## Real sets")[-1].split("## Speed")[0]
    shown = numbers("\n".join(line for line in measured.splitlines() if line.startswith("|")))
    assert len(shown) > least
    assert shown <= numbers("\n".join(path.read_text() for path in FILES))


def test_the_page_is_short():
    assert len(PAGE.splitlines()) <= 250


# --- the scripts of the ledger -------------------------------------------------------------------------------------


def rows_of_three(effect: float, n: int = 1_500, seed: int = 0) -> Triples:
    """Rows of three kinds, one of which is right less often than its confidence says."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["art", "law", "sums"], n).astype(object)
    f = rng.uniform(0.4, 0.9, n)
    y = (rng.random(n) < f - effect * (kind == "law")).astype(float)
    return Triples.of(rng.normal(size=(n, 3)), confidence=f, correct=y, metadata={"kind": kind})


def test_the_judge_agrees_with_the_ledger_on_z_and_with_scipy_on_small_tables(script):
    rows = rows_of_three(0.3)
    judge, law = script("_judge").Judge(rows.correct, rows.confidence), rows.metadata["kind"] == "law"
    [found] = script("_ledger").ledger_of(rows).findings
    assert judge.z(law) == pytest.approx(-abs(norm.ppf(found.p_value / 2)), rel=0.1)
    assert judge.z(law, [law]) == 0
    y, group = np.repeat([1.0, 0.0], 4), np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    small = script("_judge").Judge(y, np.linspace(0.3, 0.31, 8))
    assert small._exact(group) == pytest.approx(2 / 70)


def test_holm_stops_at_the_first_that_does_not_pass(script):
    assert script("_judge").holm(np.array([0.012, 0.03, 0.2, 0.001])).tolist() == [True, False, False, True]
    assert script("_judge").holm(np.array([0.01, 0.02])).all()


def test_strong_findings_of_a_half_hold_in_the_other(script):
    [found] = script("_real_findings").replicated(rows_of_three(0.4, n=3_000), 0)
    assert found["description"] == "kind = law"
    assert found["power"] > 0.95
    assert found["holds"]


@pytest.mark.parametrize("z", [4.01, 4.3, 5.0, 8.0])
def test_shrinking_is_median_unbiased_given_the_cut(script, z):
    mu = script("_real_findings").shrunk(z, 4.0)
    assert 0 <= mu < z
    if mu > 0:
        assert norm.sf(z - mu) / norm.sf(4.0 - mu) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("kind", ["table", "table with missing values and dates", "texts"])
def test_planted_groups_have_their_shares_and_the_right_answer_is_exact(script, kind):
    planted = script("_planted").make(kind, 1.0, 0, rows=1_500)
    assert all(0.02 < group.rows.mean() < 0.2 for group in planted.groups)
    record = script("planted").judged(planted, planted.groups)
    assert record["exact"] == [kind != "texts"] * 3
    assert (record["jaccard"], record["extra"], record["again"]) == ([1.0] * 3, 0, 0)
    nothing = script("planted").judged(planted, [script("_ledger").Meaning(frozenset(), ~planted.groups[0].rows)])
    assert nothing["extra"] == 1


@pytest.mark.parametrize("method", ["ledger", "tree", "kmeans"])
def test_a_strong_value_is_found_by_every_finder(script, method):
    planted = script("_planted").make("table", 3.0, 1, rows=2_000)
    judge = script("_judge").Judge(planted.rows.correct, planted.rows.confidence)
    found = script("planted").judged(planted, script("_finders").FINDERS[method](planted, judge, 0))
    assert found["found"] > 0
    assert max(found["jaccard"]) > (0.9 if method == "ledger" else 0.1)


def test_draws_of_a_null_world_are_counted(script):
    nulls = script("_nothing_tables")
    counts = [nulls.listed(world, 300, 0, 2)["any finding"] for world in nulls.WORLDS]
    assert all(wrong <= draws == 2 for draws, wrong in counts)
    f, p = nulls.confidence_and_chance("non-monotone", np.zeros(50), np.linspace(-2, 2, 50))
    assert (np.diff(p[np.argsort(f)]) < 0).any()
