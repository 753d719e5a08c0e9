"""Reads operator lists as text: one operator a line, or the value of ROOT_OPS and EXECUTORCH_SELECT_OPS_LIST."""

from __future__ import annotations

import json
import re

from kexec_lint.executorch.keys import OPLIST_TYPES, SCALAR_TYPES
from kexec_lint.executorch.registration import Kind, Part, Selected, finding, place
from kexec_lint.findings import Location

_NAME = re.compile(r"[A-Za-z_]\w*(?:::[\w.]+)?(?:\.\w+)?")


def is_list(text: str) -> bool:
    """Return whether every line that says something is a name, and one of them at least has a namespace."""
    lines = [line for raw in text.splitlines() if (line := raw.split("#")[0].strip().rstrip(","))]
    return bool(lines) and all(_NAME.fullmatch(line) for line in lines) and any("::" in line for line in lines)


def read(path: str, text: str) -> Part:
    """Return one selected operator a line; `#` starts a comment."""
    part = Part(path, Kind.SELECTION, place(path), is_list=True)
    for row, raw in enumerate(text.splitlines(), 1):
        name = raw.split("#")[0].strip().rstrip(",")
        if name:
            add(part, name, place(path, row, raw.index(name) + 1, len(name)))
    return part


def add(part: Part, name: str, at: Location, keys: tuple[str, ...] = ("default",)) -> None:
    """Select an operator as `gen_oplist --root_ops` does: with the key `default`."""
    part.selected.append(Selected(name, at, keys, keys_at=at))


def split_root_ops(value: str) -> list[str]:
    """Return the names in a ROOT_OPS value: comma if there is one, else blanks. Ninja turns `;` into blanks."""
    separator = "," if "," in value else None
    names = [name.strip() for name in (value.split(separator) if separator else value.replace(";", " ").split())]
    return [name for name in names if name]


def read_dict(part: Part, value: str, at: Location) -> None:
    """Select the operators of an `ops_dict`, JSON from operator to kernel keys or dtype names (EXT105 where
    refused).
    """
    try:
        listed = json.loads(value)
    except ValueError:
        part.broken = True
        part.problems.append(finding("EXT105", "ops_dict is no JSON object: gen_oplist stops", at))
        return
    if isinstance(listed, dict):
        for name, entries in listed.items():
            names = [str(entry) for entry in entries] if isinstance(entries, list) else []
            add(part, str(name), at, dict_keys(part, str(name), names, at))


def dict_keys(part: Part, operator: str, entries: list[str], at: Location) -> tuple[str, ...]:
    """Return the keys that `create_kernel_key` makes; a name it does not know is EXT105."""
    keys = []
    for entry in entries:
        if entry.lstrip().startswith("v1"):
            keys.append(entry)
        elif entry in OPLIST_TYPES:
            number = next(i for i, name in enumerate(SCALAR_TYPES) if name.lower() == entry.lower())
            keys.append(f"v1/{number};")
        else:
            part.broken = True
            known = entry in SCALAR_TYPES
            part.problems.append(
                finding(
                    "EXT105",
                    f"ops_dict of {operator} names {entry}: gen_oplist raises `Unknown dtype: {entry}`",
                    at,
                    help=f'write the kernel key "v1/{SCALAR_TYPES.index(entry)};"' if known else None,
                    operator=operator,
                )
            )
    return tuple(keys) or ("default",)
