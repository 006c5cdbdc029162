# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``python -m executorch.backends.et_xnnpack`` is the command ``et-xnnpack``."""

from .aot.cli.main import main

if __name__ == "__main__":
    main()
