# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What differs between two lists of steps, the nodes of two delegates or the instructions of two methods."""

import dataclasses
import difflib
from collections.abc import Iterable, Sequence

from .blob import Blob
from .output import size
from .program import Method, Number, TensorInfo


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    does: str  #: with the types of what it reads and makes
    reads: tuple[int | None, ...]  #: values; None where an optional one is absent
    makes: tuple[int, ...]


def matching(a: Sequence[Step], b: Sequence[Step]) -> list[tuple[int, int]]:
    """Pairs of steps that do the same with operands of the same types, in their order."""
    lines = [[step.does for step in steps] for steps in (a, b)]
    blocks = difflib.SequenceMatcher(None, *lines, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def only_in_one(a: Sequence[Step], b: Sequence[Step]) -> list[str]:
    """What only one of them does, with - and + before it."""
    lines = [[step.does for step in steps] for steps in (a, b)]
    found = difflib.unified_diff(*lines, lineterm="", n=0)
    return [line for line in found if not line.startswith(("---", "+++", "@@"))]


class Values:
    """Which values of one list of steps are which ones of the other."""

    def __init__(self, a: Sequence[Step], b: Sequence[Step]):
        self._steps = a, b
        self._names: tuple[dict[int, str], dict[int, str]] = {}, {}
        self._same: tuple[dict[int, int], dict[int, int]] = {}, {}
        for names, steps in zip(self._names, self._steps, strict=True):
            for step in steps:
                for k, value in enumerate(step.makes):
                    names[value] = step.name + (f", result {k}" if len(step.makes) > 1 else "")

    def name(self, x: int, y: int, name: str) -> None:
        """Both come from outside, and are the same."""
        self._names[0][x], self._names[1][y] = name, name
        self._bind(x, y)

    def _bind(self, x: int, y: int) -> None:
        self._same[0].setdefault(x, y)
        self._same[1].setdefault(y, x)

    def wiring(self, pairs: Iterable[tuple[int, int]]) -> list[str]:
        """Where matching steps read other values."""
        found = []
        for i, j in pairs:
            x, y = self._steps[0][i], self._steps[1][j]
            for k, (v, w) in enumerate(zip(x.reads, y.reads, strict=True)):
                if v is not None and w is not None:
                    found += self.other(v, w, f"{x.name}, operand {k}: ")
            for v, w in zip(x.makes, y.makes, strict=False):
                self._bind(v, w)
        return found

    def other(self, v: int, w: int, where: str) -> list[str]:
        """A line if one of them is another value than the other one."""
        names = [names.get(value) for names, value in zip(self._names, (v, w), strict=True)]
        if names == [None, None]:  # what no step makes
            self._bind(v, w)
        found = self._same[0].get(v), self._same[1].get(w)
        if found == (w, v) or (found == (None, None) and None not in names):  # of steps that only one has
            return []
        return [f"{where}{names[0] or f'value {v}'} became {names[1] or f'value {w}'}"]


def _short(word: str) -> str:
    word = word.strip("(),")
    try:
        return f"{float(word):.9g}"
    except ValueError:
        return word


def _changed(x: str, y: str) -> str:
    """The first word that differs, after the name of its field."""
    words = x.split(), y.split()
    field = ""
    for one, other in zip(*words, strict=False):
        if "=" in one:
            field, one = one.split("=")
            other = other.rpartition("=")[2]
        if one != other:
            return f"{field} {_short(one)} became {_short(other)}"
    return f"{field} has {len(words[1])} numbers in place of {len(words[0])}"


def nodes_of(blob: Blob) -> list[Step]:
    """Of a delegate of ours."""

    def type_of(i):
        return "none" if i is None else blob.values[i].type + (" const" if blob.values[i].is_constant else "")

    return [
        Step(
            node.name,
            f"{', '.join(map(type_of, node.outputs))} = {node.op}({', '.join(map(type_of, node.inputs))}) "
            f"{node.attributes}",
            tuple(None if i is None or blob.values[i].is_constant else i for i in node.inputs),
            node.outputs,
        )
        for node in blob.nodes
    ]


def compare_blobs(a: Blob, b: Blob) -> dict[str, list[str]]:
    """Graphs, weights and plans of two delegates as lines of text."""
    steps = nodes_of(a), nodes_of(b)
    pairs = matching(*steps)
    values = Values(*steps)
    for k, (v, w) in enumerate(zip(a.inputs, b.inputs, strict=False)):
        if v is not None and w is not None:
            values.name(v, w, f"input {k}")
    others = {name: (value, update) for (name, value), update in zip(b.states, b.updates, strict=True)}
    states = [(n, v, u, *others[n]) for (n, v), u in zip(a.states, a.updates, strict=True) if n in others]
    for name, v, _, w, _ in states:
        values.name(v, w, f"state {name}")
    graph = only_in_one(*steps) + values.wiring(pairs)
    for k, (v, w) in enumerate(zip(a.outputs, b.outputs, strict=False)):
        graph += values.other(v, w, f"output {k}: ")
    for name, _, v, _, w in states:
        graph += values.other(v, w, f"state {name} after a call: ")
    counts = [(len(x.inputs), len(x.outputs), sorted(name for name, _ in x.states)) for x in (a, b)]
    if counts[0] != counts[1]:
        graph.append(f"inputs, outputs and states: {counts[0]} became {counts[1]}")
    weights, plan = [], []
    seen = set()
    for i, j in pairs:
        x, y = a.nodes[i], b.nodes[j]
        if x.exact != y.exact:
            graph.append(f"{x.name}: {_changed(x.exact, y.exact)}")
        for kind, both in (("operand", (x.inputs, y.inputs)), ("result", (x.outputs, y.outputs))):
            for k, (v, w) in enumerate(zip(*both, strict=True)):
                if v is None or w is None or (v, w) in seen:
                    continue
                seen.add((v, w))
                where, first = f"{x.name}, {kind} {k}", a.values[v]
                if first.digest != b.values[w].digest:
                    weights.append(f"{where}: {first.type} has other content")
                if a.quantizations[v] != b.quantizations[w]:
                    found = weights if first.is_constant else graph
                    found.append(f"{where}: {_changed(a.quantizations[v], b.quantizations[w])}")
                if a.formulas[v] != b.formulas[w]:
                    graph.append(f"{where}: the sizes of {first.type} come from others")
        if (x.choice is None) != (y.choice is None):
            continue
        if x.choice is not None and (x.choice.by, x.choice.reason) != (y.choice.by, y.choice.reason):
            plan.append(f"{x.name}: {x.choice.by}. {x.choice.reason} became {y.choice.by}. {y.choice.reason}")
    graph += [f"{name} differ" for name, other in a.others.items() if other != b.others[name]]
    sizes = [sum(v.stored_bytes for v in blob.constants) for blob in (a, b)]
    if sizes[0] != sizes[1]:
        weights.append(f"{size(sizes[0])} in all became {size(sizes[1])}")
    return {"graph": graph, "weights": weights, "plan": plan}


def instructions_of(method: Method) -> list[Step]:
    """Of a method: its operators and delegate calls."""
    makes = []
    for instruction, flow in zip(method.instructions, method.flow, strict=False):
        number = instruction.arguments[-1:] if instruction.kind == "operator" else ()  # such as sym_size makes
        makes.append(flow.writes or number)
    made = {*method.inputs, *(value for values in makes for value in values)}

    def text(i: int) -> str:
        info = method.values[i]
        if isinstance(info, TensorInfo):
            return f"{info.type} {method.contents.get(i, '')}".rstrip()
        kind = info.kind if isinstance(info, Number) else info
        return kind if i in made else f"{kind} {method.contents.get(i, '')}".rstrip()

    found = []
    for at, (instruction, flow) in enumerate(zip(method.instructions, method.flow, strict=False)):
        name = instruction.name if instruction.delegate is None else f"delegate {instruction.delegate}"
        arguments = instruction.form.replace("{", "{{").replace("}", "}}").replace("%", "{}")
        arguments = arguments.format(*map(text, instruction.arguments))
        if instruction.delegate is not None:  # the types are those of its graph
            arguments = f"{len(instruction.arguments)} arguments"
        reads = tuple(
            flow.reads.get(i, i) if i in made or getattr(method.values[i], "is_constant", True) is False else None
            for i in instruction.arguments
        )
        found.append(Step(f"{at} {name}", f"{name}({arguments})", reads, makes[at]))
    return found


def compare_instructions(a: Method, b: Method) -> list[str]:
    """What operators outside of delegates do and read, as lines of text."""
    steps = instructions_of(a), instructions_of(b)
    values = Values(*steps)
    for k, (v, w) in enumerate(zip(a.inputs, b.inputs, strict=False)):
        values.name(v, w, f"input {k}")
    found = only_in_one(*steps) + values.wiring(matching(*steps))
    for k, (i, j) in enumerate(zip(a.outputs, b.outputs, strict=False)):
        found += values.other(a.flow[-1].reads.get(i, i), b.flow[-1].reads.get(j, j), f"output {k}: ")
    return found
