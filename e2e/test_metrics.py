"""Prometheus' own linter and parsers accept the metrics."""

from __future__ import annotations

import os
import subprocess
import urllib.request

import environment
from server import ANSWER, Server

NAMES = (
    "thresher_search_seconds",
    "thresher_queries_total",
    "thresher_pulls_total",
    "thresher_dense_pulls_total",
    "thresher_round_survivor_ratio",
    "thresher_rescored_rows_total",
    "thresher_batch_size",
    "thresher_queue_seconds",
    "thresher_turn_seconds",
    "thresher_rejected_total",
    "thresher_partial_answers_total",
    "thresher_jobs",
    "thresher_tournaments",
    "thresher_duels_handed_out_total",
    "thresher_duel_results_total",
    "thresher_slate_seconds",
    "thresher_slates_total",
    "thresher_slate_evaluations_total",
    "thresher_slate_observations_total",
    "thresher_slate_rewards_total",
    "thresher_memory_limit_bytes",
    "thresher_memory_used_bytes",
    "thresher_slate_memory_bytes",
    "thresher_collection_bytes",
    "thresher_backend_info",
    "thresher_build_info",
    "thresher_collections",
    "thresher_collection_state",
    "thresher_http_requests_total",
    "thresher_http_request_seconds",
    "thresher_http_request_bytes_total",
    "thresher_http_response_bytes_total",
    "thresher_http_requests_in_flight",
    "thresher_unauthenticated_resets_total",
    "thresher_connection_errors_total",
    "thresher_expired_total",
    "thresher_requests_waiting",
    "go_goroutines",
    "process_cpu_seconds_total",
)


def scrape(server: Server) -> str:
    with urllib.request.urlopen(server.url + "/metrics", timeout=ANSWER) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text: str = answer.read().decode()
        return text


def value(text: str, name: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{"))


def test_every_metric_is_there_and_counts(server: Server, demo: dict) -> None:
    before = scrape(server)
    search = f"/v1/collections/{demo['name']}/search"
    server.ask(search, {"queries": [[1.0] * demo["dim"]] * 3, "k": 2})
    after = scrape(server)
    assert value(after, "thresher_queries_total") == value(before, "thresher_queries_total") + 3
    dense = value(after, "thresher_dense_pulls_total") - value(before, "thresher_dense_pulls_total")
    assert dense == 3 * demo["count"] * demo["dim"]
    assert value(after, "thresher_pulls_total") > value(before, "thresher_pulls_total")
    missing = [n for n in NAMES if f"# TYPE {n} " not in after]
    # A counter is not written before its first labels occur.
    unseen = {n for n in missing if n.startswith("thresher_slate")} - {"thresher_slate_memory_bytes"}
    assert not set(missing) - unseen - {"thresher_rejected_total", "thresher_duel_results_total"}, missing


def test_the_build_is_named(server: Server) -> None:
    build = server.ask("/v1/version")["version"]
    assert build["version"] not in ("", "devel", "(devel)", "unknown")
    assert f'revision="{environment.revision().removesuffix("+dirty")}"' in scrape(server)


def test_the_linter_finds_nothing(server: Server) -> None:
    done = subprocess.run([os.environ["E2E_PROMLINT"]], input=scrape(server), capture_output=True, text=True)
    # The names of Go's own collectors are not ours.
    faults = [line for line in done.stdout.splitlines() if line.startswith("thresher_")]
    assert not faults and done.returncode in (0, 1), done.stdout + done.stderr
