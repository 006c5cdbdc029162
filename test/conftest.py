# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lets every test import ``samples``, ``harness`` and ``interpreter``."""

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from torch._export import utils  # noqa: E402

# Half of the time of an export goes into a list of all operators, made anew each time.
utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)
