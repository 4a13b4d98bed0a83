"""Read YAML with the safe loader, and refuse a key that is given twice."""

from __future__ import annotations

from typing import Any

from miscal.base.errors import FileError, InputError


def parse_yaml(text: str, what: str) -> Any:
    """Read YAML without running anything it may name.

    Parameters
    ----------
    what : str
        What the text is, as messages begin.

    Returns
    -------
    object
        Of dict, list, str, numbers, dates, bool and None.

    >>> parse_yaml("seed: 3", "the plan")
    {'seed': 3}
    """
    import yaml

    twins: list[str] = []

    class Loader(yaml.SafeLoader):
        """Notes the keys that a mapping gives twice, before aliases are merged into it."""

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            seen: dict[tuple[str, str], Any] = {}
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                first = seen.setdefault((key.tag, key.value), key)
                if first is not key:
                    lines = f"in line {first.start_mark.line + 1} and in line {key.start_mark.line + 1}"
                    twins.append(f"{what} gives the key {key.value!r} twice, {lines}")
            return node

    try:
        # as yaml.safe_load does it
        loader = Loader(text)
        try:
            content = loader.get_single_data()
        finally:
            loader.dispose()
        # a date that does not exist is a ValueError of its own
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FileError(f"{what} is not YAML: {' '.join(str(error).split())}") from None
    if twins:
        raise InputError(f"{twins[0]}: keep one of them")
    return content
