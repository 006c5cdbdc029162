# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What the author of a model can do about a reason for which an operator stays outside."""

import re

_BUG = "nothing: report it with the smallest model that shows it"
_SHAPE = "give it an operand of the rank or the sizes that the reason names: reshape, unsqueeze or expand it before"
_RULES: tuple[tuple[str, str], ...] = (
    ("a mistake in et_xnnpack", _BUG),
    (r"block_operators|allow_operators|block_modules|allow_modules", "change that option: you left it outside"),
    ("min_partition_size is", "lower min_partition_size"),
    ("only moves data", "nothing: as a delegate call of its own it would be slower"),
    ("computes a constant that nothing", "nothing: nothing in the delegate needs it"),
    (r"its operator .+ is not delegated", "see that operator: this one follows it"),
    ("may be negative; torch._check", "add torch._check(n >= 0) after .item()"),
    ("without a bound ExecuTorch cannot hold it", "add torch._check(result.shape[0] <= bound) behind it"),
    (
        "is known at run time only",
        "use torch.where, or multiply with the mask: the sizes then do not depend on the data",
    ),
    (
        "has an upper bound",
        "give the dynamic size a maximum: torch.export.Dim(name, max=...), or torch._check for one read off a tensor",
    ),
    (
        "depend on an input size|depends on an input size|if sizes depend on inputs",
        "export with a fixed size there: leave the axis out of dynamic_shapes, and pad inputs to that size",
    ),
    (r"type .*(Float64|complex)", "compute in float32: .float() on what it reads"),
    (
        r"has type|have type|of type|arithmetic on|types? |are not both",
        "convert its operands before: .float(), .int() or .to(torch.int64)",
    ),
    ("must be a constant|is not a constant", "make it a parameter or a buffer of the module instead of an input"),
    ("for training only|in training mode", "call .eval() on the module before torch.export.export"),
    ("without running statistics|with running statistics", "call .eval() on the module before torch.export.export"),
    (
        "et_xnnpack does not support this operator",
        "write it with operators of docs/operators.md, or decompose it: exported.run_decompositions({...})",
    ),
    ("cannot be shifted by", "multiply or floor-divide by the power of 2, in int32 or int64"),
    ("the reduction", "use sum, prod, amax or amin; a mean is a sum divided by the number of elements"),
    ("is used, which the delegate does not compute", "compute that result with another operator"),
    ("needs a batch axis", "add one: x.unsqueeze(0), and squeeze(0) behind it"),
    ("-D convolution", "a 3-D convolution is a sum of 2-D ones over its first kernel axis"),
    ("distinct slices", "find the distinct elements of a tensor with one axis"),
    ("as_strided", "use reshape, permute, slices or unfold instead of as_strided"),
    ("grouped query attention|number of heads|same sizes|higher rank", _SHAPE),
    (r"rank|shape|axis|axes|scalar|sizes|block", _SHAPE),
    ("range|must be|must not be|is above|positive|negative|divided|slope", "change the argument that the reason names"),
    ("mapping type|quantiz", "quantize with EtXnnpackQuantizer or a recipe of docs/number-formats.md"),
    (r"a mask", "split it: first the mask with one value (masked_fill, torch.where), then the index"),
    (r"offsets|bias|scale|zero point", "split it into a product and what follows it"),
    ("writes to|mutat", "return the new value and assign it outside of the model, or make it a buffer"),
)


def advice(reason: str) -> str | None:
    """One sentence for a reason of the report; None where all that we know is the reason itself."""
    for pattern, text in _RULES:
        if re.search(pattern, reason):
            return text
    return None
