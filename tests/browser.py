"""A page as headless Chromium sees it."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

# Runs in the page, and leaves what it finds in the title of the page around it.
_LOOK = """
<script>
addEventListener("load", () => {
  const width = document.documentElement.clientWidth;
  // What scrolls inside its own box may be wider than the page.
  const scrolls = e => e.closest(".scroll, pre, svg");
  const wide = [...document.querySelectorAll("body *")]
    .filter(e => !scrolls(e) && e.getBoundingClientRect().right > width + 1 && !e.matches(".skip"))
    .map(e => e.outerHTML.slice(0, 80));
  const boxes = [...document.querySelectorAll(".scroll, pre")]
    .filter(e => e.getBoundingClientRect().right > width + 1).map(e => e.className);
  const pictures = [...document.querySelectorAll("figure svg")]
    .filter(e => e.getBoundingClientRect().width > 100 && e.getBoundingClientRect().height > 50);
  parent.document.title = JSON.stringify({
    width, wide: wide.concat(boxes), pictures: pictures.length,
    scroll: document.documentElement.scrollWidth,
    headings: [...document.querySelectorAll("h1, h2, h3")].map(e => e.tagName),
    unnamed: document.querySelectorAll("figure div[role=img]:not([aria-label])").length,
  });
});
</script>
"""


@dataclass(frozen=True)
class Seen:
    """What a browser saw of a page."""

    found: dict
    errors: list[str]
    requests: list[str]


def look(page: str, width: int, folder: Path) -> Seen:
    """Open a page at a width; return its measures, console errors and requests to the network."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium is not installed")
    around = folder / f"around{width}.html"
    inner = html.escape(page.replace("</body>", f"{_LOOK}</body>"))
    around.write_text(
        f"<!DOCTYPE html><body><iframe style='border:0' width={width} height=800 srcdoc='{inner}'>"
        "</iframe>".replace("&#x27;", "&#39;"),
        encoding="utf-8",
    )
    log = folder / f"net{width}.json"
    seen = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--enable-logging=stderr",
            "--virtual-time-budget=5000",
            "--dump-dom",
            around.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    title = seen.stdout.partition("<title>")[2].partition("</title>")[0]
    errors = [line for line in seen.stderr.splitlines() if ":CONSOLE" in line]
    return Seen(json.loads(html.unescape(title)), errors, _requests(log))


# Chromium asks these for updates and the like, whatever the page.
_ITS_OWN = re.compile(r"https?://[^/]*\.(google|googleapis|gvt1)\.com/")


def _requests(log: Path) -> list[str]:
    urls = set(re.findall(r'"url":"((?:http|ws|ftp)[^"]*)"', log.read_text()))
    return sorted(url for url in urls if not _ITS_OWN.match(url))
