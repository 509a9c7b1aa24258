"""Bodies that schemathesis cannot generate, and how to parse them.

schemathesis loads this file by name (SCHEMATHESIS_HOOKS)."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import schemathesis
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

# of the collection that these requests name
DIMENSION = 16


def npy(rows: int, dimension: int) -> bytes:
    out = io.BytesIO()
    np.save(out, np.linspace(-1, 1, rows * dimension, dtype=np.float32).reshape(rows, dimension))
    return out.getvalue()


NPY = st.builds(npy, st.integers(0, 9), st.integers(DIMENSION, DIMENSION + 1))
schemathesis.openapi.media_type("application/x-npy", st.one_of(NPY, st.binary(max_size=200)))
schemathesis.openapi.media_type("application/octet-stream", st.binary(max_size=300))
for name in ("x-npz", "x-safetensors", "vnd.apache.parquet", "vnd.apache.arrow.stream", "vnd.apache.arrow.file"):
    schemathesis.openapi.media_type(f"application/{name}", st.binary(max_size=300))

VECTOR = st.lists(st.floats(-9, 9).map(repr), min_size=DIMENSION, max_size=DIMENSION).map(", ".join)
ROW = st.builds("{},{}".format, st.integers(0, 1000), VECTOR)
ROWS = st.lists(st.one_of(ROW, ROW, ROW, st.text(max_size=20)), max_size=9).map("\n".join)
schemathesis.openapi.media_type("text/csv", ROWS.map(str.encode))
LINE = st.builds('{{"id": {}, "vector": [{}]}}'.format, st.integers(0, 1000), VECTOR)
LINES = st.lists(st.one_of(LINE, LINE, LINE, st.text(max_size=20)), max_size=9).map("\n".join)
schemathesis.openapi.media_type("application/x-ndjson", LINES.map(str.encode))


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    for options in (case.body, case.query):
        if isinstance(options, dict):
            in_time(options)
            if isinstance(options.get("parameters"), dict):
                in_time(options["parameters"])
    if case.meta is not None and case.meta.generation.mode.is_positive:
        settle(case)


def in_time(options: dict[str, Any]) -> None:
    """A very short deadline correctly gives a 504: make valid ones long enough."""
    for name in ("deadline_ms", "timeout_ms"):
        try:
            deadline = float(options[name])
        except (KeyError, TypeError, ValueError):
            continue
        if LEAST_DEADLINE <= deadline < 600_000:
            options[name] = 600_000


LEAST_DEADLINE = 0.001
# former names, which are refused beside the present ones
FORMER = {"timeout_ms": "deadline_ms", "allow": "filter", "deny": "exclude", "replace": "overwrite"}
# limits of l2, a metric that the collection does not have
DISTANCES = ("max_distance", "min_distance")
# allowed as parameters even if the body is JSON
BESIDE_JSON = {"wait", "lenient"}


def settle(case: Any) -> None:
    """Makes a request allowed by its schema also satisfy the conditions between its parts that
    OpenAPI cannot express and that its descriptions state."""
    if case.media_type == "application/json":
        for name in set(case.query or ()) - BESIDE_JSON:
            del case.query[name]
        (case.headers or {}).pop("Inference-Header-Content-Length", None)
    present(case.query or {})
    if case.method == "GET" and case.path.endswith("/rows"):
        paged(case.query or {})
    body = case.body
    if not isinstance(body, dict):
        return
    if isinstance(body.get("source"), dict):
        if "vectors" in body["source"]:
            listed(body)
            if case.method == "PUT" and case.path.endswith("/rows"):  # which are written under ids
                body["source"]["ids"] = list(range(len(body["source"]["vectors"])))
        else:
            body["source"].pop("ids", None)
            body["source"].pop("columns", None)
    if "arms" in body:  # which must look different
        body["arms"] = [f"{i} {name}"[:256] for i, name in enumerate(body["arms"])]
    if {"arms", "horizon"} <= body.keys():
        body["horizon"] = max(body["horizon"], len(body["arms"]))
    if "texts" in body:  # the collection was not made from texts
        del body["texts"]
        body["queries"] = [[0.5] * DIMENSION]
    if "source" in body and "id_kind" in body:
        body.pop("ids" if body["id_kind"] == "row" else "id_kind", None)
    if "queries" in body:
        body["queries"] = [[max(-9, min(9, row[0]))] * DIMENSION for row in body["queries"]]
    for options in (body, body.get("parameters") or {}, body.get("search") or {}):
        present(options)
        if options.get("method") not in (None, "auto", "exact", "certain", "adaptive"):
            options["method"] = "auto"  # other methods need special collections
        options.pop("plan", None)  # so do plans
        options.pop("published", None)  # options of those other methods
        for name in {"filter", "allow", "exclude", "deny"} & options.keys():
            options[name] = whole(options[name])
            if isinstance(options[name], str | dict):
                options[name] = [0]  # the collection has no columns for expressions
        if "min_score" in options:  # which may be greater
            options.pop("max_score", None)
    if isinstance(body.get("answers"), list):
        stated(body)
    if isinstance(body.get("goals"), list):
        body["goals"] = goals(body["goals"], len(body.get("queries", ())), body)
    for item in body.get("items", ()):
        item.pop("costs", None)  # all must have the same number
    if "users" in body:  # they depend on the settings
        body.pop("budgets", None)
        body.pop("group_limits", None)
    if "inputs" in body:
        body.get("parameters", {}).pop("timeout", None)
        body["inputs"] = tensors(body["inputs"], body.get("parameters", {}))
    if "outputs" in body:
        body["outputs"] = outputs(body["outputs"])


def present(options: dict[str, Any]) -> None:
    """One name of each option, and none of distances."""
    for former, name in FORMER.items():
        if name in options:
            options.pop(former, None)
    for name in DISTANCES:
        options.pop(name, None)
    if isinstance(options.get("goals"), dict):
        for name in DISTANCES:
            options["goals"].pop(f"{name}_column", None)


def paged(query: dict[str, Any]) -> None:
    """Rows of a page or of given ids, which are integers in the collection."""
    if "after" in query:
        query["after"] = "3"
    if "id" in query:
        for name in ("after", "limit", "prefix"):
            query.pop(name, None)
    else:
        query.pop("vectors", None)


def listed(body: dict[str, Any]) -> None:
    """Vectors of one length, all with ids or none; no column chosen."""
    source = body["source"]
    source["vectors"] = [[max(-9, min(9, row[0]))] * DIMENSION for row in source["vectors"]]
    for name in ("column", "columns", "header", "ids", "id_kind", "metric"):
        body.pop(name, None)
    source.pop("columns", None)  # of which each has a value for each vector, of one type
    if source.get("ids"):
        text = isinstance(source["ids"][0], str)
        source["ids"] = [f"id {i}" if text else i for i in range(len(source["vectors"]))]
    else:
        source.pop("ids", None)


def whole(ids: Any) -> Any:
    """Ids without a point, which a schema counts as integers, and no mask, whose length is the collection's."""
    if not isinstance(ids, list):
        return ids
    if any(isinstance(i, bool) for i in ids):
        return []
    return [int(i) if isinstance(i, float) else i for i in ids]


def stated(body: dict[str, Any]) -> None:
    """An answer to each query, one of them not empty, without scores, which say what they are."""
    body.pop("k", None)
    if "queries" not in body:  # they are in a file
        body["answers"] = [whole(a) for a in body["answers"] if isinstance(a, list)] + [[3, 4]]
        return
    ids = [a["ids"] if isinstance(a, dict) else a for a in body["answers"]] + [[3]] * len(body["queries"])
    body["answers"] = [whole(a) for a in ids[: len(body["queries"]) - 1]] + [[3, 4]]


def goals(given: list[dict[str, Any]], count: int, options: dict[str, Any]) -> list[dict[str, Any]]:
    """As many goals as queries, without a greatest score that may be below the least."""
    options.pop("max_score", None)
    given = [{k: whole(v) for k, v in g.items() if k not in ("max_score", *DISTANCES)} for g in given]
    for g in given:
        if isinstance(g.get("filter"), str | dict):
            g["filter"] = [0]  # the collection has no columns for expressions
    return (given + [{}] * count)[:count]


def tensors(inputs: list[dict[str, Any]], parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Each input once, unless it is a parameter too; with queries, and as many values as its shape."""
    once = {t["name"]: t for t in inputs if t["name"] not in parameters}
    queries = once.setdefault("queries", {"name": "queries", "datatype": "FP32"})
    queries.pop("parameters", None)
    rows = max(1, min(int(queries.get("shape", [1])[0]), 9))
    queries |= {"shape": [rows, DIMENSION], "data": [0.5] * rows * DIMENSION}
    if "goals" in parameters:
        parameters["goals"] = goals(parameters["goals"], rows, parameters)
    each = {"ks": 2, "floors": 0, "ceilings": 1, "exclude": 3, "candidates": 4}
    for name in each.keys() & once.keys():
        if "goals" in parameters:
            del once[name]
            continue
        parameters.pop("min_score", None)
        parameters.pop("max_score", None)
        once[name].pop("parameters", None)
        lists = name in ("exclude", "candidates")
        once[name] |= {"shape": [rows, 1] if lists else [rows], "data": [each[name]] * rows}
        if lists:
            once[name]["datatype"] = "INT64"
    return [*once.values()]


def outputs(wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each output once, without text ids."""
    return [*{o["name"]: o for o in wanted if o["name"] != "names"}.values()]


# Kinds of problems about the server's contents or configuration.
ITS_OWN = {f"/problems/{kind}" for kind in ("wrong-dimension", "unknown-id", "over-limit", "idempotency-key-reused")}


@schemathesis.check
def described_is_taken(ctx: Any, response: Any, case: Any) -> None:
    """positive_data_acceptance, except for what no description can express: the server's
    contents, and whether bytes that are not JSON are valid in their format."""
    if response.status_code == 416:
        return  # there is no such part
    if response.status_code in (400, 422):
        problem = response.json()
        if problem["type"] in ITS_OWN:
            return
        if "no metric is given" in problem.get("detail", ""):
            return  # whether the source or an existing collection has one
        if case.media_type not in (None, "application/json", "multipart/form-data"):
            return
        if problem["type"] == "/problems/malformed-body" and isinstance(case.body, dict) and "source" in case.body:
            return  # depends on the named file
        if "more than 2^53" in problem.get("detail", "") or problem.get("field") in ("horizon", "top"):
            return  # gamma, epsilon and delta limit duels together; arms limit the horizon and the top
    positive_data_acceptance(ctx, response, case)


@schemathesis.check
def undescribed_is_refused(ctx: Any, response: Any, case: Any) -> None:
    """negative_data_rejection, except for null in place of an optional member, which some
    operations accept, and for parameters without a value: a bare flag is true."""
    if isinstance(case.body, dict) and None in case.body.values():
        return
    if isinstance(case.query, dict) and "" in case.query.values():
        return
    negative_data_rejection(ctx, response, case)


@schemathesis.deserializer("application/x-npy", "application/x-npz", "application/octet-stream", "multipart/byteranges")
def opaque(_context: Any, response: Any) -> Any:
    return response.content.decode("latin-1")
