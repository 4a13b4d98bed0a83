"""Laws of found groups, which are clusters of inputs, and of the group that is off most."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, binomtest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.other_kinds import Mixed
from miscal.findings.ledger.blocks import Table
from miscal.findings.ledger.clusters import describe, with_clusters
from miscal.findings.ledger.document import FOUND, NAMED
from miscal.findings.ledger.groups import CLUSTER, error_shares, named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.scan import scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.ledger.sizes import hidden_interval

from .test_ledger import crossfitted, found_in


def table(seed, n=4_000, strength=1.5):
    """Two values together, and a missing value, where the model is wrong."""
    rng = np.random.default_rng(seed)
    columns = {f"kind{j}": np.array([f"v{v}" for v in rng.integers(0, k, n)], object) for j, k in enumerate((4, 6, 10))}
    columns["kind1"][rng.random(n) < 0.1] = None
    pair = (columns["kind0"] == "v1") & (columns["kind1"] == "v2")
    missing = np.array([value is None for value in columns["kind1"]])
    f = expit(rng.normal(0, 1.2, n))
    y = (rng.random(n) < expit(np.log(f / (1 - f)) + strength * (missing - 1.5 * pair))).astype(float)
    return named_groups({**columns, "size": rng.normal(size=n)}), y, f, (pair, missing)


def jaccard(one, two):
    return (one & two).sum() / (one | two).sum()


def topics(seed, n=4_000, shift=1.5):
    """Embeddings of twelve topics of different sizes; on one the model is over-confident, on one under-confident."""
    rng = np.random.default_rng(seed)
    topic = rng.choice(12, n, p=np.r_[0.05, 0.15, np.full(10, 0.08)])
    X = rng.normal(size=(12, 48))[topic] + rng.normal(size=(n, 48))
    f = expit(rng.normal(0.3, 1.2, n))
    y = (rng.random(n) < expit(np.log(f / (1 - f)) - shift * (topic == 0) + shift * (topic == 1))).astype(float)
    return X, f, y, topic


def clustered(X, *names):
    """Groups that columns and texts name, and clusters of inputs."""
    return with_clusters(named_groups(*names), X)[0]


def clusters_of(X, **how):
    """The rows of each cluster."""
    groups = with_clusters(named_groups({}), X, **how)[0]
    return [groups.rows(place) for place in range(len(groups))]


def without_names(X):
    return clustered(X, {"constant": np.zeros(len(X))})


@pytest.mark.parametrize("seed", range(3))
def test_planted_clusters_without_a_name_are_found(seed):
    X, f, y, topic = topics(seed)
    groups = without_names(X)
    chosen = scan(Table(LabelledRows(y, f, crossfitted(y, f)), groups), seed=seed).chosen
    for planted_topic in (0, 1):
        assert max(jaccard(groups.rows(one.group), topic == planted_topic) for one in chosen) >= 0.8
    assert len(chosen) <= 3
    for one in found_in(y, f, groups, seed=seed).findings:
        assert one.source == FOUND
        assert one.description.startswith(f"a cluster of {one.n:,} similar inputs, mixed; rows ")


def test_a_cluster_that_a_column_names_is_told_by_its_name():
    X, f, y, topic = topics(0)
    kind = np.array([f"topic {t}" for t in topic], object)
    found = found_in(y, f, clustered(X, {"kind": kind})).findings
    assert {(one.description, one.source) for one in found} == {("kind = topic 0", NAMED), ("kind = topic 1", NAMED)}


def best_cluster(X, rows, **how):
    return max(jaccard(one, rows) for one in clusters_of(X, **how))


def test_noise_of_small_variance_does_not_hide_topics_of_an_embedding():
    X, _, _, topic = topics(0)
    noise = np.random.default_rng(1).normal(0, 0.1, (len(X), 400))
    assert best_cluster(np.c_[X, noise], topic == 1) >= 0.9


def test_the_units_of_features_do_not_matter():
    X = topics(0, n=1_500)[0][:, :6]
    units = 10.0 ** np.arange(-3, 3)
    ours, theirs = ({one.tobytes() for one in clusters_of(inputs, own_units=True)} for inputs in (X, X * units))
    assert len(ours & theirs) >= 0.95 * len(ours)


def test_clusters_that_nothing_describes_wait_and_are_few():
    # many topics are wrong, none of them is a value, and so is one value
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 12, 6_000)
    X = 2 * rng.normal(size=(12, 48))[topic] + rng.normal(size=(6_000, 48))
    kind = rng.choice(["a", "b", "c", "d", "e"], 6_000).astype(object)
    f = expit(rng.normal(0.3, 1.2, 6_000))
    shift = rng.permutation(np.r_[[-1.6, 1.6] * 4, np.zeros(4)])[topic] - 0.8 * (kind == "a")
    y = (rng.random(6_000) < expit(np.log(f / (1 - f)) + shift)).astype(float)
    found = found_in(y, f, clustered(X, {"kind": kind})).findings
    sources = [one.source for one in found]
    assert found[0].description == "kind = a"
    assert sources[-LEDGER_DEFAULTS.max_mixed :] == [FOUND] * LEDGER_DEFAULTS.max_mixed
    assert sources.count(FOUND) == LEDGER_DEFAULTS.max_mixed
    # without columns there is nothing better to tell
    assert len(found_in(y, f, without_names(X)).findings) > LEDGER_DEFAULTS.max_mixed


def test_clusters_do_not_depend_on_the_order_of_the_rows():
    X = topics(0, n=1_500)[0]
    order = np.random.default_rng(1).permutation(len(X))
    ours = {one[order].tobytes() for one in clusters_of(X)}
    theirs = {one.tobytes() for one in clusters_of(X[order])}
    assert len(ours & theirs) >= 0.95 * len(ours)


def test_clusters_have_a_least_and_a_largest_size_and_none_stands_twice():
    X = topics(0, n=2_000)[0]
    groups = without_names(X)
    sizes = groups.member.counts()
    assert 30 <= min(sizes) <= max(sizes) <= 1_000
    assert len({groups.rows(place).tobytes() for place in range(len(groups))}) == len(sizes)
    assert len(groups.typical) == len(sizes)
    assert all(groups.rows(place)[list(typical)].all() for place, typical in groups.typical.items())


def test_too_few_or_equal_inputs_have_no_clusters():
    groups = named_groups({"a": np.zeros(3)})
    for X in (np.random.default_rng(0).normal(size=(59, 3)), np.ones((500, 3))):
        assert with_clusters(groups, X) == (groups, None)


def test_planted_names_stay_exact_beside_clusters():
    for seed in range(3):
        groups, y, f, truth = table(seed)
        # inputs of which a planted group is a part
        X = np.random.default_rng(seed).normal(size=(len(y), 3)) + 2 * truth[1][:, None]
        beside = with_clusters(groups, X)[0]
        chosen = scan(Table(LabelledRows(y, f, crossfitted(y, f)), beside), seed=seed).chosen
        found = {beside.descriptions[one.group] for one in chosen}
        assert {"kind0 = v1 and kind1 = v2", "kind1 = (missing)"} <= found
        assert not any(beside.kinds[one.group] == CLUSTER for one in chosen)


def test_clusters_cost_named_groups_a_tenth_of_their_error():
    groups = table(0)[0]
    beside = with_clusters(groups, np.random.default_rng(0).normal(size=(4_000, 3)))[0]
    before, after = error_shares(groups.kinds), error_shares(beside.kinds)
    assert after[: len(groups)] == pytest.approx(0.9 * before)
    assert after.sum() == pytest.approx(1)


def test_a_flipped_world_has_the_opposite_found_groups():
    X, f, y, _ = topics(4)
    groups = without_names(X)
    ours, theirs = found_in(y, f, groups).findings, found_in(1 - y, 1 - f, groups, 1 - crossfitted(y, f)).findings
    assert len(ours) >= 2
    for one in ours:
        [other] = [each for each in theirs if each.description == one.description]
        assert other.sign != one.sign
        assert other.hidden.value == pytest.approx(-one.hidden.value)


def test_forty_terms_of_one_template_are_one_finding():
    rng = np.random.default_rng(0)
    n = 2_000
    inside = rng.random(n) < 0.15
    template = " ".join(f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(40))
    text = [f"{template} number" if t else f"plain question {i % 5}" for i, t in enumerate(inside)]
    f = rng.uniform(0.3, 0.7, n)
    y = (rng.random(n) < f - 0.25 * inside).astype(float)
    X = rng.normal(size=(n, 8)) + 3 * inside[:, None]
    [only] = found_in(y, f, clustered(X, {}, text)).findings
    assert (only.source, only.n) == (NAMED, int(inside.sum()))


def test_a_found_group_has_a_true_description_or_says_that_it_is_mixed():
    rng = np.random.default_rng(0)
    kind = rng.choice(["art", "law", "sums", "war", "maps"], 2_000, p=[0.1, 0.1, 0.3, 0.3, 0.2]).astype(object)
    size = rng.normal(size=2_000)
    groups = named_groups({"kind": kind, "size": size})
    two = np.isin(kind, ["art", "law"])
    assert describe(two, groups).words == "kind = art or law (overlap 100 %)"
    crossed = (kind == "sums") & (size < np.quantile(size, 0.5, method="inverted_cdf"))
    told = describe(crossed, groups)
    assert set(told.columns) == {"kind", "size"}
    assert told.overlap > 0.95
    nothing = describe(rng.random(2_000) < 0.2, groups)
    assert isinstance(nothing, Mixed)
    assert nothing.words.startswith("mixed: 5 values of kind, ")


def test_meaningless_terms_are_not_told():
    rng = np.random.default_rng(0)
    text = [" ".join(rng.choice(["alpha", "beta", "gamma", "delta"], 2)) for _ in range(1_000)]
    inside = rng.random(1_000) < 0.2
    assert describe(inside, named_groups({}, text)).words == "mixed"


def test_a_term_is_labelled_by_its_composition():
    rng = np.random.default_rng(0)
    n = 3_000
    kind = rng.choice([f"k{i}" for i in range(12)], n).astype(object)
    inside = (np.isin(kind, ["k1", "k2"]) & (rng.random(n) < 0.7)) | (rng.random(n) < 0.06)
    text = ["roman numeral" if t else "plain" for t in inside]
    f = rng.uniform(0.3, 0.7, n)
    y = (rng.random(n) < f - 0.25 * inside).astype(float)
    told = found_in(y, f, named_groups({"kind": kind}, text)).findings[0].description
    assert told.startswith(('"numeral" in the text (', '"roman" in the text ('))
    assert " % have kind = k" in told
    assert told.count("k1") == told.count("k2") == 1


def test_the_interval_holds_its_value_and_widens_with_the_number_of_candidates():
    rng = np.random.default_rng(0)
    for rate in (0.0, 0.02, 0.5, 1.0):
        y, expected = (rng.random(60) < rate).astype(float), np.full(60, 0.4)
        one, many = hidden_interval(y, expected, 0.05), hidden_interval(y, expected, 1e-5)
        assert many[0] <= one[0] <= np.mean(y - expected) <= one[1] <= many[1]
        assert one[0] < one[1]


@pytest.mark.parametrize("level", [0.05, 0.001])
@pytest.mark.parametrize("rates", [(0.999, 0.65), (0.98, 0.98), (0.004, 0.03), (0.5, 0.7)])
def test_the_interval_covers_where_hardly_any_outcome_differs(rates, level):
    """Of 22 rows of one rate and 8 of another; all pairs of counts are added up, so that the coverage is exact."""
    many, expected, misses = (22, 8), np.repeat(rates, (22, 8)), 0.0
    for counts in np.ndindex(23, 9):
        chance = np.prod([binom.pmf(k, n, p) for k, n, p in zip(counts, many, rates, strict=True)])
        y = np.concatenate([np.arange(n) < k for k, n in zip(counts, many, strict=True)]).astype(float)
        low, high = hidden_interval(y, expected, level)
        misses += chance * (not low - 1e-12 <= 0 <= high + 1e-12)
    assert misses <= level


def null_world(world, seed, n):
    rng = np.random.default_rng((5, seed))
    f = rng.uniform(0.02, 0.98, n)
    if world == "saturated":
        f = np.where(rng.random(n) < 0.7, 0.999, f)
    rate = 0.5 + 0.45 * np.sin(9 * f) if world == "not monotone" else f
    X = rng.normal(size=(n, 6))
    # inputs that follow f, so that what is visible could be mistaken for what is hidden
    X[:, 0] += 2 * f
    X[:, 1] += 2 * np.sin(9 * f)
    kind = np.where(rng.random(n) < f, "sure", rng.choice(["a", "b", "c"], n)).astype(object)
    return X, f, (rng.random(n) < rate).astype(float), {"kind": kind, "x0": X[:, 0]}


def anything_found(world, seed, n=1_000):
    X, f, y, columns = null_world(world, seed, n)
    return bool(found_in(y, f, clustered(X, columns)).findings)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["calibrated", "saturated", "not monotone"])
def test_the_family_wise_error_with_found_groups_is_at_most_nominal(world):
    found = sum(anything_found(world, seed) for seed in range(300))
    assert binomtest(found, 300, 0.05, alternative="greater").pvalue > 0.01, found


def hidden_rates(seed, strength, n=1_000):
    """Shifts of many groups, none of them large; returns rows, groups, and the true hidden residual of each row."""
    rng = np.random.default_rng((9, seed))
    effect = rng.normal(0, strength, 12)

    def rows(many):
        number, size = rng.integers(0, 12, many), rng.normal(size=many)
        score = rng.normal(0.3, 1.2, many)
        return number, size, expit(score), expit(0.7 * score + effect[number] + strength * np.sin(2 * size))

    number, size, f, p = rows(n)
    _, _, others, rates = rows(200_000)
    place = np.clip(np.searchsorted(edges := np.quantile(others, np.linspace(0, 1, 201)), others) - 1, 0, 199)
    visible = np.interp(f, (edges[1:] + edges[:-1]) / 2, np.bincount(place, rates) / np.bincount(place))
    columns = {"kind": np.array([f"k{v}" for v in number], object), "size": size}
    groups = clustered(np.c_[size, rng.normal(size=(n, 2))], columns)
    return (rng.random(n) < p).astype(float), f, groups, p - visible


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.25, 0.6])
def test_intervals_of_chosen_groups_cover_their_hidden_residual(strength):
    misses = chosen = 0
    for seed in range(60):
        y, f, groups, hidden = hidden_rates(seed, strength)
        expected = crossfitted(y, f)
        for one in scan(Table(LabelledRows(y, f, expected), groups), seed=seed).chosen:
            rows = groups.rows(one.group)
            low, high = hidden_interval(y[rows], expected[rows], one.level)
            chosen += 1
            misses += not low <= hidden[rows].mean() <= high
    assert chosen >= 5
    assert misses <= 0.05 * chosen


def ledger(off, seed):
    """Of 2,000 rows, those of both groups have risks of their own, and are off as the reliability diagram shows."""
    rng = np.random.default_rng(seed)
    kind, place = rng.choice(["law", "art"], 2000), rng.choice(["north", "south", "east"], 2000)
    both = (kind == "law") & (place == "north")
    risk = np.where(both, rng.uniform(0.2, 0.3, 2000), rng.uniform(0.4, 0.8, 2000))
    expected = np.where(both, risk + off, risk)
    happened = (rng.random(2000) < expected).astype(float)
    rows = LabelledRows(happened, risk, expected, row=np.arange(2000))
    return find(rows, named_groups({"kind": kind, "place": place}))


def test_an_overlap_that_is_off_where_a_diagram_shows_it_is_named():
    found = [ledger(0.2, seed) for seed in range(10)]
    assert {one.most_off.description for one in found} == {"kind = law and place = north"}
    assert not any(one.findings for one in found)
    for one in found:
        low, high = one.most_off.residual.interval
        assert 0 < low < 0.2 < high


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_named_where_nothing_is_off(seed):
    found = ledger(0.0, seed)
    assert found.most_off is None or found.most_off in found.findings
