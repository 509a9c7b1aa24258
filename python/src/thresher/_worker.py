"""The child process that searches, and the calls to it.

docs/worker.md describes the protocol, of which no other module knows. `get` returns the worker
of this process and starts it if need be; `Worker.call` performs an operation.
"""

from __future__ import annotations

import array as _array
import atexit
import collections
import contextlib
import errno
import importlib
import itertools
import json
import logging
import math
import os
import queue
import select
import signal
import socket
import struct
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresher import _binary, _memory, _segments
from thresher._segments import empty, shared
from thresher._shares import CORES as _CORES

if TYPE_CHECKING:
    from thresher._result import Result

__all__ = [
    "BadInput",
    "Cancelled",
    "DeadlineExceeded",
    "DeviceMissing",
    "HandleLost",
    "Worker",
    "WorkerDied",
    "WorkerError",
    "empty",
    "get",
    "shared",
]

PROTOCOL = 2
_PREFIX = struct.Struct("<2sBBIQ")
_MAGIC = b"TW"

# Compact headers: of a search and of each of its arrays, and of a reply.
_COMPACT = 1
_SEARCH = struct.Struct("<BBBBIqqqddd")
_ARRAY = struct.Struct("<BBBBIqqqq")
_SEARCHED = struct.Struct("<BBHIqqqdd")
_FIELDS = {"handle", "k", "method", "delta", "epsilon"}
_LIMIT = 1 << 63
# How many objects of JSON in compact replies, which hardly differ, are kept.
_WORDS = 64

# How long a calling thread polls for its answer, without sleeping, if the last one came so soon, in seconds: on many
# machines waking a thread takes longer than a small search.
_POLL = 100e-6

# What one read of a calling thread receives at most, and descriptors with it.
_RECEIVED, _RIGHTS = 1 << 16, 64

# Arrays of a call up to this size together travel in the frame.
_IN_FRAME = 32 << 10
# Larger ones are copied into segments that are used again, those above this size into a file of their own.
_POOLED = 16 << 20
# Segments to be used again have at most so many bytes together.
_POOL = 64 << 20

# How long the worker is waited for at the end of the interpreter.
_LAST_SECONDS = 5.0

# How the lines begin by which the worker's runtime says why it ends; many others follow them.
_FATAL = ("panic: ", "fatal error: ", "unexpected fault ", "[signal ", "runtime: ")

_log = logging.getLogger("thresher.worker")
_LEVELS = (("level=WARN", logging.WARNING), ("level=ERROR", logging.ERROR))

# Signals that are blocked while a frame is sent to a socket. signal.pthread_sigmask makes an enumeration's
# member of each signal of the former mask, which takes longer than sending; what it wraps does not.
_SIGNALS = {int(s) for s in signal.valid_signals()}
try:
    _sigmask = importlib.import_module("_signal").pthread_sigmask
except (ImportError, AttributeError):
    _sigmask = getattr(signal, "pthread_sigmask", None)

Progress = Callable[[str, int, int], None]
Arrays = dict[str, npt.NDArray[Any]]


class BadInput(ValueError):
    """An argument is wrong: `argument` names it, `row` is the row of it that is wrong, or None."""

    def __init__(self, message: str, argument: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.argument = argument
        self.row = row


class WorkerError(RuntimeError):
    """The worker could not do what it was asked for; `kind` is one of those of docs/worker.md."""

    kind = "internal"

    def __init__(self, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class WorkerDied(WorkerError):
    """The worker ended during the call, or could not be started; `log` has the last lines of its log."""

    kind = "died"

    def __init__(self, message: str, log: Sequence[str] = ()) -> None:
        super().__init__("\n  ".join([message, *log]))
        self.log = list(log)


class HandleLost(WorkerError):
    """The collection was freed, or was in a worker that is gone."""

    kind = "unknown-handle"


class Cancelled(WorkerError):
    """The call was cancelled by another one."""

    kind = "cancelled"


class DeviceMissing(WorkerError):
    """The device asked for is not there."""

    kind = "no-device"


class DeadlineExceeded(TimeoutError):
    """The deadline passed before the answers were complete.

    Attributes
    ----------
    result : Result or None
        What `knn` had found until then; ``result.complete`` says which answers are complete. None if
        there was nothing to return, and from other calls.
    """

    result: Result | None = None


def _error(e: Mapping[str, Any]) -> BaseException:
    """Return the exception for an error of the worker."""
    kind, message, argument = e.get("kind", "internal"), e.get("message", ""), e.get("argument", "")
    text = f"{argument}: {message}" if argument else message
    if kind == "bad-input":
        return BadInput(text, argument, e.get("row"))
    if kind == "deadline":
        return DeadlineExceeded(text)
    if kind == "memory":
        return MemoryError(text)
    if kind == "file":
        return OSError(text)
    for known in (HandleLost, Cancelled, DeviceMissing):
        if kind == known.kind:
            return known(text)
    return WorkerError(text, kind)


class _SocketLink:
    """Carries frames over a socket, with descriptors."""

    passes = True

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray(256 << 10)
        self._view = memoryview(self._buffer)
        self._from = self._to = 0  # what is in the buffer and was not read
        self._fds: collections.deque[int] = collections.deque()
        # What calling threads received and left, each with its control messages, and what is left of the first.
        self.left: collections.deque[tuple[bytes, Any, int, Any]] = collections.deque()
        self._rest = memoryview(b"")
        # A frame that the kernel takes whole or not at all: in one piece, of at most half of its buffer.
        self._poll = select.poll() if _CORES > 1 and hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(sock, select.POLLIN)
        self._soon = False  # whether the last wait of a calling thread took less than _POLL
        self.at_once = min(_IN_FRAME, sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 4) if _memory.LINUX else 0

    def send_at_once(self, data: bytes) -> bool:
        """Send a frame of at most `at_once` bytes; False if there is no room for it now."""
        try:
            return self._sock.send(data, socket.MSG_DONTWAIT) == len(data)
        except BlockingIOError:
            return False

    def clean(self) -> bool:
        """Tell whether all that was received has been read."""
        return not (self.left or self._rest or self._fds or self._from != self._to)

    def leave(self) -> tuple[bytes, Any, int, Any]:
        """Receive bytes, and leave them to `read`.

        An interrupt comes before they are received or after they are in the list, because both happen in one call
        of a function that is not Python's.
        """
        begun = time.perf_counter()
        if self._soon and self._poll is not None:
            while not self._poll.poll(0) and time.perf_counter() - begun < _POLL:
                pass
        self.left.extend(map(self._sock.recvmsg, (_RECEIVED,), (socket.CMSG_SPACE(_RIGHTS),)))
        self._soon = time.perf_counter() - begun < _POLL
        return self.left[-1]

    def send(self, parts: Sequence[Any], fds: Sequence[int]) -> None:
        data = memoryview(b"".join(parts))
        if fds:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, _array.array("i", fds))]
            data = data[self._sock.sendmsg([data], rights) :]
        self._sock.sendall(data)

    def _receive(self, into: memoryview) -> int:
        if self.left and not self._rest:
            data, control, _, _ = self.left.popleft()
            self._rest = memoryview(data)
            n = len(data)
        elif self._rest:
            n, control = len(self._rest), []
        else:
            n, control, _, _ = self._sock.recvmsg_into([into], socket.CMSG_SPACE(_RIGHTS))
        if self._rest:
            n = min(n, len(into))
            into[:n] = self._rest[:n]
            self._rest = self._rest[n:]
        for level, kind, rights in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = _array.array("i")
                fds.frombytes(rights[: len(rights) - len(rights) % fds.itemsize])
                for fd in fds:
                    os.set_inheritable(fd, False)
                    self._fds.append(fd)
        if n == 0:
            raise EOFError
        return n

    def read(self, n: int) -> bytearray:
        if self._to - self._from < n <= len(self._buffer):
            if len(self._buffer) - self._from < n or self._from == self._to:
                kept = self._to - self._from
                self._view[:kept] = self._view[self._from : self._to]
                self._from, self._to = 0, kept
            while self._to - self._from < n:
                self._to += self._receive(self._view[self._to :])
        if n <= self._to - self._from:
            taken = bytearray(self._view[self._from : self._from + n])
            self._from += n
            return taken
        taken = bytearray(n)
        view, have = memoryview(taken), self._to - self._from
        view[:have] = self._view[self._from : self._to]
        self._from = self._to = 0
        while have < n:
            have += self._receive(view[have:])
        return taken

    def take(self, n: int) -> list[int]:
        return [self._fds.popleft() for _ in range(n)]

    def close(self) -> None:
        self._sock.close()

    def shut(self) -> None:
        """End reads in progress."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)


def _socket_pair() -> tuple[socket.socket, socket.socket] | tuple[None, None]:
    """Return the ends of a socket that carries descriptors; none where pipes must do."""
    passes = hasattr(socket.socket, "sendmsg") and _sigmask is not None  # not in every build of Python
    if os.environ.get("THRESHER_WORKER_PIPES") or not passes or not _memory.available():
        return None, None
    try:
        return socket.socketpair(socket.AF_UNIX)
    except OSError as e:
        if e.errno in (errno.EMFILE, errno.ENFILE):
            raise
        _log.warning("no sockets, arrays are copied through pipes (socketpair: %s)", e)
        return None, None


class _PipeLink:
    """Carries frames over two pipes."""

    passes = False
    at_once = 0

    def __init__(self, out: Any, into: Any) -> None:
        self._out, self._into = out, into

    def send(self, parts: Sequence[Any], fds: Sequence[int]) -> None:
        for part in parts:
            data = memoryview(part)
            while len(data) > 0:
                data = data[self._out.write(data) :]

    def read(self, n: int) -> bytearray:
        taken = bytearray(n)
        view, have = memoryview(taken), 0
        while have < n:
            got = self._into.readinto(view[have:])
            if not got:
                raise EOFError
            have += got
        return taken

    def take(self, n: int) -> list[int]:
        return []

    def close(self) -> None:
        for end in (self._out, self._into):
            with contextlib.suppress(OSError):
                end.close()

    def shut(self) -> None:
        """End the worker's reads; it ends, and with it the reads of this process."""
        with contextlib.suppress(OSError):
            self._out.close()


class _Call:
    """A call in progress, with what must stay until it is answered."""

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[tuple[dict[str, Any], Any, list[int]]] = queue.SimpleQueue()
        self.kept: list[Any] = []
        self.borrowed: list[_segments.Segment] = []
        self.abandoned = False
        self.cancels = 0  # the call that this one cancels


class Worker:
    """A worker of this process. Its methods may be called from several threads at once.

    Attributes
    ----------
    hello : dict
        What the worker said of itself: docs/worker.md.
    records : dict of str to dtype
        The layouts of records, by name.
    told : set of str
        What was said of GPUs that do not search.
    pid, process
        The process that the worker belongs to, and the worker's process id.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._ids = itertools.count(1)
        self._pending: dict[int, _Call] = {}
        self._posted: queue.SimpleQueue[Sequence[Any] | None] = queue.SimpleQueue()
        # Whose thread reads frames: one reads at a time, and while calls are pending somebody does. The receiving
        # thread tries to when it is told, and until no call is pending.
        self._reader: _Call | None = None
        self._claiming = threading.Lock()
        self._told: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._ended = False  # there will be no more frames
        self._numbers: dict[str, dict[str, int]] = {}  # of words in compact headers
        self._words: dict[bytes, dict[str, Any]] = {}
        self._lines: collections.deque[str] = collections.deque(maxlen=20)
        self._fatal: list[str] = []
        self._known: set[int] = set()
        self._free: dict[int, list[_segments.Segment]] = collections.defaultdict(list)
        self._pooled = 0
        self._pooling = threading.Lock()
        self._sending = threading.Lock()
        self._dead: WorkerDied | None = None
        self.records: dict[str, np.dtype[Any]] = {}
        self.told: set[str] = set()
        self._child, self._link = self._start()
        self.process = self._child.pid
        self._threads = [
            threading.Thread(target=run, name=f"thresher-{name}", daemon=True)
            for name, run in (("log", self._keep_log), ("send", self._send_posted), ("receive", self._receive))
        ]
        try:
            for thread in self._threads:
                thread.start()
            self.hello, _ = self.call("hello", {"protocol": PROTOCOL})
        except BaseException:
            self.close()
            raise
        self.records = {name: np.dtype([tuple(c) for c in layout]) for name, layout in self.hello["records"].items()}
        self._numbers = {
            key: {word: i for i, word in enumerate(self.hello[name])}
            for key, name in (("method", "methods"), ("name", "compact_arrays"), ("dtype", "compact_types"))
        }

    def _start(self) -> tuple[subprocess.Popen[bytes], _SocketLink | _PipeLink]:
        command = [str(_binary.path()), "worker", "--parent", str(self.pid)]
        ours, theirs = _socket_pair()
        try:
            child = subprocess.Popen(
                command,
                stdin=theirs.fileno() if theirs is not None else subprocess.PIPE,
                stdout=subprocess.DEVNULL if theirs is not None else subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as e:
            if ours is not None:
                ours.close()
            raise WorkerDied(f"{command[0]} cannot be started: {e}") from e
        finally:
            if theirs is not None:
                theirs.close()
        if ours is not None:
            return child, _SocketLink(ours)
        return child, _PipeLink(child.stdin, child.stdout)

    # Threads

    def _keep_log(self) -> None:
        """Pass the worker's log on to logging."""
        stream = self._child.stderr
        assert stream is not None
        buffer = b""
        while True:
            try:
                data = stream.read(64 << 10)
            except (OSError, ValueError):
                data = b""
            *lines, buffer = (buffer + data).split(b"\n")
            if not data and buffer:
                lines.append(buffer)
            for line in lines:
                text = line.decode("utf-8", "replace")
                self._lines.append(text)
                if text.startswith(_FATAL) and len(self._fatal) < 5:
                    self._fatal.append(text)
                _log.log(next((level for mark, level in _LEVELS if mark in text), logging.INFO), "%s", text)
            if not data:
                stream.close()
                self._ended = True  # with its last holder, the worker
                self._tell()
                return

    def _send(self, parts: Sequence[Any], fds: Sequence[int]) -> None:
        """Send a frame, whole.

        While signals are blocked, none makes a send to a socket stop in the middle; a small frame has none. To
        pipes, which take several writes, the sending thread sends.
        """
        if isinstance(self._link, _PipeLink):
            self._posted.put(parts)
            return
        if not fds and sum(map(len, parts)) <= self._link.at_once:
            try:
                with self._sending:
                    if self._link.send_at_once(b"".join(parts)):
                        return
            except (OSError, ValueError):
                self._shut()
                return
        assert _sigmask is not None  # else there is no socket
        mask = _sigmask(signal.SIG_BLOCK, ())
        try:
            with self._sending:
                _sigmask(signal.SIG_BLOCK, _SIGNALS)
                self._link.send(parts, fds)
        except (OSError, ValueError):
            self._shut()  # the receiving thread finds out why
        finally:
            _sigmask(signal.SIG_SETMASK, mask)

    def _send_posted(self) -> None:
        """Send what finalizers post, which can neither wait for a lock nor send, and frames to pipes."""
        while (parts := self._posted.get()) is not None:
            try:
                with self._sending:
                    if self._dead is None:
                        self._link.send(parts, [])
            except (OSError, ValueError):
                self._shut()

    def _shut(self) -> None:
        """End reads in progress, and let the receiving thread end the worker."""
        self._link.shut()
        self._ended = True
        self._tell()

    def _tell(self) -> None:
        """Let the receiving thread look whether it should read."""
        if self._told.empty():
            self._told.put(None)

    def _claim(self, call: _Call) -> bool:
        """Make a call's thread the one that reads, unless another is."""
        with self._claiming:
            reader = self._reader
            if reader is None or reader.abandoned:  # an interrupt may have kept it from resigning
                self._reader = call
        return self._reader is call

    def _receive(self) -> None:
        """Receive the frames that calling threads leave, until the worker ends."""
        why = "it ended"
        here = _Call()
        try:
            while True:
                if not (self._pending or self._ended) or not self._claim(here):
                    self._told.get()
                    continue
                while self._pending or self._ended:
                    self._read_frame()
                self._reader = None  # and then look whether a call came that could not claim
        except EOFError:
            pass
        except (OSError, ValueError, KeyError, IndexError) as e:
            why = f"the connection failed: {e}"
        except MemoryError:
            why = "this process has no memory for its answer"
        except Exception as e:
            _log.exception("an answer cannot be read")
            why = f"its answer cannot be read: {e!r}"
        self._end(why)

    def _read_frame(self) -> None:
        magic, version, n, size, body = _PREFIX.unpack(self._link.read(_PREFIX.size))
        if magic != _MAGIC or version != PROTOCOL:
            raise ValueError(f"a frame begins with {magic!r}, version {version}")
        fds = self._link.take(n)
        text = self._link.read(size)
        header = {"id": _SEARCHED.unpack_from(text)[4], "compact": text} if text[0] == _COMPACT else json.loads(text)
        self._deliver(header, self._link.read(body), fds)

    def _read_own(self, number: int, call: _Call) -> bytearray | None:
        """Return the frame that answers a call, whose thread reads, if it has a compact header and nothing else comes.

        None if anything else came, which is left to the receiving thread.
        """
        link = self._link
        if isinstance(link, _PipeLink) or not link.clean():
            return None
        try:
            data, control, _, _ = link.leave()
            frame = bytearray(data)
            while True:
                if control or not data or len(frame) < _PREFIX.size + _SEARCHED.size:
                    return None
                magic, version, fds, header, body = _PREFIX.unpack_from(frame)
                if magic != _MAGIC or version != PROTOCOL or fds or frame[_PREFIX.size] != _COMPACT:
                    return None
                lacking = _PREFIX.size + header + body - len(frame)
                if lacking < 0 or _SEARCHED.unpack_from(frame, _PREFIX.size)[4] != number:
                    return None
                if lacking == 0:
                    break
                data, control, _, _ = link.leave()
                frame += data
        except OSError:
            return None
        self._pending.pop(number)
        self._finish(call)
        link.left.clear()
        return frame

    def _deliver(self, header: dict[str, Any], body: bytearray, fds: list[int]) -> None:
        number = header["id"]
        call = self._pending.get(number)
        if "progress" in header:
            if call is not None:
                call.inbox.put((header, None, []))
            return
        if number == 0:
            raise ValueError(header.get("error", {}).get("message", "a frame without a call"))
        self._pending.pop(number, None)
        if call is None:
            self._drop(header, fds)
            return
        self._finish(call)
        if call.cancels and not header.get("reply", {}).get("found"):
            never_sent = self._pending.pop(call.cancels, None)
            if never_sent is not None:
                self._finish(never_sent)
        if call.abandoned:
            self._drop(header, fds)
        else:
            call.inbox.put((header, body, fds))

    def _finish(self, call: _Call) -> None:
        """Give back what the worker does not use any more."""
        call.kept.clear()
        for segment in call.borrowed:
            self._give_back(segment)
        call.borrowed.clear()

    def _drop(self, header: dict[str, Any], fds: list[int]) -> None:
        """Free what an answer has that nobody waits for."""
        for fd in fds:
            os.close(fd)
        reply = header.get("reply")
        if isinstance(reply, dict) and reply.get("handle"):
            self.release(reply["handle"])

    def _end(self, why: str) -> None:
        """Answer all calls with the end of the worker."""
        self._link.shut()
        code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._child.wait(_LAST_SECONDS)
        if code is None:
            self._child.kill()
            code = self._child.wait()
        self._threads[0].join(_LAST_SECONDS)  # its last lines
        if code < 0:
            why = f"{why}, by signal {-code}"
        elif code > 0:
            why = f"{why} with status {code}"
        self._dead = WorkerDied(
            f"thresher's worker (process {self.process}) died: {why}; its collections are gone, "
            "the next call starts another",
            [*self._fatal, *(line for line in self._lines if line not in self._fatal)],
        )
        with self._pooling:
            self._free.clear()
        while self._pending:
            _, call = self._pending.popitem()
            call.inbox.put(({"died": True}, None, []))
        self._posted.put(None)
        self._link.close()

    # Calls

    @property
    def dead(self) -> bool:
        """Whether the worker has ended, or belongs to another process."""
        return self._dead is not None or self.pid != os.getpid()

    def call(
        self,
        op: str,
        fields: Mapping[str, Any],
        arrays: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
        deadline: float | None = None,
    ) -> tuple[dict[str, Any], Arrays]:
        """Perform an operation of docs/worker.md, and return its reply and its arrays.

        Parameters
        ----------
        op, fields, arrays
            The operation and its arguments. Arrays of any strides and byte order are copied once into
            shared memory, unless they are there. Dtypes are not converted.
        progress : callable(step, done, total), optional
            Called from this thread, at most ten times a second.
        deadline : float, optional
            Seconds after which searches return the best so far, and other operations fail.

        Raises
        ------
        BadInput
            An argument is wrong; it is named.
        WorkerDied
            The worker ended during the call.
        DeadlineExceeded, Cancelled, HandleLost, DeviceMissing, MemoryError, OSError, WorkerError
            As their descriptions say.
        """
        if self.pid != os.getpid():
            raise HandleLost("the worker belongs to the process that this one was forked from")
        number = next(self._ids)
        header: dict[str, Any] = {"id": number, "op": op, "timeout_ms": 0.0}
        if deadline is not None:
            if math.isnan(deadline):
                raise BadInput("deadline: it is no number", "deadline")
            if deadline <= 0:
                raise DeadlineExceeded("deadline: it has passed")
            if deadline < 1e9:
                header["timeout_ms"] = deadline * 1e3
        if progress is not None:
            header["progress"] = True
        call = _Call()
        frame: bytearray | None = None
        fds: list[int] = []
        body: list[Any] = []
        message: tuple[dict[str, Any], Any, list[int]] | None = None
        try:
            if arrays:
                header["arrays"] = self._place(arrays, call, body, fds, kept=op == "build")
            text = self._compact(header, fields) or _encode(header, fields)
            size = sum(map(len, body))
            prefix = _PREFIX.pack(_MAGIC, PROTOCOL, len(fds), len(text), size)
            self._pending[number] = call
            if self._dead is not None:
                self._pending.pop(number, None)
                raise self._dead
            if text[0] == _COMPACT and progress is None and self._link.passes and self._claim(call):
                try:
                    self._send([prefix, text, *body], fds)
                    frame = self._read_own(number, call)
                finally:
                    if self._reader is call:
                        self._reader = None
                if self._pending or self._ended:
                    self._tell()
                if frame is not None:
                    return self._searched(frame, _PREFIX.size, frame, [])
            else:
                self._send([prefix, text, *body], fds)
                self._tell()
            while True:
                message = self._wait(call)
                if "progress" not in message[0]:
                    break
                step = message[0]["progress"]
                message = None
                if progress is not None:
                    progress(step["step"], step["done"], step["total"])
            head, payload, files = message
            if "died" in head:
                raise self._dead or WorkerDied("thresher's worker died")
            if "error" in head:
                raise _error(head["error"])
            if "compact" in head:
                return self._searched(head["compact"], 0, payload, files)
            return head.get("reply") or {}, self._arrays(head.get("arrays") or [], payload, files)
        except BaseException:
            if message is None:
                self._abandon(number, call)
            raise
        finally:
            for fd in fds:
                os.close(fd)

    def _wait(self, call: _Call) -> tuple[dict[str, Any], Any, list[int]]:
        if os.name != "nt":
            return call.inbox.get()
        while True:  # an indefinite wait could not be interrupted
            with contextlib.suppress(queue.Empty):
                return call.inbox.get(timeout=0.1)

    def _abandon(self, number: int, call: _Call) -> None:
        """Cancel a call that nobody waits for any more."""
        call.abandoned = True
        cancel = _Call()
        cancel.abandoned, cancel.cancels = True, number
        own = next(self._ids)
        self._pending[own] = cancel
        self.post("cancel", {"call": number}, own)
        self._tell()
        while True:  # what came before it was abandoned
            try:
                header, _, fds = call.inbox.get_nowait()
            except queue.Empty:
                return
            self._drop(header, fds)

    def post(self, op: str, fields: Mapping[str, Any], number: int = 0) -> None:
        """Send an operation whose answer, if it has a number, nobody waits for. It may be called from finalizers."""
        if self._dead is not None or self.pid != os.getpid():
            return
        text = _encode({"id": number, "op": op}, fields)
        self._posted.put([_PREFIX.pack(_MAGIC, PROTOCOL, 0, len(text), 0), text])

    def release(self, handle: int) -> None:
        """Free a collection. It may be called from finalizers."""
        self.post("free", {"handle": handle})

    def close(self) -> None:
        """End the worker, and wait until it has ended."""
        if self.pid != os.getpid():
            return
        self._shut()
        deadline = time.monotonic() + _LAST_SECONDS
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def abandon(self) -> None:
        """Close what a forked process inherited of its parent's worker."""
        self._link.close()
        if self._child.stderr is not None:
            self._child.stderr.close()
        self._child.returncode = 0  # of a process that is not this one's child
        self._free.clear()

    # Arrays

    def _place(
        self, arrays: Mapping[str, Any], call: _Call, body: list[Any], fds: list[int], kept: bool
    ) -> list[dict[str, Any]]:
        """Put arrays where the worker reads them, and return their descriptors.

        kept says that the worker keeps them after the call, so that they cannot be in the pool.
        """
        placed = []
        size = 0
        for name, value in arrays.items():
            array = np.asarray(value)
            d: dict[str, Any] = {"name": name, "dtype": self._dtype(name, array), "shape": array.shape}
            placed.append(d)
            if array.ndim not in (1, 2):
                raise BadInput(f"{name}: {array.ndim} dimensions; one or two are wanted", name)
            here = self._link.passes
            if here and (found := _segments.segment_of(array)) is not None and self._share(found[0]):
                segment, offset = found
                call.kept.append(array)
                d.update(at="segment", segment=segment.number, offset=offset)
            elif (file := _segments.file_of(array)) is not None:
                fd, path, offset = file
                call.kept.append(array)
                if here:
                    d.update(at="file", descriptor=len(fds), offset=offset)
                    fds.append(fd)
                else:
                    os.close(fd)
                    d.update(at="file", path=path, offset=offset)
            elif not here or size + array.nbytes <= _IN_FRAME:
                d.update(at="body", offset=size)
                part = _bytes(array, copy=here)
                body += [part, bytes(-array.nbytes % 8)]
                size += array.nbytes + len(body[-1])
            elif array.nbytes <= _POOLED and not kept:
                segment = self._borrow(array.nbytes)
                call.borrowed.append(segment)
                to: npt.NDArray[Any] = np.ndarray(array.shape, array.dtype.newbyteorder("<"), buffer=segment)
                np.copyto(to, array)
                del to
                self._share(segment)
                d.update(at="segment", segment=segment.number, offset=0)
            else:
                fd = _memory.new_file(array.nbytes)
                d.update(at="file", descriptor=len(fds), offset=0)
                fds.append(fd)
                _segments.write_array(fd, array)
        return placed

    def _dtype(self, name: str, array: npt.NDArray[Any]) -> str:
        if array.dtype.names is not None:
            for known, layout in self.records.items():
                if array.dtype == layout:
                    return known
        little = array.dtype.newbyteorder("<").str
        if little not in _DTYPES:
            raise BadInput(f"{name}: dtype {array.dtype}; float32 and integers are taken", name)
        return little

    def _share(self, segment: _segments.Segment) -> bool:
        """Make the worker map a segment, unless it has; False if another worker alone can have it."""
        if segment.number in self._known:
            return True
        with _mapping:
            if segment.number in self._known:
                return True
            if segment.file.fd < 0:
                return False
            text = _encode({"id": 0, "op": "map"}, {"segment": segment.number, "bytes": len(segment)})
            self._send([_PREFIX.pack(_MAGIC, PROTOCOL, 1, len(text), 0), text], [segment.file.fd])
            self._known.add(segment.number)
            # Weakly: the worker's pool holds segments, which would hold a dead worker and thereby themselves.
            segment.forget.append(weakref.WeakMethod(self._unshare))
            segment.was_mapped()
        return True

    def _unshare(self, number: int) -> None:
        self._known.discard(number)
        self.post("unmap", {"segment": number})

    def _borrow(self, size: int) -> _segments.Segment:
        """Return a segment of at least size bytes that no call uses."""
        room = max(1 << 16, 1 << (size - 1).bit_length())
        with self._pooling:
            if self._free[room]:
                self._pooled -= room
                return self._free[room].pop()
        return _segments.Segment.new(room)

    def _give_back(self, segment: _segments.Segment) -> None:
        room = len(segment)
        with self._pooling:
            if self._dead is None and self._pooled + room <= _POOL:
                self._pooled += room
                self._free[room].append(segment)

    def _compact(self, header: dict[str, Any], fields: Mapping[str, Any]) -> bytes:
        """Return the compact header of a search; nothing of another call, or of one that is not expressed so."""
        if header["op"] != "search" or not self._numbers or not _FIELDS.issuperset(fields):
            return b""
        handle, k, method = fields.get("handle"), fields.get("k"), self._numbers["method"].get(fields.get("method", ""))
        gaps = fields.get("delta", 0.0), fields.get("epsilon", 0.0)
        if type(handle) is not int or type(k) is not int or not -_LIMIT <= k < _LIMIT or method is None:
            return b""
        if not all(type(gap) is float and math.isfinite(gap) for gap in gaps):
            return b""
        arrays = header.get("arrays", ())
        parts = [
            _SEARCH.pack(
                _COMPACT, method, len(arrays), "progress" in header, 0, header["id"], handle, k, *gaps, header["timeout_ms"]
            )
        ]
        for d in arrays:
            name, dtype, shape = self._numbers["name"].get(d["name"]), self._numbers["dtype"].get(d["dtype"]), d["shape"]
            if name is None or dtype is None or d["at"] == "file":
                return b""
            segment = d.get("segment", 0)
            columns = shape[1] if len(shape) == 2 else 0
            parts.append(
                _ARRAY.pack(name, dtype, segment != 0, len(shape), 0, shape[0], columns, segment, d["offset"])
            )
        return b"".join(parts)

    def _searched(self, text: bytearray, at: int, body: Any, fds: list[int]) -> tuple[dict[str, Any], Arrays]:
        """Return the reply whose compact header is at a place of a text, and its arrays; the text may be the whole frame."""
        _, complete, _, _, _, m, k, took, saving = _SEARCHED.unpack_from(text, at)
        end = at + _PREFIX.unpack_from(text)[3] if body is text else len(text)
        words = bytes(text[at + _SEARCHED.size : end])
        known = self._words.get(words)
        if known is None:
            if len(self._words) >= _WORDS:
                self._words.clear()
            known = self._words[words] = json.loads(words)
        memory, start = body, 0
        if body is text:
            start = end
        elif fds:
            try:
                memory = _segments.contents(fds[0])
            finally:
                os.close(fds[0])
        found: Arrays = {}
        for name, shape, kind in (
            ("ids", (m, k), _IDS),
            ("scores", (m, k), _SCORES),
            ("certificates", (m,), self.records["certificate"]),
        ):
            found[name] = array = np.ndarray(shape, kind, memory, start)
            start += -(-array.nbytes // 64) * 64
        return {**known, "k": k, "complete": complete == 1, "took_ms": took, "saving": saving}, found

    def _arrays(self, descriptors: list[dict[str, Any]], body: Any, fds: list[int]) -> Arrays:
        """Return the arrays of an answer, over the memory that came with it."""
        try:
            memory: list[Any] = [_segments.contents(fd) for fd in fds]
        finally:
            for fd in fds:
                os.close(fd)
        found: Arrays = {}
        for d in descriptors:
            kind = self.records.get(d["dtype"]) if d["dtype"] in self.records else np.dtype(d["dtype"])
            where = memory[d["descriptor"]] if d["at"] == "file" else body
            shape = tuple(d["shape"])
            if 0 in shape:
                found[d["name"]] = np.empty(shape, kind)
            else:
                found[d["name"]] = np.ndarray(shape, kind, buffer=where, offset=d["offset"])
        return found


_IDS, _SCORES = np.dtype("<i8"), np.dtype("<f4")

_DTYPES = {np.dtype(t).newbyteorder("<").str for t in (np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_)}


def _bytes(array: npt.NDArray[Any], copy: bool) -> Any:
    """Return the elements of an array in order, little endian: as a copy, or as they lie if they lie so."""
    if copy:
        return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    ordered = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return memoryview(ordered.reshape(-1).view(np.uint8))


def _plain(value: Any) -> Any:
    """Return what JSON has for a value that is not one of Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} {value!r} is no field")


def _encode(header: dict[str, Any], fields: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps({**header, "fields": fields}, default=_plain, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError):
        for name, value in fields.items():
            try:
                json.dumps(value, default=_plain, allow_nan=False)
            except (ValueError, TypeError):
                raise BadInput(f"{name}: {value!r} is no finite number, text or truth value", name) from None
        raise


_current: Worker | None = None
_starting = threading.Lock()
# Of all workers: one that takes the place of a dead one must not send a descriptor that is being closed.
_mapping = threading.Lock()


def get() -> Worker:
    """Return the worker of this process.

    It is started if there is none yet, if this process was forked, or if the last one died.
    """
    global _current
    worker = _current
    if worker is not None and not worker.dead:
        return worker
    with _starting:
        if _current is None or _current.dead:
            _current = Worker()
        return _current


def _after_fork() -> None:
    """Leave the parent's worker to the parent."""
    global _current, _starting, _mapping
    _starting, _mapping = threading.Lock(), threading.Lock()
    worker, _current = _current, None
    if worker is not None:
        worker.abandon()


def _at_exit() -> None:
    worker = _current
    if worker is not None:
        worker.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
