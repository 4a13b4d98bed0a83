"""``python -m miscal.cli``."""

import sys

from miscal.cli import main

sys.exit(main())
