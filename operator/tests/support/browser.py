"""A real browser: Debian's headless Chromium, driven by Playwright, with axe-core to find what people cannot use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from seawall_e2e.loopback.processes import platform_folder

ARTIFACTS = Path(__file__).parents[3] / "artifacts" / "ui"
"""Screenshots of the last run: for people to look at, compared with nothing."""
FETCH_SECONDS = 300


@contextmanager
def headless_chromium() -> Iterator[Browser]:
    """One process of it, which knows no network but what it is told to open."""
    path = platform_folder("browser.sh", FETCH_SECONDS)
    with sync_playwright() as driver:
        # No sandbox: CI is root in a container, and the page is ours.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """One person's look at a server: everything that the page asked for, and what the browser complained about."""

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def require_clean(self, address: str) -> None:
        """That nothing was asked for elsewhere, that there is no script, and that the browser is content."""
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith((address, "data:,"))] == []
        assert self.page.locator("script, iframe, object, embed, [style]").count() == 0

    def require_usable(self) -> None:
        """That axe-core finds nothing that keeps people from reading or using it, by WCAG 2.2 AA and good practice."""
        found = Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()

    def keep(self, name: str) -> None:
        """Keeps a screenshot."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=False)


@contextmanager
def visit(
    browser: Browser, *, dark: bool = False, headers: Mapping[str, str] | None = None, width: int = 1280
) -> Iterator[Visit]:
    """A page of its own, as a browser in light or dark mode shows it."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light",
        extra_http_headers=dict(headers or {}),
        viewport={"width": width, "height": 900},
        java_script_enabled=True,
        bypass_csp=False,
    )
    page = context.new_page()
    found = Visit(page)
    page.on("request", lambda request: found.asked.append(request.url))
    page.on("console", lambda message: found.complaints.append(message.text))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("requestfailed", lambda request: found.complaints.append(f"{request.url} failed"))
    try:
        yield found
    finally:
        context.close()
