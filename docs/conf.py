"""How the documentation site is built: `make docs`."""

import os
import re
import warnings
from pathlib import Path

# Examples must take the same time and print the same digits however many cores there are.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).parent
VERSION = re.search(
    r'VERSION = "([^"]+)"', (HERE.parent / "src/cospan/_version.py").read_text("utf-8")
)[1]

project = "cospan"
author = "The cospan developers"
copyright = "The cospan developers, BSD-3-Clause"
version = release = VERSION

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "images"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]

# Markdown: pages are ordinary Markdown that also reads well in the repository.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Reference: numpydoc reads the docstrings, one page for each public name.
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters section has them in words
# scikit-learn adds these to every estimator; its own documentation explains them.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request"
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery: every example is run, and its output and pictures are shown.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery_built",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"conftest\.py",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # its pages load scripts from elsewhere
    "show_signature": False,
    "min_reported_time": 5,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
}
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)

# Examples are copied without prompts and without output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"cospan {VERSION}"
html_static_path = ["_static"]
html_css_files = ["cospan.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "tutorial": []}

# `make linkcheck` asks every address outside; these cannot be asked.
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_ignore = [r"https://doi\.org/.*"]  # publishers turn robots away


def write_example_report(app):
    """The page that the first page links to: what `cospan compare` writes, built anew."""
    from sklearn.datasets import load_wine

    from cospan import compare
    from cospan.report import write

    X, y = load_wine(return_X_y=True, as_frame=True)
    found = compare({"Barolo": X[y == 0], "Grignolino": X[y == 1]})
    (HERE / "_build").mkdir(exist_ok=True)
    write(found, HERE / "_build/example-report.html")


html_extra_path = ["_build/example-report.html"]


def setup(app):
    app.connect("config-inited", lambda app, config: write_example_report(app))
