# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What all runs of the fuzzers have looked at is counted once, whenever a run ends."""

import json

from fuzz import totals


def test_runs_add_up(tmp_path):
    first = totals.Counter("blob", tmp_path, every=10)
    assert [first.reached(n) for n in (4, 12, 15)] == [0, 12, 12]  # the last three are lost if it is killed now
    second = totals.Counter("blob", tmp_path, every=10)
    assert second.total == 12
    assert first.reached(15, is_last=True) == 15
    assert second.reached(3, is_last=True) == 18
    assert totals.add("graphs", 2, tmp_path) == 2
    assert json.loads((tmp_path / "totals.json").read_text()) == {
        "blob": {totals.commit(): 18},
        "graphs": {totals.commit(): 2},
    }
