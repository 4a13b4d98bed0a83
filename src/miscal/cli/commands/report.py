"""``miscal report``: draw the page of a run again."""

from miscal.cli.options import RedactText, RunDir


def command(run_dir: RunDir, redact_text: RedactText = False) -> None:
    """Draw the report of a run again, from the files in its folder.

    A run that was made with --redact-text stays without texts. Given here, the option is for the report alone.
    """
    from miscal.base.files import locked
    from miscal.discovery.run_folder import check_seal
    from miscal.report import render

    check_seal(run_dir)
    with locked(run_dir):
        print(render(run_dir, redact_text=redact_text))
