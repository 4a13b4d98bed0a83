"""How the site is built: `make docs`. Nothing is fetched while it is."""

import os
import re
import runpy
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parent

project = "miscal"
author = "The miscal developers"
copyright = author
version = release = version_of("miscal")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "extra", "front.md", "gallery/*.rst", "gallery/*.md"]
templates_path = ["_templates"]

# deep enough for every heading that a page links to
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say the types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# sentences such as "array of shape (n,)" are English, and not names to link
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "miscal"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]  # two reports, which make_pages writes
smartquotes = False  # --option is no dash
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "footer_end": [],
    "search_bar_text": "Search",
}

RUNS = os.environ.get("GALLERY", "1") == "1"  # GALLERY=0 writes the pages without running the examples

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "/plot_" if RUNS else "(?!)",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 0,
}


def front_page(app, docname, source):
    """Show front.md at the root of the site; index.md is the list for those who read the repository."""
    if docname == "index":
        source[0] = (HERE / "front.md").read_text(encoding="utf-8")


def skip_requests(app, what, name, obj, skip, options):
    """Leave out the methods that scikit-learn adds to route metadata."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def link_to_the_report(app, docname, source):
    """Let the tutorial lead to the report that it reads, which stands on the site alone."""
    if docname == "tutorial":
        name = "`demo/report.html`"
        assert name in source[0]  # noqa: S101
        source[0] = source[0].replace(name, f'<a href="reports/demo.html">{name}</a>', 1)


def links_out_of_the_site(app, docname, source):
    """Turn links to files that are no pages (../README.md, a csv) into their names: the site does not hold them."""

    def plain(match):
        text, target = match.group(1), match.group(2)
        place = (HERE / docname).parent / target
        page = place.resolve()
        inside = page.is_relative_to(HERE) and page.suffix == ".md"
        return match.group(0) if inside else text

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)#\s]+)(?:#[^)\s]*)?\)", plain, source[0])


def make_pages(app, config):
    """Write the pages that are made from the code, and the reports, before any page is read."""
    runpy.run_path(str(REPOSITORY / "scripts" / "made_pages.py"))["write"]()
    runpy.run_path(str(REPOSITORY / "scripts" / "pictures.py"))["write_reports"](run=RUNS)


def escape_bars(app, what, name, obj, options, lines):
    """Keep the absolute value |delta| from being read as a substitution."""
    lines[:] = [re.sub(r"(?<!`)\|(\w+)\|(?!`)", r"\\|\1\\|", line) for line in lines]


def write_llms(app, exception):
    """Write llms.txt: each page, and what it is for, in the words of docs/index.md."""
    if exception or app.builder.name != "html":
        return
    lines = [f"# {project}", "", "> Find where a probabilistic model is wrong about its own confidence.", ""]
    entries = re.findall(r"^- \[([^\]]+)\]\((\w[\w-]*)\.md\): (.*(?:\n  .*)*)", (HERE / "index.md").read_text(), re.M)
    lines += [f"- [{title}]({page}.html): {' '.join(text.split())}" for title, page, text in entries]
    lines += ["- [Reference](reference.html): the public names of the package"]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    """Register the steps above."""
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-skip-member", skip_requests)
    app.connect("config-inited", make_pages)
    app.connect("source-read", front_page)
    app.connect("source-read", link_to_the_report)
    app.connect("source-read", links_out_of_the_site)
    app.connect("build-finished", write_llms)
