"""Laws of the ledger: planted groups are found by their names, nothing extra is, and nothing where none is."""

import json
import re
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest, fisher_exact

from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.encoders.features import FeatureColumns
from miscal.evidence.conditional import outcome_given_confidence
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import with_features
from miscal.findings.conditions.other_kinds import Both
from miscal.findings.ledger.blocks import Table, cut_into_strata, exact_p_value
from miscal.findings.ledger.document import Finding
from miscal.findings.ledger.groups import PAIR, named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.scan import scan
from miscal.findings.ledger.settings import LedgerSettings

N = 4_000


def crossfitted(y, f, seed=0):
    fold = np.random.default_rng(seed).permutation(len(y)) % 5
    out = np.empty(len(y))
    for k in range(5):
        out[fold == k] = outcome_given_confidence(y[fold != k], f[fold != k], f[fold == k])
    return out


def found_in(y, f, groups, expected=None, **options):
    """The ledger of rows, by default with a cross-fitted rate."""
    expected = crossfitted(y, f) if expected is None else expected
    return find(LabelledRows(y, f, expected, row=np.arange(len(y))), groups, **options)


def columns_of(rng, n):
    """Categories, numbers with holes, and dates."""
    kinds = {f"kind{j}": np.array([f"v{v}" for v in rng.integers(0, k, n)], object) for j, k in enumerate((4, 6, 10))}
    kinds["kind1"][rng.random(n) < 0.1] = None
    size = rng.normal(size=n)
    size[rng.random(n) < 0.1] = np.nan
    day = np.datetime64("2020-01-01") + rng.integers(0, 1000, n).astype("timedelta64[D]")
    return {**kinds, "size": size, "day": day}


def planted(seed, n=N, strength=1.6):
    """A pair of values, a missing value and an interval of a number; groups, outcomes, confidences, and the truth."""
    rng = np.random.default_rng(seed)
    columns = columns_of(rng, n)
    f = expit(rng.normal(0, 1.2, n))
    pair = (columns["kind0"] == "v1") & (columns["kind1"] == "v2")
    missing = np.array([value is None for value in columns["kind1"]])
    low, high = np.nanquantile(columns["size"], [0.2, 0.35], method="inverted_cdf")
    inside = (columns["size"] >= low) & (columns["size"] < high)
    shift = strength * (-1.5 * pair + 1.0 * missing - 1.0 * inside)
    y = (rng.random(n) < expit(np.log(f / (1 - f)) + shift)).astype(float)
    return named_groups(columns), y, f, (pair, missing, inside)


@pytest.mark.parametrize("n", [2_000, pytest.param(20_000, marks=pytest.mark.whole)])
def test_all_pairs_of_values_with_rows_enough_are_candidates(n):
    """Two columns of many values, of which few have rows enough, beside columns of few."""
    rng = np.random.default_rng(3)
    columns = {f"c{k}": rng.integers(0, 5, n).astype(str).astype(object) for k in range(8)}
    columns |= {f"many{k}": (rng.pareto(1, n) * 20).astype(int).astype(str).astype(object) for k in range(2)}
    groups, seen = named_groups(columns), 0
    rare = []
    for (one, x), (two, y) in combinations(columns.items(), 2):
        pairs, counts = np.unique(np.array([x, y], str), axis=1, return_counts=True)
        enough = counts >= LedgerSettings().pair_rows
        rare.append(counts[~enough].sum() / n)
        for a, b in pairs[:, enough].T:
            condition = Both((Value(one, str(a), "text"), Value(two, str(b), "text")))
            assert np.array_equal(groups.rows(groups.places[condition]), (x == a) & (y == b))
            seen += 1
    assert (groups.kinds == PAIR).sum() == seen
    assert f"{np.mean(rare):.0%}".replace("%", " %") in groups.not_crossed


def test_planted_groups_are_named_and_nothing_else_is():
    extra = 0
    for seed in range(6):
        groups, y, f, truth = planted(seed)
        chosen = scan(Table(LabelledRows(y, f, crossfitted(y, f)), groups), seed=seed).chosen
        found = {groups.descriptions[one.group]: groups.rows(one.group) for one in chosen}
        assert (found["kind0 = v1 and kind1 = v2"] == truth[0]).all()
        assert (found["kind1 = (missing)"] == truth[1]).all()
        [interval] = [rows for name, rows in found.items() if name.startswith("size ")]
        assert (interval & truth[2]).sum() / (interval | truth[2]).sum() > 0.7
        extra += len(found) - 3
    # one in twenty tables may have one by chance
    assert extra <= 1


def nothing_hidden(world, seed, n=1_000):
    rng = np.random.default_rng(seed)
    columns, f = columns_of(rng, n), rng.uniform(0.02, 0.98, n)
    if world == "saturated":
        f = np.where(rng.random(n) < 0.7, 0.999, f)
    rates = {"calibrated": f, "saturated": f, "not monotone": 0.5 + 0.45 * np.sin(9 * f)}
    # the groups depend on f, so that what is visible could be mistaken for what is hidden
    columns["kind0"] = np.where(rng.random(n) < f, "sure", columns["kind0"])
    return named_groups(columns), (rng.random(n) < rates[world]).astype(float), f


def false_alarms(world, draws, n=1_000):
    alarms = 0
    for seed in range(draws):
        groups, y, f = nothing_hidden(world, seed, n)
        alarms += bool(scan(Table(LabelledRows(y, f, crossfitted(y, f)), groups), seed=seed).chosen)
    return alarms


@pytest.mark.parametrize("world", ["calibrated", "saturated", "not monotone"])
def test_with_nothing_hidden_hardly_ever_a_finding(world):
    assert false_alarms(world, 10) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("world", ["calibrated", "saturated", "not monotone"])
def test_the_family_wise_error_is_at_most_nominal(world):
    alarms = false_alarms(world, 500)
    assert binomtest(alarms, 500, 0.05, alternative="greater").pvalue > 0.01, alarms


@given(st.integers(0, 1000))
def test_the_exact_test_of_one_stratum_is_fishers(seed):
    rng = np.random.default_rng(seed)
    y, inside = rng.integers(0, 2, 30).astype(float), rng.random(30) < 0.4
    table = [[np.sum(inside & (y == v)) for v in (1, 0)], [np.sum(~inside & (y == v)) for v in (1, 0)]]
    tails = [fisher_exact(table, alternative=side)[1] for side in ("less", "greater")]
    assert exact_p_value(y, inside, np.zeros(30, int)) == pytest.approx(min(1.0, 2 * min(tails)))


@given(st.integers(0, 1000))
def test_the_law_given_unequal_chances_is_that_of_every_outcome_counted(seed):
    rng = np.random.default_rng(seed)
    inside, chance, right = rng.random(8) < 0.5, rng.uniform(0.05, 0.95, 8), int(rng.integers(1, 8))
    y = rng.permutation(np.arange(8) < right).astype(float)
    counted = np.zeros(9)
    for outcome in product((0, 1), repeat=8):
        if sum(outcome) == right:
            counted[int(np.sum(inside * outcome))] += np.prod(np.where(outcome, chance, 1 - chance))
    law, seen = counted / counted.sum(), int(np.sum(inside * y))
    wanted = min(1.0, 2 * min(law[: seen + 1].sum(), law[seen:].sum()))
    # only odds within the stratum matter
    for shift in (0.0, 0.7):
        chances = expit(np.log(chance / (1 - chance)) + shift)
        assert exact_p_value(y, inside, np.zeros(8, int), chances) == pytest.approx(wanted)


@given(st.integers(0, 1000))
def test_equal_chances_are_the_test_without_chances(seed):
    rng = np.random.default_rng(seed)
    y, inside, stratum = rng.integers(0, 2, 90).astype(float), rng.random(90) < 0.3, rng.integers(0, 4, 90)
    chance = np.array([0.2, 0.5, 0.7, 0.9])[stratum]
    assert exact_p_value(y, inside, stratum, chance) == pytest.approx(exact_p_value(y, inside, stratum))


def test_an_exact_test_in_wide_strata_follows_a_trend_of_the_chances():
    # the group is the surer half of every stratum, and right as often as it should be
    f = np.linspace(0.05, 0.95, 600)
    stratum, inside = np.arange(600) // 100, np.arange(600) % 100 >= 50
    p_values, blind = [], []
    for seed in range(200):
        y = (np.random.default_rng(seed).random(600) < f).astype(float)
        p_values.append(exact_p_value(y, inside, stratum, f))
        blind.append(exact_p_value(y, inside, stratum))
    assert np.mean(np.array(p_values) <= 0.05) <= 0.09
    assert np.mean(np.array(blind) <= 0.05) >= 0.3


@pytest.mark.parametrize("dated", [False, True])
def test_an_interval_of_a_tenth_of_the_rows_has_a_candidate_wherever_it_lies(dated):
    values = np.random.default_rng(0).permutation(2_000)
    column = np.datetime64("2020-01-01") + values.astype("timedelta64[D]") if dated else values.astype(float)
    groups = named_groups({"opened": column})
    member = groups.member.sparse(range(len(groups))).toarray() > 0
    for low in range(0, 1_800, 37):
        inside = ((values >= low) & (values < low + 200))[:, None]
        assert np.max((member & inside).sum(0) / (member | inside).sum(0)) >= 0.75


def test_descriptions_of_dates_tell_their_rows():
    rng = np.random.default_rng(0)
    day = np.datetime64("2021-01-01") + np.unique(rng.integers(0, 3_000, 700)).astype("timedelta64[D]")
    day[:30] = np.datetime64("NaT")
    groups = named_groups({"opened": day})
    known = ~np.isnat(day)
    told = 0
    for group, description in enumerate(groups.descriptions):
        if (ends := re.fullmatch(r"opened between (\S+) and (\S+) \(past\)", description)) is not None:
            low, high = (np.datetime64(end) for end in ends.groups())
            assert (groups.rows(group) == (known & (day >= low) & (day <= high))).all()
            told += 1
        elif (end := re.fullmatch(r"opened before (\d\S+) \(past\)", description)) is not None:
            assert (groups.rows(group) == (known & (day < np.datetime64(end[1])))).all()
            told += 1
        else:
            assert re.match(r"(later )?opened,? (= \(missing\)|before [A-Z]|on |in |from [A-Z0-9])", description)
    assert told >= 10


def test_what_an_earlier_group_explains_is_not_found_again():
    rng = np.random.default_rng(0)
    kind = np.array([f"v{v}" for v in rng.integers(0, 5, N)], object)
    text = [f"question about {'ships and harbours' if k == 'v1' else 'something'} {i % 7}" for i, k in enumerate(kind)]
    f = rng.uniform(0.3, 0.7, N)
    y = (rng.random(N) < f - 0.25 * (kind == "v1")).astype(float)
    groups = named_groups({"kind": kind}, text)
    [only] = found_in(y, f, groups).findings
    assert only.description == "kind = v1"
    assert set(only.aliases) >= {'"ships" in the text', '"harbours" in the text'}


def test_a_value_that_differs_by_itself_is_a_finding_or_accounted_for():
    rng = np.random.default_rng(1)
    planted_value = rng.random(N) < 0.3
    # four in five rows of the shadow are of the planted value, so that it differs, but by way of that value alone
    shadow = rng.random(N) < np.where(planted_value, 0.4, 0.05)
    columns = {"kind": np.where(planted_value, "bad", "good"), "shadow": np.where(shadow, "in", "out")}
    f = rng.uniform(0.3, 0.9, N)
    y = (rng.random(N) < f - 0.25 * planted_value).astype(float)
    expected = crossfitted(y, f)
    found = found_in(y, f, named_groups(columns), expected)
    assert {one.description for one in found.findings} & {"kind = bad", "kind = good"}
    one = next(one for one in found.accounted if one.description == "shadow = in")
    assert one.sign == "over"
    assert one.p_value < 1e-6
    low, high = one.conditional.interval
    assert low <= 0 <= high
    assert one.hidden.value == pytest.approx(np.mean((y - expected)[shadow]))


@pytest.mark.parametrize("seed", range(3))
def test_a_finding_differs_in_the_same_direction_by_itself_as_given_those_above(seed):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["low", "middle", "high"], N, p=[0.35, 0.5, 0.15])
    f = rng.uniform(0.4, 0.8, N)
    # given that low is worse, middle is worse than the rest too, which is high; by itself it is better than all
    y = (rng.random(N) < f + np.select([kind == "low", kind == "high"], [-0.25, 0.2], 0.02)).astype(float)
    found = found_in(y, f, named_groups({"kind": kind}), seed=seed).findings
    assert {one.description: one.sign for one in found} == {"kind = low": "over", "kind = high": "under"}
    assert all((one.hidden.value < 0) == (one.sign == "over") for one in found)


@pytest.mark.parametrize("n_runs", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_with_nothing_found_nothing_is_accounted_for(n_runs):
    for seed in range(n_runs):
        groups, y, f = nothing_hidden("not monotone", seed, 400)
        found = scan(Table(LabelledRows(y, f, crossfitted(y, f)), groups), seed=seed)
        chosen, accounted = found.chosen, found.alone
        assert chosen or not accounted


def test_a_flipped_world_has_the_opposite_findings():
    groups, y, f, _ = planted(3)
    ours, theirs = found_in(y, f, groups).findings, found_in(1 - y, 1 - f, groups, 1 - crossfitted(y, f)).findings
    mirrored = {one.description: one for one in theirs}
    assert len(ours) == 3
    for one in ours:
        other = mirrored[one.description]
        assert other.sign != one.sign
        assert other.hidden.value == pytest.approx(-one.hidden.value)
        assert other.residual.value == pytest.approx(-one.residual.value)
        assert one.visible + one.hidden.value == pytest.approx(one.residual.value)
        low, high = one.hidden.interval
        assert low < one.hidden.value < high
        assert (one.odds_ratio < 1) == (one.sign == "over")


def test_examples_are_the_most_telling_rows():
    groups, y, f, _ = planted(2)
    for one in found_in(y, f, groups).findings:
        assert (y[list(one.rows)] == (one.sign == "under")).all()


def test_strata_hold_neighbours_in_confidence():
    f = np.random.default_rng(0).random(103)
    stratum = cut_into_strata(f, 8, np.random.default_rng(0))
    assert np.bincount(stratum).tolist() == [8] * 11 + [15]
    assert (np.diff(stratum[np.argsort(f)]) >= 0).all()


def test_strata_keep_a_confidence_that_many_rows_share_apart():
    """A model may be right far more often where it says 0.85 than where it says 0.84."""
    rng = np.random.default_rng(1)
    f = rng.permutation(np.r_[np.repeat([0.84, 0.85, 0.86, 1.0], [20, 8, 7, 9]), rng.uniform(0.1, 0.8, 50)])
    stratum = cut_into_strata(f, 8, rng)
    for value in (0.84, 0.85, 1.0):
        assert not set(stratum[f == value]) & set(stratum[f != value])
    assert np.unique(stratum).tolist() == list(range(stratum.max() + 1))
    assert (np.diff(stratum[np.lexsort((stratum, f))]) >= 0).all()
    # seven rows between two such confidences stay by themselves
    assert sorted(np.bincount(stratum).tolist()) == sorted([7, 8, 8, 12, 9, *[8] * 5, 10])


def test_what_names_no_group_is_no_candidate():
    rng = np.random.default_rng(0)
    columns = {
        "id": np.array([f"q{i}" for i in range(200)], object),
        "constant": np.full(200, 3.0),
        "rare": np.array(["a"] * 195 + ["b"] * 5, object),
        "empty": np.full(200, np.nan),
    }
    assert len(named_groups(columns)) == 0
    assert scan(Table(LabelledRows(np.ones(200), rng.random(200), np.ones(200)), named_groups(columns))).chosen == ()
    assert len(named_groups({}, ["" for _ in range(200)])) == 0


def encoded(**columns):
    """Inputs of the columns of a table, and what made them."""
    table = pl.DataFrame(columns)
    encoder = FeatureColumns(table.columns).fit(table)
    return encoder.transform(table), encoder


def test_unnamed_or_many_numbered_columns_of_the_inputs_are_no_candidates():
    X = np.zeros((3, 50))
    assert with_features({}, X, None) == {}
    assert with_features({}, *encoded(**{f"x_{i}": X[:, i] for i in range(50)})) == {}
    assert list(with_features({"age": X[:, 0]}, *encoded(height=X[:, 0]))) == ["height", "age"]


def test_values_of_a_feature_column_are_told_as_values_of_that_column():
    kinds = np.array(["a", "b", "c"])[np.arange(9) % 3]
    X, encoder = encoded(kind=kinds, age=np.arange(9))
    columns = with_features({}, X, encoder)
    assert columns["kind"].tolist() == kinds.tolist()
    assert columns["age"].tolist() == list(range(9))
    other = encoder.transform(pl.DataFrame({"kind": ["a", "d"], "age": [1, 2]}))
    assert with_features({}, other, encoder)["kind"].tolist() == ["a", "(other)"]
    assert with_features({"kind": np.array(["z"] * 9)}, X, encoder)["kind"].tolist() == ["z"] * 9


def test_of_two_values_the_rarer_is_a_group():
    """Both ask the same question of the same rows."""
    assert named_groups({"flag": np.arange(200) % 4 == 0}).descriptions == ("flag = True",)
    assert named_groups({"flag": np.arange(200) % 4 > 0}).descriptions == ("flag = False",)
    assert named_groups({"flag": np.arange(200) % 2}).descriptions == ("flag = 1",)


def test_a_finding_of_an_undecodable_name_is_stored_as_utf8_can_hold_it():
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat(["law\udce9", "art", "sums"], 200)).astype(object)
    y = (rng.random(600) < np.where(kind == "law\udce9", 0.3, 0.7)).astype(float)
    half = np.full(600, 0.5)
    [law] = found_in(y, half, named_groups({"kind\udce9": kind}), half).findings
    assert (law.description, law.columns) == ("kind\ufffd = law\ufffd", ("kind\ufffd",))
    stored = law.model_dump(mode="json")
    assert json.dumps(stored, ensure_ascii=False).encode()
    assert Finding.model_validate(stored).condition.column == "kind\ufffd"


def test_a_finding_that_shows_only_together_with_one_above_names_it():
    rng = np.random.default_rng(0)
    kind, form = rng.integers(0, 4, N), rng.integers(0, 4, N)
    f = rng.uniform(0.3, 0.7, N)
    # kind 1 is as often right as others beside all rows: more often with form 1, and less often otherwise
    shift = np.where(kind == 1, np.where(form == 1, 0.3, -0.1), 0.0)
    y = (rng.random(N) < f + shift).astype(float)
    groups = named_groups({"kind": kind.astype(str), "form": form.astype(str)})
    found = found_in(y, f, groups, f).findings
    [both] = [one for one in found if one.description == "kind = 1 and form = 1"]
    [kind_alone] = [one for one in found if one.description == "kind = 1"]
    assert both.conditional.value > 0.2
    assert both.together_with is None
    assert kind_alone.conditional.value < -0.05 < kind_alone.hidden.value
    assert kind_alone.hidden.interval[0] <= 0 <= kind_alone.hidden.interval[1]
    assert found[kind_alone.together_with - 1] is both


def test_the_rows_of_each_finding_come_in_the_order_of_the_findings():
    rng = np.random.default_rng(11)
    n = 1200
    kind, age = rng.choice(["law", "art", "sums"], n).astype(object), rng.uniform(20, 60, n)
    half = np.full(n, 0.5)
    y = (rng.random(n) < 0.5 - 0.3 * (kind == "law") + 0.3 * (age > 50)).astype(float)
    found = found_in(y, half, named_groups({"kind": kind, "age": age}), half)
    assert len(found.findings) >= 2
    for one, inside in zip(found.findings, found.members, strict=True):
        assert one.n == inside.sum()
        assert one.accuracy == pytest.approx(y[inside].mean())
