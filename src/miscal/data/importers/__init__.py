"""Read what other tools have written.

In: a log of a tool, or a folder of them.
Out: one table of answers with confidence and outcome, or of judgements, and notes on what was left out.
"""
