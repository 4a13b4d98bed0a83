"""The list of estimators; each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from miscal.base.errors import InputError
from miscal.base.extras import need

if TYPE_CHECKING:
    from miscal.estimators.protocol import Estimator

ESTIMATORS = {
    "auto": "miscal.estimators.auto.field:AutoField",
    "paper": "miscal.estimators.paper.field:PaperField",
}
"""Name of a method: the module and the class that meets :class:`miscal.estimators.protocol.Estimator`."""

EXTRA_OF = {"paper": ("paper", "torch")}
"""Method: the extra that brings what it computes with, and the package it needs of it."""

DEVICES = ("auto", "cpu", "cuda")
"""Where a method may compute: "auto" is the GPU where there is one and the method has a use for it, else the CPU."""

_COMMON = ("random_state", "n_jobs", "device")


def estimator_class(method: str) -> type[Estimator]:
    """Look an estimator up by name.

    Takes method: one of ``ESTIMATORS``.

    Examples
    --------
    >>> estimator_class("auto").__name__
    'AutoField'
    """
    if method not in ESTIMATORS:
        raise InputError(f"method must be one of {', '.join(ESTIMATORS)}; got {method!r}")
    if method in EXTRA_OF:
        extra, package = EXTRA_OF[method]
        need(extra, f'method="{method}"', package)
    module, name = ESTIMATORS[method].split(":")
    return getattr(import_module(module), name)


def check_device(name: str) -> None:
    """Refuse what names no device.

    Examples
    --------
    >>> check_device("gpu")
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: device must be one of auto, cpu, cuda; got 'gpu'
    """
    if name not in DEVICES:
        raise InputError(f"device must be one of {', '.join(DEVICES)}; got {name!r}")


def uses_device(method: str) -> bool:
    """Tell whether a method has a use for a GPU.

    Examples
    --------
    >>> uses_device("auto")
    False
    """
    return "device" in signature(estimator_class(method)).parameters


def make_estimator(
    method: str,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
    options: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> Estimator:
    """Make an unfitted estimator.

    Takes method: one of ``ESTIMATORS``; options: settings of the method by name, for instance ``{"neighbours": 50}``
    for "paper"; device: where it computes.

    Examples
    --------
    >>> make_estimator("auto", options={"neighbours": 50})
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: method="auto" has no option 'neighbours'; it has no options
    """
    check_device(device)
    kind, options = estimator_class(method), dict(options or {})
    allowed = [name for name in signature(kind).parameters if name not in _COMMON]
    for name in options:
        if name not in allowed:
            known = f"its options are {', '.join(allowed)}" if allowed else "it has no options"
            raise InputError(f'method="{method}" has no option {name!r}; {known}')
    where = {"device": device} if uses_device(method) else {}
    return kind(random_state=random_state, n_jobs=n_jobs, **where, **options)
