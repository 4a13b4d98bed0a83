"""What is global to a process: threads, filters of warnings, random numbers, packages, and how far its work has come.

How far is told to a listener, which need not be passed through every function in between.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any, TypeVar

from miscal.base.errors import InputError

_FILTERING = RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: two on a busy machine wait for each other, and thread counts change last bits.

    Holds for the arithmetic libraries loaded so far, torch included. It also decorates functions.

    >>> with one_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    # only where it is loaded already: importing it is slow
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


@contextmanager
def without_warning(category: type[Warning], message: str = "") -> Iterator[None]:
    """Ignore warnings of a kind whose text begins so; one thread at a time.

    Filters of warnings belong to the whole process: of two threads that change them at a time, the first to end would
    bring back the warnings of the other, and the last would leave its own filters behind.

    >>> with without_warning(UserWarning, "old"):
    ...     warnings.warn("older than you think", UserWarning)
    """
    with _FILTERING, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield


def n_workers(n_jobs: int | None, n_tasks: int) -> int:
    """Return the processes to use: at most one per task; by default the cores allowed here (affinity, cgroup).

    >>> n_workers(2, 24), n_workers(8, 3), n_workers(None, 1)
    (2, 3, 1)
    """
    import joblib

    if n_jobs is not None and n_jobs < 1:
        raise InputError(f"n_jobs must be at least 1, or None for all allowed cores; got {n_jobs}")
    return max(1, min(joblib.cpu_count() if n_jobs is None else n_jobs, n_tasks))


LARGEST_SEED = 2**32 - 1
"""numpy takes larger seeds, scikit-learn does not."""


@contextmanager
def global_random_kept() -> Iterator[None]:
    """Leave the state of Python's own ``random`` as it was.

    Nothing of ours draws from it, but some libraries do while they are imported for the first time: rich, which
    scikit-learn imports, numbers its styles from a random start. It also decorates functions.

    >>> before = random.getstate()
    >>> with global_random_kept():
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    before = random.getstate()
    try:
        yield
    finally:
        random.setstate(before)


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


def import_lightly(package: str = "lightgbm") -> None:
    """Import LightGBM, or another package that uses SciPy, without parts of it that commands have no use for.

    They import pandas only to know its frames, which takes a quarter of all imports; whoever imports it later gets it.
    SciPy reads the docstrings of its functions and writes them anew, which takes as long; nobody asks a command for
    them. psutil serves workers that commands do not start, and numpy.f2py comes with a star.
    """
    if {"pandas", "scipy", "sklearn", "lightgbm"}.isdisjoint(sys.modules):
        doc: Any
        none: Any = type("NoDoc", (), {})
        numpy = import_module("numpy")
        numpy.f2py = ModuleType("numpy.f2py")  # type: ignore[attr-defined]
        # a part of SciPy that is not public, and may go
        try:
            doc = import_module("scipy._lib._docscrape").FunctionDoc
            sections = doc.sections
        except (ImportError, AttributeError):
            doc, sections = none, {}
        read, write = doc.__init__, doc.__str__
        doc.__init__ = lambda self, *_: setattr(self, "_parsed_data", {name: copy(of) for name, of in sections.items()})
        doc.__str__ = lambda self: "\n"
        barred = [name for name in ("pandas", "psutil") if name not in sys.modules]
        sys.modules.update(dict.fromkeys(barred))  # type: ignore[arg-type]
        try:
            import_module(package)
        finally:
            doc.__init__, doc.__str__ = read, write
            del numpy.f2py
            for name in barred:
                del sys.modules[name]


Result = TypeVar("Result")

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


@contextmanager
def progress_to(listener: Callable[[float], None]) -> Iterator[None]:
    """Have the share of the work that is done told to a function, for the length of a ``with`` block.

    Parameters
    ----------
    listener : callable
        Called with a share in (0, 1] after each piece.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def with_progress(results: Iterable[Result], sizes: Sequence[float]) -> Iterator[Result]:
    """Pass results on as they come, and tell what share of the work they were, and what is told of it in between.

    Parameters
    ----------
    results : iterable
        One for each piece of the work, made as they are asked for.
    sizes : sequence of float
        How much work each piece is, in any unit.

    Yields
    ------
    object
        Each result.

    >>> shares = []
    >>> with progress_to(shares.append):
    ...     list(with_progress(["first", "second"], [3, 1]))
    ['first', 'second']
    >>> shares
    [0.75, 1.0]
    """
    done, total, made = 0.0, float(sum(sizes)), iter(results)
    for size in sizes:
        tell = _LISTENER.get() or (lambda share: None)
        with progress_to(lambda share, tell=tell, done=done, size=size: tell((done + share * size) / total)):
            result = next(made)
        done += size
        tell(done / total)
        yield result


@dataclass(frozen=True)
class Progress:
    """How far a discovery has come.

    `stage`: the stage that runs: split, field, regimes, findings, answer or measures; the command adds "reading" before
        them, "map" and "report" after them.
    `share`: how much of this stage is done: 0 where it starts, 1 where it has ended. The field tells every fit in
        between, the other stages nothing.
    `seconds`: that this stage has taken so far.
    `left`: estimate of the seconds until the end of the discovery; None where nothing is known of it. It rests on the
        numbers of rows and columns, and from the first fit on, on how long the fits took.
    `found`: what the stage found, in a few words; empty before its end and where there is nothing to tell.
    """

    stage: str
    share: float = 0.0
    seconds: float = 0.0
    left: float | None = None
    found: str = ""
