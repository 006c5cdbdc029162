# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The command ``et-xnnpack``. One module for each of its commands; what is heavy is imported when a command runs."""
