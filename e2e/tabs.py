"""A tab of the browser, for the tests of the pages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect

from server import BUILD, Server

WIDE, NARROW = 1200, 360
PATIENCE = 300_000  # milliseconds that a page may take for what a test expects of it, on a busy machine


class Tab:
    """One tab, with the errors and warnings of its page."""

    def __init__(self, browser: Browser, width: int = WIDE, scheme: Any = "light") -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("console", self.hear)
        self.page.add_init_script(MEASURE)

    def hear(self, message: ConsoleMessage) -> None:
        # The browser logs every refusal that a test provokes.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def open(self, server: Server) -> Page:
        self.page.goto(server.url)
        expect(self.page.locator(".collection").first).to_be_visible()
        return self.page

    def stub(self, path: str, body: Any, status: int = 200) -> None:
        """Answers a path of the API with body."""
        kind = "application/json" if status < 400 else "application/problem+json"

        def answer(route: Route) -> None:
            route.fulfill(status=status, content_type=kind, body=json.dumps(body))

        self.page.route(f"**/{path}", answer)

    def shot(self, name: str) -> None:
        self.page.screenshot(path=str(BUILD / f"{name}.png"), full_page=True)


# layout shifts without input in the preceding half second: their sum, and what shifted
MEASURE = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) {
    if (e.hadRecentInput) continue;
    const what = e.sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
    window.shifts.push([e.value, e.startTime, ...what]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


def assert_nothing_shifted(page: Page) -> None:
    shifts = page.evaluate("window.shifts")
    assert sum(s[0] for s in shifts) < 0.001, shifts


def settle(page: Page) -> None:
    """Waits for the end of transitions, during which contrast is lower."""
    page.evaluate("Promise.allSettled(document.getAnimations().map((a) => a.finished))")


def until(page: Page, holds: Callable[[], bool], most: float = PATIENCE / 1000) -> None:
    """Lets the test hear of what the page does until a condition holds."""
    end = time.monotonic() + most
    while not holds():
        assert time.monotonic() < end, f"it does not hold within {most} s"
        page.wait_for_timeout(10)


def focused(page: Page) -> dict[str, Any]:
    what: dict[str, Any] = page.evaluate(
        """() => {
          const e = document.activeElement, s = getComputedStyle(e);
          const seen = e.getClientRects().length > 0;
          return { id: e.id || e.value || e.tagName, outline: parseFloat(s.outlineWidth), seen };
        }"""
    )
    return what
