# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Results of the zoo as text."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .registry import PARTS, Architecture

#: A difference of more than this is not rounding, where eager PyTorch cannot be compared with float64.
LARGE = 1e-4
#: One of less than this is, whatever eager PyTorch does.
SMALL = 1e-5
#: How much farther than eager PyTorch from float64 other orders of summation may lead.
TIMES_EAGER = 20

#: Parts of a record that say what our delegate makes of an architecture.
VARIANTS = ("static", "dynamic")

_BAD = ("error", "**differs**", "not exported")
#: Errors without which there is a program.
_BEFORE = ("error", "build_error", "export_error")
_ERRORS = {
    "error": "error",
    "build_error": "building or running it",
    "export_error": "torch.export",
    "lowering_error": "lowering",
    "executorch_error": "ExecuTorch without a delegate",
    "run_error": "running",
    "default_config_error": "the default EdgeCompileConfig",
    "eager_error": "eager PyTorch",
    "guard_error": "torch.export's guards",
}

_INTRODUCTION = """# Zoo

Published architectures at small sizes with random weights, each lowered, run and compared with eager PyTorch.
`test/zoo/run.py --page` writes this page from `test/zoo/results.jsonl`, where `make zoo` keeps its results.
[setup.md](../setup.md#the-zoo) says how to run it.

- **One call** is one delegate call with nothing outside.
- **Dynamic** names the sizes that vary; programs are called at the size of the example, at 1, at an odd size, and below
  and at the maximum. Empty where the registry has none, or where they were left out (`--leave-out dynamic`). A call at
  sizes that guards of torch.export exclude is not compared; the guard stands below the table.
- **Not lowered** is what ExecuTorch does not lower without a delegate either.
- **Difference** is the largest of all calls, from eager PyTorch, relative to the largest number of the result.
- **Time** is the processor time of `to_edge_transform_and_lower` in seconds, and the share that is ours, with PyTorch
  as the tests have it (`test/faster_export.py`).
- **Official** is the number of calls of ExecuTorch's XNNPACK delegate, and of operators outside them.
"""


def read(path: Path) -> dict[str, dict]:
    """The last record of each architecture; a line that is cut off is left out."""
    found = {}
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[record["name"]] = record
    return found


def write(path: Path, records: Mapping[str, Mapping], known: Iterable) -> None:
    """Each architecture that is still known once, in the order of the registry."""
    lines = [json.dumps(records[a.name]) + "\n" for a in known if a.name in records]
    whole = path.with_suffix(".new")
    whole.write_text("".join(lines))
    whole.replace(path)


def possible(record: Mapping, architecture: Architecture) -> list[str]:
    """The parts that a record can have: without a program there are no others."""
    if not exported(record.get("static")):
        return ["static"]
    return [part for part in PARTS if part != "dynamic" or architecture.dynamic]


def missing(record: Mapping, architecture: Architecture, wanted: Sequence[str]) -> list[str]:
    """The parts of those ``wanted`` that a record has not, and can have."""
    can = possible(record, architecture) if "static" in record else PARTS
    return [part for part in wanted if part in can and part not in record]


def affordable(records: Mapping[str, Mapping], known: Iterable, seed: str, seconds: float) -> list:
    """Of what is known and right, some that took no more than ``seconds`` of processor time together."""
    chosen = [a for a in known if "static" in records.get(a.name, {}) and not is_wrong(records[a.name])]
    found, left = [], seconds
    for architecture in random.Random(seed).sample(chosen, len(chosen)):
        cost = sum(variant["processor_seconds"] for variant in variants(records[architecture.name]))
        if cost <= left:
            left -= cost
            found.append(architecture)
    return found


def worse(before: Mapping, now: Mapping) -> list[str]:
    """What was right in one record of an architecture and is not in another."""
    found = []
    for kind in VARIANTS:
        old, new = before.get(kind), now.get(kind)
        if not exported(old) or new is None or "build_error" in new:  # another version of its package
            continue
        if _short(old) == "one call" != _short(new) or (_short(new) in _BAD and _short(old) not in _BAD):
            found.append(f"{kind} was {_outcome_of(old)}, and is {_outcome_of(new)}")
    return found


def variants(record: Mapping) -> list[Mapping]:
    return [record[kind] for kind in VARIANTS if kind in record]


def exported(variant: Mapping | None) -> bool:
    return variant is not None and not any(error in variant for error in _BEFORE)


def is_one_call(variant: Mapping) -> bool:
    return variant.get("delegates") == 1 and not variant.get("outside")


def differs(variant: Mapping) -> bool:
    """Whether results are not those of eager PyTorch but for rounding."""
    difference, of_eager = variant.get("difference", 0.0), variant.get("eager_difference", 0.0)
    rounding = max(SMALL, TIMES_EAGER * of_eager) if of_eager else LARGE
    return "wrong" in variant or difference > rounding


def is_wrong(record: Mapping) -> bool:
    """Whether there is anything to mend: an error after exporting that is ours, or another result."""
    errors = ("error", "build_error", "lowering_error", "run_error", "default_config_error")
    return any(differs(v) or ("executorch_error" not in v and any(e in v for e in errors)) for v in variants(record))


def outcome(record: Mapping) -> str:
    """One architecture in a line."""
    return "; ".join(f"{kind} {_outcome_of(record[kind])}" for kind in VARIANTS if kind in record)


def _outcome_of(variant: Mapping) -> str:
    for error in (*_BEFORE, "lowering_error"):
        if error in variant:
            return f"{error.removesuffix('_error')}: {variant[error]}"
    parts = ["one call" if is_one_call(variant) else f"{variant['delegates']} calls, outside {variant['outside']}"]
    later = ("run_error", "default_config_error", "eager_error", "guard_error", "wrong")
    parts += [variant[e] for e in later if e in variant]
    if "difference" in variant:
        parts.append(f"difference {variant['difference']:.1e}")
    return ", ".join(parts)


def summary(records: Mapping[str, Mapping]) -> str:
    """How many of what."""
    ran = [r for r in records.values() if "static" in r]
    static = [r["static"] for r in ran if exported(r["static"])]
    dynamic = [r["dynamic"] for r in ran if exported(r.get("dynamic"))]
    parts = [f"{len(records)} run, {len(static)} exported, {sum(map(is_one_call, static))} of them one call"]
    parts.append(f"{len(dynamic)} exported with dynamic sizes, {sum(map(is_one_call, dynamic))} of them one call")
    parts.append(f"{sum(any(map(differs, variants(r))) for r in ran)} differ from eager PyTorch")
    return "; ".join(parts)


def page(records: Mapping[str, Mapping], known: Iterable) -> str:
    """The page of the documents, by family."""
    known = list(known)
    families: dict[str, list] = {}
    for architecture in known:
        families.setdefault(architecture.family, []).append(architecture.name)
    ran = [records[a.name] for a in known if a.name in records]
    lines = [_INTRODUCTION, f"Of {len(known)} registered: {summary({r['name']: r for r in ran})}.", ""]
    for family, names in families.items():
        rows = [records[name] for name in names if name in records]
        absent = [name for name in names if name not in records]
        lines += [f"## {family[:1].upper()}{family[1:]}", ""]
        lines += [f"Not run yet: {', '.join(f'`{name}`' for name in absent)}.", ""] if absent else []
        if not rows:
            continue
        lines += [f"{summary({r['name']: r for r in rows})}.", ""]
        lines += [
            "| architecture | static | dynamic | difference | time, ours | official |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_row(r) for r in rows]
        lines.append("")
        reasons = [(r["name"], text) for r in rows for text in _reasons(r)]
        lines += [f"- `{name}`: {_escaped(text)}" for name, text in reasons] + [""] * bool(reasons)
    return "\n".join(lines).rstrip() + "\n"


def _row(record: Mapping) -> str:
    static = record["static"]
    cells = [f"`{record['name']}`", _short(static)]
    dynamic = record.get("dynamic")
    sizes = f" ({dynamic['sizes']})" if dynamic and "sizes" in dynamic else ""
    cells.append(_short(dynamic) + sizes if dynamic else "")
    differences = [v["difference"] for v in variants(record) if "difference" in v]
    cells.append(f"{max(differences):.1e}" if differences else "")
    cells.append(
        f"{static['seconds']:.1f}, {static['own_seconds'] / max(static['seconds'], 0.01):.0%}"
        if "seconds" in static
        else ""
    )
    official = record.get("official", {})
    cells.append("error" if "error" in official else "{delegates}, {outside}".format(**official) if official else "")
    return "| " + " | ".join(cells) + " |"


def _short(variant: Mapping) -> str:
    if "export_error" in variant:
        return "not exported"
    if "executorch_error" in variant:
        return "not lowered"
    if any(error in variant for error in ("error", "build_error", "lowering_error", "run_error")):
        return "error"
    if differs(variant):
        return "**differs**"
    if is_one_call(variant):
        return "one call"
    return f"{variant['delegates']} calls, {sum(variant['outside'].values())} outside"


def _reasons(record: Mapping) -> list[str]:
    found = []
    for kind in VARIANTS:
        variant = record.get(kind, {})
        for error in (*_ERRORS, "wrong"):
            if error in variant:
                found.append(f"{kind}, {_ERRORS.get(error, error)}: {variant[error]}")
        difference, of_eager = variant.get("difference", 0.0), variant.get("eager_difference", 0.0)
        if difference > LARGE or (differs(variant) and "wrong" not in variant):
            found.append(
                f"{kind}: differs by {difference:.1e}, eager PyTorch from its results in float64 by {of_eager:.1e}"
            )
        if variant.get("ties"):
            found.append(f"{kind}: {variant['ties']} places differ where scores tie")
        if "delegates" in variant and not is_one_call(variant):
            found += [f"{kind}, {count} times {text}" for text, count in variant.get("reasons", {}).items()]
    if "error" in record.get("official", {}):
        found.append(f"ExecuTorch's XNNPACK delegate: {record['official']['error']}")
    return found


def _escaped(text: str) -> str:
    for mark in "|*_<[":
        text = text.replace(mark, "\\" + mark)
    return text
