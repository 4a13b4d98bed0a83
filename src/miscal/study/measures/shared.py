"""What the pairs of a data set add to the table ``shared_findings``: where models err together, and differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from miscal.findings.model_tests import ModelEffect
from miscal.findings.shared_findings import ModelAnswers, SharedFinding, find_shared
from miscal.study.pair_result import TableRows
from miscal.study.pairs_together import ModelRows


def measure_shared(models: Sequence[ModelRows], seed: int = 0) -> TableRows:
    """Find the groups in which the models of a data set err together, and those in which they differ.

    Parameters
    ----------
    models : sequence of ModelRows
        Of one data set and one method.
    seed : int, default 0
        Of the order of rows of equal confidence.

    Returns
    -------
    TableRows
        Table ``shared_findings``, a row for each finding and model, the models in the order given
        (:func:`miscal.findings.shared_findings.find_shared`).
    """
    pairs = {one.named["pair"]: one for one in models}
    found = find_shared([_answers(one) for one in models], seed=seed)
    return {
        "shared_findings": [
            _of_finding(finding, number) | _of_model(effects[pair], one.named)
            for number, finding in enumerate(found, 1)
            for effects in [{effect.model: effect for effect in finding.models}]
            for pair, one in pairs.items()
        ]
    }


def _answers(one: ModelRows) -> ModelAnswers:
    return ModelAnswers(one.named["pair"], one.rows, one.question, one.columns, one.text, one.after)


def _of_finding(finding: SharedFinding, number: int) -> dict[str, Any]:
    low, high = finding.effect.interval or (None, None)
    beyond_low, beyond_high = finding.beyond.interval or (None, None)
    return {
        "finding": number,
        "kind": finding.kind,
        "description": finding.description,
        "condition": json.dumps(finding.condition.to_dict(), sort_keys=True),
        "n": finding.n,
        "models": len(finding.models),
        "effect": finding.effect.value,
        "effect_low": low,
        "effect_high": high,
        "beyond": finding.beyond.value,
        "beyond_low": beyond_low,
        "beyond_high": beyond_high,
        "given_others": finding.given_others,
        "p_shared": finding.p_shared,
        "p_shared_adjusted": finding.p_shared_adjusted,
        "p_difference": finding.p_difference,
        "p_difference_adjusted": finding.p_difference_adjusted,
    }


def _of_model(effect: ModelEffect, named: Mapping[str, Any]) -> dict[str, Any]:
    low, high = effect.effect.interval or (None, None)
    return {
        **named,
        "n_model": effect.n,
        "model_effect": effect.effect.value,
        "model_low": low,
        "model_high": high,
        "model_after": effect.after,
    }
