"""A report as JSON-able data: refusals, blind drivers, counts."""

from __future__ import annotations

from typing import Any

from kexec_lint.boundary.messages import Said
from kexec_lint.boundary.verdicts import Blind, Refusal, Report


def report_record(report: Report) -> dict[str, Any]:
    """Return the whole report; see docs/boundary.md for the fields."""
    verdicts: dict[str, int] = {}
    for r in report.refusals:
        verdicts[r.verdict.value] = verdicts.get(r.verdict.value, 0) + 1
    if report.blind:
        verdicts["blind"] = len(report.blind)
    return {
        "schema": 1,
        "logs": list(report.trace.files),
        "ordered": report.trace.ordered,
        "refusals": [refusal_record(r) for r in report.refusals] + [blind_record(b) for b in report.blind],
        "summary": {
            "driver_calls": len(report.asked),
            "devices": sorted({a.path.split("<", 1)[0] for a in report.asked if a.path}),
            "verdicts": verdicts,
            "noise": dict(report.noise),
            "doorbells": list(report.doorbells),
        },
    }


def refusal_record(r: Refusal) -> dict[str, Any]:
    """Return one refused call and what followed it."""
    call = r.asked.call
    return {
        "verdict": r.verdict.value,
        "because": r.because,
        "file": call.file,
        "line": call.line,
        "t": call.time,
        "tid": call.tid,
        "pid": r.asked.process,
        "call": call.name,
        "fd": r.asked.fd,
        "path": r.asked.path.split("<", 1)[0] if r.asked.path else None,
        "driver": r.asked.driver,
        "names": list(dict.fromkeys(q.name for q in r.asked.requests)) or [r.asked.printed],
        "class": r.asked.kind,
        "ret": call.result,
        "errno": call.errno,
        "nvstatus": call.status,
        "nvstatus_name": r.errno if call.errno is None and call.status is not None else None,
        "detail": call.detail or None,
        "dur": call.duration,
        "stack": list(call.stack),
        "injected": call.injected,
        "message": message_record(r.message),
        "after": r.after,
    }


def blind_record(b: Blind) -> dict[str, Any]:
    """Return the entry for a driver whose answers the log does not hold."""
    return {
        "verdict": "blind",
        "because": "every NvStatus was NV_OK: what failed is launched work, or above the driver"
        if b.answered
        else "ioctl returns 0 whatever the driver decided; the NvStatus inside the struct was not traced",
        "driver": b.family,
        "calls": b.calls,
        "message": message_record(b.message),
        "next_steps": ["dmesg | grep -i xid"]
        + ([] if b.answered else ["kexec-lint boundary run --nvstatus -- COMMAND"]),
    }


def message_record(message: Said | None) -> dict[str, Any] | None:
    """Return what the framework said, or None."""
    if message is None:
        return None
    return {
        "stream": message.stream,
        "text": message.text.strip(),
        "tid": message.tid,
        "t": message.time,
        "cut": message.cut,
    }
