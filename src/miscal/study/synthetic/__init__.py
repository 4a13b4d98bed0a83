"""The paper's synthetic experiments (arXiv 2605.13484, section 5.1 and appendix E), run, tabled, drawn and described.

A *cell* is one fit, or one search over the grid of (sigma, lambda): experiment world, amplitude A, frequency k,
method, seed. Finished cells are kept in the output folder, so that a run broken off goes on where it was, and the
experiments that rest on the same cells (sinusoid, interaction, selection, and the kernel beside residual regression)
share them. Start at :func:`miscal.study.synthetic.run.run`.

Examples
--------
>>> from miscal.study.synthetic.worlds import three_clusters
>>> three_clusters(300).X.shape
(300, 2)
"""
