"""Which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from miscal.base.errors import InputError
from miscal.data.readers.columns import find, guess, match, refuse_outcome, split_names, unreserved
from miscal.data.readers.rows import AUTO, shown_text
from miscal.data.readers.table import Table

ID = "id"


@dataclass(frozen=True)
class Roles:
    """Which column plays which part; None where none does.

    `named` says whether a person named the columns that name what is found; else they are all that play no other part.
    """

    confidence: str
    correct: str
    split: str | None = None
    group: str | None = None
    weight: str | None = None
    metadata: tuple[str, ...] = ()
    names_only: tuple[str, ...] = ()
    named: bool = True
    id: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All columns named."""
        single = (self.confidence, self.correct, self.split, self.group, self.weight, self.id)
        return [column for column in single if column is not None] + list(self.naming)

    @property
    def naming(self) -> tuple[str, ...]:
        """Columns that name what is found, whether the field sees them or not."""
        return (*self.metadata, *self.names_only)

    @property
    def reserved(self) -> dict[str, str]:
        """Columns that a feature pattern passes over, with their part."""
        parts = {name: getattr(self, name) for name in ("id", "weight", "group", "split", "confidence", "correct")}
        named = {column: name for name, column in parts.items() if column is not None}
        return dict.fromkeys(self.names_only, "names_only") | dict.fromkeys(self.metadata, "metadata") | named

    def without(self, columns: Container[str]) -> Roles:
        """Return the roles without some of the naming columns."""
        kept = {part: tuple(c for c in getattr(self, part) if c not in columns) for part in ("metadata", "names_only")}
        return replace(self, **kept)

    def refuse_as_inputs(self, features: Sequence[str]) -> None:
        """Refuse inputs that new rows will not have.

        Raises
        ------
        InputError
        """
        both = [name for name in self.names_only if name in features]
        if both:
            raise InputError(
                f"names_only: {both[0]!r} is named as a feature, too, but what new rows will not have cannot be "
                "part of the inputs: leave it out of one of the two"
            )


def _role(table: Table, role: str, named: str | None) -> tuple[str, tuple[str, ...]]:
    if named is not None:
        return find(named, table.columns, what=role), ()
    column = guess(role, table.columns)
    return column, () if column == role else (f"the column {column!r} was taken as {role}, since none was named",)


def choose_roles(
    table: Table,
    confidence: str | None,
    correct: str | None,
    split: str | None,
    group: str | None,
    weight: str | None,
) -> Roles:
    """Find the columns that are no inputs, by name or, where none is named, by what they are called.

    Raises
    ------
    MissingColumn, InputError
        If one is not there, or plays two parts that exclude each other.
    """
    confidence, said = _role(table, "confidence", confidence)
    correct, also = _role(table, "correct", correct)
    if confidence == correct:
        raise InputError(f"confidence and correct must be two columns; both are {correct!r}")
    for what, name in {"split": split, "group": group, "weight": weight}.items():
        if name is not None:
            find(name, table.columns, what=what)
        refuse_outcome(what, [name], correct)
    identity = ID if ID in table.columns else None
    return Roles(confidence, correct, split, group, weight, id=identity, notes=table.notes + said + also)


def with_naming(
    roles: Roles,
    table: Table,
    metadata: str | Sequence[str],
    names_only: str | Sequence[str],
    features: str | Sequence[str] | None,
    text: str | None,
    embedding_rows: str | None,
) -> Roles:
    """Add the columns that name what is found; the options are those of :func:`miscal.data.readers.read_triples`.

    Either of `metadata` and `names_only` may be "auto".

    Raises
    ------
    MissingColumn, InputError
        If one is not there, or is the confidence or the outcome.
    """
    others = (shown_text(table, text), embedding_rows)
    taken = roles.reserved | {name: "other" for name in others if name is not None}
    if features not in (None, AUTO):
        taken |= dict.fromkeys(match(features, table.columns, taken), "features")
    only = unreserved(table.columns, taken) if names_only == AUTO else split_names(names_only)
    named = unreserved(table.columns, {*taken, *only}) if metadata == AUTO else split_names(metadata)
    for what, names in {"metadata": named, "names_only": only}.items():
        for name in names:
            find(name, table.columns, what=what)
        refuse_outcome(what, names, roles.correct)
        if roles.confidence in names:
            raise InputError(
                f"{what}: {roles.confidence!r} is the confidence, and findings compare rows of equal confidence; leave "
                "it out"
            )
    seen = tuple(name for name in named if name not in only)
    return replace(roles, metadata=seen, names_only=only, named=AUTO not in (metadata, names_only))


def naming_alone(metadata: str | Sequence[str], names_only: str | Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Options by which metadata name what is found and nothing else, for estimators that see no such columns.

    Examples
    --------
    >>> naming_alone("year", ["topic"])
    {'metadata': (), 'names_only': ('year', 'topic')}
    """
    both = (*split_names(metadata), *split_names(names_only))
    return {"metadata": (), "names_only": AUTO if metadata == AUTO else both}
