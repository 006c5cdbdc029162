# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What we use of PyTorch, ExecuTorch and torchao beyond their documented interfaces, and nothing else does.

Each use has a name of our own, with the reason, and a test of what it assumes in ``test/aot/private``:
these are the tests to run first after an update. ``test/aot/private/test_seam.py`` says what counts as private.
"""
