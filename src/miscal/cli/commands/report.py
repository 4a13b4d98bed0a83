"""``miscal report``: draw the page of a run again."""

from miscal.cli.options import RunDir


def command(run_dir: RunDir) -> None:
    """Draw the report of a run again, from the files in its folder."""
    from miscal.base.files import locked
    from miscal.discovery.run_folder import check_seal
    from miscal.report import render

    check_seal(run_dir)
    with locked(run_dir):
        print(render(run_dir))
