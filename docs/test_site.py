"""The built site: every link leads somewhere, and nothing comes from elsewhere.

`make test-site` builds the site and runs these tests.
"""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).parents[1] / "out" / "site"
if not (SITE / "index.html").exists():
    pytest.skip("there is no site yet: make docs", allow_module_level=True)
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
# What a browser fetches by itself, as opposed to links that a reader may follow.
ASSETS = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("object", "data"),
}


class Page(HTMLParser):
    """Anchors, links and assets of a page."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.assets = set(), [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and tag != "meta":
                self.anchors.add(value)
            elif (tag, name) in ASSETS:
                self.assets.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


@cache
def parsed(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_elsewhere(address):
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https", "mailto")


def broken(path):
    for link in parsed(path).links + parsed(path).assets:
        if is_elsewhere(link) or link.startswith("data:"):
            continue
        file, _, anchor = unquote(link.partition("?")[0]).partition("#")
        anchor = anchor or unquote(link.partition("#")[2])
        target = (path.parent / file).resolve() if file else path
        if target.is_dir():
            target = target / "index.html"
        is_page = target.exists() and target.suffix == ".html"
        if not target.exists() or (is_page and anchor and anchor not in parsed(target).anchors):
            yield link


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_links_and_anchors_of_the_page_resolve(path):
    assert not list(broken(path))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_the_page_fetches_nothing_from_elsewhere(path):
    assert not [address for address in parsed(path).assets if is_elsewhere(address)]


def test_style_sheets_fetch_nothing_from_elsewhere():
    for path in SITE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "url(http" not in text.replace('"', "").replace("'", ""), path
        assert "@import url(//" not in text, path


# Ten pages of all kinds.
LOOKED_AT = [
    "index",
    "guide",
    "explorer",
    "losses",
    "regression",
    "noise",
    "api",
    "api/kmpe.RobustLinearRegression",
    "gallery/index",
    "search",
]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_chromium_opens_the_page_without_errors_or_requests(browser, name, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    errors, requests = [], []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((SITE / f"{name}.html").as_uri(), timeout=120_000)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    page.close()
    assert not errors
    assert not [url for url in requests if not url.startswith(("file:", "data:"))]
    assert wide <= 1  # nothing sticks out to the right


def test_the_search_finds_an_estimator(browser):
    page = browser.new_page()
    page.goto((SITE / "search.html").as_uri() + "?q=RobustImputer")
    page.wait_for_selector("#search-results li a", timeout=120_000)
    found = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    page.close()
    assert any("kmpe.RobustImputer.html" in address for address in found)
