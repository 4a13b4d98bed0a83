"""Pass rates by cje-eval, for `pass_rates.py`: run by the python of an environment that has it.

Reads lines of JSON: `score`, `human` (null where there is no verdict), `cluster`, `chance` or null. Prints a line
[estimate, low, high] for each.
"""

import json
import logging
import sys
import warnings
from collections import Counter

import cje

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

for line in sys.stdin:
    told = json.loads(line)
    seen, records = Counter(), []
    for score, human, cluster in zip(told["score"], told["human"], told["cluster"], strict=True):
        records.append(
            {"prompt_id": str(cluster), "draw_idx": seen[cluster], "judge_score": score, "oracle_label": human}
        )
        seen[cluster] += 1
    design = {}
    if told["chance"] is not None:
        design = {"label_design": "known_propensity", "label_propensities": {"all": told["chance"]}}
    try:
        found = cje.analyze_dataset(fresh_draws_data={"all": records}, **design)
        low, high = found.confidence_interval()
        print(json.dumps([float(found.estimates[0]), float(low[0]), float(high[0])]), flush=True)
    except Exception as error:
        print(json.dumps([None, None, f"{type(error).__name__}: {error}"[:200]]), flush=True)
