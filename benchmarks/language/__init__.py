# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``llm.py`` measures: models, number formats, and engines that run them."""
