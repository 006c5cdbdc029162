# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Random programs, lowered and compared with eager PyTorch.

``programs`` writes them as Python source, from the expressions in ``expressions``; ``differential`` compares. What was
found stays in ``test/reproducers`` as the source of the smallest program that showed it.
"""
