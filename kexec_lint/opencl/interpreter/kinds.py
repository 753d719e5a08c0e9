"""What type a value has: `isinstance`, `type` and `hasattr`, as functions ask that take one event or several."""

from __future__ import annotations

import builtins
import collections.abc
import numbers
from collections.abc import Callable, Iterator

from kexec_lint.opencl.interpreter.objects import lineage
from kexec_lint.opencl.interpreter.values import (
    AbstractValue,
    ClassValue,
    External,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)

EVENT = "pyopencl.Event"
_CONTAINERS = {"list": list, "set": set, "dict": dict}
_ABSTRACT = {"collections.abc": collections.abc, "typing": collections.abc, "numbers": numbers}
_OF_SEVERAL = ("__iter__", "__len__", "__getitem__", "__contains__", "append", "index")


def is_instance(value: AbstractValue, classes: AbstractValue) -> AbstractValue:
    """Return `isinstance(value, classes)`."""
    wanted = list(_flat(classes))
    return _decide(value, lambda option: _any(_belongs(option, cls) for cls in wanted), ("isinstance", value, classes))


def has_attribute(value: AbstractValue, name: AbstractValue) -> AbstractValue:
    """Return `hasattr(value, name)`."""
    return _decide(value, lambda option: _has(option, name), ("hasattr", value, name))


def type_of(value: AbstractValue) -> AbstractValue:
    """Return `type(value)`."""
    if _is_event(value):
        return External(EVENT)
    kind = _builtin(value)
    return Unknown(("type", value)) if kind is None or kind is type(None) else External(f"builtins.{kind.__name__}")


def same_type(left: External, right: External) -> bool | None:
    """Return whether two names are those of one type; None if that is not known."""
    names = {left.dotted, right.dotted}
    if all(name.startswith("builtins.") for name in names):
        return len(names) == 1
    return False if EVENT in names and any(name.startswith("builtins.") for name in names) else None


def _decide(
    value: AbstractValue, judge: Callable[[AbstractValue], bool | None], question: tuple[object, ...]
) -> AbstractValue:
    """Return the answer that holds for all alternatives of a value, else an unknown that is the same each time."""
    alternatives = [option for _, option in value.options] if isinstance(value, Phi) else [value]
    answers = {judge(option) for option in alternatives}
    answer = answers.pop() if len(answers) == 1 else None
    return Unknown(("test", *question)) if answer is None else Known(answer)


def _flat(classes: AbstractValue) -> Iterator[AbstractValue]:
    if isinstance(classes, TupleValue):
        for item in classes.items:
            yield from _flat(item)
    else:
        yield classes


def _any(answers: Iterator[bool | None]) -> bool | None:
    found = list(answers)
    return True if True in found else None if None in found else False


def _is_event(value: AbstractValue) -> bool:
    return isinstance(value, Object) and value.kind == "event"


def _builtin(value: AbstractValue) -> type | None:
    match value:
        case Known(value=bool() | int() | float() | str() | bytes() | None as constant):
            return type(constant)
        case TupleValue(items=items) if not items or items[0] != Known("slice"):
            return tuple
        case Object(kind=kind) if "make" not in value.state:
            return _CONTAINERS.get(kind)
    return None


def _belongs(value: AbstractValue, cls: AbstractValue) -> bool | None:
    """Return whether a value is an instance of one class, None if that is not known."""
    if isinstance(cls, ClassValue) and isinstance(value, Object) and value.cls is not None:
        return True if cls in lineage(value.cls) else None  # of a class that derives from it, perhaps
    kind = _builtin(value)
    if kind is None and not _is_event(value):
        return None
    if isinstance(cls, ClassValue):
        return False
    if not isinstance(cls, External):
        return None
    package, _, name = cls.dotted.rpartition(".")
    if package in ("builtins", *_ABSTRACT):
        wanted = getattr(_ABSTRACT.get(package, builtins), name, None)
        if not isinstance(wanted, type):
            return None
        if kind is not None:
            return issubclass(kind, wanted)
        return None if wanted is collections.abc.Hashable else wanted is object
    if kind is not None:
        return False if package in ("pyopencl", "numpy", "pyopencl.array") else None
    return True if cls.dotted == EVENT else None


def _has(value: AbstractValue, name: AbstractValue) -> bool | None:
    if not isinstance(name, Known):
        return None
    kind = _builtin(value)
    if kind is not None:
        return hasattr(kind, str(name.value))
    return False if _is_event(value) and name.value in _OF_SEVERAL else None
