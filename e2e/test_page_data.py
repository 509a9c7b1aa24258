"""The page at a first visit, and with files: what is dropped on it, and the collections that it makes and deletes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from server import Server
from tabs import NARROW, WIDE, Tab, settle

pytestmark = pytest.mark.skipif(not os.environ["E2E_CHROMIUM"], reason="E2E_BROWSER=0")

FILMS = "id,title,x,y\na,Alien,1,0\nb,Heat,0,1\nc,https://films.example/still.png,.5,.5\n"


def drop(page: Page, *files: Path) -> None:
    page.locator("#upload").set_input_files([str(f) for f in files])
    expect(page.get_by_role("dialog", name="What are these?")).to_be_visible()


def make(page: Page, name: str, metric: str = "ip") -> None:
    page.locator("#intake-name").fill(name)
    page.locator("#intake-metric").select_option(metric)
    page.get_by_role("button", name="Go", exact=True).click()


def delete(page: Page, name: str) -> None:
    page.locator(".collection", has_text=name).click()
    page.get_by_role("button", name=f"Delete {name} …").click()
    sure = page.get_by_role("button", name="Delete it")
    expect(sure).to_be_disabled()
    page.locator("#delete-name").fill(name[:-1])
    expect(sure).to_be_disabled()
    page.locator("#delete-name").fill(name)
    sure.click()
    expect(page.locator(".collection", has_text=name)).to_have_count(0)


def test_a_first_visit_sees_an_answer(tab: Tab, server: Server, demo: dict) -> None:
    page = tab.open(server)
    expect(page.locator("#query")).to_have_value("decode JSON from a stream")
    expect(page.locator("#rows .id").first).to_have_text("encoding/json.Decoder")
    expect(page.locator("#rows .columns").first).to_contain_text("comment A Decoder reads and decodes JSON values")
    assert page.locator("#method option").all_inner_texts() == demo["methods"]


def test_ids_are_completed(tab: Tab, server: Server) -> None:
    page = tab.open(server)
    expect(page.locator("#rows .columns .name").first).to_be_visible()
    page.locator("#query").fill("")
    page.locator("#query").press_sequentially("bufio.Scanner.")
    ids = page.locator("#ids button")
    wanted = [row["id"] for row in server.ask("/v1/collections/demo/rows?prefix=bufio.Scanner.&limit=8")["data"]]
    expect(ids).to_have_text(wanted)
    page.keyboard.press("ArrowDown")
    expect(ids.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#ids")).to_be_hidden()
    page.locator("#query").press_sequentially("B")
    ids.first.click()
    expect(page.locator("#query")).to_have_value("bufio.Scanner.Buffer")
    expect(page.locator("#rows .id").first).not_to_have_text("encoding/json.Decoder")


@pytest.mark.parametrize("tab", [(WIDE, "light"), (NARROW, "dark")], indirect=True, ids=["light", "narrow dark"])
def test_a_server_without_collections_says_how(tab: Tab, tmp_path: Path) -> None:
    server = Server("empty")
    try:
        page = tab.page
        page.goto(server.url)
        expect(page.locator("#invitation")).to_contain_text("There is no collection yet")
        expect(page.locator("#found")).to_be_hidden()
        settle(page)
        faults = Axe().run(page)
        assert faults.violations_count == 0, faults.generate_report()
        (tmp_path / "films.csv").write_text(FILMS)
        drop(page, tmp_path / "films.csv")
        page.get_by_role("button", name="Go", exact=True).click()
        expect(page.locator("#intake-problem")).to_contain_text("Choose how rows are compared")
        faults = Axe().run(page)
        assert faults.violations_count == 0, faults.generate_report()
        make(page, "films")
        expect(page.locator("#summary")).to_contain_text("2 rows of films")
        expect(page.locator("#data-news")).to_contain_text("films has 3 rows of 2 numbers from x, y.")
        expect(page.locator("#rows .columns", has_text="(image, not loaded)")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
        delete(page, "films")
        expect(page.locator("#invitation")).to_contain_text("There is no collection yet")
        assert server.ask("/v1/files")["data"] == []
    finally:
        server.stop()


def test_answers_are_measured_and_proven(tab: Tab, server: Server, tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    vectors, queries = draw.standard_normal((500, 32), "f4"), draw.standard_normal((20, 32), "f4")
    found = np.argsort(-(queries @ vectors.T), axis=1)[:, :5].astype("i8")
    found[3, 2] = np.argmin(vectors @ queries[3])
    for name, rows in {"vectors": vectors, "queries": queries, "found": found}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    page = tab.open(server)
    drop(page, tmp_path / "vectors.npy")
    expect(page.locator("[name=use]:checked")).to_have_value("collection")
    make(page, "drawn")
    expect(page.locator("#summary")).to_contain_text("of drawn")
    for verb, says in {"recall": "Recall 99%", "certify": "19 of 20 lacked nothing"}.items():
        drop(page, tmp_path / "found.npy", tmp_path / "queries.npy")
        expect(page.locator("[name=use]:checked")).to_have_value("recall")
        page.locator(f"[name=use][value={verb}]").check()
        page.get_by_role("button", name="Go", exact=True).click()
        expect(page.locator("#intake-outcome")).to_contain_text(says)
        page.get_by_role("button", name="Close").click()
    delete(page, "drawn")


def test_ids_of_64_bits_stay_exact(tab: Tab, server: Server, tmp_path: Path) -> None:
    ids = [2**62 + 1, 2**62 + 3]
    body = json.dumps({"source": {"vectors": [[1, 0], [0, 1]], "ids": ids}}).encode()
    server.send("/v1/collections/wide?wait=true&metric=ip", body, "application/json", "PUT")
    np.save(tmp_path / "queries.npy", np.float32([[1, 0.5]]))
    np.save(tmp_path / "found.npy", np.array([ids[1:]]))
    try:
        page = tab.open(server)
        page.locator(".collection", has_text="wide").click()
        drop(page, tmp_path / "found.npy", tmp_path / "queries.npy")
        page.locator("[name=use][value=certify]").check()
        page.get_by_role("button", name="Go", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the proven answers").click()
        assert json.loads(download.value.path().read_text())[0]["ids"] == ids[:1]

        items = {"items": [{"id": i} for i in ids]}
        server.send("/v1/collections/wide/slates", json.dumps(items).encode(), "application/json", "PUT")
        page.goto(server.url + "/web/slates.html")
        page.locator("#collection").select_option("wide")
        expect(page.locator("#settings-text")).to_have_value(re.compile(f"{ids[0]}.*{ids[1]}", re.DOTALL))
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#settings-status")).to_contain_text("Saved.")
        assert [item["id"] for item in server.ask("/v1/collections/wide/slates")["items"]] == ids
    finally:
        server.send("/v1/collections/wide", method="DELETE")


def test_a_bad_file_leaves_nothing(tab: Tab, server: Server, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,x,y\na,1,0\nb,nope,1\n")
    page = tab.open(server)
    drop(page, tmp_path / "bad.csv")
    make(page, "bad")
    expect(page.locator("#intake-problem")).to_contain_text(re.compile(r"bad\.csv: .*nope"))
    expect(page.locator("#intake details")).to_have_attribute("open", "")  # a column can be named there
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".collection")).to_have_count(1)
    np.save(tmp_path / "nan.npy", np.float32([[1, 0], [0, np.nan]]))
    drop(page, tmp_path / "nan.npy")
    page.locator("#intake details").evaluate("e => e.open = false")
    page.locator("#intake-metric").select_option("ip")
    go = page.get_by_role("button", name="Go", exact=True)
    go.press("Enter")
    expect(page.locator("#intake-problem")).to_contain_text("nan.npy: row 1, column 1 (0-based): value is NaN")
    expect(page.locator("#intake details")).not_to_have_attribute("open", "")  # where nothing helps
    expect(go).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_what_the_server_refuses_is_said_and_can_be_tried_again(tab: Tab, server: Server, tmp_path: Path) -> None:
    refusal = {"type": "/problems/read-only", "title": "This server is read-only", "status": 403, "detail": "no change"}
    page = tab.open(server)
    tab.stub("v1/collections/demo", refusal, 403)
    page.get_by_role("button", name="Delete demo …").press("Enter")
    page.keyboard.type("demo")
    page.keyboard.press("Tab")
    sure = page.get_by_role("button", name="Delete it")
    expect(sure).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#delete-dialog")).to_contain_text("no change")
    expect(sure).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Delete demo …")).to_be_focused()
    tab.stub("v1/files", refusal, 403)
    (tmp_path / "films.csv").write_text(FILMS)
    drop(page, tmp_path / "films.csv")
    page.locator("#intake-metric").select_option("ip")
    page.get_by_role("button", name="Go", exact=True).press("Enter")
    expect(page.locator("#intake-problem")).to_contain_text("films.csv: no change")


def test_ids_that_no_path_can_end_in(tab: Tab, server: Server) -> None:
    body = json.dumps({"source": {"vectors": [[1, 0], [0.9, 0.1], [0, 1]], "ids": [".", "..", "c"]}}).encode()
    server.send("/v1/collections/dots?wait=true&metric=ip", body, "application/json", "PUT")
    try:
        page = tab.open(server)
        page.locator(".collection", has_text="dots").click()
        for text, found in ((".", ["..", "c"]), ("..", [".", "c"])):
            page.locator("#query").fill(text)
            page.get_by_role("button", name="Search", exact=True).click()
            expect(page.locator("#rows .id")).to_have_text(found)
    finally:
        server.send("/v1/collections/dots", method="DELETE")


@pytest.mark.parametrize("tab", [(320, "dark"), (390, "light"), (1280, "dark")], indirect=True, ids=str)
def test_several_files_are_told_apart(tab: Tab, server: Server, tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(FILMS)
    (tmp_path / "more.csv").write_text(FILMS.replace("Alien", "Ran"))
    (tmp_path / "asked.csv").write_text("0.0,1.0\n1,0\n")
    for name, of in (("found", "a"), ("unknown", "nobody")):
        lines = [{"query": 0, "ids": ["b"]}, {"query": 1, "ids": [of]}]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = tab.open(server)
    drop(page, tmp_path / "films.csv", tmp_path / "more.csv")  # two tables: one collection, of the one that is chosen
    expect(page.locator("#which-file")).to_contain_text("the others are left out")
    expect(page.locator("#intake-name")).to_have_value("films")
    page.locator("#intake-table").select_option(label="more.csv")
    expect(page.locator("#intake-name")).to_have_value("more")
    tab.shot(f"files-{page.viewport_size['width']}")
    faults = Axe().run(page)
    assert faults.violations_count == 0, faults.generate_report()
    make(page, "more")
    expect(page.locator("#data-news")).to_contain_text("more has 3 rows")
    expect(
        page.locator("#rows .columns", has_text="Ran").or_(page.locator("#rows .columns", has_text="Heat"))
    ).not_to_have_count(0)
    page.locator(".collection", has_text="more").click()
    # Answers before a table, whose name a collection gets.
    drop(page, tmp_path / "unknown.jsonl", tmp_path / "films.csv")
    expect(page.locator("[name=use]:checked")).to_have_value("recall")
    page.locator("[name=use][value=collection]").check()
    expect(page.locator("#intake-name")).to_have_value("films")
    page.get_by_role("button", name="Close").click()
    drop(page, tmp_path / "unknown.jsonl", tmp_path / "asked.csv")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#intake-problem")).to_contain_text(re.compile(r"asked\.csv: .*header=no makes it a row"))
    page.locator("#intake-header").select_option("no")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#intake-problem")).to_contain_text(re.compile(r"unknown\.jsonl: answer 1 .*nobody"))
    settle(page)
    tab.shot(f"unknown-{page.viewport_size['width']}")
    faults = Axe().run(page)
    assert faults.violations_count == 0, faults.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
    page.get_by_role("button", name="Close").click()
    drop(page, tmp_path / "found.jsonl", tmp_path / "asked.csv")
    expect(page.locator("#intake-header")).to_have_value("")
    page.locator("#intake-header").select_option("no")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#intake-outcome")).to_contain_text("Recall 100%")
    page.get_by_role("button", name="Close").click()
    delete(page, "more")


def test_slates_are_made_and_learned_from(tab: Tab, server: Server) -> None:
    vectors = [[0.9, 0.1], [0.1, 0.9], [0.8, 0.6]]
    films = {"vectors": vectors, "ids": ["alien", "heat", "ran"], "columns": {"title": ["Alien", "Heat", "Ran"]}}
    body = json.dumps({"source": films}).encode()
    server.send("/v1/collections/slated?wait=true&metric=cosine", body, "application/json", "PUT")
    try:
        page = tab.page
        page.goto(server.url + "/web/slates.html")
        page.locator("#collection").select_option("demo")
        page.get_by_role("button", name="Make a slate").click()
        expect(page.locator("#request-problem")).to_contain_text("256 at most")
        page.locator("#collection").select_option("slated")
        page.locator("#k").fill("2")
        page.get_by_role("button", name="Make a slate").click()
        expect(page.locator("#slate-rows li")).to_have_count(2)
        expect(page.locator("#slate-rows .columns").first).to_contain_text("title")
        page.locator("#seen").fill("3")
        page.get_by_role("button", name="Learn from this").click()
        expect(page.locator("#feedback-problem")).to_contain_text("From 1 to 2.")
        expect(page.locator("#seen")).to_have_attribute("aria-invalid", "true")
        page.locator("#seen").fill("2")
        page.locator("#slate-rows input").first.check()
        settle(page)
        faults = Axe().run(page)
        assert faults.violations_count == 0, faults.generate_report()
        page.get_by_role("button", name="Learn from this").click()
        expect(page.locator("#slate-status")).to_contain_text("2 rewards of me are known")
        expect(page.locator("#settings-status")).to_contain_text("1 user with a known taste")
        page.get_by_role("button", name="Forget").click()
        expect(page.locator("#settings-status")).to_contain_text("0 users")
        page.locator("#k").fill("1")
        page.get_by_role("button", name="Make a slate").click()
        expect(page.locator("#slate-status")).to_contain_text("1 row for me")
        settings = page.locator("#settings-text")
        text = settings.input_value()
        settings.fill("{nope")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#settings-problem")).to_contain_text("The settings are not JSON")
        expect(settings).to_have_attribute("aria-invalid", "true")
        settings.fill(text)
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#settings-status")).to_contain_text("Saved.")
        expect(settings).not_to_have_attribute("aria-invalid", "true")
    finally:
        server.send("/v1/collections/slated", method="DELETE")
