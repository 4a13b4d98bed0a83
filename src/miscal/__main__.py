"""``python -m miscal``."""

import sys

from miscal.cli import main

sys.exit(main())
