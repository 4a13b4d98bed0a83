"""Which rows of a pool to label next."""

from miscal.runs.label_next.command import LabelPlan, label_next

__all__ = ["LabelPlan", "label_next"]
