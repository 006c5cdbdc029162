# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Private API of PyTorch, ExecuTorch and torchao is used in ``aot/private`` alone.

Private is

- a module, or what is imported from one, with a leading underscore in its name;
- an attribute, an argument by name or the name in ``getattr`` with a leading underscore that the file does not
  define; ``self`` may have it from another class of ours;
- a method of ours that overrides one with a leading underscore of a class of theirs;
- what ``UNDOCUMENTED`` lists: it has no underscore, and no document either.

Operators (``torch.ops``) are not, whatever they are called, and neither is what ``DOCUMENTED`` lists, in spite of
its underscore.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import aot

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ("torch", "executorch", "torchao")
OURS = et_xnnpack.__name__

UNDOCUMENTED = {
    # modules
    "executorch.examples": "the exporter of language models",
    "executorch.exir.backend.backend_api": "how ExecuTorch calls partitioners",
    "executorch.exir.dialects": "the operators of the Edge dialect",
    "executorch.exir.tracer": "how ExecuTorch traces",
    "torch.fx.experimental": "symbolic sizes",
    # attributes
    "backed_var_to_val": "of ShapeEnv",
    "deferred_runtime_asserts": "of ShapeEnv",
    "fake_mode": "of fake tensors",
    "f_globals": "of a frame of somebody else",
    "f_locals": "of a frame of somebody else",
    "from_node": "of nodes and what they were made of",
    "node.expr": "of symbolic sizes",
    "node.shape_env": "of symbolic sizes",
    "replacements": "of ShapeEnv",
    "var_to_range": "of ShapeEnv",
    # keys of ``meta`` of a node
    "delegate_constant_tag": "of ExecuTorch's pass for external constants",
}
DOCUMENTED = {"torch._check", "_check_ir_validity"}

#: Outside the package there are more, each with few functions: what they need must come without our runtime.
SEAMS = {
    "benchmarks/engines/_executorch.py": {"_load_program", "_unsafe_reset_threadpool"},
    "benchmarks/float16_sums.py": {"torch.utils._python_dispatch"},
    "benchmarks/language/models.py": {
        "executorch.examples.models.llama.llama_transformer",
        "executorch.examples.models.llama.model_args",
    },
    "benchmarks/tracer.py": {"_load_for_executorch"},
    "examples/common.py": {"_load_program", "_unsafe_reset_threadpool"},
    "test/faster_export.py": {
        "_dispatch_cache",
        "_materialize_cpp_cia_ops",
        "_override_composite_implicit_decomp",
        "torch._C",
        "torch._export",
        "torch._subclasses.fake_impls",
    },
    "test/llm_exporter.py": {
        "_prepare_for_llama_export",
        "executorch.examples.models.llama",
        "executorch.examples.models.llama.llama_transformer",
        "executorch.examples.models.llama.model_args",
        "executorch.exir._serialize._program",
    },
    "test/numeric_gaps.py": {"_load_for_executorch_from_buffer"},
}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _sources() -> list[Path]:
    """Everything that is written in Python but tests, of which it is what they share."""
    folders = ("aot", "serialization", "benchmarks", "examples", "tools", "cmake", "third-party")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    shared = [p for p in (ROOT / "test").glob("*.py") if not p.name.startswith("test_")]
    return sorted([ROOT / "__init__.py", *paths, *shared, *(ROOT / "test" / "interpreter").glob("*.py")])


def _own_names(trees) -> set[str]:
    """What our code itself calls with a leading underscore."""
    names = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node.value, ast.Name) and node.value.id == "self":
                names.add(node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return {name for name in names if _is_private(name)}


class _Uses(ast.NodeVisitor):
    """The uses of private API in one file."""

    def __init__(self, tree: ast.Module, inherited: set[str]):
        self.found: list[tuple[int, str]] = []
        self._own = _own_names([tree])
        self._inherited = self._own | inherited
        self._operators = {"torch.ops"}
        for node in tree.body:  # _aten = torch.ops.aten
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("torch.ops."):
                self._operators.update(ast.unparse(target) for target in node.targets)
        self.visit(tree)

    def _add(self, node, name: str) -> None:
        self.found.append((node.lineno, name))

    def _module(self, node, name: str) -> None:
        if name.partition(".")[0] not in LIBRARIES or f"{name}.".startswith(f"{OURS}."):
            return
        parts = name.split(".")
        if any(map(_is_private, parts)) or any(".".join(parts[:n]) in UNDOCUMENTED for n in range(1, len(parts) + 1)):
            self._add(node, name)

    def visit_Import(self, node):
        for alias in node.names:
            self._module(node, alias.name)

    def visit_ImportFrom(self, node):
        if node.level == 0:
            self._module(node, node.module)
            if not self.found or self.found[-1] != (node.lineno, node.module):
                for alias in node.names:
                    self._module(node, f"{node.module}.{alias.name}")

    def visit_Attribute(self, node):
        text = ast.unparse(node)
        if any(text.startswith(f"{operators}.") for operators in self._operators) or text in DOCUMENTED:
            return
        ends = {node.attr, ".".join(text.split(".")[-2:])}
        own = self._inherited if ast.unparse(node.value) in ("self", "cls", "super()") else self._own
        if ends & UNDOCUMENTED.keys() or (_is_private(node.attr) and node.attr not in own):
            self._add(node, node.attr)
        self.generic_visit(node)

    def visit_Call(self, node):
        for keyword in node.keywords:
            name = keyword.arg or ""
            if _is_private(name) and name not in self._own and name not in DOCUMENTED:
                self._add(node, name)
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, str) and node.value in UNDOCUMENTED:
            self._add(node, node.value)

    def generic_visit(self, node):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr", "setattr"):
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            if _is_private(name) and name not in self._own:
                self._add(node, name)
        super().generic_visit(node)


def uses(source: str, inherited: frozenset[str] = frozenset()) -> set[str]:
    """The private names that ``source`` uses; its classes may have ``inherited`` ones from others of ours."""
    return {name for _, name in _Uses(ast.parse(source), set(inherited)).found}


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    """The private API that each file uses."""
    paths = _sources()
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    inherited = frozenset(_own_names(map(ast.parse, sources.values())))
    return {name: used for name, source in sources.items() if (used := uses(source, inherited))}


def test_private_api_is_used_behind_the_seam_only(found):
    outside = {n: used for n, used in found.items() if not n.startswith("aot/private/") and n not in SEAMS}
    assert outside == {}, "give each a function with a reason in aot/private, and a test of what it assumes"


def test_other_seams_use_what_they_are_for(found):
    assert {name: found.get(name, set()) for name in SEAMS} == SEAMS


def test_the_seam_is_in_use(found):
    used = {name for name in found if name.startswith("aot/private/")}
    assert used == {str(p.relative_to(ROOT)) for p in (ROOT / "aot/private").glob("*.py") if p.stem != "__init__"}


def _modules():
    for info in pkgutil.walk_packages(aot.__path__, f"{aot.__name__}."):
        if not info.name.startswith(f"{aot.__name__}.private"):
            yield importlib.import_module(info.name)


def test_private_methods_are_overridden_behind_the_seam_only():
    overridden = []
    for module in _modules():
        for _, cls in inspect.getmembers(module, inspect.isclass):
            theirs = [b for b in cls.__mro__ if b.__module__.partition(".")[0] in LIBRARIES]
            theirs = [base for base in theirs if not base.__module__.startswith(f"{OURS}.")]
            if cls.__module__ == module.__name__:
                names = [n for n, member in vars(cls).items() if _is_private(n) and inspect.isfunction(member)]
                names = [n for n in names if not n.endswith("_") and any(n in vars(base) for base in theirs)]
                overridden += [f"{cls.__module__}.{cls.__name__}.{name}" for name in names]
    assert overridden == []


@pytest.mark.parametrize("module", [p.stem for p in (ROOT / "aot/private").glob("*.py") if p.stem != "__init__"])
def test_every_function_of_the_seam_has_a_reason_and_a_test(module):
    tree = ast.parse((ROOT / "aot/private" / f"{module}.py").read_text())
    public = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not _is_private(n.name)]
    tests = (Path(__file__).parent / f"test_{module}.py").read_text()
    assert [n.name for n in public if ast.get_docstring(n) is None] == []
    assert [n.name for n in public if f".{n.name}" not in tests] == []


@pytest.mark.parametrize(
    "source, name",
    [
        ("import torch._dynamo", "torch._dynamo"),
        ("import torch.utils._pytree as pytree", "torch.utils._pytree"),
        ("from torch._ops import OpOverload", "torch._ops"),
        ("from executorch.exir.tracer import anything", "executorch.exir.tracer"),
        ("from executorch.exir.backend import backend_api", "executorch.exir.backend.backend_api"),
        ("from torch.fx import _pytree", "torch.fx._pytree"),
        ("node.target._schema", "_schema"),
        ("def f(x):\n    return torch._C.TensorType", "_C"),
        ("getattr(node, '_erased')", "_erased"),
        ("QuantizationAnnotation(_annotated=True)", "_annotated"),
        ("size.node.expr", "expr"),
        ("size.node.shape_env.x", "shape_env"),
        ("node.meta.get('from_node')", "from_node"),
        ("torch._check_tensor_all(x)", "_check_tensor_all"),
    ],
)
def test_private_api_is_recognized(source, name):
    assert uses(source) == {name}


@pytest.mark.parametrize(
    "source",
    [
        "torch._check(x > 0)",
        "EdgeCompileConfig(_check_ir_validity=False)",
        "torch.ops.aten._to_copy.default",
        "_aten = torch.ops.aten\n_aten._assert_tensor_metadata.default",
        "class A:\n    def f(self, other):\n        self._a = other._a",
        "from executorch.backends.et_xnnpack._version import executorch_version",
        "from .sizes import _finite",
        "x.__name__",
        "input.expr",
    ],
)
def test_what_is_not_private(source):
    assert uses(source) == set()
