"""What a column of a table is read as, and whether its name says whose a row is."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from miscal.base.document import Measure

FEATURES, METADATA, NAMES_ONLY = "features", "metadata", "names only"
"""Roles of a column."""
COORDINATE = "embedding"
"""What a number is read as that is one of the many coordinates of an embedding."""


@dataclass(frozen=True)
class ColumnReading:
    """What a column is read as.

    Attributes
    ----------
    name : str
    read_as : str
        'number', 'boolean', 'category', 'ordered', 'date' or 'list'; 'embedding' of a number that is one of many
        coordinates; 'other' where it is none of them.
    levels : int
        Number of distinct values, blanks aside.
    missing : int
        Number of blanks.
    left_out : str or None
        Why it is no part of x; None where it is one, or where it was named for names only.
    leak_with : str or None
        The other column, where the leak is that of a pair.
    role : str or None
        'features', 'metadata' (part of x and names findings) or 'names only'.
    needed : bool
        Whether new rows need it to be corrected.
    cost_if_missing : Measure or None
        By how much the log loss of the corrected confidences changes where it is blank in every row; None where this
        was not measured.
    leak : float or None
        How well it tells the outcome, where that is so much that the column may be known only after the outcome: it is
        part of nothing then. What is measured depends on `leak_by`.
    leak_by : str or None
        'ranking' (the area under the ROC curve by this column alone), 'entropy' (the share of the outcome's entropy
        given the confidence that it takes away), 'blanks' (all its blanks have one outcome; the chance of that by the
        confidences), or of a pair with `leak_with` 'equality', 'cells' (the values of both) or 'difference' (the area
        by these). None where `leak` is.
    """

    name: str
    read_as: str
    levels: int
    missing: int
    left_out: str | None = None
    leak: float | None = None
    role: str | None = None
    needed: bool = False
    leak_with: str | None = None
    cost_if_missing: Measure | None = None
    leak_by: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


_WHO = (
    "account animal annotator applicant author bank beneficiary borrower buyer candidate caregiver claimant client "
    "clinic commune company conversation county customer dealer device doctor donor dyad employee employer encounter "
    "episode family farm firm guest home hospital household individual litter machine member merchant owner pair "
    "participant passenger patient person physician pig plant player plot practice prompt provider pupil question rat "
    "rater respondent reviewer school seller session shop speaker store student subject supplier surgeon taxpayer "
    "teacher team tenant thread twin user vehicle vendor village visitor voter ward worker"
)
WHO = frozenset(_WHO.split())
"""Who or what is drawn anew in a new sample."""
_KINDS = frozenset({"subject"})
"""Of these, what stands for a kind of rows where its values are plain words: the subject of a question."""
_ALONE = frozenset({"id", "ids", "uid", "uuid", "guid", "identifier"})
"""Words that identify wherever they stand."""
_LAST = frozenset({"nr", "no", "key"})
"""Words that identify at the end."""
_TELL = _ALONE | _LAST | {"num", "number", "name", "ref", "hash", "code"}
"""Words beside those that say of whom: `account_no`, `userName`."""
_NO_ID = re.compile(
    r".*(aid|oid)|(for|mor|ra)?bid|(can|splen)?did|(am|hum|k|m|sk|t|tim|pyram)id|(flu|liqu|squ)id|(g|hyb|a|ac|flo|hor)?rid"
    r"|(eye|inva|so|va)?lid|(cu|li|ra|stu|va)pid|(a|co|da|li|vi)vid|(ant?)?acid|(lu|pla|ran)cid|(fe|or)[ct]h?id|hid|void"
)
"""Words that end as `studyid` does and name no one: paid, steroid, fluid, valid."""


def names_identity(column: str, *, plain: bool = False) -> bool:
    """Tell whether a column is named like an identity.

    `plain`: its values are words, as those of kinds are, and not codes or numbers.

    Examples
    --------
    >>> [names_identity(name) for name in ("customer_id", "userName", "Patients", "StoreID", "distid", "nr", "SUBJECT")]
    [True, True, True, True, True, True, True]
    >>> [names_identity(name) for name in ("age", "identity", "customer_age", "paid", "household_size", "n_accounts")]
    [False, False, False, False, False, False]
    >>> names_identity("subject", plain=True)
    False
    """
    words = _words(column)
    if not words:
        return False
    last = words[-1]
    ends = last.endswith("id") and len(last) > 2 and not _NO_ID.fullmatch(last)
    if ends or last in _LAST or not _ALONE.isdisjoint(words) or re.fullmatch(r".*id(no|nr|num|number)", last):
        return True
    who = [word for word in words if word not in _TELL]
    return len(who) == 1 and _singular(who[0]) in (WHO - _KINDS if plain else WHO)


def may_count(column: str) -> bool:
    """Tell whether a name like an identity's may as well be of kinds or counts: codes, and the plural of whom.

    Examples
    --------
    >>> [may_count(name) for name in ("fcode", "occ_code", "Patients", "customer_id", "account")]
    [True, True, True, False, False]
    """
    words = _words(column)
    return bool(words) and (words[-1].endswith("code") or (words[-1] not in WHO and _singular(words[-1]) in WHO))


def names_code(column: str) -> bool:
    """Tell whether a column is named as the code of something.

    Examples
    --------
    >>> names_code("fcode"), names_code("firm_code"), names_code("code")
    (True, True, False)
    """
    words = _words(column)
    return words != ["code"] and bool(words) and words[-1].endswith("code")


def _words(column: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column)]


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word if word in WHO else word.removesuffix("s")
