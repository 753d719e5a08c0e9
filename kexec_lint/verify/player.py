"""Plays plans on a device: once ordered, once with the earlier command held; run as a process of its own.

Reads one JSON job a line from standard input, writes one JSON answer a line. Only non-blocking calls and polling:
PoCL's blocking calls finish their whole queue, which would hide the order or deadlock on the gate.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kexec_lint.verify.plan import HOST, Difference, MemorySpec, Operand, Outcome, Plan, Step
from kexec_lint.verify.plan import read as read_plan

STATUS = {0: "COMPLETE", 1: "RUNNING", 2: "SUBMITTED", 3: "QUEUED"}
PATIENCE = 30.0
"""Seconds for what nothing holds any more."""
PAUSE = 0.0005
"""Seconds between two looks at an event."""


class Refused(Exception):
    """The device or the driver cannot do what the plan asks for; the text says what."""


class Held(Exception):
    """The host would wait here for the held command."""


class _Stage:
    """Everything that one run of a plan made: queues, memory, events by step, maps."""

    def __init__(self, cl: Any, np: Any, context: Any, plan: Plan, stand_in: bool) -> None:
        self.cl, self.np, self.context, self.plan, self.stand_in = cl, np, context, plan, stand_in
        self.device = context.devices[0]
        self.queues = [self._queue(spec.out_of_order, spec.profiling) for spec in plan.queues]
        self.users = [cl.UserEvent(context) for _ in range(plan.users)]
        self.unset = set(range(plan.users))
        self.events: dict[int, Any] = {}
        self.maps: dict[int, Any] = {}
        self.seen: dict[int, Any] = {}
        self.shift: dict[int, int] = {}
        self.reached = 0
        self.memories: list[Any] = []
        for number, spec in enumerate(plan.memories):
            self.memories.append(self._memory(number, spec))
        for queue in self.queues:
            queue.finish()

    def _queue(self, out_of_order: bool, profiling: bool) -> Any:
        properties = self.cl.command_queue_properties
        flags = (properties.OUT_OF_ORDER_EXEC_MODE_ENABLE if out_of_order else 0) | (
            properties.PROFILING_ENABLE if profiling else 0
        )
        try:
            return self.cl.CommandQueue(self.context, self.device, properties=flags)
        except self.cl.Error as error:
            if out_of_order:
                raise Refused("the device accepts no out-of-order queue") from None
            raise Refused(str(error)) from None

    def contents(self, number: int) -> Any:
        """Return the first contents of a memory object: small numbers, others in every object."""
        spec = self.plan.memories[number]
        dtype = self.np.dtype(spec.dtype)
        count = max(spec.bytes // dtype.itemsize, 1)
        return (self.np.arange(count) % 13 + 2 + 16 * number).astype(dtype)

    def _memory(self, number: int, spec: MemorySpec) -> Any:
        if spec.kind == "mapped":
            return None
        values = self.contents(number)
        if spec.kind == "host":
            return values
        flags = self.cl.mem_flags.READ_WRITE
        if spec.parent is not None:
            parent = self.memories[spec.parent]
            with suppress(self.cl.Error):
                return parent.get_sub_region(spec.origin, spec.bytes, flags)
            # A device may want parts to begin at coarser places than the author's: then the parent stands in.
            self.shift[number] = spec.origin + self.shift.get(spec.parent, 0)
            return parent
        return self.cl.Buffer(self.context, flags | self.cl.mem_flags.COPY_HOST_PTR, hostbuf=values)

    def array(self, number: int) -> Any:
        """Return the host array of a host memory or of a mapping."""
        spec = self.plan.memories[number]
        if spec.kind == "mapped":
            assert spec.map_step is not None
            return self.maps[spec.map_step]
        return self.memories[number]

    def part(self, operand: Operand) -> Any:
        """Return the part of a host array that an operand means."""
        array = self.array(operand.memory)
        size = array.dtype.itemsize
        return array[operand.origin // size : max((operand.origin + operand.bytes) // size, 1)]

    def origin(self, operand: Operand) -> int:
        """Return the first byte of a device operand within the object that stands for it."""
        return operand.origin + self.shift.get(operand.memory, 0)


def play(cl: Any, context: Any, plan: Plan, deadline: float, stand_in: bool = False) -> Outcome:
    """Run a plan ordered and gated and compare. Raises Refused for what the device cannot do."""
    import numpy as np

    expected, snapshots = _ordered(_Stage(cl, np, context, plan, stand_in))
    stage = _Stage(cl, np, context, plan, stand_in)
    order, detail, earlier, later = _gated(stage, deadline)
    differences: tuple[Difference, ...] = ()
    if order in ("later-first", "held"):
        differences = tuple(
            difference
            for name, got, right in [
                *zip([m.name for m in plan.memories], _contents(stage), expected, strict=True),
                *((plan.memories[n].name, got, snapshots[n]) for n, got in stage.seen.items()),
            ]
            if got is not None and (difference := _difference(np, name, got, right)) is not None
        )
    kernels = {step.kernel is not None and not stand_in for step in plan.steps if step.op == "kernel"}
    whose = "" if not kernels else "author" if kernels == {True} else "stand-in"
    return Outcome(order, detail, earlier, later, differences, whose)


def _ordered(stage: _Stage) -> tuple[list[Any], dict[int, Any]]:
    """Run every step alone, the host waiting after each; return the final contents and what the host read."""
    for number, step in enumerate(stage.plan.steps):
        if step.op in HOST:
            if step.op == "access":
                _access(stage, step)
            elif step.op == "status" and step.user in stage.unset:
                _set(stage, step.user)
            continue
        for user in list(step.users):
            _set(stage, user)
        _enqueue(stage, number, step, None)
        if stage.events.get(number) is not None:
            stage.events[number].wait()
    return _contents(stage), dict(stage.seen)


def _set(stage: _Stage, user: int | None) -> None:
    if user in stage.unset:
        stage.unset.discard(user)
        stage.users[user].set_status(stage.cl.command_execution_status.COMPLETE)


def _gated(stage: _Stage, deadline: float) -> tuple[str, str, str, str]:
    """Hold the earlier command with a user event and watch the later one."""
    cl, plan = stage.cl, stage.plan
    gate = cl.UserEvent(stage.context)
    opened = threading.Event()

    def open_gate() -> None:
        if not opened.is_set():
            opened.set()
            gate.set_status(cl.command_execution_status.COMPLETE)

    # A driver may wait inside an enqueue call; then only another thread can open the gate.
    watchdog = threading.Timer(4 * deadline, open_gate)
    watchdog.daemon = True
    watchdog.start()
    try:
        return _probe(stage, gate, deadline, opened.is_set)
    except Held as held:
        status = _status(stage, plan.earlier)
        open_gate()
        _rest(stage)
        return "held", str(held), status, "not reached"
    finally:
        watchdog.cancel()
        open_gate()
        for user in list(stage.unset):
            _set(stage, user)
        for queue in stage.queues:
            queue.finish()


def _probe(stage: _Stage, gate: Any, deadline: float, opened: Callable[[], bool]) -> tuple[str, str, str, str]:
    plan = stage.plan
    for number, step in enumerate(plan.steps):
        held = number > plan.earlier
        stage.reached = number
        if step.op in HOST:
            if number == plan.later:
                earlier = _status(stage, plan.earlier)
                _access(stage, step)
                return _verdict(earlier, "the host got there", opened())
            _host(stage, step, deadline)
            continue
        _enqueue(stage, number, step, gate if number == plan.earlier else None)
        if number < plan.earlier:
            _await(stage, [number], deadline, "")
        if number == plan.later:
            break
        if held and opened():
            return "blocked", f"the enqueue call of {step.what} waited for it", "COMPLETE", "not reached"
    for queue in stage.queues:
        queue.flush()
    end = time.monotonic() + deadline
    while True:
        # The later one first: whatever the earlier one does between two looks cannot make it look early.
        later = _status(stage, plan.later)
        earlier = _status(stage, plan.earlier)
        if later == "COMPLETE" or earlier == "COMPLETE":
            return _verdict(earlier, later, opened())
        if later.startswith("error"):
            raise Refused(f"{plan.steps[plan.later].what} failed: {later}")
        if time.monotonic() > end:
            return "held", "it did not start while the gate was closed", earlier, later
        time.sleep(PAUSE)


def _rest(stage: _Stage) -> None:
    """Go on where the host was held, now that the gate is open."""
    for number, step in enumerate(stage.plan.steps[stage.reached :], stage.reached):
        if step.op in HOST:
            _host(stage, step, PATIENCE)
        else:
            _enqueue(stage, number, step, None)


def _verdict(earlier: str, later: str, opened: bool) -> tuple[str, str, str, str]:
    if earlier == "COMPLETE":
        if opened:
            return "blocked", "an enqueue call waited until the gate opened", earlier, later
        return "gate-ignored", "the earlier command ran although its wait list was not complete", earlier, later
    return "later-first", "", earlier, later


def _host(stage: _Stage, step: Step, deadline: float) -> None:
    if step.op == "wait":
        _await(stage, step.steps, deadline, f"the host's wait in line {step.line}")
    elif step.op == "finish":
        numbers = [n for n in stage.events if stage.plan.steps[n].queue == step.queue]
        _await(stage, numbers, deadline, f"the finish in line {step.line}")
    elif step.op == "status":
        _set(stage, step.user)
    elif step.op == "access":
        _access(stage, step)


def _await(stage: _Stage, numbers: Any, deadline: float, what: str) -> None:
    for queue in stage.queues:
        queue.flush()
    end = time.monotonic() + deadline
    for number in numbers:
        while number in stage.events and _status(stage, number) != "COMPLETE":
            if time.monotonic() > end:
                raise Held(f"{what} waits for it")
            time.sleep(PAUSE)


def _access(stage: _Stage, step: Step) -> None:
    """Let the host do what the program does with an array: keep what it reads, write other values."""
    for operand in step.operands:
        if operand.reads:
            stage.seen[operand.memory] = stage.part(operand).copy()
        if operand.writes:
            stage.part(operand)[...] = 1


def _status(stage: _Stage, number: int) -> str:
    status = stage.events[number].command_execution_status
    return STATUS.get(status, f"error {status}")


def _enqueue(stage: _Stage, number: int, step: Step, gate: Any) -> None:
    """Enqueue a command; `gate` goes into its wait list too."""
    cl = stage.cl
    assert step.queue is not None
    queue = stage.queues[step.queue]
    waits = [stage.events[w] for w in step.waits or () if w in stage.events]
    waits += [stage.users[user] for user in step.users]
    waits += [gate] if gate is not None else []
    wait_for = waits or None
    try:
        event = _command(stage, number, step, queue, wait_for)
    except cl.Error as error:
        raise Refused(f"{step.what or step.op} in line {step.line}: {_one_line(error)}") from None
    stage.events[number] = event


def _command(stage: _Stage, number: int, step: Step, queue: Any, wait_for: Any) -> Any:
    cl, np = stage.cl, stage.np
    operands = step.operands
    match step.op:
        case "marker":
            return cl.enqueue_marker(queue, wait_for=wait_for)
        case "barrier":
            return cl.enqueue_barrier(queue, wait_for=wait_for)
        case "read" | "write":
            device, host = (operands[0], operands[1]) if step.op == "read" else (operands[1], operands[0])
            part = stage.part(host)[: max(device.bytes // stage.array(host.memory).dtype.itemsize, 1)]
            memory, origin = stage.memories[device.memory], stage.origin(device)
            if step.op == "read":
                return cl.enqueue_copy(queue, part, memory, src_offset=origin, is_blocking=False, wait_for=wait_for)
            return cl.enqueue_copy(queue, memory, part, dst_offset=origin, is_blocking=False, wait_for=wait_for)
        case "copy":
            source, target = operands
            return cl.enqueue_copy(
                queue,
                stage.memories[target.memory],
                stage.memories[source.memory],
                src_offset=stage.origin(source),
                dst_offset=stage.origin(target),
                byte_count=min(source.bytes, target.bytes),
                wait_for=wait_for,
            )
        case "fill":
            pattern = np.array([1], np.dtype(stage.plan.memories[operands[0].memory].dtype))
            size = operands[0].bytes // pattern.itemsize * pattern.itemsize
            memory = stage.memories[operands[0].memory]
            return cl.enqueue_fill_buffer(queue, memory, pattern, stage.origin(operands[0]), size, wait_for)
        case "map":
            operand = operands[0]
            dtype = np.dtype(stage.plan.memories[operand.memory].dtype)
            flags = cl.map_flags.READ | cl.map_flags.WRITE
            if step.invalidates:
                flags = cl.map_flags.WRITE_INVALIDATE_REGION
            array, event = cl.enqueue_map_buffer(
                queue,
                stage.memories[operand.memory],
                flags,
                stage.origin(operand),
                (operand.bytes // dtype.itemsize,),
                dtype,
                wait_for=wait_for,
                is_blocking=False,
            )
            stage.maps[number] = array
            return event
        case "unmap":
            assert step.map_step is not None
            return stage.maps[step.map_step].base.release(queue, wait_for=wait_for)
        case "migrate":
            objects = [stage.memories[operand.memory] for operand in operands]
            return cl.enqueue_migrate_mem_objects(queue, objects, wait_for=wait_for)
    return _kernel(stage, number, step, queue, wait_for)


def _kernel(stage: _Stage, number: int, step: Step, queue: Any, wait_for: Any) -> Any:
    """Launch the author's kernel, or one that reads and writes the same bytes."""
    cl, np = stage.cl, stage.np
    if step.kernel is not None and not stage.stand_in:
        spec = step.kernel
        kernel = getattr(_program(cl, stage.context, spec.source), spec.name)
        values: list[Any] = []
        for argument in spec.arguments:
            match argument:
                case ("memory", index):
                    values.append(stage.memories[index])
                case ("local", size):
                    values.append(cl.LocalMemory(size))
                case ("scalar", dtype, value):
                    values.append(np.dtype(dtype).type(value))
        return kernel(queue, spec.global_size, spec.local_size, *values, wait_for=wait_for)
    source, used = stand_in(stage.plan, step, number)
    values = []
    for operand in used:
        size = np.dtype(stage.plan.memories[operand.memory].dtype).itemsize
        values += [
            stage.memories[operand.memory],
            np.uint64(stage.origin(operand) // size),
            np.uint64(max(operand.bytes // size, 1)),
        ]
    count = max([1, *(values[i + 2] for i in range(0, len(values), 3))])
    kernel = _program(cl, stage.context, source).stand_in
    return kernel(queue, (int(count),), None, *values, wait_for=wait_for)


_TYPES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "uint32": "uint",
    "uint8": "uchar",
    "int64": "long",
}


def stand_in(plan: Plan, step: Step, number: int) -> tuple[str, list[Operand]]:
    """Return OpenCL C of a kernel that reads and writes the operands, and the operands in argument order.

    Neither the order of two such kernels nor that of one and a transfer can be swapped without another result.
    """
    used = list(step.operands)
    params, reads, writes = [], [], []
    for position, operand in enumerate(used):
        kind = _TYPES.get(plan.memories[operand.memory].dtype, "uint")
        params.append(f"__global {kind} *a{position}, ulong o{position}, ulong n{position}")
        place = f"a{position}[o{position} + i % n{position}]"
        if operand.reads:
            reads.append(f"(float)({place}) / 2")
        if operand.writes:
            writes.append(f"    if (i < n{position}) a{position}[o{position} + i] = ({kind})(v + {position});")
    pragma = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if any("double" in p for p in params) else ""
    body = f"    ulong i = get_global_id(0);\n    float v = {' + '.join([f'{number + 3}.0f', *reads])};\n"
    return f"{pragma}__kernel void stand_in({', '.join(params)})\n{{\n{body}" + "\n".join(writes) + "\n}\n", used


_PROGRAMS: dict[tuple[int, str], Any] = {}


def _program(cl: Any, context: Any, source: str) -> Any:
    key = (context.int_ptr, source)
    if key not in _PROGRAMS:
        _PROGRAMS[key] = cl.Program(context, source).build()
    return _PROGRAMS[key]


def _contents(stage: _Stage) -> list[Any]:
    """Return the final contents of every memory object; None for parts of others and for mappings."""
    values = []
    for number, spec in enumerate(stage.plan.memories):
        if spec.kind == "host":
            values.append(stage.memories[number].copy())
        elif spec.kind == "buffer" and spec.parent is None:
            array = stage.contents(number)
            stage.cl.enqueue_copy(stage.queues[0], array, stage.memories[number])
            values.append(array)
        else:
            values.append(None)
    return values


def _difference(np: Any, name: str, got: Any, right: Any) -> Difference | None:
    same = got.view(np.uint8).reshape(len(got), -1) == right.view(np.uint8).reshape(len(right), -1)
    wrong = np.flatnonzero(~same.all(axis=1))
    if not len(wrong):
        return None
    first = int(wrong[0])
    return Difference(name, len(wrong), len(got), first, str(got[first]), str(right[first]))


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrong = next((line for line in lines if "error:" in line), "")
    return " ".join(filter(None, [lines[0] if lines else type(error).__name__, wrong]))[:300]


def platforms(cl: Any) -> list[dict[str, Any]]:
    """Return every device: platform, name, driver, version, kind, and where it stands in the loader's lists."""
    found = []
    for p, platform in enumerate(cl.get_platforms()):
        for d, device in enumerate(platform.get_devices()):
            found.append(
                {
                    "index": [p, d],
                    "platform": platform.name.strip(),
                    "name": device.name.strip(),
                    "driver": device.driver_version,
                    "version": device.version.strip(),
                    "kind": cl.device_type.to_string(device.type).split(" | ")[-1],
                    "out_of_order": bool(
                        device.queue_properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
                    ),
                }
            )
    return found


def _answer(cl: Any, contexts: dict[tuple[int, int], Any], job: dict[str, Any]) -> dict[str, Any]:
    if job["op"] == "platforms":
        return {"devices": platforms(cl)}
    p, d = job["device"]
    if (p, d) not in contexts:
        contexts[p, d] = cl.Context([cl.get_platforms()[p].get_devices()[d]])
    if job["op"] == "profile":
        return {"profile": _profile(cl, contexts[p, d])}
    plan = read_plan(job["plan"])
    try:
        return play(cl, contexts[p, d], plan, job["deadline"], job.get("stand_in", False)).data()
    except Refused as refused:
        return Outcome("refused", str(refused)).data()


def _profile(cl: Any, context: Any) -> bool:
    """Return whether a queue made for it gives times that make sense."""
    import numpy as np

    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
    event = cl.enqueue_fill_buffer(queue, buffer, np.uint32(1), 0, 4096)
    event.wait()
    return bool(0 < event.profile.queued <= event.profile.start <= event.profile.end)


def main() -> None:
    """Answer jobs until standard input ends."""
    import warnings

    warnings.simplefilter("ignore")
    answers = sys.stdout
    sys.stdout = sys.stderr  # drivers and PyOpenCL may print
    import pyopencl as cl

    contexts: dict[tuple[int, int], Any] = {}
    for line in sys.stdin:
        try:
            answer = _answer(cl, contexts, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {_one_line(error)}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
