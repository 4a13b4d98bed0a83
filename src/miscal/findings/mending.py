"""What the correction makes of a finding, in words: of one, and of all in the sentence of the verdict."""

from collections.abc import Sequence

from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.findings.ledger import Finding
from miscal.findings.ledger.sizes import FATES, NOT_KNOWN
from miscal.findings.places import Place
from miscal.findings.verdict import MOST_PLACES, often_on


def fate_words(fate: str | None, rows_needed: int | None) -> str:
    """Write the fate of a finding, empty where there is none.

    Examples
    --------
    >>> fate_words("mended", None), fate_words("not known", 3_412), fate_words(None, None)
    ('mended', 'not known, it would take about 3,500 rows', '')
    """
    if fate != NOT_KNOWN or rows_needed is None:
        return fate or ""
    step = 10 ** max(0, len(str(rows_needed)) - 2)
    return f"{fate}, it would take about {-(-rows_needed // step) * step:,} rows"


def together_words(finding: Finding, findings: Sequence[Finding]) -> str:
    """Name the finding above without which a finding of a list does not show; empty where it shows by itself."""
    needed = finding.together_with
    return "" if needed is None else f", together with {findings[needed - 1].phrase}"


def mending_sentence(
    fates: Sequence[str],
    left: Sequence[tuple[str, Place]] = (),
    kind: Kind = ANSWER,
    *,
    slopes_left: str = "",
) -> str:
    """Say what the correction makes of the findings, and name those not mended of which something is left.

    Parameters
    ----------
    fates : sequence of str
        Of each finding, at least one (:func:`.sizes.fate_of`).
    left : sequence of (str, Place)
        Sign and remainder of each shift that is not mended and of which the interval excludes 0 after the correction.
    kind : {"answer", "event", "judge"}
        What the confidence is the probability of.
    slopes_left : str
        A clause on such slopes (:func:`.slope_wording.slopes_left`).

    Examples
    --------
    >>> law = ("over", Place("rows with subject = law", -0.17, (-0.29, -0.05)))
    >>> print(mending_sentence(["reduced", "mended", "not known"], [law]))
    The correction mends 1 of the 3 findings and reduces 1; of 1 it is not known. Compared with rows of equal corrected
    confidence, the model is still right less often on rows with subject = law (by 17 points, 5 to 29).
    >>> print(mending_sentence(["mended"]), mending_sentence(["not known"]))
    The correction mends the finding. Whether the correction mends the finding is not known.
    """
    words = vocabulary(kind)
    still, now = (_largest(left, turned=turned) for turned in (False, True))
    named = still[:MOST_PLACES]
    parts = [f"{words.true('still')} {often_on(named, words)}"] if named else []
    if turned := now[: MOST_PLACES - len(named)]:
        parts.append(f"{words.true('now')} {often_on(turned, words)}, the other way round than before")
    more = len(still) + len(now) - len(named) - len(turned)
    rest = f"; the report lists {more} more" if more else ""
    compared = f"Compared with {words.equal_rows('corrected')}, {words.subject} {', and '.join(parts)}{rest}"
    along = f"{slopes_left[:1].upper()}{slopes_left[1:]}"
    return " ".join(f"{one}." for one in (_counted(fates), compared if parts else "", along) if one)


def _counted(fates: Sequence[str]) -> str:
    """Count the findings of each fate."""
    mended, reduced, worse, unknown = (sum(one == fate for one in fates) for fate in FATES)
    many = len(fates)
    if many == 1:
        if unknown:
            return "Whether the correction mends the finding is not known"
        return f"The correction {'mends' if mended else 'reduces' if reduced else 'worsens'} the finding"
    if mended == many:
        return f"The correction mends all {many} findings"
    told = [f"mends {mended or 'none'} of the {many} findings"]
    told += [f"reduces {reduced}"] if reduced else []
    told += [f"makes {worse} worse"] if worse else []
    rest = f"; of {unknown} it is not known" if unknown else ""
    return f"The correction {', '.join(told[:-1])}{' and ' if len(told) > 1 else ''}{told[-1]}{rest}"


def _largest(left: Sequence[tuple[str, Place]], *, turned: bool) -> list[Place]:
    """Take what is left on the side of the finding, or what the correction turned round; the most first."""
    some = [place for sign, place in left if ((place.hidden < 0) != (sign == "over")) == turned]
    return sorted(some, key=lambda place: -abs(place.hidden))
