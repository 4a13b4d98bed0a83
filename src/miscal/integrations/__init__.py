"""miscal inside other tools: a module for each, which alone imports its tool.

In: what a tool hands to its plug-ins, or a finished run.
Out: what the tool takes: its metrics and reports, one SQL expression.
"""
