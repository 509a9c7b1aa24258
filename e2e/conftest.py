"""What the tests share: a server with the demo collection, a browser and its tabs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from server import BUILD, Server
from tabs import PATIENCE, Tab


@pytest.fixture(scope="session", autouse=True)
def no_old_logs() -> None:
    for log in BUILD.glob("*.log"):
        log.unlink()


@pytest.fixture(scope="session")
def server(no_old_logs: None) -> Iterator[Server]:
    s = Server("demo", "--demo")
    yield s
    s.stop()


@pytest.fixture(scope="session")
def demo(server: Server) -> dict:
    """The demo's collection as the API describes it."""
    return server.ask("/v1/collections")["data"][0]


expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as p:
        # The sandbox needs rights that containers deny to root.
        b = p.chromium.launch(executable_path=os.environ["E2E_CHROMIUM"], args=["--no-sandbox"])
        yield b
        b.close()


@pytest.fixture
def tab(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Tab]:
    t = Tab(browser, *getattr(request, "param", ()))
    yield t
    t.page.close()
    assert not t.complaints
