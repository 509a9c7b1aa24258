"""What answers are for, as files of answers state it: which queries, k, limits and vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Coverage", "Queries", "Shard", "joined", "limits_digest", "sampled"]

Coverage = dict[str, Any]
"""The members of ``covers``, which docs/guarantee.md, "Merged answers", tells of."""

_KEPT = 1 << 12  # values of queries that are copied, and hashed only if somebody asks
_BLOCK = 1 << 18  # values that are hashed at a time

# How failure probabilities combine, from best to worst: nothing fails, the greatest, the sum, nothing follows.
_CHANCES = ("none", "shared", "added", "unfounded")
_CHANCES_OF = {
    "exact": "none",
    "certain": "none",
    "auto": "shared",
    "adaptive": "shared",
    "strict": "shared",
    "prefix-f32": "shared",
    "banditmips": "added",
    "banditmips-beta": "added",
    "bucket-ae": "added",
}


class Shard:
    """The vectors of a set, which are described when somebody asks.

    Parameters
    ----------
    n : int
        How many vectors there are.
    rows : array (s, d)
        Those that `sampled` names, which are kept until they are hashed; None if the digest is known.
    origin : array (d,), optional
        What is added to them in float64.
    ids : array (s,), optional
        Their ids.
    digest : str, optional
        What the worker says, where it alone has the vectors.
    """

    def __init__(
        self,
        n: int,
        rows: npt.NDArray[np.float32] | None,
        origin: npt.NDArray[np.float64] | None = None,
        ids: npt.NDArray[Any] | None = None,
        digest: str = "",
    ) -> None:
        self._rows, self._digest = n, digest
        self._sample = None if rows is None else (rows, origin, ids)

    def stated(self, kept: bytes | None = None) -> dict[str, Any]:
        """Return the ``digest`` and the number of ``rows``, of those vectors whose bits are set in kept."""
        if (sample := self._sample) is not None:
            self._digest = _digest_of_shard(self._rows, *sample)
            self._sample = None
        if kept is None:
            return {"digest": self._digest, "rows": self._rows}
        left = int(np.unpackbits(np.frombuffer(kept, np.uint8)).sum(dtype=np.int64))
        if left == self._rows:
            return {"digest": self._digest, "rows": self._rows}
        return {"digest": hashlib.sha256(self._digest.encode() + kept).hexdigest()[:32], "rows": left}


def _digest_of_shard(n: int, rows: Any, origin: Any, ids: Any) -> str:
    """Return the digest that ``tasks.ShardOf`` of the worker makes."""
    found = hashlib.sha256(n.to_bytes(8, "little") + rows.shape[1].to_bytes(8, "little"))
    for i, row in enumerate(rows):
        values = row.astype("<f8")
        if origin is not None:
            values += origin
        found.update(values + 0)  # no -0
        if ids is not None:
            text = str(ids[i]).encode()
            found.update(len(text).to_bytes(4, "little") + text)
    return found.hexdigest()[:32]


class Queries:
    """The queries of a search, as they were given, what they ask for, and of which vectors.

    The digest of few queries is made when it is wanted, from a copy; that of others at once, since the caller may
    change them. kept has a bit for each vector that a filter keeps. least and greatest are the limits of scores.
    """

    def __init__(
        self,
        rows: npt.NDArray[Any],
        said: Coverage,
        shard: Shard,
        kept: bytes | None = None,
        least: npt.NDArray[np.float64] | None = None,
        greatest: npt.NDArray[np.float64] | None = None,
    ) -> None:
        self._rows: npt.NDArray[Any] | None = rows.copy() if rows.size <= _KEPT else None
        self._digest = "" if rows.size <= _KEPT else digest(rows)
        self._said, self._shard, self._kept = said, shard, kept
        self._limits = tuple(None if c is None else c.copy() for c in (least, greatest))

    def stated(self) -> Coverage:
        """Return what the answers cover."""
        if (rows := self._rows) is not None:
            self._digest, self._rows = digest(rows), None
        said = dict(self._said)
        if limited := limits_digest(*self._limits):
            said["limits"] = limited
        return {"queries": self._digest, **said, "shards": [self._shard.stated(self._kept)]}


def digest(rows: npt.NDArray[Any]) -> str:
    """Return the digest of queries (m, d): of their values in order, whatever their type.

    A row that float32 holds enters as float32 after a byte 4, another one as float64 after a byte 8, both little
    endian and without -0. It is ``tasks.QueryDigest`` of the worker.
    """
    found = hashlib.sha256(rows.shape[1].to_bytes(8, "little"))
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        narrow = np.add(block, 0, dtype=np.float32, casting="unsafe")  # no -0
        if block.dtype.kind in "fiu" and block.dtype.itemsize > 2 and block.dtype != np.float32:
            wide = np.add(block, 0, dtype=np.float64, casting="unsafe")
            if (long := (wide != narrow).any(axis=1)).any():
                for row, is_wide in enumerate(long.tolist()):
                    found.update(_bytes(8, wide[row : row + 1]) if is_wide else _bytes(4, narrow[row : row + 1]))
                continue
        found.update(_bytes(4, narrow))
    return found.hexdigest()


def _bytes(width: int, rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return rows of floats of that many bytes, each after a byte that says so."""
    values = np.ascontiguousarray(rows, f"<f{width}").view(np.uint8)
    out = np.empty((len(rows), 1 + values.shape[1]), np.uint8)
    out[:, 0] = width
    out[:, 1:] = values
    return out.reshape(-1)


def limits_digest(least: npt.NDArray[np.float64] | None, greatest: npt.NDArray[np.float64] | None) -> str:
    """Return the digest of the least and the greatest scores of all queries, "" without any.

    It is that of ``tasks.LimitsDigest``, and where queries have limits of their own that of the service's goals.
    """
    columns = [None if c is None or np.isnan(c).all() else c for c in (least, greatest)]
    if all(c is None for c in columns):
        return ""
    if all(c is None or (c == c[0]).all() for c in columns):
        both, own = [None if c is None else float(c[0]) for c in columns], ""
    else:
        both = [None, None]
        own = "".join(
            f"{j}:" + ",".join("" if x is None or np.isnan(x) else _double(x) for x in pair) + ",\n"
            for j, pair in enumerate(
                zip(*([None] * _length(columns) if c is None else c.tolist() for c in columns), strict=True)
            )
            if any(x is not None and not np.isnan(x) for x in pair)
        )
    texts = json.dumps(["", "", own, "", ""], separators=(",", ":"))
    numbers = ",".join("null" if x is None else _json(x) for x in both)
    return hashlib.sha256(f"[{numbers},{texts[1:]}".encode()).hexdigest()[:32]


def _length(columns: Sequence[npt.NDArray[np.float64] | None]) -> int:
    return max(len(c) for c in columns if c is not None)


def _double(x: float) -> str:
    """Return a number as the service writes float64."""
    if x != 0 and (abs(x) < 1e-6 or abs(x) >= 2.0**53):
        return np.format_float_scientific(x, trim="-", exp_digits=2)
    return np.format_float_positional(x, trim="-")


def _json(x: float) -> str:
    """Return a number as encoding/json of Go writes it."""
    if x != 0 and (abs(x) < 1e-6 or abs(x) >= 1e21):
        return np.format_float_scientific(x, trim="-", exp_digits=2).replace("e-0", "e-")
    return np.format_float_positional(x, trim="-")


def sampled(n: int) -> npt.NDArray[np.int64]:
    """Return which of n rows the digest of their vectors is made of, as ``tasks.ShardSample`` says."""
    some = min(n, 256)
    return np.arange(some, dtype=np.int64) * (n - 1) // max(1, some - 1)


def joined(stated: Sequence[Coverage], names: Sequence[str], k: int) -> Coverage:
    """Return what merged answers cover, of k vectors each.

    Raises
    ------
    ValueError
        If those that are merged are for other queries, k, metric or limits, or over the same vectors.
    """
    all_ = {**stated[0], "shards": []}
    owners: dict[str, str] = {}
    for c, name in zip(stated, names, strict=True):
        _check_same(all_, c, names[0], name)
        chances = {_chances(all_["method"]), _chances(c["method"])}
        if chances == {"shared", "added"}:
            raise ValueError(
                f"results: what methods {all_['method']} of {names[0]} and {c['method']} of {name} allow to fail "
                "does not combine"
            )
        all_["method"] = max(all_["method"], c["method"], key=lambda m: (_CHANCES.index(_chances(m)), m))
        for shard in c["shards"]:
            if shard["rows"] and shard["digest"] in owners:
                raise ValueError(
                    f"results: the sets overlap: {owners[shard['digest']]} and {name} have answers over the same "
                    f"{shard['rows']} vectors (digest {shard['digest']})"
                )
            owners[shard["digest"]] = name
            all_["shards"].append(shard)
    if all_.get("own_k"):
        raise ValueError(
            f"results: the queries of {names[0]} have a k of their own, which merged answers could not be cut to"
        )
    all_["shards"].sort(key=lambda shard: shard["digest"])
    return {**all_, "k": k}


def _check_same(first: Coverage, other: Coverage, name: str, other_name: str) -> None:
    for what, key in (
        ("number of queries", "count"),
        ("digest of the queries", "queries"),
        ("metric", "metric"),
        ("k", "k"),
    ):
        a, b = first[key], other[key]
        if a != b:
            raise ValueError(f"results: {what} differs, {a} of {name} and {b} of {other_name}")
    if bool(first.get("own_k")) != bool(other.get("own_k")):
        raise ValueError(f"results: k differs, since queries of one of {name} and {other_name} have their own")
    if first.get("limits", "") != other.get("limits", "") or first.get("reaching", False) != other.get(
        "reaching", False
    ):
        raise ValueError(f"results: least or greatest scores of {name} and {other_name} differ")


def _chances(method: str) -> str:
    return _CHANCES_OF.get(method, "unfounded")
