"""A run as Python holds it: what was found, and what can be done with it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from miscal.base.arrays import is_frame, value_list
from miscal.base.errors import InputError
from miscal.base.files import write_new
from miscal.base.frames import FrameKind
from miscal.base.shown import ShowsItself
from miscal.base.signatures import checked_call
from miscal.data.readers.class_columns import class_names
from miscal.discovery.run import RunContent, read_run
from miscal.discovery.run_folder import MONITOR, run_folder
from miscal.discovery.saved_model import SavedModel, load_model, model_folder
from miscal.runs.given import Given, put_together, value_column
from miscal.runs.shown_progress import steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miscal.discovery.summary import Answer, Summary
    from miscal.runs.audit import Audit
    from miscal.runs.compare.comparison import RunComparison
    from miscal.runs.monitor.document import Monitoring
    from miscal.runs.tables import RunPlot


FRAMES = ("polars", "pandas", "pyarrow")
"""Kinds of frame that the tables of a loaded run are given in."""

_ONE_LOOK = RLock()
"""Threads look at runs one after another; not a lock of each run, which could then not be pickled."""


class Run(ShowsItself):
    """What a discovery found, and what can be done with it.

    :func:`miscal.discover` makes one, and :func:`miscal.load` reads one that was saved. In a notebook and on a terminal
    it shows what it found in three lines, and the groups that are off. Tables are frames of the kind that came in.

    Examples
    --------
    >>> import miscal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(300, 2)), rng.uniform(0.3, 0.9, 300)
    >>> y = rng.random(300) < f
    >>> found = miscal.discover(X, y, confidence=f, quick=True, n_jobs=1)
    >>> found.summary.n, len(found.field)
    (300, 300)
    >>> found.correct(X[:2], confidence=f[:2]).columns
    ['row', 'delta', 'corrected', 'mass', 'supported', 'reason']
    """

    def __init__(self, content: RunContent, frames: FrameKind | None = None) -> None:
        """Hold a run; :func:`miscal.discover` and :func:`miscal.load` make one."""
        self._content, self._frames = content, frames or FrameKind()
        self._scratch: Path | None = None

    def __repr__(self) -> str:
        from miscal.report.brief import brief_lines

        return "\n".join(brief_lines(self.summary, self.path))

    def _repr_html_(self) -> str:
        from miscal.report.group_panels import notebook

        return notebook(self.summary)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # --- what was found -----------------------------------------------------------------------------------------------

    @property
    def content(self) -> RunContent:
        """The tables as polars frames, the model and the rows, for the parts of miscal that work on runs."""
        return self._content

    @property
    def path(self) -> Path | None:
        """The folder that it was saved in or loaded from; None where there is none yet."""
        return self._content.path

    @property
    def summary(self) -> Summary:
        """Every number of the run, as in ``summary.json``."""
        return self._content.summary

    @property
    def answer(self) -> Answer:
        """The three lines: what is wrong, where most, and what to do; the first of what a run says."""
        return self.summary.answer

    @property
    def findings(self) -> Any:
        """The findings, the strongest first: what each promised, what happened, what is hidden of it.

        ``happened_low`` and ``happened_high`` allow for the choice of the group; ``hidden`` is how far its rows are off
        beyond what a reliability diagram shows, ``after`` what the correction leaves of that, ``corrected`` the mean of
        the corrected probabilities.
        """
        return self.frame("findings")

    @property
    def field(self) -> Any:
        """One row for each row that was used, in their order; what is estimated is by fits that have not seen the row.

        ``delta_out_of_fold`` estimates E[outcome - probability], in [-1, 1]: positive means under-confident. It and
        ``corrected_out_of_fold`` differ from what :meth:`correct` says of the same rows, since that was fitted to them.
        ``evaluated`` says which rows the means of the run are of: all, or those of the test.
        """
        return self.frame("field")

    @property
    def columns(self) -> Any:
        """Every value of every named column with its numbers."""
        return self.frame("columns")

    @property
    def classes(self) -> Any:
        """The numbers of each class, where there are several: rows that have it, and rows where it is ``chosen``."""
        return self.frame("classes")

    @property
    def class_findings(self) -> Any:
        """The findings of each class as an event, where there are several classes."""
        return self.frame("class_findings")

    @property
    def decisions(self) -> Any:
        """What acting at each threshold leads to, as it is and by the corrected probabilities (``_after``)."""
        return self.frame("decisions")

    @property
    def map(self) -> Any:
        """The rows on a plane (of over 20,000 a sample): ``row``, ``x`` and ``y`` in the geometry that was learned.

        Drawn when it is first asked for, which takes seconds.
        """
        return self.frame("map")

    @checked_call
    def frame(self, name: str, *, wide: bool = False) -> Any:
        """Return a table of the run, as a frame of the kind that came in.

        Parameters
        ----------
        name : {"findings", "field", "columns", "classes", "class_findings", "decisions", "map"}
        wide : bool, default False
            All columns, by their names in the parquet files of a saved run; else a dozen of them with plain names.

        Returns
        -------
        frame

        Raises
        ------
        InputError
            If there is no such table.
        """
        from miscal.runs.tables import table_of

        if name == "map":
            # the summary then says how it was made
            self._content = self._content.with_map()
        table = table_of(self._content, name, wide=wide)
        return self._frames.frame(table, table["row"].to_numpy() if name in ("field", "map") else None)

    @cached_property
    def model(self) -> SavedModel:
        """The correction: ``model.field`` is the fitted :class:`miscal.MiscalibrationField`."""
        return self._content.load_model()

    @property
    def plot(self) -> RunPlot:
        """The drawings of the run on matplotlib axes: ``found.plot()``, ``found.plot.findings(ax=ax)`` and others."""
        from miscal.runs.tables import RunPlot

        return RunPlot(self._content)

    # --- what can be done with it -------------------------------------------------------------------------------------

    def correct(self, data: Any, **options: Any) -> Any:
        """Correct the confidences of new rows; no outcomes are needed.

        Parameters
        ----------
        data : frame, array of shape (n, d) or path
            New rows, in the form of those that the run was made from.
        **options
            As for ``miscal calibrate``: ``confidence`` (or ``probability``, or ``probabilities`` of several classes in
            the order of the model's) and ``embeddings``, which may be values,
            ``features``, ``text``, ``where``, ``missing_as_blank``, ``encoding``, and ``on_invalid``
            ("error", "drop" or "null"). By default the columns that the run stored.

        Returns
        -------
        frame
            Of the kind of `data`, with its index: ``row``, ``delta`` (in [-1, 1]), ``corrected`` (in [0, 1]), ``mass``,
            ``supported``, and ``reason``, which says why a row has no local estimate. Of several classes ``corrected``
            is of the class ``predicted``, that with the largest of the probabilities given, and there is a column
            ``corrected_NAME`` for each class; these sum to 1.

        Raises
        ------
        InputError
            If the rows do not offer what the model needs.
        """
        given = self._together(data, **options)
        return self.model.correct(given.source, frames=given.frames, **given.options)

    def decide(self, data: Any, *, max_error: float, **options: Any) -> Any:
        """Correct new rows, and say which of them may be decided alone where so many errors are accepted.

        Parameters
        ----------
        data : frame, array of shape (n, d) or path
            As for :meth:`correct`.
        max_error : float
            The accepted share of wrong decisions: one that the run answered for, as ``summary.alone`` says.
        **options
            Those of :meth:`correct`.

        Returns
        -------
        frame
            As of :meth:`correct`, and ``decide`` (true or false), with ``decision`` beside it: ``answer``, of events
            ``yes`` or ``no``, of judges ``pass`` or ``fail``, of several classes the class; null where a person has to.
            A row far from all that was learned from is never decided.
        """
        given = self._together(data, **options)
        return self.model.correct(given.source, frames=given.frames, max_error=max_error, **given.options)

    def _together(self, data: Any, y: Any = None, **options: Any) -> Given:
        """Put new rows together; probabilities of classes may be a frame with names of the model, or a matrix."""
        if self.model.classes is None or options.get("probabilities") is None:
            return put_together(data, y, **options)
        read = self.model.classes.read
        given = put_together(data, y, **{"classes": read.names} | options)
        asked = dict(given.options)
        if tuple(class_names(asked.pop("classes"))) != read.names and not is_frame(options["probabilities"]):
            raise InputError(
                f"classes: those of the model are {value_list(read.names)}: give their probabilities in this order, "
                "and leave classes out"
            )
        if is_frame(options["probabilities"]):
            own = next(([value_column(name) for name in names] for names in (read.names, read.columns)
                        if {*map(value_column, names)} == {*asked["probabilities"]}), None)  # fmt: skip
            if own is None:
                raise InputError(
                    f"probabilities: the columns of the frame must be called as the classes are, "
                    f"{value_list(read.names)}; they are {value_list(list(options['probabilities'].columns))}"
                )
            asked["probabilities"] = own
        return replace(given, options=asked)

    def audit(self, *, progress: bool | None = None, **options: Any) -> Audit:
        """Find out what the same steps find where there is nothing to find, or with other seeds and rows.

        Parameters
        ----------
        progress : bool, optional
            Whether to show how far the work is; by default where somebody can see it.
        **options
            ``null`` ("visible", "calibrated" or "permuted": which null the refits draw from), ``n_draws`` (20),
            ``n_seeds`` (5) and ``device``.

        Returns
        -------
        Audit
            Also written as ``audit.json`` into the folder of the run, if it has one.
        """
        with steps(progress) as tell:
            from miscal.runs.audit import audit, audit_run

            if self.path is None:
                return audit_run(self._content, progress=tell, **options)
            return audit(self.path, content=self._content, progress=tell, **options)

    def compare(
        self,
        other: Run | str | Path,
        *,
        match: str | None = None,
        names: Sequence[str] | None = None,
        seed: int = 0,
        progress: bool | None = None,
    ) -> RunComparison:
        """Put this run beside another.

        Parameters
        ----------
        other : Run or path
        match, names, seed
            As for :func:`miscal.compare`; the first name is that of this run.
        progress : bool, optional
            Whether to show how far the work is; by default where somebody can see it.

        Returns
        -------
        RunComparison
        """
        from miscal.runs.compare.comparison import compare

        with steps(progress) as tell:
            return compare(self, other, match=match, names=names, seed=seed, progress=tell)

    @checked_call
    def monitor(
        self, data: Any, y: Any = None, *, out: str | Path | None = None, progress: bool | None = None, **options: Any
    ) -> Monitoring:
        """Look whether the correction still holds on labelled rows that came after.

        Looks add up in the folder ``monitor`` of the run, or in `out`. Those of a run that was never saved last as long
        as this object, and go with it when it is saved.

        Parameters
        ----------
        data : frame, array of shape (n, d) or path
            New rows with outcomes, none of them at an earlier look.
        y : array-like of shape (n,), optional
            Their outcomes.
        out : str or Path, optional
            Another folder for the looks.
        progress : bool, optional
            Whether to show how far the work is; by default where somebody can see it.
        **options
            As for :func:`miscal.monitor`.

        Returns
        -------
        Monitoring
        """
        from miscal.runs.monitor.command import monitor

        given = self._together(data, y, **options)
        with _ONE_LOOK, steps(progress) as tell:
            return monitor(self._folder(), given.source, out=out, progress=tell, **given.options)

    @checked_call
    def report(self, path: str | Path) -> Path:
        """Draw the page of the run into one file.

        Parameters
        ----------
        path : str or Path
            Replaced if it is the page of a run; no other file is. Missing folders are made.

        Returns
        -------
        Path

        Raises
        ------
        InputError
            If another file, or a folder, is there, or it lies in the folder of a run under another name.
        """
        from miscal.report.frame import source_of
        from miscal.report.page import MARK, build

        source = source_of(self._content.with_map(), Path(path).stem)
        return write_new(path, build(source).encode(), mark=MARK, writer="a report of miscal")

    @checked_call
    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Save the run as the folder that ``miscal discover`` writes, with the rows that were given in memory.

        Parameters
        ----------
        folder : str or Path
        overwrite : bool, default False
            Replace a run folder that is there.

        Returns
        -------
        Path
            The folder. :func:`miscal.load` and all commands read it.

        Raises
        ------
        InputError
            If the folder exists and `overwrite` is off, or holds files that miscal did not write.
        """
        from miscal.report import write_run

        target = {"overwrite": overwrite, "reads": [one["path"] for one in self._content.source.get("files", ())]}
        with _ONE_LOOK:
            saved = self._content
            if saved.model is not None:
                held = self.path or self._scratch
                saved = write_run(saved, folder, looks=held and held / MONITOR, **target)
            else:
                with run_folder(folder, **target) as place:
                    shutil.copytree(self.path, place, dirs_exist_ok=True)
            self._content = replace(saved, path=Path(folder))
        return Path(folder)

    def _folder(self) -> Path:
        """Return a folder of the run: its own, or one that lasts as long as this object."""
        if self.path is not None:
            return self.path
        if self._scratch is None:
            from miscal.discovery.run import write_files

            place = Path(tempfile.mkdtemp(prefix="miscal-"))
            weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
            write_files(self._content, place)
            self._scratch = place
        return self._scratch


@checked_call
def load(folder: str | Path, *, frames: str = "polars") -> Run | SavedModel:
    """Load what was saved: a run, or the model of one.

    Parameters
    ----------
    folder : str or Path
        What :meth:`Run.save` or ``miscal discover`` wrote; or the folder ``model`` of it alone.
    frames : {"polars", "pandas", "pyarrow"}, default "polars"
        The kind of frame that its tables are given in.

    Returns
    -------
    Run or SavedModel
        A model alone corrects new rows with ``correct``, as the run does.

    Raises
    ------
    InputError
        If there is no such kind of frame.
    FileError
        If it is neither.
    CorruptFile, TrustError
        If a file is damaged, was changed, or is not what miscal writes.
    MismatchError
        If a newer miscal wrote it.

    Examples
    --------
    >>> load("no/such/run")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/run is not a folder: give the folder of a run, made by `miscal.discover`
    """
    if frames not in FRAMES:
        raise InputError(f"frames must be one of {', '.join(FRAMES)}; got {frames!r}")
    place = Path(folder)
    if model_folder(place) == place and (place / "config.json").is_file():
        return load_model(place)
    return Run(read_run(place), FrameKind(frames))
