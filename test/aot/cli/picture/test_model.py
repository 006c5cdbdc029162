# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The clusters of a picture."""

import pytest
from executorch.backends.et_xnnpack.aot.cli.picture.model import Node, simplified
from executorch.backends.et_xnnpack.aot.cli.picture.sections import LONGEST, sections


def node(name: str, *path: str) -> Node:
    return Node(name, name, "", "group", path=path)


def test_a_cluster_of_one_node_is_a_part_of_its_label():
    (alone, *others) = simplified([node("a", "head"), node("b", "body"), node("c", "body")])
    assert (alone.path, alone.label) == ((), "head · a")
    assert [(other.path, other.label) for other in others] == [(("body",), "b"), (("body",), "c")]


def test_a_cluster_of_nothing_but_another_one_is_a_part_of_its_name():
    found = simplified([node("a", "blocks", "0", "x"), node("b", "blocks", "0"), node("c", "blocks", "0"), node("d")])
    assert [one.path for one in found] == [("blocks.0",)] * 3 + [()]
    assert found[0].label == "x · a"


def test_clusters_of_several_stay():
    nodes = [node(str(i), "blocks", str(i // 2)) for i in range(4)]
    assert simplified(nodes) == nodes


@pytest.mark.parametrize("count", [0, 1, LONGEST, LONGEST + 1, 500])
def test_sections_hold_each_node_once(count):
    found = sections([[i - 1] if i else [] for i in range(count)])
    assert [i for part in found for i in part] == list(range(count))
    assert max(map(len, found)) <= LONGEST


def test_sections_are_cut_where_one_value_crosses():
    """Blocks of 40 nodes, which all read what goes into their block."""
    reads = [[i - 1, 40 * (i // 40) - 1] if i >= 40 else [i - 1, 0][: i and 2] for i in range(200)]
    assert [part[0] % 40 for part in sections(reads)] == [0] * 5
