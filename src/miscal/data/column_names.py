"""Tell by its name whether a column says who or what a row is of."""

from __future__ import annotations

import re

_WHO = (
    "account applicant borrower caregiver case claimant client conversation county customer employee encounter episode "
    "family firm household individual item member participant patient person prompt question respondent school session "
    "student subject user visitor"
)
_NUMBER = "id identifier idno key nr no uid uuid guid hash code"
_ENDING_LIKE_ID = (
    "acid aid android avid bid candid covid fluid grid humid hybrid kid lipid liquid maid mid morbid opioid overpaid "
    "paid prepaid rabid raid rapid rigid said sid solid steroid thyroid unpaid valid invalid void"
)


def identifies(column: str) -> bool:
    """Tell whether a column is named like an identity: by its last word, or as the name or number of one.

    Examples
    --------
    >>> [identifies(name) for name in ("customer_id", "userName", "Patients", "fcode", "SCHID", "caseNo")]
    [True, True, True, True, True, True]
    >>> [identifies(name) for name in ("customer age", "n_patients", "identity", "amount paid", "item_count")]
    [False, False, False, False, False]
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column)]
    if not words:
        return False
    *before, last = words
    if not before:  # plurals of several words count something
        last = f"{last[:-3]}y" if last.endswith("ies") else last.removesuffix("s")
    if last == "name" and before:
        last = before[-1]
    if words[0] == "id" or last in {*_WHO.split(), *_NUMBER.split()}:
        return True
    return last.endswith(("id", "code")) and last not in _ENDING_LIKE_ID.split()
