# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lets every test import ``samples``, ``harness`` and ``interpreter``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
