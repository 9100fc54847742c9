"""What the tests of the site share: a browser."""

import shutil

import pytest

# What `make docs` has made of the examples: it has run them already.
collect_ignore_glob = ["gallery/*", "api/*"]


@pytest.fixture(scope="session")
def browser():
    """Return headless Chromium, started once."""
    playwright = pytest.importorskip("playwright.sync_api", reason="make test-site has it")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
