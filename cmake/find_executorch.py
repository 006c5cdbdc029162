# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Prints the folder of the installed executorch package, or nothing.

PYTHONPATH counts: it is where pip has what a build in isolation needs. The folder of this file does not.
"""

import importlib.util
import os
import sys

del sys.path[0]
spec = importlib.util.find_spec("executorch")
roots = spec.submodule_search_locations if spec else []
print(next((root for root in roots if os.path.exists(os.path.join(root, "share", "cmake"))), ""))
