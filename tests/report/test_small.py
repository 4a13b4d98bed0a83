"""Small pictures beside the lines of sections: they show the numbers of the section, or are left off."""

import json
import re

import pytest

from miscal.report import render
from miscal.report.drawing import WIDE
from miscal.report.frame import read_source
from miscal.report.page import PANELS

from .made_alone import with_alone
from .read_page import section_of


def pictures(source):
    folds = [panel(source) for panel in PANELS]
    return {fold.name: fold.picture for fold in folds if fold is not None and fold.picture is not None}


def test_the_sections_that_have_a_picture_show_it_beside_their_line(make_run):
    text = render(make_run(600, edit=with_alone())).read_text(encoding="utf-8")
    shown = {
        name
        for name in re.findall(r'<section id="([^"]+)" class="fold"', text)
        if '<svg class="glance"' in section_of(text, name).partition("</summary>")[0]
    }
    assert shown == {"columns", "alone", "corrections", "histogram"}
    # the line says the same
    assert text.count('<svg class="glance" viewBox="0 0 150 28" aria-hidden="true">') == len(shown)


def test_values_stand_by_size_and_findings_have_the_colour_of_their_sign(make_run):
    source = read_source(make_run(300))
    dots = pictures(source)["columns"].marks
    known = [one for table in source.columns.values() for one in table if one.hidden.value is not None]
    assert len(dots) == len(known)
    assert [one.kind for one in dots if one.kind != "other"] == ["over"]
    zero = WIDE / 2
    assert sorted(one.x < zero for one in dots) == sorted(one.hidden.value < 0 for one in known)


def test_bars_of_log_loss_are_as_long_as_it_is_large(make_run):
    run = make_run(600)
    (_, before), (kind, after) = pictures(read_source(run))["corrections"].lines
    losses = json.loads((run / "summary.json").read_text())["correction"]
    raw, ours = (losses[name]["all"]["log_loss"] for name in ("raw", "miscal"))
    ends = [float(line.rpartition("H")[2]) - 4 for line in (before, after)]
    assert ends[1] / ends[0] == pytest.approx(ours / raw, abs=0.01)
    assert kind == "bar better"


def test_bins_hold_every_row_once(make_run):
    source = read_source(make_run(600))
    counted = source.summary.histogram
    drawn = dict(pictures(source)["histogram"].lines)
    for kind in ("over", "good", "under"):
        assert drawn.get(f"bin {kind}", "").count("M") == sum(n > 0 for n in getattr(counted, kind))


def test_what_cannot_be_drawn_is_left_off(make_run):
    def forget(summary):
        summary["histogram"] = {"edges": [0.0, 0.0], "over": [0], "good": [30], "under": [0]}
        summary["correction"]["raw"]["all"]["log_loss"] = None

    run = make_run(300, kind="empty", edit=forget)
    assert pictures(read_source(run)) == {}
    assert "glance" not in render(run).read_text(encoding="utf-8").partition("</style>")[2]
