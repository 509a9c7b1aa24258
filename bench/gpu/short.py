"""The short table that a call ends with.

python3 bench/gpu/short.py FILE.jsonl
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import figures
from goals import Record, cells, judge, last, of, one
from parts import HUNG, records_of

MUST = ("facts", "command", "benchmarks")
MOST = 400  # characters of a reason in the table; the results have all
FOUND = 9  # exit code of compute-sanitizer if it finds errors


def bad(records: list[Record]) -> list[str]:
    """Why a call failed, in words."""
    found = [f"the gate: {r['part']} failed, so nothing was measured" for r in of(records, "gate")]
    found += [
        f"{r['group']}: {', '.join(r['failed'] + r['without_result']) or 'code ' + str(r['rc'])}"
        + (f", {'hung' if r['rc'] == HUNG else 'ended'} in {r['running']}" if r.get("running") else "")
        + (f": {r['where']}" if r.get("where") else "")
        for r in last(records, "tests", "group")
        if r["rc"]
    ]
    must = [r for r in last(records, "part", "name") if r["name"] in MUST]
    found += [f"{r['name']}: code {r['rc']}" for r in must if r.get("rc")]
    found += [f"{r['tool']}: {'; '.join(r['summary'])}" for r in last(records, "sanitizer", "tool") if r["rc"] == FOUND]
    found += [f"selftest: {r['said'][-MOST:] or 'code ' + str(r['rc'])}" for r in of(records, "selftest") if r["rc"]]
    if not of(records, "run", small=True):  # a rehearsal may have no numpy
        found += [f"{r['name']}: {r['left_out']}" for r in must if "left_out" in r]
    found += [f"{r['what']}: {why(r)}" for r in of(records, "left_out", must=True)]
    found += [f"{cell(r)}: plan {r['plan']} {fate(r)}: {why(r)}" for r in of(records, "struck")]
    found += [
        f"ptx: code that was assembled, {', '.join(r['assembled'])}" for r in of(records, "ptx") if not r["compiled"]
    ]
    found += [f"costs: {r['unfit'][:MOST]}" for r in of(records, "costs") if r["unfit"]]
    for r in cells(records):
        found += [
            f"{cell(r)}: {c['wrong']} of {c['answers']} wrong by {who}"
            for who, c in r["checked"].items()
            if not c["compatible"]
        ]
    return found


def why(r: Record) -> str:
    """A reason, on one line."""
    return " ".join(r["why"].split())[:MOST]


def cell(r: Record) -> str:
    return f"{r['set']} m={r['m']} k={r['k']}"


def fate(r: Record) -> str:
    return ("hung" if r["late"] else "lost the device") + (", the engine's choice" if r["chosen"] else "")


def opened(card: Record) -> list[str]:
    """What the driver made of the kernels."""
    modules, kernels = card.get("modules", {}), card.get("kernels", {})
    if not modules:
        return []
    compiled = [name for name, assembled in modules.items() if not assembled]
    local = {name: f["Local"] for name, f in kernels.items() if f["Local"]}
    return [
        f"{len(modules) - len(compiled)} of {len(modules)} modules assembled"
        + (f", compiled from PTX: {', '.join(compiled)}" if compiled else "")
        + f"; local memory {local or 0}; registers at most {max((f['Registers'] for f in kernels.values()), default=0)}"
    ]


def milliseconds(times: list[float]) -> str:
    return f"{median(times) * 1e3:.3f}"


def swept(r: Record) -> list[str]:
    """The best configuration tried and the program's own, with times in µs."""
    lines = []
    for what in ("shapes", "chunks"):
        tried = [t for t in r[what] if not t.get("failed")]
        if tried:
            best, own = min(tried, key=lambda t: t["seconds"]), next((t for t in tried if t["own"]), None)
            told = ", ".join(f"{name} {best[name]}" for name in best if name not in ("seconds", "own", "failed"))
            lines.append(
                f"{cell(r):<26}to {r['to']}, {what}: {best['seconds'] * 1e6:.1f} with {told}; the program's "
                + (f"{own['seconds'] * 1e6:.1f}" if own else "not tried")
            )
    return lines


def table(records: list[Record]) -> str:
    lines = []
    card, facts = one(records, "card"), one(records, "facts")
    if card:
        lines.append(
            f"{card['device']['Name']}{' (emulator)' if card['emulator'] else ''}, {card['driver']}, opened "
            f"in {card['seconds']:.2f} s"
        )
        lines += opened(card)
    if facts:
        lines.append(", ".join(f"{name} {v}" for name, v in facts["packages"].items()) or "no packages")
    for r in of(records, "part"):
        lines.append(
            f"{r['name']:<26} {'left out: ' + r['left_out'] if 'left_out' in r else 'code ' + str(r['rc'])}, "
            f"{r['seconds']:.0f} s"
        )
    for r in of(records, "tests"):
        lines.append(
            f"{r['group']:<26} {r['passed']} passed, {len(r['failed'])} failed, {len(r['skipped'])} skipped, "
            f"{len(r['without_result'])} without result"
        )
    for r in of(records, "sanitizer"):
        lines.append(f"{r['tool']:<26} {'; '.join(r['summary']) or 'no summary'}")
    raced = cells(records)
    if raced:
        names = list(dict.fromkeys(n for r in raced for n in r["host"] if n.startswith("torch")))
        heads = ("plan", "auto", *(n.removeprefix("torch-") for n in names))
        lines.append("ms a batch, torch's last:  " + "".join(f"{n:>12}" for n in heads) + "  wrong/answers  plan")
        for r in raced:
            host = {n: milliseconds(r["host"][n]) for n in r["host"]}
            times = "".join(f"{host.get(n, '-'):>12}" for n in ("plan", "auto", *names))
            c = r["checked"].get("plan")
            lines.append(f"{cell(r):<26}{times}  {c['wrong'] if c else '-'}/{c['answers'] if c else '-'}  {r['plan']}")
    for r in of(records, "sweep"):
        lines += swept(r)
    for r in of(records, "other"):
        lines.append(f"{cell(r):<26}{r['peer']:>12} {milliseconds(r['host'][r['peer']])}, recall {r['recall']:.4f}")
    for r in of(records, "left_out"):
        lines.append(f"left out: {r['what']}: {why(r)}")
    lines += figures.lines(records)
    for g in judge(records):
        lines.append(f"{g.mark:<12} {g.what}: {g.measured or '-'} ({g.target})")
    lines += [f"BAD {what}" for what in bad(records)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(records_of(Path(sys.argv[1]))), end="")
