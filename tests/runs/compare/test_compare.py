"""Laws of comparing runs, on rows made by hand: no field is fitted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.metrics import log_loss

import miscal
from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.run import RunContent
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.ledger.blocks import cut_into_strata
from miscal.runs.compare.compared_rows import RunRows, Sides, match_rows
from miscal.runs.compare.comparison import LOWER_IS_BETTER, RunComparison, beside, judged, of_rows
from miscal.runs.compare.document import MeasurePair
from miscal.runs.compare.estimates import ComparedGroups, nearer_mean, recalibration_saving

pytestmark = pytest.mark.whole

KINDS = ("art", "law", "sums", "sport", "film")


def rows_of(name, correct, confidence, X, kind, *, row=None, sha="one", group=None, order=None, weight=None):
    """Rows of a run without findings; `order` puts them in another order."""
    order = np.arange(len(X)) if order is None else order
    row = np.arange(len(X)) if row is None else row
    correct, confidence, X, kind, row = (np.asarray(part)[order] for part in (correct, confidence, X, kind, row))
    summary = SimpleNamespace(
        findings=(),
        alone=(),
        kind="answer",
        method="auto",
        evidence="all",
        settings={"epsilon": 0.05, "source": source(sha)},
    )
    triples = Triples.of(X, confidence=confidence, correct=correct)
    return RunRows(
        name=name,
        run=RunContent(summary, None, None, None, None),
        X=triples.X,
        row=row,
        text=None,
        columns={"kind": kind},
        group=None if group is None else group[order],
        correct=triples.correct,
        confidence=triples.confidence,
        delta=X[:, 0] / 10,
        field=X[:, 1] / 10,
        corrected=triples.confidence,
        hidden=triples.correct - expected_outcome(triples, 0),
        stratum=cut_into_strata(triples.confidence, 16, np.random.default_rng(0)),
        weight=None if weight is None else weight[order],
    )


def compare_rows(a, b):
    """Compare two runs, without the numbers of each by itself."""
    return RunComparison.model_construct(kind="answer", **beside(a, b, match=None, seed=0))


def source(sha):
    return {"sha256": sha, "path": "nowhere.csv", "options": {"encoding": "utf-8"}, "x": {"kind": "embeddings"}}


@pytest.fixture(autouse=True)
def _no_files(monkeypatch):
    # these rows have no file behind them, so no column "id" either
    monkeypatch.setattr("miscal.runs.compare.compared_rows.has_column", lambda rows, name: False)


def world(seed=0, n=2_000, *, shift=None, off=0.0):
    """Two runs on the same rows; under the second, `shift` moves the rate of one kind and `off` all confidences."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    kind = rng.choice(KINDS, n)
    rate = rng.uniform(0.3, 0.9, n)
    other = np.clip(rate + rng.normal(0, 0.05, n), 0.1, 0.9)
    moved = other + (0.0 if shift is None else shift[1] * (kind == shift[0]))
    one = rows_of("one", rng.random(n) < rate, rate, X, kind)
    two = rows_of("two", rng.random(n) < moved, np.clip(other + off, 0, 1), X, kind, row=np.arange(n) + n)
    return one, two


def test_a_run_beside_itself_differs_by_nothing():
    one, _ = world()
    pair = compare_rows(one, one)
    assert pair.same_rows
    assert pair.same_answers
    assert all(m.difference.value == 0 for m in pair.measures.values())
    assert all(m.difference.interval == (0, 0) for name, m in pair.measures.items() if name != "smece")
    assert all(m.better is None for m in pair.measures.values())
    assert pair.differences == ()
    assert pair.fields.delta.value == pytest.approx(1)


def test_exchanging_the_runs_turns_every_sign():
    one, two = world(shift=("law", -0.3), off=0.1)
    there, back = compare_rows(one, two), compare_rows(two, one)
    for name, forward in there.measures.items():
        backward = back.measures[name].difference
        assert forward.difference.value == pytest.approx(-backward.value)
        if name == "smece":
            assert forward.difference.interval is backward.interval is None
        else:
            assert forward.difference.interval == pytest.approx([-end for end in backward.interval[::-1]])
        assert forward.better == {"a": "b", "b": "a", None: None}[back.measures[name].better]
    assert [g.description for g in there.differences] == [g.description for g in back.differences]
    assert [g.hidden.value for g in there.differences] == pytest.approx([-g.hidden.value for g in back.differences])


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(5)
    n = 1_500
    X, kind = rng.normal(size=(n, 3)), rng.choice(KINDS, n)
    f, g = rng.uniform(0.3, 0.9, n), rng.uniform(0.3, 0.9, n)
    y, z = rng.random(n) < f, rng.random(n) < g
    first = rows_of("one", y, f, X, kind)
    plain = rows_of("two", z, g, X, kind, sha="two")
    mixed = rows_of("two", z, g, X, kind, sha="two", order=rng.permutation(n))
    one, two = compare_rows(first, plain), compare_rows(first, mixed)
    assert one.matched_by == two.matched_by == "equal inputs"
    for name in one.measures:
        assert one.measures[name].difference.value == pytest.approx(two.measures[name].difference.value)


def test_a_planted_difference_is_found_and_named():
    one, two = world(shift=("law", -0.3))
    found = compare_rows(one, two)
    assert [group.description for group in found.differences] == ["kind = law"]
    [law] = found.differences
    assert law.hidden.interval[0] > 0
    assert law.p_adjusted < 1e-3
    assert law.a.hidden.value - law.b.hidden.value == pytest.approx(law.hidden.value)


def test_the_better_calibrated_run_is_said_first():
    one, two = world(off=0.1)
    pair = compare_rows(one, two)
    assert pair.measures["calibration_error"].better == "a"
    assert compare_rows(two, one).measures["calibration_error"].better == "b"


def test_a_flag_allows_for_all_measures():
    def flags(p_value, kind="event"):
        difference = MeasureAgainstNull(value=-0.01, interval=(-0.02, -0.001), p_value=p_value)
        one = MeasurePair(a=Measure(value=0.1), b=Measure(value=0.11), difference=difference)
        names = (*LOWER_IS_BETTER, "residual", "accuracy", "corrected_log_loss")
        return judged(dict.fromkeys(names, one), kind)

    small, large = flags(0.01), flags(0.03)
    assert [one["brier"].better for one in (small, large)] == ["a", None]
    assert [one["brier"].p_adjusted for one in (small, large)] == pytest.approx([0.03, 0.09])
    assert small["accuracy"].p_adjusted is small["accuracy"].better is None
    # of answers, the run with more of it is better
    assert flags(0.01, "answer")["accuracy"].better == "b"
    assert [one["residual"].p_adjusted for one in (small, large)] == pytest.approx([0.01, 0.03])
    assert {one["residual"].better for one in (small, large)} == {"a"}


def test_where_both_fail_alike_is_said():
    rng = np.random.default_rng(1)
    n = 3_000
    X, kind = rng.normal(size=(n, 3)), rng.choice(KINDS, n)
    f = rng.uniform(0.4, 0.9, n)
    rate = f - 0.35 * (kind == "film")
    one, two = (rows_of(name, rng.random(n) < rate, f, X, kind) for name in ("one", "two"))
    # as both ledgers would have it
    film = SimpleNamespace(description="kind = film", condition=Value("kind", "film", "text"), columns=("kind",))
    one.run.summary.findings = two.run.summary.findings = (film,)
    pair = compare_rows(one, two)
    assert [(group.description, group.both, group.found_in) for group in pair.groups] == [
        ("kind = film", "over", ("a", "b"))
    ]
    assert pair.differences == ()


def test_two_sets_are_compared_as_two_samples():
    one, _ = world(seed=1)
    _, two = world(seed=2, shift=("law", -0.3))
    pair = compare_rows(one, two)
    assert not pair.same_rows
    assert (pair.n_a, pair.n_b, pair.left_out_a) == (2_000, 2_000, 0)
    assert pair.fields is None
    assert "kind = law" in [group.description for group in pair.differences]
    assert not pair.answer.action.startswith("Take")


def test_rows_of_one_file_are_matched_by_their_numbers():
    one, _ = world(n=400)
    few = rows_of("few", one.correct, one.confidence, one.X, one.columns["kind"], order=np.arange(100, 300))
    found = match_rows(one, few)
    assert found.by == "row numbers of the same data"
    assert found.a.row.tolist() == found.b.row.tolist() == list(range(100, 300))


def test_rows_of_a_group_count_as_one():
    rng = np.random.default_rng(3)
    n, copies = 200, 10
    X = np.repeat(rng.normal(size=(n, 3)), copies, axis=0)
    kind = np.repeat(rng.choice(KINDS, n), copies)
    f, g = (np.repeat(rng.uniform(0.3, 0.9, n), copies) for _ in range(2))
    y, z = (np.repeat(rng.random(n) < rate[::copies], copies) for rate in (f, g))
    group = np.repeat(np.arange(n), copies)
    grouped = compare_rows(rows_of("a", y, f, X, kind, group=group), rows_of("b", z, g, X, kind, group=group))
    loose = compare_rows(rows_of("a", y, f, X, kind), rows_of("b", z, g, X, kind))

    def width(pair):
        low, high = pair.measures["brier"].difference.interval
        return high - low

    assert width(grouped) == pytest.approx(np.sqrt(copies) * width(loose), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_where_nothing_differs_nothing_is_named(paired):
    named = 0
    draws = 200
    for seed in range(draws):
        one, two = world(seed, n=1_000) if paired else (world(seed, n=1_000)[0], world(seed + draws, n=1_000)[1])
        named += bool(ComparedGroups(match_rows(one, two)).differing())
    # 5 % of 200 and three standard errors
    assert named <= 19


def sides_of_world(seed, n, wrong_a, wrong_b, paired):
    """Two runs without groups, and the calibration error of the first less that of the second in this world."""
    rng = np.random.default_rng((seed, 77))
    rate = rng.uniform(0.3, 0.9, n)
    other = np.clip(rate + rng.normal(0, 0.05, n), 0.1, 0.9) if paired else rng.uniform(0.3, 0.9, n)
    # half of the questions are right under both or under neither, as far as the rates allow
    first = rng.random(n)
    second = np.where(rng.random(n) < 0.5, first, rng.random(n)) if paired else rng.random(n)
    f, g = wrong_a(rate), wrong_b(other)
    sides = [plain_rows((u < p).astype(float), c) for u, p, c in ((first, rate, f), (second, other, g))]
    truth = np.mean((f - rate) ** 2) - np.mean((g - other) ** 2)
    return Sides(*sides, "number" if paired else None), truth


def plain_rows(correct, confidence, copies=1):
    at = np.arange(len(correct))
    rows = rows_of("rows", correct, confidence, np.zeros((len(at), 2)), at)
    return replace(rows, X=(at // copies)[:, None], unit=at)


SHAPES = {
    "right": lambda p: p,
    "too sure": lambda p: np.clip(p + 0.1, 0, 1),
    "unsure": lambda p: p - 0.1,
    "extreme": lambda p: p**2 / (p**2 + (1 - p) ** 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1_000])
@pytest.mark.parametrize("paired", [True, False], ids=["paired", "two sets"])
@pytest.mark.parametrize(
    ("a", "b"), [("right", "right"), ("right", "too sure"), ("too sure", "unsure"), ("extreme", "too sure")]
)
def test_the_interval_of_the_calibration_error_covers(a, b, paired, n):
    draws = 300
    truth = sides_of_world(0, 200_000, SHAPES[a], SHAPES[b], paired)[1]
    covered = 0
    for seed in range(1, draws + 1):
        sides, _ = sides_of_world(seed, n, SHAPES[a], SHAPES[b], paired)
        low, high = calibration_error_of(sides).difference.interval
        covered += low <= truth <= high
    assert binomtest(covered, draws, 0.95, alternative="less").pvalue >= 0.01


def calibration_error_of(sides):
    return of_rows(sides, *(recalibration_saving(side, 0) for side in (sides.a, sides.b)))


def test_the_calibration_error_of_a_run_is_what_recalibration_saves():
    sides, truth = sides_of_world(3, 20_000, SHAPES["right"], SHAPES["too sure"], paired=True)
    found = calibration_error_of(sides)
    assert found.a.value == pytest.approx(0, abs=0.001)
    assert found.b.value == pytest.approx(-truth, abs=0.002)
    assert found.difference.interval[1] < 0


def test_copies_of_a_row_teach_nothing_about_each_other():
    rng = np.random.default_rng(4)
    n, copies = 300, 6
    f = np.repeat(rng.uniform(0.3, 0.9, n), copies)
    y = np.repeat((rng.random(n) < f[::copies]).astype(float), copies)
    # each confidence occurs with one outcome only, so copies in other folds would tell it
    leaking, honest = (recalibration_saving(plain_rows(y, f, many), 0).mean() for many in (1, copies))
    assert leaking > 0.05
    assert abs(honest) < 0.02


def test_the_run_to_take_has_the_lower_log_loss_once_corrected():
    one, two = world(n=1_000)
    right = np.clip(one.confidence + 0.2, 0, 0.99) * one.correct
    right += np.clip(one.confidence - 0.2, 0.01, 1) * (1 - one.correct)
    better = replace(one, corrected=right)
    pair = compare_rows(better, two)
    found = pair.measures["corrected_log_loss"]
    assert found.a.value == pytest.approx(log_loss(one.correct, right))
    assert found.b.value == pytest.approx(log_loss(two.correct, two.confidence))
    assert found.difference.interval[1] < 0
    assert found.better == "a"
    assert pair.answer.action.startswith("Take one")
    same = compare_rows(one, two)
    assert same.measures["corrected_log_loss"].better is None
    assert not same.answer.action.startswith("Take")


def test_few_rows_have_no_calibration_error():
    sides, _ = sides_of_world(3, 20, SHAPES["right"], SHAPES["too sure"], paired=True)
    found = calibration_error_of(sides)
    assert found.difference.value is found.difference.interval is found.better is None
    one, two = world(n=20)
    assert "too few rows" in compare_rows(one, two).answer.headline


# --- rows that count unequally ------------------------------------------------------------------------------------


def weighed(other_weight=True, paired=True, n=1_500):
    """Two runs whose rows count unequally; the second is off by far more on the rows that count little."""
    rng = np.random.default_rng(3)
    X, kind, light = rng.normal(size=(n, 3)), rng.choice(KINDS, n), rng.random(n) < 0.5
    f, weight = rng.uniform(0.3, 0.8, n), np.where(light, 0.02, 1.0) * rng.uniform(0.5, 1.5, n)
    y = (rng.random(n) < f).astype(float)
    second = np.where(light, np.clip(f + 0.2, 0, 1), f + 0.01)
    a = rows_of("a", y, f, X, kind, weight=weight)
    again = X if paired else X + 100
    b = rows_of("b", y, second, again, kind, sha="two", weight=weight if other_weight else None)
    return a, b, weight


@pytest.mark.parametrize("paired", [True, False])
def test_differences_are_weighted(paired):
    a, b, weight = weighed(paired=paired)
    found = compare_rows(a, b)
    assert found.same_rows == paired
    for name, values in {
        "confidence": [one.confidence for one in (a, b)],
        "brier": [(one.correct - one.confidence) ** 2 for one in (a, b)],
    }.items():
        means = [np.average(one, weights=weight) for one in values]
        pair = found.measures[name]
        assert [pair.a.value, pair.b.value] == pytest.approx(means)
        assert pair.difference.value == pytest.approx(means[0] - means[1])
        assert pair.difference.interval[0] < pair.difference.value < pair.difference.interval[1]
    alone = compare_rows(*(replace(one, weight=None) for one in (a, b)))
    assert abs(found.measures["confidence"].difference.value) < 0.2 * abs(alone.measures["confidence"].difference.value)


def test_only_the_ratios_of_weights_matter_in_a_comparison():
    a, b, weight = weighed()
    more = [replace(one, weight=1024 * weight) for one in (a, b)]
    assert compare_rows(a, b) == compare_rows(*more)


def test_weights_of_one_run_alone_are_left_out_with_a_note():
    a, b, _ = weighed(other_weight=False)
    found = compare_rows(a, b)
    assert any("only a has weights" in note for note in found.notes)
    assert found.measures == compare_rows(replace(a, weight=None), b).measures


# --- means, and rows that are not the same -------------------------------------------------------------------------


def sides_of_means(rng, n, *, off_a=0.0, off_b=0.0):
    """Both sides of the same rows; their probabilities are off by so much on average."""
    rate = rng.uniform(0.2, 0.8, n)
    y = (rng.random(n) < rate).astype(float)
    rows = (plain_rows(y, np.clip(rate + rng.normal(0, 0.03, n) + off, 0, 1)) for off in (off_a, off_b))
    return Sides(*rows, "number")


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, -0.04, 0.04])
@pytest.mark.parametrize("opposite", [False, True])
def test_means_that_are_equally_far_off_are_rarely_told_apart(off, opposite):
    draws = 300
    told = 0
    for seed in range(draws):
        sides = sides_of_means(np.random.default_rng(seed), 400, off_a=off, off_b=-off if opposite else off)
        p_value, _ = nearer_mean(sides)
        told += p_value <= 0.05 and abs(sides.b.residual.mean()) > abs(sides.a.residual.mean())
    assert binomtest(told, draws, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.slow
def test_the_step_that_is_told_is_told_in_four_of_five_cases():
    told, draws = 0, 200
    _, step = nearer_mean(sides_of_means(np.random.default_rng(0), 1_500))
    for seed in range(draws):
        sides = sides_of_means(np.random.default_rng((1, seed)), 1_500, off_b=step)
        told += nearer_mean(sides)[0] <= 0.05
    assert 0.7 <= told / draws <= 0.9


def test_a_candidate_that_is_too_high_everywhere_is_worse():
    rng = np.random.default_rng(3)
    n = 3_000
    X, kind, rate = rng.normal(size=(n, 3)), rng.choice(KINDS, n), rng.uniform(0.2, 0.8, n)
    y = rng.random(n) < rate
    pair = compare_rows(rows_of("one", y, rate, X, kind), rows_of("two", y, rate + 0.06, X, kind))
    assert pair.measures["residual"].better == pair.better == "a"
    assert 0.03 < pair.step < 0.06


def events(rng, n=300, **columns):
    rate = rng.uniform(0.2, 0.8, n)
    y = (rng.random(n) < rate).astype(int)
    return pl.DataFrame({"id": np.arange(n), "f": rate, "y": y, "kind": rng.choice(KINDS, n), **columns})


def quick(frame, **options):
    asked = {"probability": "f", "event": "y", "features": ["kind"], "metadata": ["kind"]} | options
    return miscal.discover(frame, group="none", quick=True, progress=False, **asked)


def test_the_same_events_have_the_same_outcomes(monkeypatch):
    monkeypatch.undo()
    rows = events(np.random.default_rng(0))
    other = rows.with_columns(pl.col("f") * 0.9)
    one = quick(rows)
    for share, refused in ((1.0, True), (0.5, True), (0.02, False)):
        n = round(share * len(rows))
        run = quick(other.with_columns(y=(pl.col("y") + (pl.int_range(pl.len()) < n)) % 2))
        if refused:
            with pytest.raises(InputError, match=rf"other outcomes in {n:,} of the 300 rows"):
                miscal.compare(one, run)
        else:
            pair = miscal.compare(one, run)
            assert any(note.startswith(f"{n} of the rows") for note in pair.notes)
    # each answer is right or wrong by itself
    answers = {"probability": None, "event": None, "confidence": "f", "correct": "y"}
    miscal.compare(quick(rows, **answers), quick(other.with_columns(y=1 - pl.col("y")), **answers))


def test_missing_values_match_nothing(monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(1)
    rows = events(rng).rename({"id": "key"}).with_columns(pl.col("key").cast(float))
    some = rows.with_columns(key=pl.when(pl.int_range(pl.len()) < 40).then(np.nan).otherwise("key"))
    other = rows.with_columns(pl.col("f") * 0.9, key=pl.when(pl.int_range(pl.len()) >= 280).then(None).otherwise("key"))
    pair = miscal.compare(quick(some), quick(other[::-1]), match="key")
    assert (pair.n_a, pair.left_out_a, pair.left_out_b) == (240, 60, 60)
    with pytest.raises(InputError, match="have no value of 'key' in common"):
        miscal.compare(quick(some), quick(other.with_columns(key=None)), match="key")
