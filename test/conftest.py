# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lets every test import ``samples``, ``harness``, ``interpreter`` and the ``models`` that benchmarks measure."""

import functools
import os
import sys
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent / "benchmarks")]

import pytest  # noqa: E402
from torch._export import utils  # noqa: E402

# Half of the time of an export goes into a list of all operators, made anew each time.
utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)


def pytest_collection_modifyitems(items):
    """The closed loop comes last: it looks at what other tests have lowered."""
    items.sort(key=lambda item: item.path.stem == "test_closed_loop")


@pytest.fixture(scope="session", autouse=True)
def _one_run_of_several_processes(tmp_path_factory):
    """What each has lowered is known to all."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        import harness

        harness.coverages.share(tmp_path_factory.getbasetemp().parent / "coverage")
