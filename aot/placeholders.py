# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What stands behind the placeholders of a program."""

import torch
from torch.export import ExportedProgram
from torch.fx import Node as FxNode


class Placeholders:
    """Answers by name, from tables that are made once.

    A signature makes such a table anew each time it is asked for one. To be made again when the
    signature has changed.
    """

    def __init__(self, program: ExportedProgram):
        signature = program.graph_signature
        self._program = program
        self._parameters = signature.inputs_to_parameters
        self._buffers = signature.inputs_to_buffers
        self._constants = signature.inputs_to_lifted_tensor_constants
        self._mutated_buffers = frozenset(signature.buffers_to_mutate.values())
        self._mutated_parameters = frozenset(signature.parameters_to_mutate.values())

    def constant_tensor(self, node: FxNode) -> torch.Tensor | None:
        """The tensor whose content never changes, else None."""
        if node.op != "placeholder" or self.mutated_buffer(node) is not None or self.is_mutated_parameter(node):
            return None
        for names in self._parameters, self._buffers, self._constants:
            if node.name in names:
                return self.tensor(names[node.name])
        return None

    def mutated_buffer(self, node: FxNode) -> str | None:
        """The name of a buffer that the program writes to, else None."""
        name = self._buffers.get(node.name)
        return name if name in self._mutated_buffers else None

    def is_mutated_parameter(self, node: FxNode) -> bool:
        """Whether it is a parameter that the program writes to."""
        return self._parameters.get(node.name) in self._mutated_parameters

    def fixed_number(self, node: FxNode) -> torch.Tensor | None:
        """The tensor of a number of the program or of a buffer that is never written, else None."""
        name = self._constants.get(node.name) or self._buffers.get(node.name)
        if name is None or name in self._mutated_buffers:
            return None
        return self._program.state_dict.get(name, self._program.constants.get(name))

    def tensor(self, name: str) -> torch.Tensor:
        """The parameter, buffer or constant of this name."""
        program = self._program
        return program.state_dict[name] if name in program.state_dict else program.constants[name]
