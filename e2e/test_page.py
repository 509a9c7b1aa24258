"""The page in a real browser: by mouse and by keyboard, in light, dark and narrow layouts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

import canned
import sample
from server import Server
from tabs import NARROW, WIDE, Tab, assert_nothing_shifted, focused, settle

pytestmark = pytest.mark.skipif(not os.environ["E2E_CHROMIUM"], reason="E2E_BROWSER=0")

TOKEN = "a token of the tests"


def search(page: Page, text: str, **options: str) -> None:
    page.get_by_label("A row’s id, or a vector").fill(text)
    for name, value in options.items():
        field = page.locator(f"#{name}")
        if name == "method":
            field.select_option(value)
        else:
            field.fill(value)
    page.get_by_role("button", name="Search", exact=True).click()


def found(page: Page) -> list[str]:
    expect(page.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator("#summary")).to_contain_text("version")
    return page.locator("#rows .id").all_inner_texts()


def test_a_row_is_searched_for_by_its_id(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    ids, vectors = sample.rows(server, demo, 1)
    search(page, str(ids[0]), k="5", delta=str(sample.DELTA))
    best, scores = sample.exact(server, demo, vectors, 6)
    assert found(page) == [str(i) for i in best[0] if i != ids[0]]
    shown = [float(t) for t in page.locator("#rows td:last-child").all_inner_texts()]
    assert shown == pytest.approx([float(s) for s in scores[0][1:]], rel=1e-5)
    page.get_by_label("exclude the row itself").uncheck()
    search(page, str(ids[0]), k="5")
    expect(page.locator("#rows .id").first).to_have_text(str(ids[0]))
    assert found(page) == [str(i) for i in best[0][:5]]


def test_a_vector_is_pasted(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    ids, vectors = sample.rows(server, demo, 2)
    texts = [json.dumps(vectors[0].tolist()), ", ".join(map(str, vectors[1])), "\n".join(map(str, vectors[0]))]
    for text, row in zip(texts, (0, 1, 0), strict=True):
        search(page, text, k="1")
        expect(page.locator("#query-hint")).to_have_text(f"A vector of {demo['dimension']:,} numbers.")
        expect(page.locator("#rows .id")).to_have_text([str(ids[row])])


def test_words_are_searched_for(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    box = page.get_by_label("Words, a row’s id, or a vector")
    expect(box).to_have_attribute("placeholder", "decode JSON from a stream")
    for words, wanted in (("decode JSON from a stream", "encoding/json.Decoder"), ("substring", "strings.Index")):
        body = {"texts": [words], "k": 10}
        best = server.ask(f"/v1/collections/{demo['name']}/search", body)["results"][0]["ids"]
        search(page, words, k="10")
        assert found(page) == best
        assert any(i.startswith(wanted.split("/")[-1]) or i.startswith(wanted) for i in best), best
    search(page, "decode JSON from a stream", k="3")
    expect(page.locator("#query-hint")).to_have_text("Words. In quotes they are the id of a row.")
    first = found(page)[0]
    page.get_by_role("button", name=first, exact=True).click()
    expect(box).to_have_value(first)  # a row now, which is excluded from its own neighbours
    expect(page.locator("#rows .id").first).not_to_have_text(first)


def test_the_certificate_is_told_and_drawn(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    ids, vectors = sample.rows(server, demo, 1)
    search(page, str(ids[0]), k="10", method="adaptive")
    assert len(found(page)) == 10
    said = page.locator("#certificate").inner_text()
    promise = ("Promise", "0.01", "random rotation", "checked by simulation, not proven")
    for part in (*promise, "that a dense scan reads", "times fewer", "Method adaptive"):
        assert part in said
    assert "rounded to float32" not in said  # a row that is searched for is what is kept
    body = {"queries": vectors.tolist(), "k": 10, "method": "adaptive", "exclude": ids[:1], "include": ["rounds"]}
    looks = server.ask(f"/v1/collections/{demo['name']}/search", body)["results"][0]["rounds"]
    picture = page.locator("#looks svg")
    expect(picture.locator("circle")).to_have_count(len(looks) + 1)
    told = picture.get_attribute("aria-label") or ""
    for look in looks:
        assert f"{look['survivors']:,}" in told
    heights = [float(c.get_attribute("cy") or 0) for c in picture.locator("circle").all()]
    assert heights == sorted(heights)  # fewer rows are lower
    page.get_by_text("Figures of the looks").click()
    expect(page.locator("#looks-table tbody tr")).to_have_count(len(looks))

    search(page, str(ids[0]), method="exact")
    expect(page.locator("#certificate")).to_contain_text("Exact.")
    # A dense scan reads the row that was asked for, which may not be returned.
    expect(page.locator("#certificate")).to_contain_text("because a dense scan reads the others too")
    expect(page.locator("#looks")).to_contain_text("No looks: every row was scored in full")


def test_the_keyboard_is_enough(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    ids, _ = sample.rows(server, demo, 1)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the search")).to_be_focused()
    page.keyboard.press("Enter")
    order = []
    for _ in range(6):
        where = focused(page)
        assert where["seen"] and where["outline"] >= 2, where
        order.append(where["id"])
        page.keyboard.press("Tab")
    assert order == ["query", "k", "delta", "method", "others", "BUTTON"]
    page.locator("#query").focus()
    page.keyboard.type(str(ids[0]))
    for _ in range(5):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first = found(page)[0]
    page.keyboard.press("Tab")
    assert focused(page)["id"] == "rows"  # arrow keys scroll it
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=first, exact=True)).to_be_focused()
    assert focused(page)["outline"] >= 2
    page.keyboard.press("Enter")
    expect(page.locator("#query")).to_be_focused()
    expect(page.locator("#query")).to_have_value(first)
    expect(page.locator("#rows .id").first).not_to_have_text(first)
    page.keyboard.press("Control+Enter")
    assert found(page)
    page.keyboard.press("Shift+Tab")
    assert focused(page)["id"] == demo["name"]  # the collection's radio button


@pytest.mark.parametrize(
    ("text", "k", "delta", "says", "field"),
    [
        ('"no row has this id"', "3", "0.01", ["no row has this id", "unknown-row"], "query"),
        ("qqxqq", "3", "0.01", ["qqxqq", "none of the words", "unknown-words"], "query"),
        ("[1, 2, 3]", "3", "0.01", ["queries", "index", "limit", "wrong-dimension"], "query"),
        ("[1, 2, null]", "3", "0.01", ["Element 2", "index"], "query"),
        ("0.5, 0.25, many", "3", "0.01", ["Element 2", "many"], "query"),
        ("", "3", "0.01", ["box is empty"], "query"),
        ("0", "0", "0.01", ["field", "k", "limit"], "k"),
        ("0", "", "0.01", ["needs a number", "k"], "k"),
        ("0", "3", "1.5", ["field", "delta", "limit"], "delta"),
    ],
)
def test_problems_are_shown_where_they_are(
    tab: Tab, server: Server, demo: dict, text: str, k: str, delta: str, says: list[str], field: str
) -> None:
    page = tab.open(server)
    if text == "0":
        text = str(sample.rows(server, demo, 1)[0][0])
    search(page, text, k=k, delta=delta)
    problem = page.get_by_role("alert")
    for part in says:
        expect(problem).to_contain_text(part)
    expect(page.locator("#found")).to_be_hidden()
    wrong = page.locator("[aria-invalid=true]")
    expect(wrong).to_have_count(1)
    expect(wrong).to_have_id(field)
    expect(wrong).to_have_attribute("aria-errormessage", "problem")
    wrong.fill("1")
    expect(wrong).to_have_count(0)


def test_a_server_that_is_gone_is_said_so(tab: Tab, server: Server) -> None:
    page = tab.open(server)
    page.route("**/v1/**", lambda route: route.abort())
    search(page, "1")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/v1/**")
    expect(page.locator("#collections-status")).to_contain_text("collection")


def test_a_job_is_seen_at_work(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    _, vectors = sample.rows(server, demo, 20)
    endpoint = f"/v1/collections/{demo['name']}/search"
    body = {"k": 3, "method": "exact"}
    text = "\n".join(
        json.dumps({"custom_id": str(i), "method": "POST", "url": endpoint, "body": {**body, "queries": [v.tolist()]}})
        for i, v in enumerate(list(vectors) * 10)
    )
    made = submit(server, endpoint, text)
    job = page.locator("#job-list li", has_text=made["id"])
    expect(job).to_contain_text("completed")
    expect(job).to_contain_text("200 of 200 requests")
    expect(job).to_contain_text("queries/s")
    assert job.locator("progress").evaluate("e => e.value / e.max") == 1
    expect(page.locator("#total")).not_to_have_text("–")
    expect(page.locator("#rate")).to_have_text(re.compile(r"^\d"))
    expect(page.locator("#read")).to_have_text(re.compile(r"^\d.*%$"))
    expect(page.locator("#spark polyline")).to_have_attribute("points", re.compile(r"^\S+ \S+"))


def submit(server: Server, endpoint: str, text: str) -> dict:
    import openai

    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    file = client.files.create(file=("in.jsonl", text.encode()), purpose="batch")
    return server.ask("/v1/batches", {"input_file_id": file.id, "endpoint": endpoint, "completion_window": "24h"})


def test_jobs_show_progress_rate_reading_and_time_left(tab: Tab, server: Server) -> None:
    tab.stub("v1/batches?*", canned.jobs(done=2500))
    page = tab.open(server)
    running = page.locator("#job-list li").first
    rates = ("2,501 of 10,000 requests", "1 failed", "17.3K queries/s", "9.7% of the data read", "1 min 5 s left")
    for part in ("in progress", "demo, version 1", *rates):
        expect(running).to_contain_text(part)
    assert running.locator("progress").evaluate("e => e.value / e.max") == 0.2501
    failed = page.locator("#job-list li", has_text="line 3 is no JSON")
    expect(failed).to_contain_text("3 of 3 requests · 3 failed")
    expect(failed).not_to_contain_text("of the data read")  # nothing was searched
    page.evaluate("document.querySelector('#job-list li').id = 'same'")
    tab.stub("v1/batches?*", canned.jobs(done=9999))
    expect(page.locator("#same")).to_contain_text("completed")  # the same element, so focus is kept
    expect(page.locator("#jobs-news")).to_have_text("Job batch_1 is completed.")


def test_an_incomplete_answer_says_what_is_open(tab: Tab, server: Server) -> None:
    tab.stub("v1/collections/*/search", canned.incomplete())
    page = tab.open(server)
    search(page, "[1]", k="3")
    expect(page.locator("#summary")).to_contain_text("The answer is incomplete")
    for part in ("The deadline passed", "may score up to 0.7100000", "None beyond the bound above"):
        expect(page.locator("#certificate")).to_contain_text(part)


def test_large_ids_come_back_as_they_were(tab: Tab, server: Server) -> None:
    large = 2**63 - 1
    tab.stub("v1/collections/*/search", canned.answer([large]))
    tab.stub(f"v1/collections/*/rows/{large}", {"id": large, "vector": [1]})
    page = tab.open(server)
    search(page, "[1]", k="1")
    assert found(page) == [str(large)]
    with page.expect_request("**/search") as asked:
        page.get_by_role("button", name=str(large)).click()
    assert json.loads(asked.value.post_data or "")["exclude"] == [large]


def test_many_looks_and_all_states_fit(tab: Tab, server: Server) -> None:
    tab.stub("v1/collections", canned.collections())
    tab.stub("v1/batches?*", canned.jobs(done=2500))
    tab.stub("v1/collections/*/search", canned.answer(["x" * 200, "b"], looks=60))
    page = tab.open(server)
    expect(page.locator("#collections")).to_contain_text("version 5 is being built 42%")
    expect(page.locator("#collections .bad")).to_contain_text("row 17, column 3")
    for width in (NARROW, 700, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        search(page, "[1]", k="2")
        found(page)
        expect(page.locator("#looks circle")).to_have_count(61)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        labels = page.locator("#looks text.tick:not(.faint)", has_text="look")
        ticks = sorted((b["x"], b["x"] + b["width"]) for t in labels.all() if (b := t.bounding_box()))
        assert len(ticks) >= 2 and all(a[1] <= b[0] for a, b in pairwise(ticks)), ticks


def test_a_token_is_asked_for_and_kept(tab: Tab) -> None:
    token = f"e2e:read:{hashlib.sha256(TOKEN.encode()).hexdigest()}"
    server = Server("tokens", "--demo", "--tokens", token, token=TOKEN)
    try:
        page = tab.page
        page.goto(server.url)
        dialog = page.get_by_role("dialog", name="Bearer token")
        expect(dialog).to_be_visible()
        expect(page.get_by_label("Token", exact=True)).to_be_focused()
        tab.shot("token")
        page.keyboard.type("not the token")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("does not accept this tab’s token")
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        search(page, "[1]")
        expect(page.get_by_role("alert")).to_contain_text("No collection to search")
        page.get_by_role("button", name="Token", exact=True).click()
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator(".collection")).to_have_count(1)
        page.reload()
        expect(page.locator(".collection")).to_have_count(1)
        expect(dialog).to_be_hidden()
        assert page.evaluate("Object.values(sessionStorage)") == [TOKEN]
        assert page.evaluate("localStorage.length") == 0 and not page.context.cookies()
        page.get_by_role("button", name="Token", exact=True).click()
        page.get_by_role("button", name="Forget it").click()
        expect(dialog).to_be_visible()  # a second request
        assert page.evaluate("sessionStorage.length") == 0
    finally:
        server.stop()


SCHEMES = [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")]


@pytest.mark.parametrize("tab", SCHEMES, indirect=True, ids=["light", "dark", "narrow light", "narrow dark"])
def test_everybody_can_use_it(tab: Tab, server: Server, demo: dict, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id.replace(" ", "-")
    page = tab.open(server)
    tab.stub("v1/batches?*", canned.jobs(done=2500))
    expect(page.locator("#job-list li").first).to_be_visible()
    for state, text in (("answer", "decode JSON from a stream"), ("problem", "[1, 2]")):
        search(page, text, k="10")
        expect(page.locator("#rows .id" if state == "answer" else ".problem").first).to_be_visible()
        expect(page.locator("#answer")).not_to_have_attribute("aria-busy", "true")
        settle(page)
        tab.shot(f"{name}-{state}")
        faults = Axe().run(page)
        assert faults.violations_count == 0, faults.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
    assert_nothing_shifted(page)


def slowly(route: Route) -> None:
    """Continues only after the time in which the browser attributes changes to an input."""
    time.sleep(0.7)
    route.continue_()


def test_nothing_moves_before_the_answer_comes(tab: Tab, server: Server, demo: dict) -> None:
    ids, _ = sample.rows(server, demo, 1)
    page = tab.page
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        page.unroute_all()
        page.route("**/v1/**", slowly)
        tab.open(server)
        search(page, str(ids[0]), k="7")
        expect(page.locator("#rows .id")).to_have_count(7)
        assert_nothing_shifted(page)
    page.unroute_all()


def test_the_modules_by_themselves(tab: Tab, server: Server) -> None:
    page = tab.open(server)
    read = """async (text) => {
      const { read } = await import("/web/query.js");
      try { return read(text) } catch (e) { return e.index ?? "refused" }
    }"""
    cases = {
        "42": {"id": "42"},
        " bufio.Scanner ": {"id": "bufio.Scanner"},
        "net/http 2": {"id": "net/http 2"},
        '"1 2"': {"id": "1 2"},
        "1 2": {"vector": [1, 2]},
        "-1e-3,+.5;2.": {"vector": [-0.001, 0.5, 2]},
        "1,\n2,\n": {"vector": [1, 2]},
        "[1, 2]": {"vector": [1, 2]},
        "[[1, 2]]": {"vector": [1, 2]},
        "[]": {"vector": []},
        "[1, [2]]": 1,
        "[1, 2": "refused",
        "1, NaN": 1,
        "1,,2": 1,
        "1 2 0x10": 2,
        " ": "refused",
    }
    for text, want in cases.items():
        assert page.evaluate(read, text) == want, text
    sums = """async (text) => (await import("/web/throughput.js")).total(text)"""
    metrics = (
        "# HELP thresher_queries_total x",
        'thresher_queries_total{a="}",b="c d"} 3',
        'thresher_queries_total{a=""} 1e2',
        "thresher_pulls_total 5",
    )
    assert page.evaluate(sums, "\n".join(metrics)) == {"queries": 103, "pulls": 5, "dense": 0}
    quoted = """async (s) => (await import("/web/element.js")).quoted(s)"""
    assert page.evaluate(quoted, "a b") == "“a b”"
    for text in ("\u05d0", "\u202elive"):  # which would turn the sentence around
        assert page.evaluate(quoted, text) == f"“\u2068{text}\u2069”"
    span = """async (s) => (await import("/web/number.js")).span(s)"""
    spans = {0.00084: "0.84 ms", 1.5: "1.5 s", 59.7: "1 min 0 s", 3599.6: "1 h 0 min", 7322: "2 h 2 min"}
    for seconds, text in spans.items():
        assert page.evaluate(span, seconds) == text


def test_the_page_leaves_no_globals(tab: Tab, server: Server) -> None:
    names = "Object.getOwnPropertyNames(window)"
    tab.page.goto(server.url + "/healthz")
    bare = set(tab.page.evaluate(names))
    assert set(tab.open(server).evaluate(names)) - bare == set()
