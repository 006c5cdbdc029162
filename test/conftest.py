# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lets every test import ``samples``, ``harness``, ``interpreter`` and the ``models`` that benchmarks measure."""

import itertools
import os
import sys
import zlib
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent / "benchmarks")]

import faster_export  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

# Tests are the same where the packages of the zoo are, of which these cannot be imported beside PyTorch for CPUs.
sys.modules.update(torchaudio=None, torchvision=None)


def pytest_addoption(parser):
    parser.addoption(
        "--unpatched", action="store_true", help="export and lower with PyTorch and ExecuTorch as users have them"
    )
    parser.addoption(
        "--without-runtime", action="store_true", help="skip tests that run programs if the compiled part is missing"
    )
    parser.addoption("--quick", action="store_true", help="some of the cases of tests marked `sampled`")
    parser.addoption(
        "--turn", type=int, help="of tests that take long one half for an even number, the other for an odd one"
    )


#: Files and folders whose tests take half of the time, though they are few.
_LONG = (
    "aot/cli",
    "docs",
    "fuzz",
    "models",
    "ops/test_decoder.py",
    "package",
    "suite",
    "test_faster_export.py",
    "test_threads.py",
)


class _Checkout:
    """The checkout is the package itself, which nobody imports as what its folder happens to be called."""

    @staticmethod
    def pytest_collect_directory(path, parent):
        return pytest.Dir.from_parent(parent, path=path) if path == here.parent else None


def pytest_configure(config):
    config.pluginmanager.register(_Checkout)
    if not config.getoption("unpatched"):
        faster_export.patch_torch()
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)  # the processes share the cores


def pytest_sessionstart(session):
    """Else a compiled part that cannot be loaded would only be seen as skipped tests."""
    from executorch.backends import et_xnnpack

    if not et_xnnpack.is_available() and not session.config.getoption("without_runtime"):
        raise pytest.UsageError(
            "the compiled part of et_xnnpack is not available: run `make build`, or give --without-runtime to skip "
            "the tests that need it"
        )


def _is_left_out(item) -> bool:
    """All cases of a test that is marked so but one of four, or of ``of``, the same ones in every run."""
    mark = item.get_closest_marker("sampled")
    return (
        mark is not None
        and zlib.crc32(mark.kwargs.get("case", item.callspec.id).encode()) % mark.kwargs.get("of", 4) != 0
    )


def _has_its_turn(item, turn: int) -> bool:
    path = item.path.relative_to(here)
    is_long = any(path.is_relative_to(part) for part in _LONG)
    return not is_long or zlib.crc32(item.nodeid.encode()) % 2 == turn % 2


def pytest_collection_modifyitems(config, items):
    """The closed loop comes last: it looks at what other tests have lowered."""
    quick, turn = config.getoption("quick"), config.getoption("turn")
    left_out = [
        (quick and _is_left_out(item)) or (turn is not None and not _has_its_turn(item, turn)) for item in items
    ]
    if any(left_out):
        config.hook.pytest_deselected(items=list(itertools.compress(items, left_out)))
        items[:] = [item for item, out in zip(items, left_out, strict=True) if not out]
    items.sort(key=lambda item: item.path.stem == "test_closed_loop")


@pytest.fixture(scope="session", autouse=True)
def _one_run_of_several_processes(tmp_path_factory):
    """What each has lowered is known to all."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        import harness

        harness.coverages.share(tmp_path_factory.getbasetemp().parent / "coverage")


@pytest.fixture(autouse=True)
def _programs_do_not_pile_up(pytestconfig):
    yield
    if not pytestconfig.getoption("unpatched"):
        faster_export.forget_programs()
