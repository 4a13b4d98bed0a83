"""Print the folder to give to ``--include_path``."""

from miscal.integrations.lm_eval import FOLDER

print(FOLDER)
