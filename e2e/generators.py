"""Bodies that schemathesis has no form for, and how to read them back.

schemathesis loads this file by its own name (SCHEMATHESIS_HOOKS).
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import schemathesis
from hypothesis import strategies as st

# what the collection of these requests has
DIMENSION = 1


def npy(rows: int, dimension: int) -> bytes:
    out = io.BytesIO()
    np.save(out, np.linspace(-1, 1, rows * dimension, dtype=np.float32).reshape(rows, dimension))
    return out.getvalue()


NPY = st.builds(npy, st.integers(0, 9), st.integers(DIMENSION, DIMENSION + 1))
schemathesis.openapi.media_type("application/x-npy", st.one_of(NPY, st.binary(max_size=200)))
schemathesis.openapi.media_type("application/octet-stream", st.binary(max_size=300))
for name in ("vnd.apache.parquet", "vnd.apache.arrow.stream", "vnd.apache.arrow.file"):
    schemathesis.openapi.media_type(f"application/{name}", st.binary(max_size=300))

LINE = st.builds('{{"id": {}, "vector": [{}]}}'.format, st.integers(0, 1000), st.floats(-9, 9).map(repr))
LINES = st.lists(st.one_of(LINE, LINE, LINE, st.text(max_size=20)), max_size=9).map("\n".join)
schemathesis.openapi.media_type("application/x-ndjson", LINES.map(str.encode))


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """A deadline of next to nothing rightly strikes with a 504: give valid ones time."""
    timeout = case.body.get("timeout_ms") if isinstance(case.body, dict) else None
    if isinstance(timeout, (int, float)) and 0 < timeout < 10_000:
        case.body["timeout_ms"] = 10_000


@schemathesis.deserializer("application/x-npy", "application/x-npz", "application/octet-stream", "multipart/byteranges")
def opaque(_context: Any, response: Any) -> Any:
    return response.content.decode("latin-1")
