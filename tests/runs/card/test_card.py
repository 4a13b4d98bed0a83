"""The card of a run: its numbers are those of an independent script, and each of its parts stands where it should."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta

import miscal
from _card_again import again, apart
from miscal.base.errors import InputError, MiscalError
from miscal.calibration.labelled_rows import labelled
from miscal.cli import main
from miscal.data import flights
from miscal.discovery.estimating import expected_outcome
from miscal.discovery.run import read_run
from miscal.runs.card.card import _graded, card
from miscal.runs.card.sheet import markdown_of, sheet_of, texts, write_card

pytestmark = pytest.mark.whole

N = 600


def expected_at(run):
    """Outcome to be expected at the probability of each row, as learned from other rows."""
    content = read_run(run)
    return expected_outcome(content.triples(), content.summary.seed)


def visits(seed=0):
    """Two visits of each patient, whose risks are too low in one ward."""
    rng = np.random.default_rng(seed)
    patient, ward = np.arange(N) // 2, rng.choice(["east", "north", "west"], N)
    risk = rng.beta(2, 5, N)
    own = np.where(rng.random(N) < 0.4, rng.random(N)[patient], rng.random(N))
    return pd.DataFrame(
        {
            "patient": [f"p{k}" for k in patient],
            "ward": ward,
            "kind": rng.choice(["first", "later"], N),
            "grade": np.where(risk < 0.2, "A", np.where(risk < 0.4, "B", "C")),
            "seen": np.datetime64("2024-03-01", "us") + rng.integers(0, 200, N) * np.timedelta64(86_400_000_000, "us"),
            "risk": risk,
            "fell": (own < risk + 0.25 * (ward == "west")).astype(int),
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    frame = visits()
    frame.to_parquet(folder / "visits.parquet")
    found = miscal.discover(
        folder / "visits.parquet",
        probability="risk",
        event="fell",
        group="patient",
        metadata="ward,kind",
        leave_out="grade,seen",
        threshold=0.3,
        max_error=0.1,
        map="pca",
        n_jobs=1,
        quick=True,
    )
    found.save(folder / "run")
    return folder


@pytest.fixture(scope="module")
def made(place):
    return card(place / "run")


def test_every_number_is_that_of_an_independent_script(place, made):
    frame = visits()
    found = again(
        place / "run", expected_at(place / "run"), columns={name: frame[name].to_numpy() for name in ("ward", "kind")}
    )
    wrong = []
    # all of them, so that adjusted p-values are compared, too
    assert found["segments"].keys() >= {one.name for one in made.segments if one.mark != "found"}
    values, ends = apart(json.loads(made.to_json()), found, wrong.append)
    assert values < 1e-6, wrong
    assert ends < 1e-3, wrong


def test_the_parts_of_the_brier_score_add_up(made):
    part = {name: one.value for name, one in made.measures.items()}
    sum_of_parts = part["brier_calibration"] - part["brier_resolution"] + part["brier_uncertainty"]
    assert part["brier"] == pytest.approx(sum_of_parts, abs=1e-12)


def test_it_says_what_the_run_says(place, made):
    summary = miscal.load(place / "run").summary
    for name, own in (("smece", "smece"), ("ece", "ece"), ("brier", "brier"), ("observed", "accuracy")):
        measure = getattr(summary.global_, own)
        assert made.measures[name].value == pytest.approx(measure.value, abs=1e-12)
        np.testing.assert_allclose(made.measures[name].interval, measure.interval, atol=1e-9)
    assert made.measures["auc"].value == pytest.approx(summary.plain.ranking.value)
    assert made.about["counted by"] == "patient: 300 units"
    assert made.about["sha256"] == summary.data.sha256
    assert {"at 30 %", "alone"} <= made.decided.keys()


def test_found_groups_come_first_and_the_others_by_their_tests(made):
    marks = [one.mark == "found" for one in made.segments]
    assert marks == sorted(marks, reverse=True)
    assert sum(marks) == made.n_found
    p = [one.p_adjusted for one in made.segments[made.n_found :]]
    assert p == sorted(p)
    assert {"ward = north", "kind = later"} <= {one.name for one in made.segments}


def test_grades_may_be_a_column_or_a_number(place, made):
    graded = card(place / "run", grades="grade")
    assert [one.name for one in graded.grades] == ["A", "B", "C"]
    assert sum(one.n for one in graded.grades) == N
    expected = visits().groupby("grade")["risk"].mean()
    assert [one.expected for one in graded.grades] == pytest.approx(expected.to_list())
    assert len(card(place / "run", grades="4").grades) == 4
    assert len(made.grades) == 10


@pytest.mark.parametrize(
    ("grades", "said"),
    [("patient", "has 300 values"), ("1", "a number from 2 to 30"), ("grad", "did you mean 'grade'")],
)
def test_grades_that_cannot_be_are_refused(place, grades, said):
    with pytest.raises(InputError, match=said):
        card(place / "run", grades=grades)


def test_the_page_and_the_markdown_say_the_same(place, made):
    page, text = sheet_of(made).page(), markdown_of(made)
    for said in ("Calibration slope", "Methods", made.about["sha256"], "grade", "segment"):
        assert said in page
        assert said in text
    assert "counted by patient: 300 units" in texts(made)["Methods"]
    assert page.count("<details open>") >= 5
    assert all(len(line) <= 100 for line in sheet_of(made).lines())


def test_the_command_writes_once(place, tmp_path, capsys):
    out = tmp_path / "card.md"
    assert main(["card", str(place / "run"), "--out", str(out), "--grades", "grade"]) == 0
    assert "Observed over expected" in capsys.readouterr().out
    assert out.read_text().startswith("### Card of run")
    assert main(["card", str(place / "run"), "--out", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["card", str(place / "run"), "--out", str(out), "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == N


def test_another_kind_of_file_is_refused(place, tmp_path):
    with pytest.raises(InputError, match=r"a \.html or a \.md file"):
        write_card(place / "run", tmp_path / "card.pdf")


def test_a_run_whose_rows_are_gone_is_refused(place, tmp_path):
    visits(1).to_parquet(tmp_path / "visits.parquet")
    found = miscal.discover(
        tmp_path / "visits.parquet", probability="risk", event="fell", group="patient", map="pca", n_jobs=1, quick=True
    )
    found.save(tmp_path / "run")
    (tmp_path / "visits.parquet").unlink()
    with pytest.raises(MiscalError, match=r"visits\.parquet"):
        card(tmp_path / "run")


def test_several_classes_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2, 1, 1], 300)
    frame = pl.DataFrame({"a": p[:, 0], "b": p[:, 1], "c": p[:, 2], "x": rng.normal(size=300)})
    frame = frame.with_columns(label=pl.Series([rng.choice(["a", "b", "c"], p=row) for row in p]))
    found = miscal.discover(frame, probabilities="a,b,c", label="label", map="pca", n_jobs=1, quick=True)
    found.save(tmp_path / "run")
    with pytest.raises(InputError, match="several classes"):
        card(tmp_path / "run")


def test_what_the_monitor_says_is_told(place, tmp_path):
    found = miscal.load(place / "run")
    found.save(tmp_path / "run")
    later = visits(5).assign(patient=lambda table: "later " + table["patient"])
    looked = miscal.load(tmp_path / "run").monitor(later)
    said = card(tmp_path / "run").decided["monitor"]
    assert said.startswith("The correction, on later rows: ")
    assert looked.answer.headline in said


def test_weights_count(tmp_path):
    rng = np.random.default_rng(3)
    frame = visits(3).assign(weight=rng.uniform(0.5, 3, N))
    first, last = (str(one.date()) for one in (frame["seen"].min(), frame["seen"].max()))
    frame.to_parquet(tmp_path / "weighted.parquet")
    found = miscal.discover(
        tmp_path / "weighted.parquet", probability="risk", event="fell", weight="weight", group="none", time="seen",
        map="pca", n_jobs=1, quick=True,
    )  # fmt: skip
    found.save(tmp_path / "run")
    made = card(tmp_path / "run")
    ratio = np.average(frame["fell"], weights=frame["weight"]) / np.average(frame["risk"], weights=frame["weight"])
    assert made.measures["observed_expected"].value == pytest.approx(ratio)
    assert made.about["weighted by"] == "weight"
    assert made.about["period"] == f"{first} to {last}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_flights_are_computed_again(tmp_path):
    options = {"probability": "predicted_delay_risk", "event": "delayed", "time": "departure"}
    found = miscal.discover(flights.path(), group="departure:day", metadata="carrier,origin,dest", **options)
    found.save(tmp_path / "run")
    wrong = []
    values, ends = apart(
        json.loads(card(tmp_path / "run").to_json()),
        again(tmp_path / "run", expected_at(tmp_path / "run")),
        wrong.append,
    )
    assert values < 1e-6, wrong
    assert ends < 1e-3, wrong


def test_grades_are_tested_as_by_probcal():
    """Tails of `binomial_grade_test` and posteriors of `jeffreys_grade_test`, probcal 0.4.0, one-sided."""
    tails, posteriors = (0.0028486058021658872, 0.09951642396554908), (0.001470438249200832, 0.06565717346519487)
    hits, n, risk = (9, 7), (60, 40), (0.05, 0.1)
    y = np.concatenate([np.arange(many) < few for few, many in zip(hits, n, strict=True)]).astype(float)
    graded = list(_graded(labelled(y, np.repeat(risk, n), None, None), np.repeat(["A", "B"], n).astype(object)))
    for one, tail, posterior, few in zip(graded, tails, posteriors, hits, strict=True):
        assert one.p_value == one.p_units == pytest.approx(2 * tail)
        law = beta(few + 0.5, one.n - few + 0.5)
        assert law.cdf(one.expected) == pytest.approx(posterior)
        assert one.observed.interval == pytest.approx(law.interval(0.95))
