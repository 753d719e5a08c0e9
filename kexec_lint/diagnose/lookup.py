"""What a bare code or name means, family by family: -54, 0x14, 700, CL_INVALID_VALUE, OperatorMissing."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace

from kexec_lint.diagnose.chain import Diagnosis, left_open
from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Code, Entry, Family, Knowledge
from kexec_lint.diagnose.matcher import describe
from kexec_lint.diagnose.steps import Named, fill

_NUMBER = re.compile(r"-?\d{1,10}|0[xX]:?[0-9a-fA-F]{1,8}")
_PREFIX = re.compile(
    r"^(?:CL_|PI_ERROR_|UR_RESULT_ERROR_|cudaError(?=[A-Z])|hipError(?=[A-Z])|CUDA_ERROR_|VK_ERROR_|HSA_STATUS_ERROR_"
    r"|NV_ERR_|Error::)"
)
_OWN = {"CL_": "opencl", "cudaError": "cuda", "hipError": "cuda", "CUDA_ERROR_": "cuda", "VK_ERROR_": "vulkan"}
_OWN |= {"HSA_STATUS_ERROR_": "hsa", "NV_ERR_": "nvstatus", "Error::": "executorch"}
_OWN |= {"PI_ERROR_": "opencl", "UR_RESULT_ERROR_": "opencl"}
_ORDER = {
    "negative": ("opencl", "vulkan"),
    "hexadecimal": ("executorch", "nvstatus", "hsa", "cuda"),
    "decimal": ("cuda", "executorch", "hsa"),
}
_LEAST_HEXADECIMAL = 100
"""CUDA's codes are printed as hexadecimal by its debugger only, and smaller ones are others' codes."""


def is_number(text: str) -> bool:
    """Return whether `text` is spelled like a status code."""
    return _NUMBER.fullmatch(text) is not None


def lookup(knowledge: Knowledge, text: str) -> list[Diagnosis]:
    """Return the meanings of a code, a name of a code or an entry's id, the most likely first; nothing if none."""
    if text in knowledge.by_id:
        return [_shown(knowledge, knowledge.by_id[text], None, None, text, first=True)]
    families = {family.name: family for family in knowledge.families}
    found: list[tuple[Family, Code]] = []
    if is_number(text):
        digits = text.lower().replace("0x:", "0x")
        number = int(digits, 16 if "x" in digits else 10)
        kind = "negative" if number < 0 else "hexadecimal" if "x" in digits else "decimal"
        for name in _ORDER[kind]:
            if kind == "hexadecimal" and name == "cuda" and number < _LEAST_HEXADECIMAL:
                continue
            if (code := families[name].by_number.get(number)) is not None:
                found.append((families[name], code))
    else:
        prefix = _PREFIX.match(text)
        name = text[prefix.end() :] if prefix else text
        for family in families.values():
            code = family.by_name.get(name.upper())
            if code is not None and (prefix is None or _OWN[prefix[0]] == family.name):
                found.append((family, code))
    return [
        _shown(knowledge, knowledge.by_id[code.entry], family, code, text, first=not index)
        for index, (family, code) in enumerate(found)
    ]


def _shown(
    knowledge: Knowledge, entry: Entry, family: Family | None, code: Code | None, text: str, *, first: bool
) -> Diagnosis:
    fields = {name: (value,) for name, value in describe(code).items()} if code is not None else {}
    diagnosis = Diagnosis(
        id=entry.id,
        executor=entry.executor or knowledge.layer[entry.layer].executor,
        layer=entry.layer,
        severity=entry.severity,
        root=first,
        lines=((1, text),),
        cause=entry.cause,
        next_steps=entry.next_steps,
        rules=entry.rules,
        sources=entry.sources,
        beware=entry.swallow_risk,
        fields=fields,
    )
    if first:
        diagnosis = left_open(knowledge, diagnosis)
    diagnosis = fill(diagnosis, [Line(1, text)], Named((), None), None)
    if family is None or code is None:
        return diagnosis
    named = f"As {family.title}: {_full(family, code)}"
    if code.number is not None:
        named += f" ({code.number:#x})" if family.name in ("executorch", "nvstatus", "hsa") else f" ({code.number})"
    cause = diagnosis.cause
    if code.meaning and code.meaning not in cause:
        cause = f"{code.meaning[0].upper()}{code.meaning[1:]}. {cause}"
    number = code.number
    also = ""
    if number is not None and number < 0 and -number in errno.errorcode and family.name == "opencl":
        also = f" (From a kernel driver, {number} is -{errno.errorcode[-number]}: {os.strerror(-number)}.)"
    return replace(diagnosis, cause=f"{named}. {cause}{also}")


def _full(family: Family, code: Code) -> str:
    prefix = {"opencl": "CL_", "vulkan": "VK_ERROR_", "hsa": "HSA_STATUS_ERROR_", "nvstatus": "NV_ERR_"}
    if family.name == "cuda":
        name = code.names[0]
        return f"CUDA_ERROR_{name}" if name.isupper() else f"cudaError{name}"
    return prefix.get(family.name, "Error::" if family.name == "executorch" else "") + code.names[0]
