"""Discover: from triples to a run with a typed summary, a folder and a saved correction.

What enters is :class:`~miscal.data.triples.Triples`, or the folder of a run. The rooms below compute; this one calls
them in order and puts their results together. Nothing here draws or prints.
"""
