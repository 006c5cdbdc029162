# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Runs ExecuTorch's own operator tests through et_xnnpack and prints a table.

A test is *full* if each of its programs became exactly one delegate call with nothing outside. The
suite itself also passes what is not delegated at all, and skips models that fail in eager PyTorch.
"""

import argparse
import collections
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from internals import INTERNALS
from tabulate import tabulate

HERE = Path(__file__).resolve().parent
SUITES = {
    "operators": "executorch.backends.test.suite.operators",
    "xnnpack": "executorch.backends.xnnpack.test.ops",
}
GOOD = ("passed", "skipped", "internals")
FLOWS = ("fp32", "static_int8_per_channel", "static_int8_per_tensor", "dynamic_int8_per_channel")
#: One quick test of most operators; about half a minute.
QUICK = " or ".join(
    f"test_{name}"
    for name in (
        *("add_dtype", "amax_dim", "argmax_dim", "avgpool3d_basic", "cat_basic", "conv2d_basic", "embedding_basic"),
        *("floor_divide_dtype", "gelu_dtype", "index_put_dtype", "linear_basic", "maxpool2d_basic", "mean_dim"),
        *("median_with_indices", "relu_dtype", "round_dtype", "slice_basic", "upsample_nearest2d_sizes"),
    )
)


#: Of the operators that the quantizer knows.
QUICK_QUANTIZED = " or ".join(
    f"test_{name}"
    for name in (
        *("add_dtype", "cat_same_shapes", "conv2d_depthwise", "convtranspose1d_basic", "linear_unbatched"),
        "multiply_f32_bcast_first",
    )
)


def main() -> int:
    arguments = parse_arguments()
    results = run(arguments)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1))
    print(report(results))
    failed = [r for r in results if r["outcome"] not in GOOD]
    return 1 if failed or not results else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "suite",
        nargs="?",
        choices=SUITES,
        default="operators",
        help="ExecuTorch's backend suite, or the official XNNPACK delegate's own operator tests",
    )
    parser.add_argument(
        "--flow", choices=FLOWS, default="fp32", help="how ExecuTorch's backend suite quantizes with XNNPACKQuantizer"
    )
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as in pytest")
    parser.add_argument("--quick", action="store_true", help="a few tests of many operators")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 4), help="processes")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--output", type=Path, help="also write all results as JSON")
    return parser.parse_args()


def run(arguments) -> list[dict]:
    """The result of every test."""
    found = importlib.util.find_spec(SUITES[arguments.suite]).submodule_search_locations
    log = Path(os.environ.get("ET_XNNPACK_SUITE_RESULTS") or HERE.parent.parent / "build" / "suite.jsonl")
    log.parent.mkdir(parents=True, exist_ok=True)
    quick = QUICK if arguments.flow == "fp32" else QUICK_QUANTIZED
    chosen = quick if arguments.quick else arguments.k
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "--tb=no", "--no-header"),
        *("-c", os.devnull, "--rootdir", next(iter(found)), "-W", "ignore", "-n", str(arguments.workers)),
        *("--timeout", str(arguments.timeout), "-r", "N"),
        *(["-k", chosen] if chosen else []),
        *found,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
        "ET_XNNPACK_SUITE_RESULTS": str(log),
        "ET_XNNPACK_SUITE_FLOW": arguments.flow,
    }
    with open(log.with_suffix(".log"), "w") as errors:
        status = subprocess.run(command, env=environment, stderr=errors).returncode
    if status not in (0, 1):  # 1: some tests failed, which the table shows
        sys.exit(f"pytest ended with {status}, see {log.with_suffix('.log')}")
    results = [json.loads(line) for line in log.read_text().splitlines()]
    return with_internals(results) if arguments.suite == "xnnpack" else results


def with_internals(results: list[dict]) -> list[dict]:
    """A test that failed as INTERNALS says has the outcome "internals" and the reason."""
    marked = []
    for r in results:
        internal = INTERNALS.get(f"{r['file']}.{r['test']}")
        if internal and r["outcome"] == "failed" and internal.error in r["error"]:
            r = {**r, "outcome": "internals", "reasons": [internal.reason]}
        elif internal and r["outcome"] == "passed":
            r = {**r, "outcome": "failed", "error": "passes, so it does not belong into internals.py"}
        marked.append(r)
    return marked


def report(results: list[dict]) -> str:
    """Counts by operator, and what is not as it should be."""
    rows = collections.defaultdict(collections.Counter)
    for r in results:
        row = rows[r["file"]]
        row["tests"] += 1
        row[r["outcome"]] += 1
        row["full"] += r["full"] and r["outcome"] == "passed"
    columns = ["tests", "passed", "full", "skipped", "failed", "crashed"]
    if any(row["internals"] for row in rows.values()):
        columns.append("internals")
    total = sum(rows.values(), collections.Counter())
    lines = [[name, *(row[c] or "" for c in columns)] for name, row in sorted(rows.items())]
    lines.append(["all", *(total[c] for c in columns)])
    text = [tabulate(lines, ["operator", *columns], tablefmt="github")]
    partly = [r for r in results if r["outcome"] == "passed" and not r["full"]]
    if partly:
        text.append("\nNot fully delegated:")
        text += [f"- {r['file']}, {r['test']}: {'; '.join(r['reasons']) or ', '.join(r['outside'])}" for r in partly]
    internals = [r for r in results if r["outcome"] == "internals"]
    if internals:
        text.append("\nAssert internals of the official delegate:")
        text += [f"- {r['file']}, {r['test']}: {r['reasons'][0]}" for r in internals]
    failed = [r for r in results if r["outcome"] not in GOOD]
    if failed:
        text.append("\nFailed:")
        text += [f"- {r['file']}, {r['test']}: {r['error']}" for r in failed]
    return "\n".join(text)


if __name__ == "__main__":
    sys.exit(main())
