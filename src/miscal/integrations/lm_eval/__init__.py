"""Tasks for lm-evaluation-harness that measure calibration: the folder to give to its ``--include_path``.

``python -m miscal.integrations.lm_eval`` prints the folder. It holds the task ``mmlu_calibration``, and
``_multiple_choice_yaml``, which tasks of one's own include.

Examples
--------
>>> sorted(path.name for path in FOLDER.glob("*yaml"))
['_multiple_choice_yaml', 'mmlu_calibration.yaml']
"""

from pathlib import Path

FOLDER = Path(__file__).parent
"""To be given to ``--include_path``."""
