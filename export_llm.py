# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ExecuTorch's exporter of language models, with et_xnnpack as its XNNPACK delegate.

``python -m executorch.backends.et_xnnpack.export_llm`` takes the options of
``python -m executorch.extension.llm.export.export_llm``.
"""

import sys

from .aot.partitioner import EtXnnpackPartitioner
from .aot.private.export_llm import partitioner_of_exporter, run_exporter

_ENABLED = "backend.xnnpack.enabled"


def main() -> None:
    """Exports as ``sys.argv`` says and prints how much is delegated, what is not, and why."""
    if not any(argument.lstrip("+").startswith(f"{_ENABLED}=") for argument in sys.argv):
        sys.argv.append(f"++{_ENABLED}=True")  # also where the file of --config, all there is then, has no such key
    with partitioner_of_exporter(EtXnnpackPartitioner) as partitioners:
        run_exporter()
    for partitioner in partitioners:
        print(partitioner.report)


if __name__ == "__main__":
    main()
