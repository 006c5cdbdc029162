# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How a node is refused."""

import logging

from torch.fx import Node as FxNode

logger = logging.getLogger(__name__)


class Unsupported(Exception):
    """This node cannot be delegated; the message is the reason, for people."""


def explain(error: Exception, node: FxNode) -> str:
    """Why ``node`` stays outside. What is no refusal is a mistake of ours, which costs speed but no program."""
    if isinstance(error, Unsupported):
        return str(error)
    logger.warning("lowering %s failed, it stays outside the delegate", node.name, exc_info=error)
    return f"a mistake in et_xnnpack: {type(error).__name__}: {error}"
