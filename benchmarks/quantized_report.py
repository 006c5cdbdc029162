# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The tables of ``quantized.py``."""

import engines
from engines import OFFICIAL, OURS
from markdown_table import table
from quantized_programs import SCHEMES

PEERS = [e for e in engines.NAMES if e not in engines.DELEGATES]
ENGINES = (OURS, OFFICIAL, *PEERS)
TITLES = {OURS: "ours", OFFICIAL: "official", **{e: engines.get(e).TITLE for e in PEERS}}
#: Schemes that others have, too, by the section that compares them.
COMPARED = {
    "int8": ("static", "dynamic"),
    "int8 with bfloat16": ("static_bf16", "dynamic_bf16"),
    "bfloat16": ("bf16", "force_bf16"),
}


def report(results) -> str:
    present = [e for e in ENGINES if any(row[e] for row in results["rows"])]
    threads = sorted({int(k[3:]) for r in results["rows"] for k in r[OURS] if k.startswith("ms_")})
    headers = ["model", "format", "MB"]
    headers += [f"ms, {n} thread{'s' * (n != 1)}" for n in threads]
    headers += ["outside", "same largest", "SQNR dB", "in PyTorch", "lowest cosine"]
    cells = [
        [
            row["model"],
            SCHEMES[row["scheme"]].title,
            _together(row, present, "megabytes", "{:.1f}"),
            *(_latency(row, present, n) for n in threads),
            _together(row, present, "outside", "{}"),
            _together(row, present, "top1", "{:.0%}"),
            _together(row, present, "sqnr", "{:.1f}"),
            "{:.1f}".format(row["pytorch"]["sqnr"]) if "pytorch" in row else "-",
            _together(row, present, "cosine", "{:.4f}") if "cosine" in row[OURS] else "",
        ]
        for row in results["rows"]
    ]
    packages = ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    m = results["machine"]
    parts = [
        f"# Number formats: {' / '.join(TITLES[e] for e in present)}",
        f"{m['cpu']}, {m['cpus']} CPUs, {m['system']}. Batch 1. {packages}. In brackets: how many times faster than "
        "fp32 in the same engine. *same largest*: how many vectors have their largest element where they have it in "
        "eager PyTorch with float32, for classifiers the agreement of the first guess. *in PyTorch*: the SQNR of "
        "the same program computed by PyTorch, operator by operator. Weights are random but for MiniLM's. Times hold "
        "for this machine only.",
        table(headers, cells),
        *(part for kind in COMPARED for part in _against_best(kind, results["rows"], present, threads)),
    ]
    errors = [
        f"- {row['model']}, {SCHEMES[row['scheme']].title}, {engine}: `{row[engine]['error']}`"
        for row in results["rows"]
        for engine in ENGINES
        if "error" in row[engine]
    ]
    slower = [
        f"- {row['model']}, {SCHEMES[row['scheme']].title}, {n} thread(s): {row[OURS][f'speed_{n}']:.2f} times fp32, "
        f"official {row[OFFICIAL][f'speed_{n}']:.2f}"
        for row in results["rows"]
        for n in threads
        if row[OURS].get(f"speed_{n}", 1) < 1 < row[OFFICIAL].get(f"speed_{n}", 0)
    ]
    if slower:
        parts += ["## Slower than fp32 where the official delegate is faster", "\n".join(slower)]
    if errors:
        parts += ["## Programs that failed", "\n".join(errors)]
    return "\n\n".join(parts) + "\n"


def _together(row, present, key: str, form: str) -> str:
    return " / ".join(form.format(row[e][key]) if key in row[e] else "-" for e in present)


def _latency(row, present, threads: int) -> str:
    cells = []
    for engine in present:
        ms, speed = (row[engine].get(f"{k}_{threads}") for k in ("ms", "speed"))
        cells.append("-" if ms is None else f"{ms:.2f}" + (f" ({speed:.2f}x)" if speed else ""))
    return " / ".join(cells)


def _against_best(kind: str, rows, present, threads) -> list[str]:
    """The fastest program of that kind of each engine, whichever scheme that is."""
    lines, rows = [], [row for row in rows if row["scheme"] in COMPARED[kind]]
    for model in dict.fromkeys(row["model"] for row in rows):
        for n in threads:
            best = {e: found for e in present if (found := _fastest([r for r in rows if r["model"] == model], e, n))}
            if OURS in best:
                lines.append([model, n, *(_best_cell(best, e) for e in present)])
    if not lines:
        return []
    return [
        f"## {kind} against the best {kind}",
        f"The faster of {' and '.join(COMPARED[kind])} of each engine: ms of a call, SQNR in dB, and how many times as "
        "fast as that ours is. In bold who is faster than ours.",
        table(["model", "threads", *(TITLES[e] for e in present)], lines),
    ]


def _fastest(rows, engine: str, threads: int) -> dict | None:
    key = f"ms_{threads}"
    found = [
        {"scheme": r["scheme"], "ms": r[engine][key], "sqnr": r[engine].get("sqnr")} for r in rows if key in r[engine]
    ]
    return min(found, key=lambda f: f["ms"], default=None)


def _best_cell(best, engine: str) -> str:
    if engine not in best:
        return "-"
    one = best[engine]
    text = f"{one['ms']:.2f} {one['scheme']}" + (f", {one['sqnr']:.1f} dB" if one["sqnr"] is not None else "")
    if engine == OURS:
        return text
    ratio = one["ms"] / best[OURS]["ms"]
    return f"{text}, {ratio:.2f}x" if ratio >= 1 else f"**{text}, {ratio:.2f}x**"
