"""The documentation site opened as files: it asks no other machine, and its search finds pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import chromium
from tests.support.checkout import ROOT

SITE = ROOT / "site"
PAGES = ("index.html", "start/gait.html", "reference/figures.html", "benchmarks.html")


@pytest.mark.browser
def test_the_site_works_without_a_server_and_asks_nobody():
    if not (SITE / "index.html").is_file():
        pytest.skip("no site; `make docs` builds it")
    with chromium() as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in PAGES:
            page.goto((SITE / name).as_uri())
            page.wait_for_load_state()
        page.goto((SITE / "index.html").as_uri())
        page.locator("input.md-search__input").click()
        page.keyboard.type("retargeting", delay=30)
        found = page.locator(".md-search-result__item a").first
        found.wait_for(timeout=30_000)
        assert "retargeting.html" in {
            Path(link.get_attribute("href").partition("?")[0].partition("#")[0]).name
            for link in page.locator(".md-search-result__item a").all()
        }
        found.click()
        page.wait_for_url("**/*.html?*", timeout=30_000)
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:", "about:"))] == []
