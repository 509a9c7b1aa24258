"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines)


def section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *(p for p in parts if p)])


def digits(x: float | None) -> str:
    """Two digits below 10, three below 100, whole numbers above; "" for none."""
    if x is None:
        return ""
    if abs(x) >= 99.95:
        return f"{x:,.0f}"
    return f"{float(f'{x:.2g}' if abs(x) < 10 else f'{x:.3g}'):g}"
