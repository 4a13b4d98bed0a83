"""placeholder."""


def command() -> None:
    """Demo."""
