"""The words of a finding."""

import json

from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Measure, Summary
from miscal.report.printed import finding_words


def test_a_finding_whose_size_has_no_interval_gets_no_empty_brackets(make_run):
    found = Summary.model_validate(json.loads((make_run(500) / "summary.json").read_text(encoding="utf-8")))
    bare = found.findings[0].model_copy(update={"hidden": Measure(value=-0.26)})
    said = finding_words(bare, vocabulary(found.kind), (bare,))
    assert "26 points less often than rows" in said
    assert "()" not in said
