"""``miscal report``: draw the page of a run again."""

from typing import Annotated

from miscal.cli.options import RunDir
from miscal.runs.settings import DiscoverySettings


def command(run_dir: RunDir, settings: Annotated[DiscoverySettings, "redact_text"]) -> None:
    """Draw the report of a run again, from the files in its folder.

    A run that was made with --redact-text stays without texts. Given here, the option is for the report alone.
    """
    from miscal.base.files import locked
    from miscal.discovery.run_folder import check_seal
    from miscal.report import render

    check_seal(run_dir)
    with locked(run_dir):
        print(render(run_dir, redact_text=settings.redact_text))
