"""Finds the model, its example inputs and its methods behind `module:function`, `file.py::name` or `model.pt2`.

The object that is named may be: a module; a class or function that returns one when called without arguments; a
pair (module, inputs) or triple (module, inputs, dynamic_shapes); an exported program; an ExecuTorch example model
(`get_eager_model`, `get_example_inputs`); a dict from method name to one of these; a finished executorch program,
which is then taken as it is. Where inputs do not come with the module, `example_inputs` or `get_example_inputs()`
of the module or of the file gives them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from kexec_lint.executorch.export import ExportError, one_line

_DOTTED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Entry:
    """One method: `module` with its example inputs, or a `program` that is already exported."""

    module: Any = None
    inputs: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None
    program: Any = None


@dataclass(frozen=True)
class SourceModel:
    """A model before export. `finished` is an ExecuTorch program that the source lowers by itself."""

    spec: str
    methods: Mapping[str, Entry]
    finished: Any = None


def is_source(spec: str) -> bool:
    """Return whether a MODEL argument names a source model instead of a program file."""
    if spec.endswith(".pt2"):
        return True
    path, separator, _ = spec.partition("::")
    if separator:
        return path.endswith(".py")
    return bool(_DOTTED.fullmatch(spec)) and not os.path.exists(spec)


def load(spec: str) -> SourceModel:
    """Return the model that a spec names. Raises ExportError; runs the code of the named file."""
    import torch

    if spec.endswith(".pt2"):
        try:
            program = torch.export.load(spec)
        except Exception as error:
            raise ExportError(f"{spec}: no exported program: {one_line(error)}") from None
        return _model(spec, program, None)
    home, name = _home(spec)
    found: Any = home
    for part in name.split("."):
        if not hasattr(found, part):
            raise ExportError(f"{spec}: {home.__name__} has no {name}")
        found = getattr(found, part)
    return _model(spec, found, home)


def _home(spec: str) -> tuple[ModuleType, str]:
    """Import the file or module of a spec; return it and the name in it."""
    path, separator, name = spec.partition("::")
    if not separator:
        path, _, name = spec.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        if not separator:
            return importlib.import_module(path), name
        if not Path(path).is_file():
            raise ExportError(f"{path}: no such file")
        location = importlib.util.spec_from_file_location(Path(path).stem, path)
        assert location is not None
        assert location.loader is not None
        module = importlib.util.module_from_spec(location)
        sys.modules[location.name] = module
        sys.path.insert(0, str(Path(path).resolve().parent))
        location.loader.exec_module(module)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(f"{path} does not import: {one_line(error)}") from None
    return module, name


def _model(spec: str, found: Any, home: ModuleType | None) -> SourceModel:
    from executorch.exir import EdgeProgramManager, ExecutorchProgramManager

    if not isinstance(found, type) and callable(getattr(found, "get_eager_model", None)):
        found = _example(found)
    elif isinstance(found, type) or _is_function(found):
        try:
            found = found()
        except Exception as error:
            raise ExportError(f"{spec}() fails: {one_line(error)}") from None
        if callable(getattr(found, "get_eager_model", None)):
            found = _example(found)
    if isinstance(found, EdgeProgramManager):
        found = found.to_executorch()
    if isinstance(found, ExecutorchProgramManager):
        return SourceModel(spec, {}, found)
    named = found if isinstance(found, Mapping) else {"forward": found}
    return SourceModel(spec, {str(name): _entry(spec, value, home) for name, value in named.items()})


def _is_function(found: Any) -> bool:
    import torch

    return callable(found) and not isinstance(found, (torch.nn.Module, torch.export.ExportedProgram))


def _example(found: Any) -> Any:
    """Return module, inputs and shapes of a model in the form of ExecuTorch's examples (EagerModelBase)."""
    shapes = getattr(found, "get_dynamic_shapes", lambda: None)()
    return (found.get_eager_model(), found.get_example_inputs(), shapes)


def _entry(spec: str, found: Any, home: ModuleType | None) -> Entry:
    import torch

    inputs: Any = None
    shapes: Any = None
    if isinstance(found, Sequence) and not isinstance(found, str) and 1 <= len(found) <= 3:
        found, inputs, shapes = (*found, None, None)[:3]
    if isinstance(found, torch.export.ExportedProgram):
        inputs, keywords = found.example_inputs or ((), {})
        return Entry(None, tuple(inputs), keywords, None, found)
    if not isinstance(found, torch.nn.Module):
        raise ExportError(
            f"{spec} gives {type(found).__name__}: a module, (module, inputs), an exported program or a dict of "
            "methods is needed"
        )
    for place in (found, home):
        if inputs is None and place is not None:
            inputs = getattr(place, "example_inputs", None)
            if inputs is None and callable(getattr(place, "get_example_inputs", None)):
                inputs = place.get_example_inputs()
            inputs = inputs() if callable(inputs) else inputs
    if inputs is None:
        raise ExportError(
            f"{spec}: no example inputs: return (module, inputs), or define example_inputs in the same file"
        )
    return Entry(found, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {}, shapes)
