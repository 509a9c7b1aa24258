"""Results as notebooks show them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from thresher._answer import Answer
    from thresher._certified import CertifiedAnswers

__all__ = ["sentence", "table"]

QUERIES, RANKS = 5, 5  # that a table shows
LONGEST = 40  # characters of an id that it shows

# Colours are those of the page, light or dark.
_CELL = (
    "text-align:left;vertical-align:top;padding:.25em .8em .25em 0;border:0;border-bottom:1px solid #8886;"
    "white-space:normal;min-width:4em"
)
_LESS = "opacity:.7;font-size:.9em"


def sentence(result: CertifiedAnswers) -> str:
    """Return a plain sentence of what the certificates of all answers say."""
    count = len(result)
    if count == 0:
        return "There were no queries."
    names, counts = np.unique(result.guarantee, return_counts=True)
    parts = []
    for name, number in sorted(zip(names.tolist(), counts.tolist(), strict=True), key=lambda part: -part[1]):
        said = _SAID.get(name, name)
        if name == "probabilistic":
            said = said.format(result.delta[result.guarantee == name].max())
        parts.append((f"{number:,} {'answer' if number == 1 else 'answers'}", said))
    if len(parts) == 1:
        which = {1: "The answer", 2: "Both answers"}.get(count, f"All {parts[0][0]}")
        return f"{which} {_of_one(parts[0][1]) if count == 1 else parts[0][1]}."
    return "; ".join(f"{who} {_of_one(said) if who.startswith('1 ') else said}" for who, said in parts) + "."


_SAID = {
    "exact": "are exact: none is wrong",
    "certain": "are certain: none is wrong",
    "probabilistic": "are right but for a probability of at most {:.3g} each",
    "heuristic": "are heuristic: nothing is promised of them",
    "bound": "were stopped early and hold the best so far, with a bound on what they lack",
}


def _of_one(said: str) -> str:
    """Return what is said of several answers as it is said of one."""
    singular = (
        ("none is wrong", "it is not wrong"), (" each", ""), ("of them", "of it"), ("they lack", "it lacks"),
        ("and hold", "and holds"),
    )  # fmt: skip
    for several, one in singular:
        said = said.replace(several, one)
    verb, rest = said.split(" ", 1)
    return f"{ {'are': 'is', 'were': 'was'}.get(verb, verb) } {rest}"


def table(result: CertifiedAnswers, title: str, answers: Sequence[Answer]) -> str:
    """Return a table of the first queries of a result as HTML, which takes the colours of its page."""
    ranks = min(RANKS, max((len(answer) for answer in answers), default=0))
    columns = ["query", *(f"{rank}{_ORDINALS.get(rank, 'th')}" for rank in range(1, ranks + 1))]
    lines = [
        f"<div><p style='margin:.3em 0'>{html.escape(title)}. {html.escape(sentence(result))}</p>",
    ]
    if answers:
        lines.append("<div style='overflow-x:auto'>")
        lines.append("<table style='border-collapse:collapse;color:inherit;font:inherit'><thead><tr>")
        lines += [f"<th scope='col' style='{_CELL}'>{name}</th>" for name in columns]
        lines.append("</tr></thead><tbody>")
        lines += [_row(answer, ranks) for answer in answers]
        lines.append("</tbody></table></div>")
    if (more := len(result) - len(answers)) > 0:
        lines.append(f"<p style='margin:.3em 0;{_LESS}'>and {more:,} more {'query' if more == 1 else 'queries'}</p>")
    return "".join(lines) + "</div>"


_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def _row(answer: Answer, ranks: int) -> str:
    name = str(answer.query) if answer.query_id is None else _short(answer.query_id)
    cells = [f"<th scope='row' style='{_CELL};font-weight:normal'>{name}</th>"]
    for rank in range(ranks):
        shown = ""
        if rank < len(answer):
            more = len(answer) - ranks if rank == ranks - 1 else 0
            shown = f"{_short(answer.ids[rank])}<br><span style='{_LESS}'>{answer.scores[rank]:.6g}</span>"
            shown += f"<br><span style='{_LESS}'>and {more:,} more</span>" if more > 0 else ""
        cells.append(f"<td style='{_CELL}'>{shown}</td>")
    return f"<tr>{''.join(cells)}</tr>"


# Where an id is broken if its column is too narrow: notebooks leave no style that says so.
_PIECE = re.compile(r"[^\W_]{1,12}[\W_]{0,4}|[\W_]{1,12}", re.DOTALL)


def _short(name: object) -> str:
    text = str(name)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return "<wbr>".join(html.escape(piece) for piece in _PIECE.findall(text))
