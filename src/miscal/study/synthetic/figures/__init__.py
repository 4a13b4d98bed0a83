"""Figures of the experiments: SVG and PNG, one look, colours that colour-blind readers can tell apart."""
