# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A tokenizer for models with random weights, of which any tokens are a text."""

import itertools
import string
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

EOS = 2
_SPECIAL = ("<pad>", "<s>", "</s>")


def ascii_tokenizer(size: int) -> Tokenizer:
    """Letters, digits, punctuation, and pairs of letters until there are ``size`` tokens."""
    letters = ["Ġ", *string.digits, *string.ascii_letters, *string.punctuation]  # the first is a space
    pairs = list(itertools.product(string.ascii_lowercase, repeat=2))[: size - len(letters) - len(_SPECIAL)]
    tokens = (*_SPECIAL, *letters, *("".join(pair) for pair in pairs))
    assert len(tokens) == size
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in _SPECIAL])
    return tokenizer


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    """The file that ExecuTorch's runners read."""
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path
