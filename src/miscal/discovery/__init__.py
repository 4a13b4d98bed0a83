"""From triples to a run: discover, its typed summary, the run folder, its saved model, its audit.

What enters is :class:`~miscal.data.triples.Triples`, or the folder of a run. The rooms below compute; this one calls
them in order and puts their results together. Nothing here draws or prints.
"""
