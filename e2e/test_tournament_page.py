"""The page of tournaments in a real browser: created, judged, undone and ranked by keyboard."""

from __future__ import annotations

import os
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from server import Server
from tabs import NARROW, WIDE, Tab

pytestmark = pytest.mark.skipif(not os.environ["E2E_CHROMIUM"], reason="E2E_BROWSER=0")

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


def press(page: Page, key: str) -> None:
    """Presses a key and waits until the server has answered all of it."""
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(key)
    expect(page.locator("#match")).not_to_have_attribute("aria-busy", "true")


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


def test_a_tournament_is_judged_and_undone_by_keyboard(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    create(page, TEXTS)
    expect(page.locator("#match-body")).to_be_visible()
    expect(page.locator("#standing-status")).to_contain_text("of which nothing is sure yet. 0 judgments.")
    expect(page.locator("#undo")).to_be_disabled()
    assert judge(page, TEXTS) == {"1", "2"}  # the order is random
    expect(page.locator("#match-status")).to_have_text(f"{TEXTS[0]} is the winner.")
    said = page.locator("#standing-status")
    expect(said).to_contain_text(f"The winner is {TEXTS[0]}, the best, wrong with probability at most 0.2.")
    expect(page.locator("#standing-table tbody tr").first).to_contain_text("winner")
    expect(page.locator("#standing-table")).to_contain_text(f"{TEXTS[0]} had 100%")
    judgments = int(re.findall(r"(\d+) judgments", said.inner_text())[0])

    press(page, "u")
    expect(said).to_contain_text(f"{judgments - 1} judgments, 1 undo.")
    expect(said).to_contain_text("leads")
    press(page, "u")
    expect(said).to_contain_text(f"{judgments - 2} judgments, 2 undos.")
    press(page, "=")
    expect(said).to_contain_text(f"{judgments - 1} judgments, 1 tie among them, 2 undos.")
    judge(page, TEXTS)
    expect(page.locator("#match-status")).to_have_text(f"{TEXTS[0]} is the winner.")


def test_keys_are_letters_in_a_field(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    create(page, TEXTS)
    expect(page.locator("#match-body")).to_be_visible()
    page.get_by_label("Your name").fill("")
    page.get_by_label("Your name").focus()
    page.keyboard.type("1u2=s")
    expect(page.get_by_label("Your name")).to_have_value("1u2=s")
    expect(page.locator("#standing-status")).to_contain_text("0 judgments.")
    before = shown(page)
    page.reload()  # the duel is this tab's
    expect(page.locator("#match-body")).to_be_visible()
    assert shown(page) == before
    press(page, "s")
    assert set(shown(page)) != set(before)
    expect(page.locator("#standing-status")).to_contain_text("0 judgments.")


def test_all_in_order_and_another_judge(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    create(page, TEXTS, "rank", epsilon="0.2")
    expect(page.locator("#match-body")).to_be_visible()
    page.get_by_label("Your name").fill("ann")
    press(page, "1")
    # Another judge comes in between, of which the page has not heard yet, and whose judgment it
    # does not take back.
    at = "/v1/tournaments/" + page.url.split("#")[1]
    tab.stub(at[1:], server.ask(at))
    duel = server.ask(at + "/next", {"count": 1, "judge": "bob"})["duels"][0]
    server.ask(at + "/report", [{"duel_id": duel["duel_id"], "a_won": True, "judge": "bob"}])
    press(page, "u")
    expect(page.locator("#match-problem")).to_contain_text("conflicts")
    assert "undone" not in server.ask(at)["state"]
    page.unroute_all()
    judge(page, TEXTS)
    expect(page.locator("#match-status")).to_have_text("Done: places decided.")
    expect(page.locator("#standing-table tbody tr td:first-child")).to_have_text(TEXTS)
    expect(page.locator("#choice-list li").first).to_contain_text("rank", timeout=15_000)


@pytest.mark.parametrize(
    ("texts", "delta", "epsilon", "says", "field"),
    [
        (["alone"], "0.1", "", "1 arms; a tournament has at least 2", "texts"),
        (["same", "same"], "0.1", "", "arms 0 and 1 are both", "texts"),
        (["x" * 257, "y"], "0.1", "", "257 characters", "texts"),
        (["x", "y"], "2", "", "delta is 2", "delta"),
        (["x", "y"], "0.1", "0.7", "epsilon is 0.7", "epsilon"),
    ],
)
def test_bad_input_is_shown_where_it_is(
    tab: Tab, server: Server, texts: list[str], delta: str, epsilon: str, says: str, field: str
) -> None:
    page = opened(tab, server)
    create(page, texts, delta=delta, epsilon=epsilon)
    expect(page.locator("#create-problem")).to_contain_text(says)
    expect(page.locator(f"#{field}")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(f"#{field}")).to_be_focused()
    expect(page.locator("#match-body")).to_be_hidden()


def test_a_tournament_that_is_not_there(tab: Tab, server: Server) -> None:
    page = tab.page
    page.goto(server.url + "/web/tournaments.html#tournament_none")
    expect(page.locator("#match-problem")).to_contain_text("there is no tournament")
    expect(page.locator("#match-status")).to_have_text("This tournament cannot be judged.")


def test_hard_to_tell_apart_is_said(tab: Tab, server: Server) -> None:
    made = server.ask("/v1/tournaments", {"arms": ["x", "y"], "mode": "pac", "delta": 0.05})
    at = "/v1/tournaments/" + made["id"]
    for i in range(500):
        d = server.ask(at + "/next", {"count": 1})["duels"][0]
        server.ask(at + "/report", [{"duel_id": d["duel_id"], "a_won": d["a"] == "xy"[i % 2]}])
    tab.page.goto(f"{server.url}/web/tournaments.html#{made['id']}")
    expect(tab.page.locator("#standing-close")).to_contain_text("if they are equal, this never ends")


SCHEMES = [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")]


@pytest.mark.parametrize("tab", SCHEMES, indirect=True, ids=["light", "dark", "narrow light", "narrow dark"])
def test_everybody_can_judge(tab: Tab, server: Server, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id.replace(" ", "-")
    page = opened(tab, server)
    create(page, [*TEXTS, "a text that is much longer than the others: " + "and so on " * 20], epsilon="0.1")
    expect(page.locator("#match-body")).to_be_visible()
    for key in ("1", "2", "="):
        press(page, key)
    for state in ("duel", "problem", "winner"):
        if state == "problem":
            create(page, ["alone"])
            expect(page.locator("#create-problem .problem")).to_be_visible()
        if state == "winner":
            judge(page, [*TEXTS, page.locator("#standing-table td", has_text="much longer").inner_text()])
        tab.shot(f"tournament-{name}-{state}")
        faults = Axe().run(page)
        assert faults.violations_count == 0, faults.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
