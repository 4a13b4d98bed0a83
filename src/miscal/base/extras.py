"""Import optional packages, and say which extra to install where one is missing."""

import sys
from importlib.util import find_spec

from miscal.base.errors import InputError

EXTRAS = {
    "paper": ("torch", "matplotlib"),
    "study": ("matplotlib",),
    "plot": ("matplotlib",),
    "llm": ("torch", "transformers", "accelerate", "gguf", "huggingface-hub"),
    "datasets": ("datasets", "pyarrow"),
    "embed": ("sentence-transformers",),
    "interpret": ("umap-learn",),
    "logs": ("zstandard",),
    "ray": ("ray",),
    "inspect": ("inspect-ai",),
    "sql": ("duckdb", "pyarrow"),
}
"""Extra: the packages it installs, as ``pyproject.toml`` lists them."""

_MODULES = {"umap-learn": "umap"}
"""Where the module is not called like its package."""


def need(extra: str, what: str, *packages: str, otherwise: str = "") -> None:
    """Refuse to start what an extra is needed for and not installed. Nothing is imported.

    Parameters
    ----------
    extra : str
        One of ``EXTRAS``.
    what : str
        What needs it, as the sentence begins: ``method="paper"``, say.
    *packages : str
        Those of the extra that are really needed; by default all of them.
    otherwise : str, optional
        What to do instead, as the end of the sentence.

    >>> need("paper", "this example")
    """
    missing = [name for name in packages or EXTRAS[extra] if not installed(name)]
    if missing:
        these = f"{', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed"
        raise InputError(f'{what} needs {these}: run pip install "miscal[{extra}]"{otherwise}')


def installed(package: str) -> bool:
    """Say whether a package can be imported, without importing it.

    Parameters
    ----------
    package : str
        Its name on the package index.

    >>> installed("numpy"), installed("no-such-package")
    (True, False)
    """
    try:
        return find_spec(_MODULES.get(package, package.replace("-", "_"))) is not None
    # a module that is barred, or that something has put into sys.modules by hand
    except (ImportError, ValueError):
        return False


def import_without_pandas() -> None:
    """Import LightGBM, and with it scikit-learn, as where pandas is not installed: commands have no frames of it.

    Both import it only to know its frames, which takes a quarter of all imports. Whoever imports it later gets it.
    """
    if {"pandas", "sklearn", "lightgbm"}.isdisjoint(sys.modules):
        sys.modules["pandas"] = None  # type: ignore[assignment]
        try:
            import lightgbm  # noqa: F401
        finally:
            del sys.modules["pandas"]
