"""What is said of a judge, in a few lines."""

from miscal.discovery.summary_parts import GroupRate, JudgeNumbers
from miscal.discovery.wording import group_sentence, rate_sentence, scale_sentence
from miscal.report.class_facts import Facts

SHOWN = 5
"""Models that are told."""


def judge_facts(numbers: JudgeNumbers | None) -> Facts:
    """Say how often people would approve of all answers and of those of each model, and what scores stand for."""
    if numbers is None:
        return []
    models = model_rates(numbers)
    scale = scale_sentence(numbers)
    return [
        ("people", rate_sentence(numbers)),
        *(("model", group_sentence(one)) for one in models[:SHOWN]),
        *([("scores", scale)] if scale else []),
    ]


def model_rates(numbers: JudgeNumbers) -> list[GroupRate]:
    """Return the rates of the models, the highest first; those without one last."""
    models = [one for one in numbers.groups if one.column is not None and one.column == numbers.model_column]
    return sorted(models, key=lambda one: -1.0 if one.rate.estimate is None else one.rate.estimate, reverse=True)
