#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The operators that programs need of the runtime, as ``ET_XNNPACK_OPS`` takes them.

cmake --preset release -DET_XNNPACK_OPS="$(python tools/operators_of.py model.pte other.pte)"
"""

import argparse
from pathlib import Path

from executorch.backends.et_xnnpack.aot.backend import BACKEND_ID
from executorch.backends.et_xnnpack.aot.private.executorch import delegate_blobs
from executorch.backends.et_xnnpack.serialization import schema, schema_generated


def operators_of(program: bytes) -> set[str]:
    """Those of all delegates of et_xnnpack in a ``.pte``. Raises ValueError if there is none."""
    blobs = delegate_blobs(program, BACKEND_ID)
    if not blobs:
        raise ValueError("no part of the program is delegated to et_xnnpack")
    graphs = [schema_generated.Graph.GetRootAs(blob) for blob in blobs]
    nodes = [graph.Nodes(i) for graph in graphs for i in range(graph.NodesLength())]
    return {schema.AttributesType(node.AttributesType()).name for node in nodes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="+", type=Path, metavar="model.pte")
    found: set[str] = set()
    for path in parser.parse_args().programs:
        try:
            found |= operators_of(path.read_bytes())
        except ValueError as error:
            parser.error(f"{path}: {error}")
    print(";".join(sorted(found)))


if __name__ == "__main__":
    main()
