"""The rates of torch's products, which a library chooses kernels for (cuBLASLt, on Hopper with wgmma): what no
kernel of thresher's can exceed, as they multiply by mma.sync."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

SIZE = 8192  # rows and columns
COUNT = 20
WARMING = 0.2  # seconds: a device's clock rises under load


def seconds(torch: Any, device: str, f: Callable[[], Any], count: int, warming: float) -> list[float]:
    """What each of count calls of f takes on the device."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    began = time.monotonic()
    while True:
        f()
        wait()
        if time.monotonic() - began >= warming:
            break
    took = []
    for _ in range(count):
        if device == "cuda":
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            marks[0].record()
            f()
            marks[1].record()
            marks[1].synchronize()
            took.append(marks[0].elapsed_time(marks[1]) / 1e3)
        else:
            at = time.perf_counter()
            f()
            took.append(time.perf_counter() - at)
    return took


def rates(torch: Any, small: bool) -> dict[str, Any]:
    """Of square matrices of random contents: operations of a product, and its seconds, by precision; or why
    there is none."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    n, count, warming = (64, 2, 0.0) if small else (SIZE, COUNT, WARMING)
    g = torch.Generator(device).manual_seed(1)
    torch.set_float32_matmul_precision("high")

    def codes() -> Any:
        return torch.randint(-127, 128, (n, n), dtype=torch.int8, device=device, generator=g)

    a, b = codes(), codes().T
    x, y = (torch.randn((n, n), device=device, generator=g) for _ in range(2))
    p, q = x.bfloat16(), y.bfloat16()
    kinds = {"int8": lambda: torch._int_mm(a, b), "bf16": lambda: p @ q, "tf32": lambda: x @ y}
    out: dict[str, Any] = {"size": n}
    for name, f in kinds.items():
        try:
            out[name] = {"operations": 2 * n**3, "seconds": seconds(torch, device, f, count, warming)}
        except Exception as e:  # a library may refuse a type on this device
            out[name] = {"failed": f"{type(e).__name__}: {e}"[:300]}
    return out


def rate(record: dict[str, Any] | None, name: str) -> float | None:
    """Operations a second, by the median."""
    of = (record or {}).get(name, {})
    return of["operations"] / median(of["seconds"]) if of.get("seconds") else None
