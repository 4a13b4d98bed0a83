"""The default estimator (method="auto")."""

from miscal.auto.field import AutoField

__all__ = ["AutoField"]
