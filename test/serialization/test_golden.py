# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The format only grows. ``test/runtime/golden_test.cpp`` runs the blobs; here is what they cover."""

import re
import subprocess
from pathlib import Path

import executorch
import pytest
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.serialization import schema, schema_generated
from harness import needs_runtime

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = sorted((ROOT / "test" / "golden").iterdir())
BLOBS = sorted((ROOT / "test" / "golden").glob("*/*.etx"))

HOW_TO = (
    "What is new goes to the end, with a bit of Feature where an old reader must not ignore it; "
    "serialization/format.md has the rules. Only before the first release may `python tools/golden.py` "
    "take over another order and write the blobs anew."
)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda p: p.name)
def test_the_schema_only_grows(version):
    flatc = Path(executorch.__path__[0]) / "data" / "bin" / "flatc"
    new = ROOT / "serialization" / "schema.fbs"
    done = subprocess.run([flatc, "--conform", version / "schema.fbs", new], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{HOW_TO}"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda p: p.name)
def test_every_operator_has_a_blob(version):
    union = re.search(r"union Attributes \{(.*?)\}", (version / "operators.fbs").read_text(), re.DOTALL).group(1)
    found = set()
    for path in version.glob("*.etx"):
        nodes = schema_generated.GraphT.InitFromPackedBuf(path.read_bytes(), 0).nodes
        found |= {schema.AttributesType(node.attributesType).name for node in nodes}
    assert set(re.findall(r"\w+", union)) - found == set(), "run python tools/golden.py --add"


@needs_runtime
@pytest.mark.parametrize("path", BLOBS, ids=lambda p: p.stem)
def test_verifies(path):
    try:
        et_xnnpack.verify(path.read_bytes())
    except ValueError as error:
        pytest.fail(f"{error}\n{HOW_TO}")
