# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lets one process export thousands of programs: what PyTorch 2.13 makes anew for each, once, with the same results."""

import contextlib
import copy
import functools

from executorch.backends.xnnpack.quantizer import xnnpack_quantizer_utils
from executorch.exir.backend.utils import is_same_node
from torch._C import DispatchKey
from torch._export import utils
from torch._subclasses.fake_impls import op_implementations_dict
from torch.export import exported_program
from torch.fx.traceback import NodeSource
from torchao.quantization.pt2e import qat_utils


def patch_torch() -> None:
    # A list of all operators: half of the time of an export.
    utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)
    # The tables of the operators that a decomposition keeps: half of the time of one.
    override = exported_program._override_composite_implicit_decomp
    exported_program._override_composite_implicit_decomp = functools.partial(_override, override, {})
    # Where a node comes from, which becomes longer with each pass and which nobody changes: a tenth of lowering.
    NodeSource.__deepcopy__ = lambda source, memo: source
    # What quantizers and torchao look for, which they export for each program: all but a tenth of quantizing.
    name = "_get_aten_graph_module_for_pattern"
    for module in (xnnpack_quantizer_utils, qat_utils):
        setattr(module, name, _patterns(getattr(module, name)))


def forget_programs() -> None:
    """ExecuTorch remembers the nodes of each program that it ever lowered; thousands of them make PyTorch slow."""
    is_same_node.cache_clear()


def _patterns(original):
    """As ``original``, once for each pattern, which is a function of tensors and of what it closes over."""
    known = {}

    def get(pattern, inputs, *arguments, **keywords):
        closure = pattern.fn.__closure__ or ()
        shapes = tuple((name, x.shape) for name, x in [*enumerate(inputs), *keywords.items()])
        key = (pattern.fn.__code__, *(cell.cell_contents for cell in closure), *shapes, *arguments)
        if key not in known:
            known[key] = original(pattern, inputs, *arguments, **keywords)
        return copy.deepcopy(known[key])

    return get


@contextlib.contextmanager
def _override(original, known, decompositions):
    """As ``original``, which fills the table of each operator key by key; ``known`` has those that it filled."""
    new = {op: f for op, f in decompositions.items() if op not in known}
    if new:
        with original(new):
            known.update((op, (op.py_kernels.copy(), op_implementations_dict.get(op))) for op in new)
    saved = {op: (op.py_kernels.copy(), op_implementations_dict.get(op)) for op in decompositions}
    try:
        for op, decomposition in decompositions.items():
            kernels, fake = known[op]
            _set(op, {**kernels, DispatchKey.CompositeImplicitAutograd: decomposition}, fake)
        yield
    finally:
        for op, (kernels, fake) in saved.items():
            _set(op, kernels, fake)


def _set(op, kernels, fake) -> None:
    op.py_kernels.clear()
    op.py_kernels.update(kernels)
    op._dispatch_cache.clear()
    if fake is None:
        op_implementations_dict.pop(op, None)
    else:
        op_implementations_dict[op] = fake
