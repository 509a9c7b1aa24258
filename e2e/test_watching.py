"""The alert rules and the dashboard use only metrics that the server has."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from environment import ROOT
from server import BUILD, Server
from test_metrics import scrape

DEPLOY = ROOT / "deploy"
RULES, DASHBOARD = DEPLOY / "prometheus" / "alerts.yaml", DEPLOY / "grafana" / "dashboard.json"


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The metrics of a server that has done everything once; counters without a count are not
    written."""
    server = Server("watched", "--backup-folder", str(tmp_path_factory.mktemp("backups")))
    try:
        rows = "".join(f'{{"id":{i},"vector":[{i / 8},0.5,{1 - i / 8}]}}\n' for i in range(8)).encode()
        server.send("/v1/collections/topics?metric=ip&ids=id&wait=true", rows, "application/x-ndjson", "PUT")
        server.ask("/v1/collections/topics/search", {"queries": [[1, 0, 1]], "k": 2})
        with pytest.raises(urllib.error.HTTPError):
            server.ask("/v1/collections/none")
        slate = server.ask("/v1/collections/topics/slates/recommend", {"users": ["ann"], "k": 2})["slates"][0]
        server.ask("/v1/collections/topics/slates/feedback", {"slate_id": slate["slate_id"], "rewards": [1]})
        made = server.ask("/v1/tournaments", {"arms": ["a", "b"], "mode": "online", "horizon": 100})["id"]
        duel = server.ask(f"/v1/tournaments/{made}/next", {"count": 1})["duels"][0]["duel_id"]
        server.ask(f"/v1/tournaments/{made}/report", [{"duel_id": duel, "a_won": True}])
        path = BUILD / "watched.metrics"
        path.write_text(scrape(server))
        yield path
    finally:
        server.stop()


def test_series_of_alerts_begin_at_zero(metrics: Path) -> None:
    """Prometheus sees no increase in a series that appears with its first event."""
    text = metrics.read_text()
    for series in (
        'thresher_rejected_total{reason="internal"}',
        'thresher_rejected_total{reason="disk-full"}',
        'thresher_rejected_total{reason="memory-budget"}',
        'thresher_wrong_tokens_total{outcome="refused"}',
        'thresher_wrong_tokens_total{outcome="unchecked"}',
        'thresher_backups_total{outcome="failed"}',
        'thresher_backups_total{outcome="damaged"}',
        "thresher_newest_backup_timestamp_seconds",
    ):
        assert f"{series} 0\n" in text


def lint(metrics: Path, *files: Path) -> tuple[int, str]:
    done = subprocess.run([os.environ["E2E_PROMLINT"], metrics, *files], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_rules_and_dashboard_ask_for_what_there_is(metrics: Path) -> None:
    code, said = lint(metrics, RULES, DASHBOARD)
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (RULES, "thresher_search_seconds_bucket", "thresher_search_second_bucket", "there is no metric"),
        (RULES, 'reason="internal"', 'cause="internal"', "has no label"),
        (RULES, "[5m])) > 0", "[5m]) > 0", "could not parse"),
        (RULES, "for: 1m", "for: soon", "not a valid duration"),
        (RULES, "labels: {severity: critical}", "labels: {}", "no label severity"),
        (DASHBOARD, "thresher_queue_seconds_bucket", "thresher_queue_bucket", "there is no metric"),
        (DASHBOARD, '"x": 4,', '"x": 3,', "it lies on"),
    ],
)
def test_the_lint_finds_faults(metrics: Path, tmp_path: Path, file: Path, old: str, new: str, says: str) -> None:
    text = file.read_text()
    assert old in text
    wrong = tmp_path / file.name
    wrong.write_text(text.replace(old, new, 1))
    code, said = lint(metrics, wrong)
    assert code == 1 and says in said


def test_the_dashboard_is_what_grafana_saves() -> None:
    board = json.loads(DASHBOARD.read_text())
    sources = {p["datasource"]["uid"] for p in board["panels"] if p["type"] != "row"}
    assert sources == {"${datasource}"}  # the reader's choice
    source = board["templating"]["list"][0]
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
