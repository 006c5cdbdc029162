# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A tenth of the zoo. A package that is missing is an error, which says what to install."""

import pytest

from zoo import run, table
from zoo.registry import architectures, select

SEED = 1


@pytest.fixture(scope="module")
def context():
    return run.start()


@pytest.mark.large
@pytest.mark.parametrize("architecture", select(architectures(), tenth=SEED), ids=lambda a: a.name)
def test_runs_like_eager(context, architecture):
    record = run.run_parts(context, architecture, run.Limits(), table.VARIANTS, {})
    assert not table.is_wrong(record), table.outcome(record)
