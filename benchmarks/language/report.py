# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The tables of ``llm.py``."""

from engines import OFFICIAL
from markdown_table import table

from . import engines
from .models import FORMATS, MODELS, bytes_of_step


def report(results) -> str:
    m, packages = results["machine"], ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    parts = [
        "# Language models",
        f"{m['cpu']}, {m['cpus']} CPUs, {m['system']}. Random weights in true shapes, batch 1. {packages}. Each engine "
        "in its own process, in turns; medians. In brackets: how many times as fast as the official delegate. Times "
        "hold for this machine only."
        + " Times are those of the processor, because others used the machine."
        * results["cpu_time"],
    ]
    for model in dict.fromkeys(row["model"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["model"] == model]
        names = [n for n in engines.NAMES if any(n in row["engines"] for row in rows)]
        parts += [f"## {MODELS[model].title}", _speed(model, rows, names), _resources(rows, names)]
    parts.append("## What the columns are")
    parts.append(_LEGEND)
    if results["absent"]:
        parts += ["## Not measured", "\n".join(f"- {title}: {why}" for title, why in results["absent"].items())]
    if results["errors"]:
        parts += ["## Failed", "\n".join(_failure(e) for e in results["errors"])]
    return "\n\n".join(parts) + "\n"


_LEGEND = """\
- *decode*: tokens a second with a cache that is full but for the last few tokens of the context.
- *of bandwidth*: bytes that a step must read (each weight once with a scale of 16 bits for 32 weights of 4 bits, and
  the filled part of the cache), divided by its time and by the bandwidth of reading memory with as many threads,
  measured in the same minutes.
- *prefill*: tokens a second of a prompt that fills the context, in calls of 512 tokens; *first token*: its time.
- *peak MB*: of the process, since before loading, pages of mapped files included; *own*: those that are not of files,
  at the end.
- *cosine*: of the scores with those of the official delegate, after one short prompt."""


def _speed(model: str, rows, names) -> str:
    titles = [engines.get(n).TITLE for n in names]
    headers = ["format", "threads", "context"]
    headers += [f"{what}: {t}" for what in ("decode", "of bandwidth", "prefill", "first token s") for t in titles]
    lines = []
    for row in rows:
        form = FORMATS[row["format"]]
        for context in sorted({int(c) for e in row["engines"].values() for c in e["contexts"]}):
            found = {n: e["contexts"][str(context)] for n, e in row["engines"].items() if str(context) in e["contexts"]}
            needed = bytes_of_step(MODELS[model], form, context)
            rates = {n: 1 / f["step_s"] for n, f in found.items()}
            prefill = {n: f["prompt"] / f["prompt_s"] for n, f in found.items()}
            lines.append(
                [
                    form.title,
                    row["threads"],
                    context,
                    *(_rate(rates, n) for n in names),
                    *(f"{needed * rates[n] / row['bytes_per_second']:.0%}" if n in rates else "-" for n in names),
                    *(_rate(prefill, n) for n in names),
                    *(f"{found[n]['prompt_s']:.2f}" if n in found else "-" for n in names),
                ]
            )
    return table(headers, lines)


def _failure(error: dict[str, str]) -> str:
    model, form = MODELS[error["model"]].title, FORMATS[error["format"]].title
    return f"- {model}, {form}, {engines.get(error['engine']).TITLE}: `{error['what']}`"


def _rate(rates: dict[str, float], name: str) -> str:
    if name not in rates:
        return "-"
    ratio = f" ({rates[name] / rates[OFFICIAL]:.2f}x)" if OFFICIAL in rates and name != OFFICIAL else ""
    return f"{rates[name]:.1f}{ratio}"


def _resources(rows, names) -> str:
    titles = [engines.get(n).TITLE for n in names]
    what = (
        "program MB",
        "load ms",
        "peak MB loading",
        "peak MB, own: context {}",
        "cosine",
        "export s",
        "export peak MB",
    )
    contexts = sorted({int(c) for row in rows for e in row["engines"].values() for c in e["contexts"]})
    headers = ["format", "threads", *what[:3], *(what[3].format(c) for c in contexts), *what[4:]]
    lines = []
    for row in rows:
        found = [row["engines"].get(n) for n in names]
        lines.append(
            [
                FORMATS[row["format"]].title,
                row["threads"],
                _each(found, lambda e: f"{e['program_mb']:.0f}"),
                _each(found, lambda e: f"{e['loaded']['load_ms']:.0f}"),
                _each(found, lambda e: f"{e['loaded']['peak_mb']:.0f}"),
                *(_each(found, lambda e, c=c: _memory(e["contexts"].get(str(c)))) for c in contexts),
                _each(found, lambda e: f"{e['cosine']:.4f}" if "cosine" in e else "-"),
                _each(found, lambda e: f"{e['export_s']:.0f}"),
                _each(found, lambda e: f"{e['export_peak_mb']:.0f}" if "export_peak_mb" in e else "-"),
            ]
        )
    title = " / ".join(titles)
    return f"{title}:\n\n" + table(headers, lines)


def _each(found, cell) -> str:
    return " / ".join(cell(e) if e else "-" for e in found)


def _memory(context) -> str:
    return f"{context['peak_mb']:.0f}, {context['own_mb']:.0f}" if context else "-"
