# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Instructions and microkernels of a call on emulated ARM CPUs: builds of ours beside the official delegate.

qemu counts what one thread executes in a second call, with a plugin of ours (instructions_plugin.c, compiled here). The
same program gives the same count every time. Instructions are not time: one of a vector takes as long as it is wide.
Writes instructions.json and instructions.md.
"""

import argparse
import bisect
import collections
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import emulated
from markdown_table import table
from options import add_output

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CALL = 2  # the one that is counted: the first one may make what later ones keep
#: Products by the number format of a program: what multiplies, and what convolves one channel.
PRODUCT = re.compile(r"_(ppmm|spmm|i?gemm|dwconv|conv)|(^|_)i?matmul_|dwconv_clamp")
MICROKERNEL = re.compile(r"^xnn_(\w+)_ukernel_+(\w+)$|^kai_(?:run|kernel)_(\w+)$")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--builds", nargs="+", required=True, metavar="NAME", help="folders in build/")
    parser.add_argument("--cpus", nargs="+", default=list(emulated.CPUS), metavar="CPU")
    parser.add_argument("--programs", nargs="+", default=list(emulated.PROGRAMS), metavar="PROGRAM")
    add_output(parser, "the results", emulated.FOLDER)
    parser.add_argument("--fresh", action="store_true", help="count again what is known of the same libraries")
    arguments = parser.parse_args()

    arguments.output.mkdir(parents=True, exist_ok=True)
    builds = [ROOT / "build" / name for name in arguments.builds]
    libraries = [*map(emulated.Library.ours, builds), emulated.Library.official()]
    runner = emulated.runner(builds[0])
    plugin = compile_plugin(emulated.FOLDER)
    results = json.loads(path.read_text()) if (path := arguments.output / "instructions.json").exists() else {}
    for program in emulated.prepare(arguments.programs):
        for cpu in arguments.cpus:
            for library in libraries:
                key = f"{program.name}|{cpu}|{library.title}"
                current = hashlib.sha256(library.path.read_bytes()).hexdigest() + program.facts["fingerprint"]
                if not arguments.fresh and results.get(key, {}).get("fingerprint") == current:
                    continue
                print(f"{program.name}, {cpu}, {library.title}", file=sys.stderr, flush=True)
                results[key] = {"fingerprint": current, **count(runner, library, program, cpu, plugin)}
                path.write_text(json.dumps(results, indent=1))
    titles = [library.title for library in libraries]
    text = report(results, arguments.programs, arguments.cpus, titles)
    (arguments.output / "instructions.md").write_text(text)
    print(text)
    return 0


def compile_plugin(folder: Path) -> Path:
    """For the machine that emulates."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / "instructions_plugin.so"
    source = HERE / "instructions_plugin.c"
    if not plugin.exists() or plugin.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(plugin), str(source)], check=True)
    return plugin


def count(runner: Path, library, program, cpu: str, plugin: Path) -> dict:
    """Instructions of a call, in all and by function, or why it failed."""
    try:
        emulated.run(runner, library, program, cpu, plugin=plugin, calls=CALL)
    except RuntimeError as error:
        return {"error": str(error)[:200]}
    functions = by_function(program.folder / "counts", program.folder / "maps")
    return {"all": sum(functions.values()), "functions": dict(functions.most_common(40))}


def by_function(counts: Path, maps: Path) -> collections.Counter:
    """Instructions of the counted call by the name of the function that they are in."""
    segments = []
    for line in maps.read_text().splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/"):
            start, end = (int(word, 16) for word in words[0].split("-"))
            segments.append((start, end, words[5]))
    bases = {}
    for start, _, path in segments:
        bases[path] = min(start, bases.get(path, start))
    ends = {path: max(end for _, end, other in segments if other == path) for path in bases}
    tables = {path: symbols(path) for path in bases}
    found = collections.Counter()
    for line in counts.read_text().splitlines():
        phase, address, instructions = line.split()
        if int(phase) != CALL:
            continue
        address = int(address, 16)
        name = "elsewhere"
        for path, base in bases.items():
            if base <= address < ends[path]:
                starts, functions = tables[path]
                i = bisect.bisect_right(starts, address - base) - 1
                end, name = functions[i] if i >= 0 else (0, "")
                name = name if address - base < end else f"in {Path(path).name}"
                break
        found[name] += int(instructions)
    return found


def symbols(path: str) -> tuple[list[int], list[tuple[int, str]]]:
    """Where the functions of a library start, in order, with their ends and names."""
    if path not in _symbols:
        found = {}
        for options in (["-C"], ["-C", "-D"]):  # a stripped library has the names that it exports only
            command = ["aarch64-linux-gnu-nm", "-S", "--defined-only", *options, path]
            for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines():
                if match := _SYMBOL.match(line):
                    start, size, name = match.groups()
                    found[int(start, 16)] = (int(size or "0", 16), name)
        starts, known = [], 0  # where the last function with a size ends: what is in it is a label
        for start in sorted(found):
            if start >= known or found[start][0] != 0:
                starts.append(start)
                known = max(known, start + found[start][0])
        ends = [*starts[1:], starts[-1] + 1] if starts else []
        # Functions in assembly may have no size.
        functions = [
            (start + (found[start][0] or end - start), found[start][1]) for start, end in zip(starts, ends, strict=True)
        ]
        _symbols[path] = (starts, functions)
    return _symbols[path]


_SYMBOL = re.compile(r"([0-9a-f]+) (?:([0-9a-f]+) )?[tTwWi] ((?!\$).+)$")
_symbols: dict[str, tuple[list[int], list[tuple[int, str]]]] = {}


def short(name: str) -> str | None:
    """Of a microkernel of XNNPACK or KleidiAI for products, without what all names have; None for other functions."""
    match = MICROKERNEL.match(name)
    if match is None or not PRODUCT.search(name):
        return None
    kind, variant, kai = match.groups()
    return f"kai {kai}" if kai else f"{kind} {variant}"


def report(results: dict, programs, cpus, titles) -> str:
    base = titles[-1]
    rows, kernels = [], []
    for program in programs:
        for cpu in cpus:
            cells, chosen = [], []
            for title in titles:
                result = results[f"{program}|{cpu}|{title}"]
                if "error" in result:
                    cells.append("fails")
                    chosen.append(result["error"])
                    continue
                ratio = ""
                if title != base and "all" in (other := results[f"{program}|{cpu}|{base}"]):
                    ratio = f" ({result['all'] / other['all']:.2f})"
                cells.append(f"{result['all'] / 1e6:.1f}{ratio}")
                named = [(short(name), n) for name, n in result["functions"].items()]
                large = [f"`{name}` {n / result['all']:.0%}" for name, n in named if name and n > result["all"] / 50]
                chosen.append("<br>".join(large) or f"`{next(iter(result['functions']))}`")
            rows.append([program, cpu, *cells])
            kernels.append([program, cpu, *chosen])
    headers = ["program", "CPU", *titles]
    return "\n\n".join(
        [
            f"# Millions of instructions of a call (relative to {base})",
            table(headers, rows),
            "# Microkernels for products, and their part of all instructions",
            table(headers, kernels),
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
