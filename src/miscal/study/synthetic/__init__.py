"""The paper's synthetic experiments (arXiv 2605.13484, section 5.1 and appendix E).

In: an experiment and its settings; a cell is one fit, or one search over the grid, in one world with one seed.
Out: cells, which are kept and shared by experiments, and tables, figures and a page.

Examples
--------
>>> from miscal.study.synthetic.worlds import three_clusters
>>> three_clusters(300).X.shape
(300, 2)
"""
