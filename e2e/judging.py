"""How the tests use the page of tournaments."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from server import Server
from tabs import Tab

TEXTS = ["a clear sentence", "a sentence", "words without any order"]


def opened(tab: Tab, server: Server) -> Page:
    tab.page.goto(server.url)
    tab.page.get_by_role("link", name="Tournaments").click()
    expect(tab.page.locator("#choice-status")).not_to_have_text("Loading …")
    return tab.page


def create(page: Page, texts: list[str], wanted: str = "anytime", delta: str = "0.2", epsilon: str = "") -> None:
    page.get_by_label("Texts to compare, one a line").fill("\n".join(texts))
    page.get_by_label("Wanted").select_option(wanted)
    page.locator("#delta").fill(delta)
    page.locator("#epsilon").fill(epsilon)
    page.get_by_role("button", name="Create").click()


def shown(page: Page) -> tuple[str, str]:
    return page.locator("#first-text").inner_text(), page.locator("#second-text").inner_text()


def ready(page: Page) -> None:
    """Waits until what is pressed counts."""
    expect(page.locator("#match")).not_to_have_attribute("aria-busy", "true")


def press(page: Page, key: str) -> None:
    """Presses a key once it counts, and waits until the server has answered all of it."""
    ready(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(key)
    ready(page)


def judge(page: Page, order: list[str], most: int = 400) -> set[str]:
    """Prefers what comes first in an order, until the end; returns the keys that were pressed."""
    pressed = set()
    for _ in range(most):
        if page.locator("#match-body").is_hidden():
            return pressed
        first, second = shown(page)
        key = "1" if order.index(first) < order.index(second) else "2"
        pressed.add(key)
        press(page, key)
    raise AssertionError(f"no end after {most} judgments: {page.locator('#standing-status').inner_text()}")


def pair(page: Page) -> dict:
    """The duel that is on the screen, as the tab keeps it."""
    duel: dict = json.loads(page.evaluate("sessionStorage.getItem('thresher-duel-' + location.hash.slice(1))"))
    return duel


def decide(page: Page, server: Server, order: list[str], most: int = 1000) -> None:
    """Prefers what comes first in an order over HTTP, which is faster, until the end, and loads the page again."""
    at = "/v1/tournaments/" + page.url.split("#")[1]
    duels = [pair(page)]
    for _ in range(most):
        results = [{"duel_id": d["duel_id"], "a_won": order.index(d["a"]) < order.index(d["b"])} for d in duels]
        if server.ask(at + "/report", results)["done"]:
            page.reload()
            expect(page.locator("#choice-status")).not_to_have_text("Loading …")
            return
        duels = server.ask(at + "/next", {"count": 1})["duels"]
    raise AssertionError(f"no end after {most} judgments")
