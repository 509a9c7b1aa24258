"""What carries frames to a worker and back: a socket, or two pipes."""

from __future__ import annotations

import array as _array
import collections
import contextlib
import errno
import importlib
import logging
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any

from thresher import _memory
from thresher._shares import PROCESSORS

__all__ = ["SIGNALS", "PipeLink", "SocketLink", "sigmask", "socket_pair"]

# How long a calling thread polls for its answer, without sleeping, in seconds: on many machines waking a thread takes
# longer than a small search. After a vain poll so many waits do not poll, after further ones twice as many.
_POLL = 200e-6
_LEAST_PENALTY, _MOST_PENALTY = 4, 64

# What one read of a calling thread receives at most, and descriptors with it: a frame with the largest arrays that
# travel in frames (docs/worker.md, "Replies"), so that it need not read twice.
_RECEIVED, _RIGHTS = 100 << 10, 64

# The most bytes of a frame that is sent at once.
_MOST_AT_ONCE = 32 << 10

_log = logging.getLogger("thresher.worker")

# Signals that are blocked while a frame is sent to a socket. signal.pthread_sigmask makes an enumeration's
# member of each signal of the former mask, which takes longer than sending; what it wraps does not.
SIGNALS = {int(s) for s in signal.valid_signals()}
try:
    sigmask = importlib.import_module("_signal").pthread_sigmask
except (ImportError, AttributeError):
    sigmask = getattr(signal, "pthread_sigmask", None)


class SocketLink:
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
        self._poll = select.poll() if PROCESSORS > 1 and hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(sock, select.POLLIN)
        # How many waits of calling threads follow that do not poll, and how many followed the last vain poll.
        self._unpolled = self._penalty = 0
        # The most bytes that the kernel takes in one piece, so whole or not at all: at most half of its buffer.
        room = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 4
        self.at_once = min(_MOST_AT_ONCE, room) if _memory.LINUX else 0

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
        if self._unpolled > 0:
            self._unpolled -= 1
        elif self._poll is not None:
            until = time.perf_counter() + _POLL
            while not (come := self._poll.poll(0)) and time.perf_counter() < until:
                pass
            self._penalty = 0 if come else min(max(_LEAST_PENALTY, 2 * self._penalty), _MOST_PENALTY)
            self._unpolled = self._penalty
        self.left.extend(map(self._sock.recvmsg, (_RECEIVED,), (socket.CMSG_SPACE(_RIGHTS),)))
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


def socket_pair() -> tuple[socket.socket, socket.socket] | tuple[None, None]:
    """Return the ends of a socket that carries descriptors; none where pipes must do."""
    passes = hasattr(socket.socket, "sendmsg") and sigmask is not None  # not in every build of Python
    if os.environ.get("THRESHER_WORKER_PIPES") or not passes or not _memory.available():
        return None, None
    try:
        return socket.socketpair(socket.AF_UNIX)
    except OSError as e:
        if e.errno in (errno.EMFILE, errno.ENFILE):
            raise
        _log.warning("no sockets, arrays are copied through pipes (socketpair: %s)", e)
        return None, None


class PipeLink:
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
