"""`verify devices`: what each device can prove, found out by gate and probe, kept for each driver version."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from kexec_lint.engine import cache
from kexec_lint.verify.plan import MemorySpec, Operand, Plan, QueueSpec, Step
from kexec_lint.verify.process import Lost, Player, label
from kexec_lint.verify.replay import play

DEADLINE = 2.0
_SIZE = 4096


@dataclass(frozen=True)
class Ability:
    """What a device can prove. A None could not be found out; `problem` says why."""

    device: str
    driver: str
    version: str
    accepts_out_of_order: bool
    reorders: bool | None
    reorders_across_queues: bool | None
    honours_user_events: bool | None
    gives_profiling_times: bool | None
    problem: str = ""


def pair(queues: tuple[QueueSpec, ...], wait: bool = False, op: str = "kernel") -> Plan:
    """Return a plan of a producer and a consumer on the first and last of the queues, with or without an edge.

    `op` is the consumer: "kernel", "read" or "copy".
    """
    memories = (
        MemorySpec("x", "buffer", _SIZE),
        MemorySpec("y", "host" if op == "read" else "buffer", _SIZE),
    )
    write = Operand(0, 0, _SIZE, False, True)
    operands = (Operand(0, 0, _SIZE, True, False), Operand(1, 0, _SIZE, False, True))
    waits = (0,) if wait else None
    steps = (
        Step("kernel", "the producer", 1, 0, (write,)),
        Step(op, "the consumer", 2, len(queues) - 1, operands, waits),
    )
    return Plan(queues, memories, steps, 0, 1)


def examine(device: dict[str, Any], player: Player, deadline: float = DEADLINE) -> Ability:
    """Ask a device what it can prove."""
    problems: list[str] = []

    def first(plan: Plan) -> bool | None:
        outcome = play(plan, device, player, deadline)
        if outcome.order == "later-first":
            return True
        if outcome.order in ("held", "blocked"):
            return False
        problems.append(outcome.detail)
        return None

    out_of_order, in_order = QueueSpec("q", True), QueueSpec("q", False)
    reorders = first(pair((out_of_order,))) if device["out_of_order"] else False
    across = first(pair((in_order, QueueSpec("r", False))))
    # A command with the gate behind an edge: if it starts, the runtime does not wait for user events.
    edge = play(pair((in_order,), wait=True), device, player, deadline)
    honours = {"held": True, "blocked": True, "later-first": False, "gate-ignored": False}.get(edge.order)
    try:
        profile = player.ask({"op": "profile", "device": device["index"]}, 60).get("profile")
    except Lost as lost:
        profile = None
        problems.append(str(lost))
    return Ability(
        label(device),
        device["driver"],
        device["version"],
        device["out_of_order"],
        reorders,
        across,
        honours,
        profile,
        "; ".join(dict.fromkeys(filter(None, problems))),
    )


def abilities(devices: list[dict[str, Any]], player: Player, fresh: bool = False) -> list[Ability]:
    """Return what the devices can prove, from the cache where driver and version are known."""
    found = []
    for device in devices:
        file = _file(device)
        known = None if fresh else _read(file)
        if known is None:
            known = examine(device, player)
            if not known.problem:
                _write(file, known)
        found.append(known)
    return found


def _file(device: dict[str, Any]) -> str | None:
    folder = cache.folder()
    if folder is None:
        return None
    identity = json.dumps([1, device["platform"], device["name"], device["driver"], device["version"]])
    return os.path.join(folder, "devices", hashlib.sha256(identity.encode()).hexdigest()[:24] + ".json")


def _read(file: str | None) -> Ability | None:
    try:
        with open(file or "", encoding="utf-8") as opened:
            return Ability(**json.load(opened))
    except (OSError, ValueError, TypeError):
        return None


def _write(file: str | None, ability: Ability) -> None:
    if file is None:
        return
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(f"{file}.{os.getpid()}", "w", encoding="utf-8") as opened:
            json.dump(asdict(ability), opened)
        os.replace(f"{file}.{os.getpid()}", file)
    except OSError:
        return  # the answer is right without the cache
