"""What is said of several classes, in a few lines."""

from miscal.base.number_wording import percent
from miscal.discovery.summary_parts import ClassEvent, ClassNumbers
from miscal.discovery.wording import confusion_sentence, words_of
from miscal.report.printed_finding import finding_words

Facts = list[tuple[str, str]]
"""What something is about, in a word, and what is said of it."""

SHOWN = 3
"""Confusions, and classes with findings, that are told."""


def class_facts(numbers: ClassNumbers | None) -> Facts:
    """Say what was found of classes: confusions, the first finding of those with the strongest, and the correction."""
    if numbers is None:
        return []
    with_findings = sorted((one for one in numbers.classes if one.findings), key=_strength)
    told = [("confusion", confusion_sentence(one)) for one in numbers.confusions[:SHOWN]]
    told += [_first_finding(one) for one in with_findings[:SHOWN]]
    return [*told, ("classes", f"{_counted(numbers)}; {_losses(numbers)}")]


def _first_finding(one: ClassEvent) -> tuple[str, str]:
    finding = one.findings[0]
    return "class", f"{one.name}, {finding.description}: {finding_words(finding, words_of(one.name), one.findings)}"


def _strength(one: ClassEvent) -> float:
    return one.findings[0].p_adjusted


def _counted(numbers: ClassNumbers) -> str:
    looked = sum(one.looked_at for one in numbers.classes)
    many, findings = len(numbers.classes), len(numbers.findings)
    all_of = f"{many:,}" if looked == many else f"{many:,}, of which {looked:,} were looked at as events"
    found = "no finding" if not findings else f"{findings:,} finding{'' if findings == 1 else 's'}"
    more = f", {len(numbers.confusions):,} of them confusions" if numbers.confusions else ""
    where = " (`miscal show RUN_DIR --class NAME`)" if findings else ""
    return f"{all_of}: {found}{more}{where}"


def _losses(numbers: ClassNumbers) -> str:
    losses, accuracy = numbers.log_loss, numbers.accuracy
    return (
        f"log loss of all classes {losses['raw']:.4g} before, {losses['global map']:.4g} by the global map, "
        f"{losses['corrected']:.4g} after the correction; {percent(accuracy['raw'], 1)} of the likeliest classes are "
        f"right before, {percent(accuracy['corrected'], 1)} after"
    )
