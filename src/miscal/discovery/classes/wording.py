"""Write what is told of several classes."""

from __future__ import annotations

from dataclasses import replace

from miscal.base.number_wording import percent
from miscal.base.vocabulary import EVENT, LESS_OR_MORE, Vocabulary, vocabulary
from miscal.discovery.classes.document import ClassNumbers, Confusion
from miscal.findings.ledger import SHIFT
from miscal.findings.ledger.sizes import MENDED, NOT_KNOWN, REDUCED, WORSE
from miscal.findings.verdict import in_points, interval_of_size


def words_of(name: str) -> Vocabulary:
    """Return the words of a class: an event that happens where it is the label.

    Examples
    --------
    >>> words_of("owl").than_equal_rows(), words_of("owl").group_rate.format("12 %")
    ('than rows of equal probability of owl', 'the label is owl in 12 %')
    """
    # the name may hold what a template would take for a place to fill
    safe = name.replace("{", "{{").replace("}", "}}")
    return replace(
        vocabulary(EVENT),
        probability=f"probability of {name}",
        probabilities=f"probabilities of {name}",
        rate=f"share of {name}",
        group_rate=f"the label is {safe} in {{}}",
        two_levels=f"where it is {{}}, the label is {safe} in {{}}, and where it is {{}}, in {{}}",
        place="",
    )


def confusion_sentence(one: Confusion) -> str:
    """Say how often a class is the label where another is predicted, and how often the model says so.

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> sizes = dict(probability=0.03, rate=0.12, hidden=Measure(value=0.08), after=Measure(value=0.0), fate="mended")
    >>> known = dict(label="dog", predicted="cat", finding=1, n=800, sign="under", p_adjusted=1e-4)
    >>> confusion_sentence(Confusion(**known, **sizes))
    'where the model predicts cat, the label is dog in 12 % of the 800 rows, and the model says 3 %'
    """
    return (
        f"where the model predicts {one.predicted}, the label is {one.label} in {percent(one.rate)} of the {one.n:,} "
        f"rows, and the model says {percent(one.probability)}"
    )


def classes_sentence(numbers: ClassNumbers | None) -> str:
    """Write the sentence of the verdict about classes and confusions; empty where nothing was found."""
    if numbers is None or not numbers.findings:
        return ""
    if numbers.confusions:
        first, more = numbers.confusions[0], len(numbers.confusions) - 1
        others = f" ({more} more confusion{'' if more == 1 else 's'} of this kind)" if more else ""
        said = confusion_sentence(first)
        left = _MENDING.get(first.fate, "")
        return f"Class by class, {said}: no reliability diagram of {first.label} shows this{others}.{left}"
    shifts = [(name, one) for name, one in numbers.findings if one.effect == SHIFT]
    if not shifts:
        return "Class by class, probabilities say more or less in some groups than elsewhere."
    name, one = min(shifts, key=lambda told: told[1].p_adjusted)
    value = one.before.value or 0.0
    between = interval_of_size(value, one.before.interval)
    size = f"{in_points(abs(value))}{f', {between}' if between else ''}"
    return (
        f"Class by class, the label is {name} {LESS_OR_MORE[one.sign]} on {one.phrase} than on rows of equal "
        f"probability of {name} (by {size}).{_MENDING.get(one.fate, '')}"
    )


_MENDING = {
    MENDED: " The correction of all classes mends this.",
    REDUCED: " The correction of all classes reduces this.",
    WORSE: " The correction of all classes makes this worse.",
    NOT_KNOWN: " Whether the correction of all classes mends this is not known.",
}
