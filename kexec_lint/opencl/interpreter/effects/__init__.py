"""Carries out the rows of the API tables: `EFFECTS` says which function does what a row does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter.effects import arrays, launches, making, maps, transfers, waits
from kexec_lint.opencl.interpreter.effects.arrays import unknown_array_get, use
from kexec_lint.opencl.interpreter.effects.launches import generated_call, launch, launch_call
from kexec_lint.opencl.interpreter.effects.making import allocate
from kexec_lint.opencl.interpreter.effects.maps import unmap
from kexec_lint.opencl.interpreter.effects.waits import set_status
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Object

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments


def run(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue = NONE
) -> AbstractValue:
    """Do what a row says."""
    handler = EFFECTS.get(row.does)
    if handler is None:
        return m.fresh(row.does)
    return handler(m, row, arguments, span, receiver)


Effect = Callable[[Machine, CallModel, "Arguments", p.Span, AbstractValue], AbstractValue]

EFFECTS: dict[str, Effect] = {
    "command": transfers.command,
    "copy": transfers.copy,
    "launch": launches.launch_enqueue,
    "map": maps.map_buffer,
    "svm_map": maps.svm_map,
    "map_method": maps.svm_map,
    "set_args": launches.set_args,
    "set_arg": launches.set_arg,
    "set_dtypes": launches.set_dtypes,
    "finish": waits.finish,
    "flush": waits.flush,
    "wait": waits.wait,
    "wait_self": waits.wait_self,
    "opaque": waits.opaque,
    "set_status": waits.set_status_call,
    "set_callback": waits.set_callback,
    "profile": waits.profile,
    "poll": waits.poll,
    "queue": making.queue,
    "context": making.context,
    "program": making.program,
    "kernel": making.kernel,
    "buffer": making.buffer,
    "image": making.buffer,
    "image_from_array": making.image_from_array,
    "user_event": making.user_event,
    "local": making.local,
    "svm": making.svm,
    "svm_array": making.svm_array,
    "svm_array_fine": making.svm_array,
    "svm_allocation": making.svm_allocation,
    "sub_buffer": making.sub_buffer,
    "alias": making.alias,
    "release_memory": making.release_memory,
    "svm_release": making.svm_release,
    "bind_queue": making.bind_queue,
    "pool": making.pool,
    "allocator": making.allocator,
    "allocate": lambda m, row, arguments, span, receiver: (
        making.allocate(m, receiver, arguments, span) if isinstance(receiver, Object) else m.fresh("block")
    ),
    "array": arrays.array,
    "array_like": arrays.array_like,
    "array_get": arrays.array_get,
    "array_get_async": arrays.array_get_async,
    "array_set": arrays.array_set,
    "array_copy": arrays.array_copy,
    "array_finish": arrays.array_finish,
    "array_view": arrays.array_view,
    "array_write": arrays.array_write,
    "array_map": maps.array_map,
    "add_event": arrays.add_event,
    "generated": launches.generated,
    "declaration": launches.declaration,
    "nothing": making.nothing,
    "self": making.itself,
    "build": making.build,
}
"""What a row's `does` means."""

__all__ = [
    "EFFECTS",
    "allocate",
    "generated_call",
    "launch",
    "launch_call",
    "run",
    "set_status",
    "unknown_array_get",
    "unmap",
    "use",
]
