"""The scripts that other interpreters run are not collected: what they import may not be here."""

collect_ignore = ["tool_inspect.py", "tool_lm_eval.py"]
