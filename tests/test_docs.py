"""The documents tell the truth: their code runs and prints what they say it prints."""

import contextlib
import doctest
import importlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

import kmpe

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_prints_what_the_page_says(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    for code, printed in BLOCK.findall(page.read_text(encoding="utf-8")):
        if code.startswith(">>>"):
            run = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(run)
            assert result.failed == 0
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, page.name, "exec"), {})
            assert not printed or out.getvalue() == printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        # Pages of the gallery are made from the examples.
        made = re.sub(r"^gallery/(plot_\w+)$", r"../examples/\1.py", target)
        made = made.replace("gallery/index", "../examples/GALLERY_HEADER.rst")
        assert (page.parent / made).exists(), target


@pytest.mark.parametrize(
    ("script", "picture"),
    [("draw_imports", "images/architecture.svg"), ("draw_choice", "choose.svg")],
    ids=["architecture", "choice"],
)
def test_a_drawing_is_that_of_its_script(script, picture):
    spec = importlib.util.spec_from_file_location(script, ROOT / "docs" / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / picture).read_text(encoding="utf-8") == module.drawing()


def test_the_map_of_the_code_names_every_package():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in Path(kmpe.__file__).parent.iterdir():
        if path.name not in ("__init__.py", "__pycache__", "py.typed"):
            assert f"`{path.name}" in page, path.name


def test_the_version_is_that_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == kmpe.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[(\d.+)\]", changes, re.MULTILINE)[1] == kmpe.__version__


def public():
    """Return every public object by its name in the reference."""
    yield from ((name, getattr(kmpe, name)) for name in kmpe.__all__)
    modules = [
        *kmpe._MODULES,
        "boosting",
        *(["torch"] if importlib.util.find_spec("torch") else []),
    ]
    for module in (importlib.import_module(f"kmpe.{name}") for name in modules):
        for name in module.__all__:
            if name not in kmpe.__all__:
                yield f"{module.__name__.removeprefix('kmpe.')}.{name}", getattr(module, name)


@pytest.mark.parametrize("name", [name for name, _ in public()])
def test_a_public_name_has_a_page_an_example_and_a_see_also(name):
    thing = dict(public())[name]
    listed = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"^   {re.escape(name)}$", listed, re.MULTILINE), "add it to docs/api.md"
    if not callable(thing) or not hasattr(thing, "__name__"):
        return  # robust_scorer is an object, and documented as one
    sections = re.findall(r"^ *(\w[\w ]+)\n *-+$", thing.__doc__, re.MULTILINE)
    assert "See Also" in sections
    assert "Examples" in sections
    assert ">>> " in thing.__doc__
