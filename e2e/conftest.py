"""The server shared by the tests, with the demo collection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server import BUILD, Server


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
