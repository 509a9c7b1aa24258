"""The device's clocks, power, temperature and reasons of throttling while something runs, ten times a second, by
nvidia-smi in the background."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

EVERY = 100  # ms
LINGER = 5.0  # seconds for nvidia-smi to end
FIGURES = ("sm", "memory", "power", "temperature")
# What drivers call these, and the mask of reasons: of the first names that the driver knows all.
ASKED = (
    ("clocks.sm", "clocks.mem", "power.draw.instant", "temperature.gpu", "clocks_event_reasons.active"),
    ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_throttle_reasons.active"),
)
# Bits of the mask. A device without work is idle, and one whose clocks somebody set has that setting: neither is
# throttled.
IDLE, SETTING = 0x1, 0x2
REASONS = {
    0x4: "power limit", 0x8: "hardware slowdown", 0x10: "synchronised boost", 0x20: "temperature, by software",
    0x40: "temperature, by hardware", 0x80: "power brake", 0x100: "display clock",
}  # fmt: skip


@dataclass(frozen=True)
class Sample:
    when: float  # time.monotonic
    figures: tuple[float | None, ...]  # in the order of FIGURES: MHz, MHz, W, degrees
    reasons: int


def number(word: str) -> float | None:
    """A figure, or none: "[N/A]", "[Not Supported]"."""
    try:
        return float(word)
    except ValueError:
        return None


def sample(line: str, when: float) -> Sample | None:
    """What a line of nvidia-smi says, unless it is no sample."""
    words = [w.strip() for w in line.split(",")]
    if len(words) != len(FIGURES) + 1:
        return None
    figures = tuple(number(w) for w in words[:-1])
    if figures[0] is None:
        return None
    return Sample(when, figures, int(words[-1], 16) if words[-1].startswith("0x") else 0)


def named(mask: int) -> list[str]:
    """The reasons of throttling that a mask has."""
    known = [name for bit, name in REASONS.items() if mask & bit]
    other = mask & ~(sum(REASONS) | IDLE | SETTING)
    return [*known, *([f"{other:#x}"] if other else [])]


def summary(samples: list[Sample]) -> dict[str, Any]:
    """The range and median of each figure, and the share of the samples with each reason."""
    out: dict[str, Any] = {"samples": len(samples)}
    for at, name in enumerate(FIGURES):
        values = [s.figures[at] for s in samples]
        known = [v for v in values if v is not None]
        if known:
            out[name] = {"least": min(known), "median": median(known), "most": max(known)}
    reasons = [named(s.reasons) for s in samples]
    out["throttled"] = {name: sum(name in r for r in reasons) / len(samples) for r in reasons for name in r}
    return out


class Clocks:
    """Samples, kept and written to a file, from entering to leaving. missing says why there are none, if so."""

    def __init__(self, file: Path, program: str = "nvidia-smi") -> None:
        self.file, self.program, self.missing = file, program, "they were not asked for"
        self.samples: list[Sample] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.reader: threading.Thread | None = None

    def __enter__(self) -> Clocks:
        found = shutil.which(self.program)
        if found is None:
            self.missing = f"there is no {self.program} here"
            return self
        which = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        commands = [
            [found, f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits", f"--id={which}"]
            for asked in ASKED
        ]
        command = next((c for c in commands if knows(c)), None)
        if command is None:
            self.missing = f"{self.program} does not know these figures"
        else:
            self._start([*command, f"--loop-ms={EVERY}"])
        return self

    def _start(self, command: list[str]) -> None:
        # To a terminal it writes line by line, to a pipe perhaps when it ends.
        terminal, end = pty.openpty()
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as e:
            self.missing = f"{self.program}: {e}"
            os.close(terminal)
            return
        finally:
            os.close(end)
        self.missing = ""
        self.reader = threading.Thread(target=self._read, args=(terminal,), daemon=True)
        self.reader.start()

    def _read(self, terminal: int) -> None:
        """Reads until the other end of the terminal closes."""
        with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as lines, self.file.open("a") as f:
            f.write("time, " + ", ".join(FIGURES) + ", reasons\n")
            rest = b""
            while part := lines.read(1 << 12):
                *whole, rest = (rest + part).split(b"\n")
                for line in whole:
                    text = line.decode(errors="replace").strip()
                    s = sample(text, time.monotonic())
                    if s is not None:
                        self.samples.append(s)
                        f.write(f"{time.time():.3f}, {text}\n")
                f.flush()

    def __exit__(self, *_: object) -> None:
        """Ends nvidia-smi; one that waits for the driver is left to end by itself."""
        if self.process is None or self.reader is None:
            return
        self.process.terminate()
        try:
            self.process.wait(LINGER)
        except subprocess.TimeoutExpired:
            self.process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(LINGER)
        self.reader.join(LINGER)

    def between(self, begin: float, end: float) -> dict[str, Any]:
        """The summary of what was sampled between two values of time.monotonic."""
        if self.missing:
            return {"missing": self.missing}
        there = [s for s in list(self.samples) if begin <= s.when <= end]
        return summary(there) if there else {"missing": f"{self.program} said nothing in {end - begin:.2f} s"}


def knows(command: list[str]) -> bool:
    """Whether nvidia-smi answers a query."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and sample(done.stdout.decode(errors="replace").split("\n")[0], 0) is not None
