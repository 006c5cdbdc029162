# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""et_xnnpack: the CPU delegate for ExecuTorch that takes the whole model.

Importing this package makes the backend known to ``executorch.runtime`` in this process.
Lowering works without the compiled part; ``is_available()`` tells whether it is there.
"""

import contextlib
import importlib
import importlib.metadata
import threading
import warnings
from collections.abc import Mapping

_LAZY = {
    "EtXnnpackBackend": ".aot.backend",
    "EtXnnpackPartitioner": ".aot.partitioner",
    "NotFullyDelegated": ".aot.report",
    "ProgramReport": ".aot.report",
    "Report": ".aot.report",
    "count_delegation": ".aot.report",
}
__all__ = [
    *_LAZY,
    "get_option",
    "inspect",
    "is_available",
    "load_options",
    "set_option",
    "verify",
    "xnnpack_version",
]


def _check_executorch() -> None:
    """Class layouts differ between ExecuTorch versions, so only the one built with will do."""
    from ._version import executorch_version

    found = importlib.metadata.version("executorch").partition("+")[0]
    if found != executorch_version:
        raise ImportError(
            f"this et_xnnpack was built with ExecuTorch {executorch_version}, but {found} is installed. "
            f"Run: pip install executorch=={executorch_version}, or build et_xnnpack against {found}."
        )


def _load_runtime():
    try:
        return importlib.import_module("._runtime", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}._runtime":
            raise
        return None


_aot_only = False
try:
    _check_executorch()
    from ._version import aot_only as _aot_only
except ModuleNotFoundError as error:  # a source tree that was never built
    if error.name != f"{__name__}._version":
        raise
_module = _load_runtime()


def _runtime_module():
    if _module is None:
        if _aot_only:
            raise RuntimeError(
                "this et_xnnpack only lowers programs (it was built with ET_XNNPACK_AOT_ONLY=1). To run, verify or "
                "inspect them install it without that: run `pip install .` in its checkout"
            )
        raise RuntimeError("the compiled part of et_xnnpack is not installed: run `pip install .` in its checkout")
    return _module


def is_available() -> bool:
    """Whether programs lowered for et_xnnpack can run in this process."""
    return _module is not None and _module.is_available()


def xnnpack_version() -> str:
    """The version of XNNPACK that computes, and what of ours it is built with: ``92a7ad5 (packing denormals)``."""
    return _runtime_module().xnnpack_version()


def verify(blob: bytes) -> None:
    """Raises ValueError with the reason unless ``blob`` is a delegate blob that would load."""
    _runtime_module().verify(blob)


def inspect(blob: bytes, options: Mapping[str, bool | int | str] | None = None) -> str:
    """A delegate blob as text, one line for each input, constant, node with its attributes, and output.

    Then follows its plan for this CPU, the options of the process (``set_option``) and, beyond those, ``options``: the
    steps of a call, and for each node who computes it and why.

    Raises ValueError as ``verify`` does, and ValueError and TypeError as ``set_option`` does.
    """
    options = dict(options or {})
    for name, value in options.items():
        check_option(name, value)
    return _runtime_module().inspect(blob, options)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{text!r} has no form in UTF-8: {error.reason}") from None


def check_name(name: str) -> None:
    """Raises TypeError or ValueError for what is the name of no option."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an option is a str, not {name!r}")
    _check_text(name)


def check_option(name: str, value: bool | int | str) -> None:
    """Raises TypeError or ValueError for what is the name or value of no option."""
    check_name(name)
    if not isinstance(value, (bool, int, str)):
        raise TypeError(f"option {name!r} takes a bool, an int or a str, not {value!r}")
    if isinstance(value, str):
        _check_text(value)


def set_option(name: str, value: bool | int | str) -> None:
    """Sets a backend option for methods that are loaded from now on.

    Raises ValueError for an unknown name, a value of the type of other options or out of range, and TypeError for one
    that no option takes; nothing is changed then.
    """
    check_option(name, value)
    _runtime_module().set_option(name, value)


def get_option(name: str) -> bool | int | str:
    """The value of a backend option. Raises ValueError for an unknown name."""
    check_name(name)
    return _runtime_module().get_option(name)


def check_options(options: Mapping[str, bool | int | str]) -> None:
    """Raises ValueError for options that the runtime does not take, if it is installed."""
    if _module is not None:
        _module.check_options(dict(options))


def check_specs(specs: dict[str, bytes]) -> None:
    """Raises ValueError for compile specs that the runtime does not take, if it is installed."""
    if _module is not None:
        _module.check_specs(specs)


_load_options = threading.local()


@contextlib.contextmanager
def load_options(**options: bool | int | str):
    """Options of the methods that this thread loads inside of the ``with`` statement.

    They count more than those of ``set_option``, and inner statements more than outer ones.
    Raises ValueError and TypeError as ``set_option`` does. Warns if no method was loaded there.
    """
    runtime = _runtime_module()
    for name, value in options.items():
        check_option(name, value)
    outer = getattr(_load_options, "current", {})
    current = outer | options
    runtime.set_load_options(current)
    _load_options.current = current
    before = runtime.num_loads()
    try:
        yield
        if options and runtime.num_loads() == before:
            warnings.warn(
                f"load_options({', '.join(options)}) had no effect: this thread loaded no method of et_xnnpack inside "
                "of it. portable_lib._load_for_executorch and its like load a method when it first runs: "
                "call run_method inside of it, too",
                stacklevel=3,
            )
    finally:
        runtime.set_load_options(outer)
        _load_options.current = outer


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name], __name__), name)
