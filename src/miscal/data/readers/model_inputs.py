"""Take x of new rows from where a model took it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.data.columns import NewColumns
from miscal.data.encoders import Combined, Encoder
from miscal.data.readers.names import find, listed, match, split_names
from miscal.data.readers.pieces import RowSource
from miscal.data.readers.rows import XSource, choose_inputs


def can_be_blank(names: str | Sequence[str], encoder: Encoder) -> tuple[str, ...]:
    """Return the columns that are to count as blank where they are missing; those that cannot are refused."""
    known: tuple[str, ...] = getattr(encoder, "can_be_blank", ())
    chosen = split_names(names)
    for name in chosen:
        if name not in known:
            raise InputError(
                f"missing_as_blank: {name!r} is no column that the model can take as blank; these are "
                f"{value_list(known) if known else 'none'}"
            )
    return tuple(dict.fromkeys(chosen))


def refuse_absent(
    absent: Sequence[str], source: RowSource, can_be_blank: Collection[str], costs: Mapping[str, float]
) -> None:
    """Refuse rows that lack a column of the model, and say what it costs to do without it."""
    if not absent:
        return
    remedy = "give it"
    if all(name in can_be_blank for name in absent):
        remedy += f", or have it taken as blank in every row ({argument('missing_as_blank', ','.join(absent))})"
        known = [f"{costs[name]:+.4f} without {name!r}" for name in absent if name in costs]
        remedy += f", which changed the log loss on rows of the run by {', '.join(known)}" if known else ""
    raise MissingColumn(
        f"features: there is no column {value_list(absent)}{did_you_mean(absent[0], source.columns, aside=True)}, "
        f"which the model needs: {remedy}. {listed(source.columns)}"
    )


def needed(
    source: RowSource,
    encoder: Encoder,
    own: tuple[str, ...],
    blank: Sequence[str],
    reserved: dict[str, str],
    columns: NewColumns,
) -> XSource:
    """Take x from where the model took it; `own` are its columns of the table."""
    places = encoder.places if isinstance(encoder, Combined) else encoder
    kind = places.kind.split("-")[0]
    text, embeddings = columns.text, columns.embeddings
    if text is not None:
        find(text, source.columns, what="text")
    chosen = own if columns.features is None else match(columns.features, (*source.columns, *blank), reserved)
    if kind == "features" and embeddings is None:
        inputs = XSource("features", chosen)
    elif kind == "text" and embeddings is None and chosen == own:
        column = text or find(places.column, source.columns, what="text")  # type: ignore[attr-defined]
        inputs = XSource("text", own, text=column)
    else:
        asked = replace(columns, features=None) if own else columns
        inputs = choose_inputs(source, asked, reserved=reserved)
        inputs = replace(inputs, features=chosen) if inputs.kind == kind else inputs
    if inputs.kind != kind:
        raise InputError(
            f"the model was fitted on {encoder.describe()}, so new rows must have the same; got {inputs.kind}"
        )
    if inputs.features != own:
        raise InputError(
            f"the model was fitted on the columns {', '.join(own) or '(none)'}, so these must be given, in this order; "
            f"got {', '.join(inputs.features) or '(none)'}"
        )
    return inputs
