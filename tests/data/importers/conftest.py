"""The scripts that other interpreters run are not collected: what they import may not be here."""

collect_ignore_glob = ["tool_*.py"]
