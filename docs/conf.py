"""Settings of the site: `make docs` builds it into out/site, with the network off."""

import re
import sys
from pathlib import Path
from typing import Any

import kmpe
import kmpe.boosting
import kmpe.torch  # autosummary asks the package for it

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

project = "kmpe"
copyright = "the kmpe developers"  # Sphinx's name for it
version = release = kmpe.__version__

extensions = [
    "mathml",
    "paper_notes",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "_extensions", "gallery/**/*.ipynb", "gallery/**/*.py", "**.md5"]
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["config.cache"]  # sphinx-gallery keeps classes in its settings

# Pages are Markdown; headings have anchors, as on code-hosting sites.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "doc_module": ("kmpe",),
    "backreferences_dir": "gallery/backreferences",
    "reference_url": {},
    "show_signature": False,
    "write_computation_times": False,
    "show_memory": False,
    "min_reported_time": 10,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"kmpe {version}"
html_static_path = ["_static"]
html_css_files = ["kmpe.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_sidebars = {name: [] for name in ("index", "explorer", "start", "choose")}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "kmpe"},
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "back_to_top_button": True,
}


def keep_plain_text(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Let docstrings write |r| and coef_ as text does; reStructuredText would see marks in them."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")) or re.fullmatch(r"[\w, ]+", line):
            continue
        name, colon, text = line.rpartition(" : ")
        parts = re.split(r"(``.+?``)", text)
        parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
        lines[i] = name + colon + "".join(parts)


def skip_inherited_from_others(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn and Python already document."""
    home = getattr(member, "__module__", None) or getattr(
        getattr(member, "fget", None), "__module__", ""
    )
    return None if home is None or home.startswith("kmpe") else True


def setup(app: Any) -> None:
    """Connect the two functions above; plain text comes before numpydoc's sections."""
    app.connect("autodoc-process-docstring", keep_plain_text, priority=100)
    app.connect("autodoc-skip-member", skip_inherited_from_others)
