"""Reads the dispatcher's own tables: what is registered for an operator, and the computed row of every key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

REQUIRED = (
    "_dispatch_dump", "_dispatch_dump_table", "_dispatch_keys", "_dispatch_tls_local_include_set",
    "_dispatch_tls_local_exclude_set", "_dispatch_get_all_op_names", "DispatchKey", "DispatchKeySet",
)  # fmt: skip
"""Private names of `torch._C` that this package reads; all are checked before any is used."""

_REGISTERED = re.compile(
    r"(?P<key>\w+)(?P<alias>\[alias\])?(?P<inactive> \(inactive\))?: (?:registered at )?(?P<site>.*?)"
    r"(?: :: .*?)? \[ ?(?P<flags>[a-z ]*)\]$"
)
_ROW = re.compile(r"(?P<key>\w+): (?P<through>fallthrough )?(?:registered at )?(?P<site>.*?) \[(?P<tag>[^\]]+)\]$")
_BUILD_ROOT = re.compile(r"^(/__w)?(/pytorch)?/pytorch/(build/)?|^/__w/|^.*/site-packages/")


class DispatchUnavailable(RuntimeError):
    """Torch, or a private name of it, is not there; the message is one line for the user."""


@dataclass(frozen=True)
class Registration:
    """One kernel as registered. `alias` keys stand for several runtime keys; `inactive` ones were overridden."""

    key: str
    site: str
    alias: bool = False
    inactive: bool = False
    fallthrough: bool = False


@dataclass(frozen=True)
class Row:
    """The computed entry of a runtime key: where its kernel was registered and how it came there (`tag`)."""

    key: str
    site: str
    tag: str
    fallthrough: bool = False


def load_torch() -> Any:
    """Return the torch module. Raises DispatchUnavailable if it or a name in REQUIRED is missing."""
    try:
        import torch
    except ImportError as error:
        raise DispatchUnavailable(
            f"PyTorch is not there ({error}); install it or 'kexec-lint[export]' to ask the dispatcher"
        ) from error
    missing = [name for name in REQUIRED if not hasattr(torch._C, name)]
    if missing:
        raise DispatchUnavailable(
            f"PyTorch {torch.__version__} has no torch._C.{missing[0]}: this version's dispatcher cannot be read"
        )
    return torch


def short_site(site: str) -> str:
    """Return a site without the folders of PyTorch's build machine or of site-packages."""
    return _BUILD_ROOT.sub("", site)


@cache
def registrations(name: str) -> tuple[Registration, ...]:
    """Return every registered kernel of `ns::op.overload`."""
    torch = load_torch()
    found = []
    for line in torch._C._dispatch_dump(name).splitlines():
        match = _REGISTERED.match(line)
        if match:
            found.append(
                Registration(
                    match["key"], match["site"], bool(match["alias"]), bool(match["inactive"]),
                    "fallthrough" in match["flags"],
                )
            )  # fmt: skip
    return tuple(found)


@cache
def rows(name: str) -> dict[str, Row]:
    """Return the computed table of `ns::op.overload`: runtime key → row; keys without kernel are absent."""
    torch = load_torch()
    found = {}
    for line in torch._C._dispatch_dump_table(name).splitlines():
        match = _ROW.match(line.strip())
        if match:
            found[match["key"]] = Row(match["key"], match["site"], match["tag"], bool(match["through"]))
    return found


def forget() -> None:
    """Drop what was read, after a program registered more."""
    registrations.cache_clear()
    rows.cache_clear()


def find_operator(text: str) -> Any:
    """Return the OpOverload or OpOverloadPacket of `aten::mm`, `aten.mm.default`, `torch.ops.aten.mm`, `mm` or
    `add.Tensor`.

    Raises LookupError with the nearest names.
    """
    torch = load_torch()
    name = text.strip().removeprefix("torch.ops.").replace("::", ".")
    parts = name.split(".")
    kinds = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
    found = _attribute(torch.ops, parts) if len(parts) > 1 else None
    if not isinstance(found, kinds) and "::" not in text:
        spelled = parts
        parts = ["aten", *parts] if len(parts) == 1 or hasattr(torch.ops.aten, parts[0]) else parts
        found = _attribute(torch.ops, parts) if parts is not spelled else found
    if not isinstance(found, kinds):
        import difflib

        names = torch._C._dispatch_get_all_op_names()
        wanted = f"{parts[0]}::{'.'.join(parts[1:])}"
        close = difflib.get_close_matches(wanted, names, 3, 0.7)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise LookupError(f"no operator '{wanted}' is registered{hint}")
    return found


def _attribute(root: Any, parts: list[str]) -> Any:
    """Return `root.a.b`, or None if a part is not there."""
    for part in parts:
        root = getattr(root, part, None)
    return root


def qualified_name(overload: Any) -> str:
    """Return `ns::op.overload` as the dispatcher spells it, without `.default`."""
    schema = overload._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def overloads(packet: Any) -> list[Any]:
    """Return the overloads of a packet, the one without a name first."""
    return [getattr(packet, name) for name in sorted(packet.overloads(), key=lambda n: (n != "default", n))]
