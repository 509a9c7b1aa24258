"""Fast judges, several judges, and judgments that do not count, on the page of tournaments."""

from __future__ import annotations

import os
import re

import pytest
from playwright.sync_api import Page, Route, expect

from judging import TEXTS, create, opened, pair, press, ready, shown
from server import Server
from tabs import Tab, until

pytestmark = pytest.mark.skipif(not os.environ["E2E_CHROMIUM"], reason="E2E_BROWSER=0")

READ = 0.2  # seconds that every pair is on the screen at least, before a judgment counts


def address(page: Page) -> str:
    return "/v1/tournaments/" + page.url.split("#")[1]


def judged(server: Server, at: str) -> int:
    state = server.ask(at)["state"]
    return int(state["duels"] + state["waiting"])


def created(tab: Tab, server: Server, texts: list[str] = TEXTS, delta: str = "0.0001") -> Page:
    page = opened(tab, server)
    create(page, texts, delta=delta)
    expect(page.locator("#match-body")).to_be_visible()
    ready(page)
    return page


def test_what_is_pressed_while_a_judgment_is_sent_does_not_count(tab: Tab, server: Server) -> None:
    page = created(tab, server)
    held: list[Route] = []
    page.route("**/report*", lambda route: route.continue_() if held else held.append(route))
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("1")
    until(page, lambda: len(held) == 1)
    expect(page.locator("#first")).to_have_attribute("aria-disabled", "true")
    for key in "2=su":
        page.keyboard.press(key)
    page.locator("#second").click(force=True)
    early = "What was pressed before the pair could be read did not count."
    expect(page.locator("#match-status")).to_contain_text(early)
    held[0].continue_()
    ready(page)
    expect(page.locator("#match-status")).to_contain_text("did not count")  # until the next judgment
    assert judged(server, address(page)) == 1
    press(page, "1")
    expect(page.locator("#match-status")).not_to_contain_text("did not count")
    assert judged(server, address(page)) == 2


def test_no_pair_is_judged_before_it_can_be_read(tab: Tab, server: Server) -> None:
    """Two keys every 20 ms: every judgment is of a pair that was there long enough, and all count."""
    page = created(tab, server)
    at = address(page)
    page.evaluate(JUDGE)
    expect(page.locator("#standing-status")).to_contain_text(re.compile(r"\b([3-9]|\d\d+) judgments"))
    early = page.evaluate("() => { clearInterval(window.beat); return window.early; }")
    ready(page)
    reports = page.evaluate("window.reports")
    ids = [r["duel_id"] for r in reports]
    assert len(ids) >= 2 and len(set(ids)) == len(ids)
    # The page shows a pair after its answer is there, and reports a judgment after it was given.
    assert all(r["after"] >= READ * 1000 for r in reports), reports
    assert judged(server, at) == len(ids)
    assert early


# Judges without a pause, by the clock of the page alone, whatever else the machine does. Of two keys of
# a beat the second is always too early. A report is kept with the ms since the answer with its pair.
JUDGE = """() => {
  const status = document.getElementById("match-status"), ask = window.fetch, since = new Map();
  window.reports = [];
  window.fetch = async (url, options) => {
    if (String(url).includes("/report"))
      for (const { duel_id } of JSON.parse(options.body))
        window.reports.push({ duel_id, after: performance.now() - (since.get(duel_id) ?? 0) });
    const answer = await ask(url, options);
    if (String(url).endsWith("/next"))
      for (const { duel_id } of (await answer.clone().json()).duels) since.set(duel_id, performance.now());
    return answer;
  };
  window.early = false; // whether a key ever did not count
  const press = () =>
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true, cancelable: true }));
  window.beat = setInterval(() => {
    press();
    press();
    window.early ||= status.textContent.includes("did not count");
  }, 20);
}"""


def test_judgments_that_wait_are_counted(tab: Tab, server: Server) -> None:
    made = server.ask("/v1/tournaments", {"arms": TEXTS, "mode": "pac", "delta": 0.01})
    at = "/v1/tournaments/" + made["id"]
    first = server.ask(at + "/next", {"count": 1, "judge": "bob"})["duels"][0]
    page = tab.page
    page.goto(f"{server.url}/web/tournaments.html#{made['id']}")
    expect(page.locator("#match-body")).to_be_visible()
    said, notes = page.locator("#standing-status"), page.locator("#standing-notes")
    press(page, "1")
    expect(said).to_contain_text("1 judgment, of which 1 waits for earlier ones.")
    expect(notes).to_contain_text("in the order in which their pairs were drawn")
    press(page, "1")
    expect(said).to_contain_text("2 judgments, of which 2 wait for earlier ones.")
    server.ask(at + "/report", [{"duel_id": first["duel_id"], "a_won": True, "judge": "bob"}])
    expect(said).to_contain_text("3 judgments.")
    expect(notes).not_to_contain_text("drawn. An earlier")


def test_a_judgment_that_does_not_count_is_said(tab: Tab, server: Server) -> None:
    page = created(tab, server)
    at = address(page)
    seen = pair(page)
    assert (seen["a"], seen["b"]) == shown(page)
    server.ask(at + "/report", [{"duel_id": seen["duel_id"], "a_won": True}])  # by another, after the lease
    press(page, "2")
    status = page.locator("#match-status")
    expect(status).to_contain_text("The last pair was judged differently before: the first judgment stays.")
    assert judged(server, at) == 1
    server.ask(at + "/undo", {})  # withdraws what is on the screen
    press(page, "1")
    expect(status).to_contain_text("The last pair was withdrawn before it was judged: that judgment does not count.")
    assert judged(server, at) == 0
    press(page, "1")
    expect(status).not_to_contain_text("does not count")
    assert judged(server, at) == 1


def test_a_long_name_is_refused_and_not_cut(tab: Tab, server: Server) -> None:
    page = created(tab, server)
    name = page.get_by_label("Your name")
    name.fill("n" * 300)
    expect(name).to_have_value("n" * 300)
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#match-problem")).to_contain_text("It has 300 characters; at most 256 are allowed.")
    press(page, "1")
    expect(name).to_be_focused()
    expect(page.locator("#match-problem")).to_contain_text("at most 256")
    assert judged(server, address(page)) == 0
    name.fill("é" * 256)
    expect(page.locator("#match-problem")).to_be_empty()
    press(page, "1")
    assert [j["judge"] for j in server.ask(address(page))["state"]["judges"]["judges"]] == ["é" * 256]


def test_what_the_network_lost_is_judged_once(tab: Tab, server: Server) -> None:
    page = created(tab, server)
    before = shown(page)

    def lose(route: Route) -> None:
        route.fetch()  # the server has it
        route.abort()

    page.route("**/report*", lose)
    press(page, "1")
    expect(page.locator("#match-problem")).to_contain_text("The server does not answer")
    assert shown(page) == before
    page.unroute_all()
    press(page, "1")
    expect(page.locator("#match-problem")).to_be_empty()
    assert judged(server, address(page)) == 1
