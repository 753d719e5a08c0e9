"""Judges operator names: what a name means to codegen, and the name that was meant."""

from __future__ import annotations

import re
from enum import Enum

from kexec_lint.executorch import tables
from kexec_lint.executorch.keys import base_name, namespace

_NAME = re.compile(r"^(?:(?P<space>\w+)::)?(?P<base>\w+)(?:\.(?P<overload>\w+))?$")


class Meaning(str, Enum):
    """What a name in an operator list means."""

    KERNEL = "kernel"
    """Some kernel library of the release registers it."""
    OUT = "out"
    """An ATen out variant that no library of the release has a kernel for."""
    FUNCTIONAL = "functional"
    """An ATen operator without an out argument, or the name of an operator without its overload."""
    BARE = "bare"
    """No namespace."""
    CUSTOM = "custom"
    """Of a namespace that is not ATen's: only its own YAML or library can tell."""
    UNKNOWN = "unknown"
    """Nothing of that name exists."""


def meaning(name: str, release: tables.Release) -> Meaning:
    """Return what a name means to the codegen of a release."""
    match = _NAME.match(name)
    if name in release.known:
        return Meaning.KERNEL
    if match is None:
        plain = re.fullmatch(r"[\w:.]+", name) is not None  # quotes and `;` of a list stay in the name
        return Meaning.CUSTOM if plain and namespace(name) not in ("", "aten") else Meaning.UNKNOWN
    if match["space"] is None:
        return Meaning.BARE
    if match["space"] not in ("aten", "executorch_prim"):
        return Meaning.CUSTOM
    if match["space"] == "aten":
        out, functional = tables.aten()
        short = name.split("::", 1)[1]
        if short in out:
            return Meaning.OUT
        if short in functional or (match["overload"] is None and _same_base(name, release.known)):
            return Meaning.FUNCTIONAL
        if match["overload"] is None and any(base_name(entry) == short for entry in out):
            return Meaning.FUNCTIONAL
    return Meaning.UNKNOWN


def suggest(name: str, release: tables.Release) -> list[str]:
    """Return the operators with a kernel that were probably meant, best first; empty where nothing is near."""
    known = release.known
    if name in ("aten", "aten::", ""):
        return []
    name = name.strip("\"'\\ ")
    scoped = name if "::" in name else f"aten::{name}"
    if scoped in known:
        return [scoped]
    overload = scoped.partition(".")[2]
    same = _same_base(scoped, known)
    if same:
        wanted = [entry for entry in same if overload and _covers(entry.partition(".")[2], overload)]
        return wanted or same[:3]
    if "::" not in name:
        elsewhere = sorted(entry for entry in known if entry.split("::")[-1] == name)
        if elsewhere:
            return elsewhere[:3]
    # An in-place form, a view (a program holds the copying form), an operator that is private in ATen.
    base = base_name(scoped)
    for variant in (base.rstrip("_"), f"{base}_copy", base.replace("::", "::_")):
        related = _same_base(variant, known)
        if related:
            return related[:3]
    import difflib

    return difflib.get_close_matches(scoped, sorted(known), n=1, cutoff=0.82)


def _covers(out_overload: str, overload: str) -> bool:
    """Return whether an out overload belongs to a functional one: `Tensor_out` to `Tensor`."""
    return overload in (out_overload, out_overload.removesuffix("_out")) or overload.lower() == out_overload.lower()


def _same_base(operator: str, known: frozenset[str]) -> list[str]:
    base = base_name(operator)
    return sorted((entry for entry in known if base_name(entry) == base), key=_simplicity)


def _simplicity(operator: str) -> tuple[bool, int, str]:
    return not operator.endswith(".out"), len(operator), operator
