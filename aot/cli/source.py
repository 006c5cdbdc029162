# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Models as the command line names them: ``MODULE:FUNCTION`` or an exported program in a ``.pt2`` file."""

import contextlib
import dataclasses
import importlib
import importlib.machinery
import importlib.util
import io
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from .errors import first_line, runtime_log, unreadable

HELP = """MODEL is a .pt2 file that torch.export.save wrote, or MODULE:FUNCTION, where MODULE is a Python file or the
name of a module and FUNCTION takes no arguments and returns one of these:

\b
  (module, (input, ...))                 a torch.nn.Module and its example inputs
  (module, (input, ...), {"dynamic_shapes": ...})
                                         and arguments of torch.export.export
  torch.export.export(...)               an exported program
  {"prefill": ..., "decode": ...}        several methods, each one of the above"""


@dataclasses.dataclass(frozen=True)
class Method:
    """One method of a model."""

    exported: object  #: torch.export.ExportedProgram
    module: object  #: what computes the reference: the module itself, or that of the exported program

    @property
    def example(self) -> tuple | None:
        """The example inputs, positional ones only; None if there are none."""
        inputs = self.exported.example_inputs
        return None if inputs is None or inputs[1] else tuple(inputs[0])


def load(name: str) -> dict[str, Method]:
    """The methods of a model by name; one without a name is ``forward``."""
    if name.endswith(".pt2"):
        return {"forward": _load_pt2(Path(name))}
    if name.endswith(".pte"):
        unreadable(f"{name}: is a program, which is lowered already: `et-xnnpack inspect` shows what is in it")
    module, colon, function = name.rpartition(":")
    if not colon or not module or not function:
        unreadable(f"{name}: takes a .pt2 file, or MODULE:FUNCTION such as model.py:make")
    made = _call(name, _import(module), function)
    methods = made if isinstance(made, Mapping) else {"forward": made}
    if not methods or not all(isinstance(key, str) for key in methods):
        unreadable(f"{name}: returned a dict that does not name methods")
    return {
        key: _method(f"{name}: method {key}" if key != "forward" else name, value) for key, value in methods.items()
    }


def _load_pt2(path: Path) -> Method:
    import torch

    if not path.is_file():
        unreadable(f"{path}: there is no such file")
    try:
        exported = torch.export.load(path)
    except Exception as error:
        unreadable(f"{path}: is no exported program: {first_line(error)}")
    return Method(exported, exported.module())


def _import(name: str):
    path = Path(name)
    is_file = path.suffix == ".py" or path.is_file()
    if is_file and not path.is_file():
        unreadable(f"{name}: there is no such file")
    folder = str(path.resolve().parent if is_file else Path.cwd())
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # ours is for the answer
            if not is_file:
                return importlib.import_module(name)
            spec = importlib.util.spec_from_file_location(path.stem, path)
            if spec is None:  # Python does not know the suffix
                loader = importlib.machinery.SourceFileLoader(path.stem, str(path.absolute()))
                spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            return module
    except ModuleNotFoundError as error:
        if not is_file and error.name and (name == error.name or name.startswith(f"{error.name}.")):
            unreadable(f"there is no module {name!r} here; a file is named with .py")
        unreadable(f"importing {name} failed: {_where(error)}")
    except (Exception, SystemExit) as error:
        unreadable(f"importing {name} failed: {_where(error)}")
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


def _call(name: str, module, function: str):
    found = getattr(module, function, None)
    if not callable(found):
        unreadable(f"{name}: {module.__name__} has no function {function!r}")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return found()
    except (Exception, SystemExit) as error:
        unreadable(f"{name} failed: {_where(error)}")


def _method(name: str, made) -> Method:
    import torch

    if isinstance(made, torch.export.ExportedProgram):
        return Method(made, made.module())
    parts = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    module = parts[0] if parts else None
    if not isinstance(module, torch.nn.Module) or len(parts) not in (2, 3) or not isinstance(parts[1], (tuple, list)):
        unreadable(f"{name}: returned {_kind(made)}, not (module, inputs) or an exported program")
    arguments = parts[2] if len(parts) == 3 else {}
    if not isinstance(arguments, Mapping):
        unreadable(f"{name}: the third value is {_kind(arguments)}, not a dict with arguments of torch.export.export")
    try:
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), runtime_log():
            exported = torch.export.export(module, tuple(parts[1]), **arguments)
    except Exception as error:
        unreadable(f"{name}: torch.export.export failed: {first_line(error)}{_place_in(str(error))}")
    return Method(exported, module)


def _place_in(message: str) -> str:
    """The last line of Python that a message of PyTorch names and that is not PyTorch's own."""
    import torch

    own = str(Path(torch.__file__).parent)
    found = re.findall(r'File "([^"<>]+)", line (\d+)', message)
    places = [(file, line) for file, line in found if not file.startswith(own)]
    return f" ({Path(places[-1][0]).name}, line {places[-1][1]})" if places else ""


def _kind(value) -> str:
    if isinstance(value, (tuple, list)):
        return f"({', '.join(type(item).__name__ for item in value)})"
    return type(value).__name__


def _where(error: BaseException) -> str:
    """With the line of the user's code in which it was raised."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({Path(error.filename or '').name}, line {error.lineno})"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    frames = [f for f in frames if Path(f.filename) != Path(__file__)]
    place = f" ({Path(frames[0].filename).name}, line {frames[0].lineno})" if frames else ""
    return first_line(error) + place
