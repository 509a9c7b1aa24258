"""Files at URLs, which fsspec fetches to a cache on this machine."""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thresher import _cached, _ids

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://")

# What file systems call what changes with the bytes of a file, in the order in which one is taken.
_VERSIONS = (
    "ETag",
    "etag",
    "md5Hash",
    "checksum",
    "version_id",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "Last-Modified",
    "created",
)

# The files that lie beside a prepared collection.
_BESIDE = (_ids.SUFFIX, ".columns")

# What reads a protocol, as pip calls it, where fsspec itself does not.
_PACKAGES = {
    "http": "aiohttp requests",
    "https": "aiohttp requests",
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "hdfs": "pyarrow",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
    "hf": "huggingface_hub",
    "oss": "ossfs",
    "github": "requests",
    "webhdfs": "requests",
}

_origins: dict[str, str] = {}  # the URLs that folders of the cache stand for, as errors show them


def is_url(path: Any) -> bool:
    """Whether a path is a URL."""
    return isinstance(path, str) and _SCHEME.match(path) is not None


def fetched(url: str) -> str:
    """Return the path here of the file at a URL, or of a folder with those that a folder or a pattern stands for."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(
            f"path: {_shown(url)} is read through fsspec, which is not installed: "
            "pip install fsspec, and what it needs for this URL, such as s3fs or gcsfs"
        ) from None
    protocol = url.split("://")[0].split("::")[-1].lower()
    try:
        system, root = url_to_fs(url)
    except ImportError as e:
        package = _PACKAGES.get(protocol)
        how = f"{protocol}:// needs a package that is not installed: pip install {package}" if package else str(e)
        raise ImportError(f"path: {_shown(url)}: {how}") from None
    except ValueError as e:
        if "rotocol not known" not in str(e):
            raise ValueError(f"path: {_shown(url)}: {e}") from None
        raise ValueError(
            f"path: {_shown(url)}: fsspec knows no protocol {protocol!r}: either it is misspelt, such as for s3, gs or "
            "https, or the package that brings it to fsspec is not installed"
        ) from None
    base, names = _found(system, root, url)
    infos = {name: system.info(name) for name in names}
    stated = {
        name: next((str(info[key]) for key in _VERSIONS if info.get(key) is not None), None)
        for name, info in infos.items()
    }
    key = repr((url, sorted((name, infos[name].get("size"), stated[name]) for name in names)))
    entry = os.path.join(_folder(), "python", hashlib.sha256(key.encode()).hexdigest()[:32])
    below = root[len(base) :]
    _origins[entry] = _shown(url[: -len(below)] if below and url.endswith(below) else url).rstrip("/")
    paths = []
    _cached.hold(entry)
    arrived = _cached.arrivals(entry)
    for name in names:
        path = os.path.join(entry, *_parts(name, base))
        paths.append(path)
        size, relative = infos[name].get("size"), os.path.relpath(path, entry)
        if (
            stated[name] is not None
            and os.path.exists(path)
            and size in (None, os.path.getsize(path))
            and not (relative in arrived and arrived[relative].is_damaged(path))
        ):
            continue
        _get(system, name, path, size, url)
        arrived[relative] = _cached.Arrived.at(path)
        _cached.note(entry, arrived)
    if limit := _cached.limit():
        _cached.evict(os.path.dirname(entry), limit)
    return paths[0] if len(names) == 1 or url.endswith(".thresher") else entry


def mended(paths: str) -> bool:
    """Whether files of the cache among these have other bytes than those that arrived. They are removed."""
    return any([_cached.remove_damaged(entry) for entry in list(_origins) if entry in paths])


@contextmanager
def errors_of_urls() -> Iterator[None]:
    """Give errors the URLs of files in place of their paths in the cache."""
    try:
        yield
    except (OSError, ValueError) as e:
        e.args = tuple(_in_urls(arg) for arg in e.args)
        if isinstance(e, OSError) and e.filename is not None:
            e.filename = _in_urls(e.filename)
        raise


def _in_urls(said: Any) -> Any:
    """Return a text with URLs in place of folders of the cache."""
    if isinstance(said, str):
        for entry, url in list(_origins.items()):
            said = said.replace(entry, url)
    return said


def _found(system: Any, root: str, url: str) -> tuple[str, list[str]]:
    """Return the names of the files that a URL stands for, and the folder that they are in."""
    web = url.startswith(("http://", "https://"))
    if not web and any(mark in root for mark in "*?["):
        matches = [
            name
            for match in sorted(system.glob(root))
            for name in (system.find(match) if system.isdir(match) else [match])
        ]
        if not matches:
            raise FileNotFoundError(errno.ENOENT, "path: no file matches the pattern", url)
        fixed = re.split(r"[*?\[]", root, maxsplit=1)[0]
        return posixpath.dirname(fixed), matches
    try:
        folder = not web and system.info(root)["type"] == "directory"
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "path: there is no such file", _shown(url)) from None
    if folder:
        names = sorted(system.find(root))
        if not names:
            raise FileNotFoundError(errno.ENOENT, "path: the folder has no files", url)
        return root, names
    kept = [part for part in posixpath.dirname(root).split("/") if "=" in part]
    beside = [root + suffix for suffix in _BESIDE if root.endswith(".thresher") and system.exists(root + suffix)]
    # The keys that folders state are part of the name here.
    return root[: root.find(kept[0])] if kept and not web else posixpath.dirname(root), [root, *beside]


def _parts(name: str, base: str) -> list[str]:
    """Return the parts of the name of a file below a folder, as all file systems take them."""
    below = name[len(base) :].split("?")[0] if name.startswith(base) else posixpath.basename(name)
    parts = [re.sub(r'[<>:"\\|?*\x00-\x1f]', "_", part) for part in below.split("/")]
    return [part for part in parts if part not in ("", ".", "..")] or ["file"]


def _get(system: Any, name: str, path: str, size: int | None, url: str) -> None:
    """Fetch a file, which appears whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=os.path.dirname(path))
    os.close(handle)
    try:
        system.get_file(name, part)
        arrived = os.path.getsize(part)
        if size is not None and arrived != size:
            raise OSError(f"path: {_shown(url)}: {arrived} of the {size} bytes of {name} arrived")
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _folder() -> str:
    """Return the folder of the cache: that of the command line."""
    if given := os.environ.get("THRESHER_CACHE"):
        return os.path.abspath(given)
    if sys.platform == "darwin":
        user = os.path.expanduser("~/Library/Caches")
    elif sys.platform == "win32":
        user = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    else:
        user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(user, "thresher", "objects")


def _shown(url: str) -> str:
    """Return a URL without its query, which can be a secret."""
    return url.split("?")[0] if url.startswith(("http://", "https://")) else url
