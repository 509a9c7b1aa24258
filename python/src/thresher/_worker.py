"""The child process that searches, and the calls to it.

docs/worker.md describes the protocol, which only `_links`, `_compact` and this module know. `get` returns the worker
of this process and starts it if need be; `Worker.call` performs an operation.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
import json
import logging
import math
import os
import queue
import signal
import struct
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _binary, _compact, _links, _memory, _narrow, _segments, _shares
from thresher._errors import (
    BadInput,
    Cancelled,
    DeadlineExceeded,
    DeviceMissing,
    HandleLost,
    WorkerDied,
    WorkerError,
    error_of,
)
from thresher._segments import empty, shared

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
    "running",
    "shared",
]

PROTOCOL = 4
_PREFIX = struct.Struct("<2sBBIQ")
_MAGIC = b"TW"

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

Progress = Callable[[str, int, int], None]
Arrays = dict[str, npt.NDArray[Any]]


Message = tuple[dict[str, Any], Any, list[int]]


class Call:
    """A call in progress, with what must stay until it is answered.

    wake is called, from any thread, when there is something in the inbox; it must not raise.
    """

    def __init__(self, wake: Callable[[], None] | None = None) -> None:
        self.number = 0  # until it begins
        self.inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.kept: list[Any] = []
        self.borrowed: list[_segments.Segment] = []
        self.abandoned = False
        self.cancels = 0  # the call that this one cancels
        self._wake = wake

    def tell(self, message: Message) -> None:
        """Put a message into the inbox."""
        self.inbox.put(message)
        if self._wake is not None:
            self._wake()


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
        self._pending: dict[int, Call] = {}
        self._posted: queue.SimpleQueue[Sequence[Any] | None] = queue.SimpleQueue()
        # Whose thread reads frames: one reads at a time, and while calls are pending somebody does. The receiving
        # thread tries to when it is told, and until no call is pending.
        self._reader: Call | None = None
        self._claiming = threading.Lock()
        self._told: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._ended = False  # there will be no more frames
        self._compact: _compact.Headers | None = None  # until the worker has said what numbers in them stand for
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
        self._compact = _compact.Headers(self.hello, self.records["certificate"])

    def _start(self) -> tuple[subprocess.Popen[bytes], _links.SocketLink | _links.PipeLink]:
        command = [str(_binary.path()), "worker", "--parent", str(self.pid)]
        if (threads := _shares.threads_given()) is not None:
            command += ["--threads", str(threads)]
        ours, theirs = _links.socket_pair()
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
            return child, _links.SocketLink(ours)
        return child, _links.PipeLink(child.stdin, child.stdout)

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
                self.receive()
                return

    def _send(self, parts: Sequence[Any], fds: Sequence[int]) -> None:
        """Send a frame, whole.

        While signals are blocked, none makes a send to a socket stop in the middle; a small frame has none. To
        pipes, which take several writes, the sending thread sends.
        """
        if isinstance(self._link, _links.PipeLink):
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
        assert _links.sigmask is not None  # else there is no socket
        mask = _links.sigmask(signal.SIG_BLOCK, ())
        try:
            with self._sending:
                _links.sigmask(signal.SIG_BLOCK, _links.SIGNALS)
                self._link.send(parts, fds)
        except (OSError, ValueError):
            self._shut()  # the receiving thread finds out why
        finally:
            _links.sigmask(signal.SIG_SETMASK, mask)

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
        self.receive()

    def receive(self) -> None:
        """Let the receiving thread look whether it should read."""
        if self._told.empty():
            self._told.put(None)

    def _claim(self, call: Call) -> bool:
        """Make a call's thread the one that reads, unless another is."""
        with self._claiming:
            reader = self._reader
            if reader is None or reader.abandoned:  # an interrupt may have kept it from resigning
                self._reader = call
        return self._reader is call

    def _receive(self) -> None:
        """Receive the frames that calling threads leave, until the worker ends."""
        why = "it ended"
        here = Call()
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
        header = {"id": _compact.number(text, 0), "compact": text} if text[0] == _compact.FIRST else json.loads(text)
        self._deliver(header, self._link.read(body), fds)

    def _read_own(self, number: int, call: Call) -> bytearray | None:
        """Return the frame that answers a call, whose thread reads, if it has a compact header and nothing else comes.

        None if anything else came, which is left to the receiving thread.
        """
        link = self._link
        if isinstance(link, _links.PipeLink) or not link.clean() or number not in self._pending:
            return None  # another thread has received the answer, or a part of it
        try:
            data, control, _, _ = link.leave()
            frame = bytearray(data)
            while True:
                if control or not data or len(frame) < _PREFIX.size + _compact.REPLY_BYTES:
                    return None
                magic, version, fds, header, body = _PREFIX.unpack_from(frame)
                if magic != _MAGIC or version != PROTOCOL or fds or frame[_PREFIX.size] != _compact.FIRST:
                    return None
                lacking = _PREFIX.size + header + body - len(frame)
                if lacking < 0 or _compact.number(frame, _PREFIX.size) != number:
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
                call.tell((header, None, []))
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
            call.tell((header, body, fds))

    def _finish(self, call: Call) -> None:
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
            call.tell(({"died": True}, None, []))
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
        call = Call()
        message: Message | None = None
        try:
            compact = self.begin(call, op, fields, arrays, progress=progress is not None, deadline=deadline)
            if compact and progress is None and self._link.passes and self._claim(call):
                frame: bytearray | None = None
                try:
                    frame = self._read_own(call.number, call)
                finally:
                    if self._reader is call:
                        self._reader = None
                if self._pending or self._ended:
                    self.receive()
                if frame is not None and self._compact is not None:
                    end = _PREFIX.size + _PREFIX.unpack_from(frame)[3]
                    return self._compact.decode(frame, _PREFIX.size, end, frame, end)
            else:
                self.receive()
            while True:
                message = self._wait(call)
                if "progress" not in message[0]:
                    break
                step = message[0]["progress"]
                message = None
                if progress is not None:
                    progress(step["step"], step["done"], step["total"])
            return self.opened(message)
        except BaseException:
            if message is None:
                self.abandon_call(call)
            raise

    def begin(
        self,
        call: Call,
        op: str,
        fields: Mapping[str, Any],
        arrays: Mapping[str, Any] | None = None,
        *,
        progress: bool = False,
        deadline: float | None = None,
    ) -> bool:
        """Send a call, and return whether its header is compact.

        Whoever begins a call takes its answer from the inbox, and gives it to `opened`; or abandons it, also if this
        raises. An answer is received once `receive` was called.
        """
        if self.pid != os.getpid():
            raise HandleLost("the worker belongs to the process that this one was forked from")
        header: dict[str, Any] = {"id": next(self._ids), "op": op, "deadline_ms": 0.0}
        if deadline is not None:
            if math.isnan(deadline):
                raise BadInput("deadline: it is no number", "deadline")
            if deadline <= 0:
                raise DeadlineExceeded("deadline: it has passed")
            if deadline < 1e9:
                header["deadline_ms"] = deadline * 1e3
        if progress:
            header["progress"] = True
        call.number = header["id"]
        fds: list[int] = []
        body: list[Any] = []
        try:
            if arrays:
                header["arrays"] = self._place(arrays, call, body, fds, kept=op == "build")
            compact = self._compact
            text = (compact.encode(header, fields) if compact is not None else b"") or _encode(header, fields)
            prefix = _PREFIX.pack(_MAGIC, PROTOCOL, len(fds), len(text), sum(map(len, body)))
            self._pending[call.number] = call
            if self._dead is not None:
                self._pending.pop(call.number, None)
                raise self._dead
            self._send([prefix, text, *body], fds)
            return text[0] == _compact.FIRST
        finally:
            for fd in fds:
                os.close(fd)

    def opened(self, message: Message) -> tuple[dict[str, Any], Arrays]:
        """Return the reply and the arrays of an answer, or raise the error that it is."""
        head, payload, files = message
        if "died" in head:
            raise self._dead or WorkerDied("thresher's worker died")
        if "error" in head:
            raise error_of(head["error"])
        if "compact" in head and self._compact is not None:
            text = head["compact"]
            return self._compact.decode(text, 0, len(text), self._memory(files)[0] if files else payload, 0)
        return head.get("reply") or {}, self._arrays(head.get("arrays") or [], payload, files)

    def _wait(self, call: Call) -> tuple[dict[str, Any], Any, list[int]]:
        if os.name != "nt":
            return call.inbox.get()
        while True:  # an indefinite wait could not be interrupted
            with contextlib.suppress(queue.Empty):
                return call.inbox.get(timeout=0.1)

    def abandon_call(self, call: Call) -> None:
        """Cancel a call that nobody waits for any more, if it has begun."""
        call.abandoned = True
        if call.number == 0:
            return
        cancel = Call()
        cancel.abandoned, cancel.cancels = True, call.number
        own = next(self._ids)
        self._pending[own] = cancel
        self.post("cancel", {"call": call.number}, own)
        self.receive()
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
        self, arrays: Mapping[str, Any], call: Call, body: list[Any], fds: list[int], kept: bool
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
        if array.dtype == _narrow.BFLOAT16:
            return "bfloat16"
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

    def _memory(self, fds: list[int]) -> list[Any]:
        """Return the contents of files that came with an answer, and close them."""
        try:
            return [_segments.contents(fd) for fd in fds]
        finally:
            for fd in fds:
                os.close(fd)

    def _arrays(self, descriptors: list[dict[str, Any]], body: Any, fds: list[int]) -> Arrays:
        """Return the arrays of an answer, over the memory that came with it."""
        memory = self._memory(fds)
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


_TYPES = (np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.bool_)
_DTYPES = {np.dtype(t).newbyteorder("<").str for t in _TYPES}


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
    if (worker := running()) is not None:
        return worker
    with _starting:
        if _current is None or _current.dead:
            _current = Worker()
        return _current


def running() -> Worker | None:
    """Return the worker of this process, None if `get` would start one."""
    worker = _current
    return None if worker is None or worker.dead else worker


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
