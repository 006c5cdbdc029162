# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tensors from files, random ones, and how far results are from others."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from types import NoneType

import numpy as np
import torch

from .errors import Failure, first_line, unreadable
from .program import Method, Number, TensorInfo

SUFFIXES = (".npy", ".npz", ".pt")


def load(path: str | Path) -> list[torch.Tensor]:
    """The arrays of a file in its order."""
    path = Path(path)
    try:
        if path.suffix == ".npy":
            return [_tensor(np.load(path))]
        if path.suffix == ".npz":
            with np.load(path) as file:
                return [_tensor(file[name]) for name in file.files]
        if path.suffix == ".pt":
            found = torch.load(path, weights_only=True)
            found = list(found.values()) if isinstance(found, dict) else found
            found = list(found) if isinstance(found, (tuple, list)) else [found]
            if not all(isinstance(item, (torch.Tensor, int, float, bool, NoneType)) for item in found):
                unreadable(f"{path}: holds something other than tensors")
            return found
    except Failure:
        raise
    except OSError as error:
        unreadable(f"{path}: {error.strerror}")
    except (ValueError, RuntimeError, EOFError, KeyError) as error:
        unreadable(f"{path}: {first_line(error)}")
    except Exception as error:  # of pickle and zipfile
        unreadable(f"{path}: is no {path.suffix} file of tensors: {first_line(error)}")
    unreadable(f"{path}: tensors come from {', '.join(SUFFIXES)} files")


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def check_output(path: str | Path, results: int) -> None:
    """Ends the command, before any work, if ``save`` has no format for so many results."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        unreadable(f"{path}: results go into {', '.join(SUFFIXES)} files")
    if path.suffix == ".npy" and results != 1:
        unreadable(f"{path}: {results} results go into a .npz or .pt file")


def save(path: str | Path, results: Sequence[object]) -> None:
    """As ``load`` reads them; what NumPy has no type for goes into .pt files only."""
    path = Path(path)
    if path.suffix != ".pt" and any(result is None for result in results):
        unreadable(f"{path}: None is one of the results, and goes into a .pt file only")
    try:
        if path.suffix == ".pt":
            torch.save(list(results), path)
        elif path.suffix == ".npz":
            np.savez(path, *[np.asarray(torch.as_tensor(result)) for result in results])
        else:
            (result,) = results
            np.save(path, np.asarray(torch.as_tensor(result)))
    except (OSError, TypeError, RuntimeError) as error:
        unreadable(f"{path}: {first_line(error)}")


def random(method: Method, shapes: dict[int, tuple[int, ...]], high: int, seed: int) -> list[object]:
    """Inputs of a method: floats from 0 to 1, integers from 0 to ``high - 1`` or the
    largest one of their type. Dynamic sizes are the largest ones
    unless ``shapes`` says otherwise by index."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for k, i in enumerate(method.inputs):
        info = method.values[i]
        if isinstance(info, Number):
            found.append(info.value)
        elif isinstance(info, TensorInfo):
            dtype = getattr(torch, info.dtype)
            shape = shapes.get(k, info.sizes)
            _check_tensor(method, k, info.dtype, shape, "--shape")
            try:
                if dtype.is_floating_point:
                    found.append(torch.rand(shape, generator=generator).to(dtype))
                else:
                    below = 2 if dtype == torch.bool else min(high, torch.iinfo(dtype).max + 1)
                    found.append(torch.randint(0, below, shape, generator=generator).to(dtype))
            except RuntimeError as error:  # sizes without a bound
                unreadable(f"input {k} of method {method.name}, {info.type}, cannot be made: {first_line(error)}")
        elif info == "Null":
            unreadable(
                f"input {k} of method {method.name} is a number that may change: ExecuTorch writes it as Null, and "
                "then takes no number"
            )
        else:
            unreadable(f"input {k} of method {method.name} is a {info}, which only a file can give")
    return found


def check(method: Method, inputs: Sequence[object], where: str) -> None:
    """Ends the command with one line if a method does not take ``inputs``."""
    if len(inputs) != len(method.inputs):
        unreadable(f"{where}: has {len(inputs)} inputs, but method {method.name} takes {len(method.inputs)}")
    for k, (i, value) in enumerate(zip(method.inputs, inputs, strict=True)):
        info = method.values[i]
        if not isinstance(info, TensorInfo):
            continue
        if not isinstance(value, torch.Tensor):
            unreadable(f"{where}: input {k} is no tensor, but method {method.name} takes {info.type}")
        _check_tensor(method, k, str(value.dtype).removeprefix("torch."), value.shape, where)


def laid_out(method: Method, inputs: Sequence[object]) -> list[object]:
    """The same tensors with their axes in memory in the order that a method takes them in: ExecuTorch copies the bytes
    of an input as they lie."""
    found = []
    for i, value in zip(method.inputs, inputs, strict=True):
        info = method.values[i]
        if isinstance(info, TensorInfo) and isinstance(value, torch.Tensor):
            order = info.order or tuple(range(value.dim()))
            value = value.permute(order).contiguous().permute([order.index(axis) for axis in range(len(order))])
        found.append(value)
    return found


def _check_tensor(method: Method, k: int, dtype: str, sizes: Sequence[int], where: str) -> None:
    info = method.values[method.inputs[k]]
    fits = len(sizes) == len(info.sizes) and all(
        a == b or (info.is_dynamic and a < b) for a, b in zip(sizes, info.sizes, strict=True)
    )
    if dtype != info.dtype or not fits:
        unreadable(f"{where}: input {k} is {dtype}{list(sizes)}, but method {method.name} takes {info.type}")


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of one result from what it should be."""

    type: str
    expected_type: str
    largest: float | None  #: absolute; None where types or sizes differ, and so cannot be close
    relative: float | None  #: to the largest expected number
    is_close: bool


def compare(
    results: Sequence[object], expected: Sequence[object], atol: float, rtol: float, any_dtype: bool = False
) -> list[Difference]:
    """One result with another by PyTorch's rule: close is ``atol + rtol * |expected|``. NaN is equal to NaN.

    any_dtype: numbers of one type may be close to those of another.
    """
    return [_difference(a, b, atol, rtol, any_dtype) for a, b in zip(results, expected, strict=True)]


def _difference(result, expected, atol: float, rtol: float, any_dtype: bool) -> Difference:
    if result is None or expected is None:
        types = ["None" if value is None else _type(torch.as_tensor(value)) for value in (result, expected)]
        is_same = result is expected
        return Difference(*types, 0.0 if is_same else None, 0.0 if is_same else None, is_same)
    result, expected = torch.as_tensor(result), torch.as_tensor(expected)
    types = _type(result), _type(expected)
    if result.shape != expected.shape or (result.dtype != expected.dtype and not any_dtype):
        return Difference(*types, None, None, False)
    a, b = result.double(), expected.double()
    if result.is_floating_point() or expected.is_floating_point():
        distance = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs()).nan_to_num(nan=math.inf)
        is_close = torch.allclose(a, b, atol=atol, rtol=rtol, equal_nan=True)
    else:
        distance = _integer_distance(result, expected)
        is_close = bool((distance <= atol + rtol * b.abs()).all())
    largest = distance.max().item() if distance.numel() else 0.0
    scale = b[b.isfinite()].abs().max().item() if b.isfinite().any() else 0.0
    relative = largest / scale if scale else (0.0 if largest == 0 else math.inf)
    return Difference(*types, largest, relative, is_close)


def _integer_distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Float64, and not 0 where they differ: beyond 2^53 integers have no double of their own."""
    x, y = (np.atleast_1d(tensor.long().numpy()) for tensor in (a, b))
    gaps = np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)
    return torch.from_numpy(gaps.astype(np.float64)).reshape(a.shape)


def _type(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def summary(result) -> dict[str, object]:
    """What one looks at first."""
    if result is None:
        return {"type": "None", "numbers": 0}
    tensor = torch.as_tensor(result)
    found = {"type": _type(tensor), "numbers": tensor.numel()}
    if tensor.numel() and not tensor.is_complex():
        numbers = tensor.double()
        found["nan"] = int(numbers.isnan().sum())
        kept = numbers[~numbers.isnan()]
        if kept.numel():
            found |= {"min": kept.min().item(), "max": kept.max().item(), "mean": kept.mean().item()}
        found["first"] = numbers.flatten()[:4].tolist()
    return found
