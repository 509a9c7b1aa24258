"""The page of tournaments in a real browser: created, judged, undone and ranked by keyboard."""

from __future__ import annotations

import hashlib
import os
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Route, expect

from judging import TEXTS, create, decide, judge, opened, press, shown
from server import Server
from tabs import NARROW, WIDE, Tab, settle

pytestmark = pytest.mark.skipif(not os.environ["E2E_CHROMIUM"], reason="E2E_BROWSER=0")


def test_a_tournament_is_judged_and_undone_by_keyboard(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    create(page, TEXTS)
    expect(page.locator("#match-body")).to_be_visible()
    expect(page.locator("#standing-status")).to_contain_text("leads; nothing is sure yet. 0 judgments.")
    expect(page.locator("#undo")).to_be_disabled()
    assert judge(page, TEXTS) == {"1", "2"}  # the order is random
    expect(page.locator("#match-status")).to_have_text(f"“{TEXTS[0]}” is the winner.")
    said = page.locator("#standing-status")
    best = "if some text is unbeaten, it is the best, wrong with probability at most 0.2."
    expect(said).to_contain_text(f"The winner is “{TEXTS[0]}”: {best}")
    expect(page.locator("#standing-table tbody tr").first).to_contain_text("winner")
    expect(page.locator("#standing-table")).to_contain_text(f"“{TEXTS[0]}” had 100%")
    judgments = int(re.findall(r"(\d+) judgments", said.inner_text())[0])

    press(page, "u")
    expect(said).to_contain_text(f"{judgments - 1} judgments, 1 undo.")
    expect(said).to_contain_text("leads")
    press(page, "u")
    expect(said).to_contain_text(f"{judgments - 2} judgments, 2 undos.")
    press(page, "=")
    expect(said).to_contain_text(f"{judgments - 1} judgments, 1 tie among them, 2 undos.")
    judge(page, TEXTS)
    expect(page.locator("#match-status")).to_have_text(f"“{TEXTS[0]}” is the winner.")


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
    at = "/v1/tournaments/" + page.url.split("#")[1]
    kept: list[dict] = []

    def tell(route: Route) -> None:
        answer = route.fetch().json()
        route.fulfill(json=kept[0] if kept else answer)

    page.route(f"**{at}", tell)
    press(page, "1")
    # Another judge comes in between, of which the page has not heard yet, and whose judgment it
    # does not take back.
    kept.append(server.ask(at))
    duel = server.ask(at + "/next", {"count": 1, "judge": "bob"})["duels"][0]
    server.ask(at + "/report", [{"duel_id": duel["duel_id"], "a_won": True, "judge": "bob"}])
    press(page, "u")
    expect(page.locator("#match-problem")).to_contain_text("conflicts")
    assert "undone" not in server.ask(at)["state"]
    page.unroute_all(behavior="wait")
    judge(page, TEXTS)
    expect(page.locator("#match-status")).to_have_text("Done: places decided.")
    expect(page.locator("#standing-table tbody tr td:first-child")).to_have_text(TEXTS)
    expect(page.locator("#choice-list li").first).to_contain_text("rank")


@pytest.mark.parametrize(
    ("texts", "delta", "epsilon", "says", "field"),
    [
        (["alone"], "0.1", "", "1 text, one a line; at least 2 are needed.", "texts"),
        (["alone", " \u00a0", "\u200b"], "0.1", "", "1 text, one a line; at least 2 are needed.", "texts"),
        (["same", "", "other", "same "], "0.1", "", "Lines 1 and 4 are both “same”; all texts must differ.", "texts"),
        (["y", "x" * 257], "0.1", "", "Line 2 has 257 characters; at most 256 are allowed.", "texts"),
        (["x", "y"], "2", "", "δ is 2; a number between 0 and 1, without either, is needed.", "delta"),
        (["x", "y"], "", "", "δ is missing; a number between 0 and 1,", "delta"),
        (["x", "y"], "0.1", "0.7", "ε is 0.7; a number between 0 and 0.5, without either, is needed, or", "epsilon"),
        ([str(i) for i in range(513)], "0.1", "", "513 texts; this server takes at most 512 in a tournament.", "texts"),
    ],
)
def test_bad_input_is_shown_where_it_is(
    tab: Tab, server: Server, texts: list[str], delta: str, epsilon: str, says: str, field: str
) -> None:
    page = opened(tab, server)
    create(page, texts, delta=delta, epsilon=epsilon)
    expect(page.locator("#create-problem")).to_contain_text(says)
    expect(page.locator("#create-problem")).not_to_contain_text("arm")
    expect(page.locator(f"#{field}")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(f"#{field}")).to_be_focused()
    expect(page.locator("#match-body")).to_be_hidden()


def test_what_is_no_number_is_not_left_out(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    page.get_by_label("Texts to compare, one a line").fill("x\ny")
    page.locator("#epsilon").fill("")
    page.locator("#epsilon").press_sequentially("1e")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#create-problem")).to_contain_text("ε is not a number; a number between 0 and 0.5")


def test_the_longest_texts_are_taken(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    create(page, ["é" * 256, "x"])
    expect(page.locator("#match-body")).to_be_visible()
    expect(page.locator("#create-problem")).to_be_empty()


def test_a_request_that_was_not_answered_is_the_same_again(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    sent = []

    def lose(route: Route) -> None:
        sent.append((route.request.headers["idempotency-key"], route.request.post_data))
        if len(sent) == 1:
            route.fetch()  # the server has it
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/tournaments", lambda route: lose(route) if route.request.method == "POST" else route.continue_())
    create(page, TEXTS)
    expect(page.locator("#create-problem")).to_contain_text("The server does not answer")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#match-body")).to_be_visible()
    assert len(sent) == 2 and sent[0] == sent[1]


def test_a_tournament_that_is_not_there(tab: Tab, server: Server) -> None:
    page = tab.page
    page.goto(server.url + "/web/tournaments.html#tournament_none")
    expect(page.locator("#match-problem")).to_contain_text("there is no tournament")
    expect(page.locator("#match-status")).to_have_text("This tournament cannot be judged.")
    create(page, TEXTS)
    expect(page.locator("#standing-table")).to_be_visible()
    page.evaluate("location.hash = '#tournament_none'")
    expect(page.locator("#match-problem")).to_contain_text("tournament_none")
    expect(page.locator("#standing-table")).to_be_hidden()  # which was of another
    expect(page.locator("#standing-status")).to_have_text("")


def test_hard_to_tell_apart_is_said(tab: Tab, server: Server) -> None:
    made = server.ask("/v1/tournaments", {"arms": ["x", "y"], "mode": "pac", "delta": 0.05})
    at = "/v1/tournaments/" + made["id"]
    for i in range(500):
        d = server.ask(at + "/next", {"count": 1})["duels"][0]
        server.ask(at + "/report", [{"duel_id": d["duel_id"], "a_won": d["a"] == "xy"[i % 2]}])
    tab.page.goto(f"{server.url}/web/tournaments.html#{made['id']}")
    expect(tab.page.locator("#standing-close")).to_contain_text("if they are equal, this never ends")


def test_headings_stand_over_their_figures(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    texts = ["7 words that begin with a figure", "−1 and so does this", "a sentence"]
    create(page, texts)
    expect(page.locator("#match-body")).to_be_visible()
    decide(page, server, texts)
    expect(page.locator("#standing-table th")).to_have_text(["Text", "Wins", "Duels", "Rate", "State"])
    expect(page.locator("#standing-table tbody tr").first.locator("td").last).to_have_text("winner")
    expect(page.locator("#standing-table tbody tr").last.locator("td").last).to_contain_text("out after ")
    aligned = page.evaluate(
        """[...document.querySelectorAll("#standing-table tr")].map((row) =>
          [...row.cells].map((cell) => getComputedStyle(cell).textAlign))"""
    )
    assert aligned == [["start", "end", "end", "end", "start"]] * 4


def test_two_texts_need_no_assumption(tab: Tab, server: Server) -> None:
    page = opened(tab, server)
    create(page, TEXTS[:2])
    expect(page.locator("#match-body")).to_be_visible()
    decide(page, server, TEXTS)
    expect(page.locator("#standing-status")).to_contain_text(f"The winner is “{TEXTS[0]}”: it is the best, wrong with")
    expect(page.locator("#standing-notes")).not_to_contain_text("Unbeaten")


def test_the_page_asks_for_the_token_too(tab: Tab) -> None:
    token = f"e2e:write:{hashlib.sha256(b'a token').hexdigest()}"
    server = Server("judged", "--tokens", token, token="a token")
    try:
        page = tab.page
        page.goto(server.url + "/web/tournaments.html")
        expect(page.get_by_role("dialog", name="Bearer token")).to_be_visible()
        expect(page.get_by_label("Token", exact=True)).to_be_focused()
        page.keyboard.type("a token")
        page.keyboard.press("Enter")
        expect(page.locator("#choice-status")).to_have_text("None yet.")
        create(page, TEXTS)
        expect(page.locator("#match-body")).to_be_visible()
    finally:
        server.stop()


SCHEMES = [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")]


@pytest.mark.parametrize("tab", SCHEMES, indirect=True, ids=["light", "dark", "narrow light", "narrow dark"])
def test_everybody_can_judge(tab: Tab, server: Server, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id.replace(" ", "-")
    page = opened(tab, server)
    texts = [*TEXTS, "a text that is much longer than the others: " + "and so on " * 19 + "and on"]
    create(page, texts, epsilon="0.1")
    expect(page.locator("#match-body")).to_be_visible()
    for key in ("1", "2", "="):
        press(page, key)
    for state in ("duel", "problem", "winner"):
        if state == "problem":
            create(page, ["alone"])
            expect(page.locator("#create-problem .problem")).to_be_visible()
        if state == "winner":
            decide(page, server, texts)
        settle(page)
        tab.shot(f"tournament-{name}-{state}")
        faults = Axe().run(page)
        assert faults.violations_count == 0, faults.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
