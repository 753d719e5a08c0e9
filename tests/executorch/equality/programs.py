"""Exports the programs on which kexec-lint is compared with executorch's own tools: `python programs.py FOLDER`.

Every portable operator is called by a program of its own, through the functional operator of which it is the out
variant; then come Half and BFloat16, channels-last, several methods, delegates, custom and quantized operators, and
operators without a kernel. Writes one .pte for each and `failed.json` with what did not export.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pte
import torch
import yaml
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.operator.convert import to_out_variant

X, Y = torch.rand(2, 4) * 0.5 + 0.25, torch.rand(2, 4) * 0.5 + 0.25
WHOLE, INDEX, MASK = torch.ones(2, 4, dtype=torch.int32), torch.zeros(2, 4, dtype=torch.long), torch.ones(2, 4).bool()
IMAGE, VECTOR = torch.rand(1, 4, 6, 6), torch.rand(4)

ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "_adaptive_avg_pool2d.out": lambda: (IMAGE, [2, 2]),
    "_cdist_forward.out": lambda: (X, Y, 2.0, None),
    "_log_softmax.out": lambda: (X, 1, False),
    "_softmax.out": lambda: (X, 1, False),
    "_native_batch_norm_legit.no_stats_out": lambda: (IMAGE, VECTOR, VECTOR, True, 0.1, 1e-5),
    "_native_batch_norm_legit_no_training.out": lambda: (IMAGE, VECTOR, VECTOR, VECTOR, VECTOR, 0.1, 1e-5),
    "_to_copy.out": lambda: (X,),
    "addmm.out": lambda: (X, X, torch.rand(4, 4)),
    "arange.out": lambda: (5,),
    "arange.start_out": lambda: (1, 5, 2),
    "any.dims_out": lambda: (MASK, [1]),
    "as_strided_copy.out": lambda: (X, [2, 2], [1, 1]),
    "avg_pool2d.out": lambda: (IMAGE, [2, 2]),
    "bmm.out": lambda: (torch.rand(1, 2, 3), torch.rand(1, 3, 2)),
    "clamp.Tensor_out": lambda: (X, Y, Y),
    "clamp.out": lambda: (X, 0.1, 0.9),
    "constant_pad_nd.out": lambda: (X, [1, 1], 0.0),
    "convolution.out": lambda: (IMAGE, torch.rand(4, 4, 3, 3), VECTOR, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    "convolution_backward.out": lambda: (
        torch.rand(1, 4, 4, 4), IMAGE, torch.rand(4, 4, 3, 3), [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
        [True, True, True],
    ),
    "div.Scalar_mode_out": lambda: (X, 2, {"rounding_mode": "floor"}),
    "div.out_mode": lambda: (X, Y, {"rounding_mode": "trunc"}),
    "embedding.out": lambda: (torch.rand(5, 3), torch.zeros(2, dtype=torch.long)),
    "empty.out": lambda: ([2, 3],),
    "expand_copy.out": lambda: (torch.rand(2, 1), [2, 3]),
    "flip.out": lambda: (X, [1]),
    "full.out": lambda: ([2, 3], 1.5),
    "full_like.out": lambda: (X, 1.5),
    "gather.out": lambda: (X, 1, INDEX),
    "grid_sampler_2d.out": lambda: (IMAGE, torch.rand(1, 3, 3, 2), 0, 0, False),
    "index.Tensor_out": lambda: (X, [INDEX[0]]),
    "index_put.out": lambda: (X, [torch.zeros(1, dtype=torch.long)], torch.rand(1, 4)),
    "index_put_": lambda: (X, [torch.zeros(1, dtype=torch.long)], torch.rand(1, 4)),
    "index_select.out": lambda: (X, 1, torch.zeros(2, dtype=torch.long)),
    "linear.out": lambda: (X, torch.rand(3, 4), torch.rand(3)),
    "masked_select.out": lambda: (X, MASK),
    "max_pool2d_with_indices.out": lambda: (IMAGE, [2, 2]),
    "max_pool2d_with_indices_backward.grad_input": lambda: (
        torch.rand(1, 4, 3, 3), IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False, torch.zeros(1, 4, 3, 3).long(),
    ),
    "mean.out": lambda: (X, [1]),
    "mm.out": lambda: (X, torch.rand(4, 2)),
    "narrow_copy.out": lambda: (X, 1, 0, 2),
    "native_dropout.out": lambda: (X, 0.5, True),
    "native_group_norm.out": lambda: (IMAGE, VECTOR, VECTOR, 1, 4, 36, 2, 1e-5),
    "native_layer_norm.out": lambda: (X, [4], VECTOR, VECTOR, 1e-5),
    "ones.out": lambda: ([2, 3],),
    "permute_copy.out": lambda: (X, [1, 0]),
    "pixel_shuffle.out": lambda: (IMAGE, 2),
    "pixel_unshuffle.out": lambda: (IMAGE, 2),
    "rand.out": lambda: ([2, 3],),
    "randn.out": lambda: ([2, 3],),
    "reflection_pad1d.out": lambda: (X, [1, 1]),
    "reflection_pad2d.out": lambda: (IMAGE, [1, 1, 1, 1]),
    "reflection_pad3d.out": lambda: (torch.rand(1, 2, 3, 3, 3), [1] * 6),
    "replication_pad1d.out": lambda: (X, [1, 1]),
    "replication_pad2d.out": lambda: (IMAGE, [1, 1, 1, 1]),
    "replication_pad3d.out": lambda: (torch.rand(1, 2, 3, 3, 3), [1] * 6),
    "repeat.out": lambda: (X, [2, 1]),
    "repeat_interleave.Tensor_out": lambda: (torch.ones(3, dtype=torch.long), {"output_size": 3}),
    "roll.out": lambda: (X, [1], [1]),
    "scalar_tensor.out": lambda: (2.0,),
    "scatter.src_out": lambda: (X, 1, INDEX, Y),
    "scatter.value_out": lambda: (X, 1, INDEX, 2.0),
    "scatter_add.out": lambda: (X, 1, INDEX, Y),
    "select_copy.int_out": lambda: (X, 1, 0),
    "select_scatter.out": lambda: (X, torch.rand(2), 1, 0),
    "slice_copy.Tensor_out": lambda: (X, 1, 0, 2),
    "slice_scatter.out": lambda: (X, torch.rand(2, 2), 1, 0, 2),
    "split_copy.Tensor_out": lambda: (X, 2, 1),
    "split_with_sizes_copy.out": lambda: (X, [1, 3], 1),
    "squeeze_copy.dim_out": lambda: (torch.rand(2, 1), 1),
    "squeeze_copy.dims_out": lambda: (torch.rand(2, 1), [1]),
    "sum.IntList_out": lambda: (X, [1]),
    "topk.values": lambda: (X, 2),
    "transpose_copy.int_out": lambda: (X, 0, 1),
    "unfold_copy.out": lambda: (X, 1, 2, 1),
    "unsqueeze_copy.out": lambda: (X, 1),
    "upsample_bilinear2d.vec_out": lambda: (IMAGE, [12, 12], False, None),
    "upsample_nearest2d.vec_out": lambda: (IMAGE, [12, 12], None),
    "_upsample_bilinear2d_aa.out": lambda: (IMAGE, [3, 3], False),
    "var.correction_out": lambda: (X, [1]),
    "var_mean.correction_out": lambda: (X, [1]),
    "var.out": lambda: (X, [1]),
    "view_as_real_copy.out": lambda: (torch.rand(2, 4, dtype=torch.complex64),),
    "_conj_physical.out": lambda: (torch.rand(2, 4, dtype=torch.complex64),),
    "view_copy.out": lambda: (X, [8]),
    "where.self_out": lambda: (MASK, X, Y),
    "zeros.out": lambda: ([2, 3],),
    "fill.Tensor_out": lambda: (X, torch.tensor(2.0)),
    "repeat_interleave.self_int": lambda: (X, 2),
}  # fmt: skip

UNREACHABLE = {
    "_native_batch_norm_legit.out": ["6;0,1,2,3", *["6;0"] * 4, True, "6;0,1,2,3"],
    "lift_fresh_copy.out": ["6;0,1", "6;0,1", "6;0,1"],
}
"""Operators to which no graph leads, with the tensors of a call: torch makes the first functional, with no out
variant, and removes the second. Their programs are written byte by byte, for reading and codegen; the runtime does
not load them, as their tensors lie nowhere.
"""

FUNCTIONAL = {
    "copy_": "copy_", "index_put_": "index_put_", "pow.Scalar_out": "pow.Scalar",
    "pow.Tensor_Scalar_out": "pow.Tensor_Scalar", "pow.Tensor_Tensor_out": "pow.Tensor_Tensor",
}  # fmt: skip
"""Operators that `to_out_variant` does not lead to."""


class Call(torch.nn.Module):
    """Calls one operator; its tensor arguments are the inputs of the module, a dict at the end its keywords."""

    def __init__(self, target: Any, arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self.target = target
        self.inputs: list[torch.Tensor] = []
        self.keywords = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
        self.arguments = [self._hole(argument) for argument in arguments if not isinstance(argument, dict)]

    def _hole(self, argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            self.inputs.append(argument)
            return ("input", len(self.inputs) - 1)
        if isinstance(argument, list) and any(isinstance(item, torch.Tensor) for item in argument):
            return [self._hole(item) for item in argument]
        return argument

    def forward(self, *tensors: torch.Tensor) -> Any:
        def fill(argument: Any) -> Any:
            if isinstance(argument, tuple) and argument and argument[0] == "input":
                return tensors[argument[1]]
            return [fill(item) for item in argument] if isinstance(argument, list) else argument

        return self.target(*[fill(argument) for argument in self.arguments], **self.keywords)


def export_call(target: Any, arguments: tuple[Any, ...]) -> bytes:
    """Return the program of one call; the operator is kept from being decomposed."""
    call = Call(target, arguments)
    program = torch.export.export(call, tuple(call.inputs))
    config = EdgeCompileConfig(_check_ir_validity=False, preserve_ops=[target])
    return to_edge(program, compile_config=config).to_executorch().buffer


def functional(operator: str) -> Any:
    """Return the functional overload whose out variant is `operator` (without namespace), or None."""
    packet = getattr(torch.ops.aten, operator.split(".")[0])
    if operator in FUNCTIONAL:
        return getattr(packet, [*FUNCTIONAL[operator].split("."), "default"][1])
    for name in packet.overloads():
        overload = getattr(packet, name)
        if any(argument.is_out for argument in overload._schema.arguments):
            continue
        try:
            out = to_out_variant(overload)[0]._schema
        except Exception:
            continue
        if f"{out.name}.{out.overload_name}" == f"aten::{operator}":
            return overload
    return None


def default_arguments(target: Any) -> tuple[Any, ...]:
    """Return arguments by type for an operator that takes any elementwise input."""
    whole = "bitwise" in target._schema.name
    found: list[Any] = []
    for argument in target._schema.arguments:
        if argument.kwarg_only or argument.has_default_value():
            continue
        kind = str(argument.type)
        if kind == "Tensor":
            logical = "mask" in argument.name or "logical" in target._schema.name
            found.append(MASK if logical else WHOLE if whole else [X, Y][len(found) % 2])
        elif kind == "List[Tensor]":
            found.append([X, Y])
        else:
            found.append(1 if kind == "int" else 2)
    return tuple(found)


def portable_operators() -> list[str]:
    """Return the entries of the installed functions.yaml, aten's without their namespace."""
    import executorch

    text = (Path(next(iter(executorch.__path__))) / "kernels/portable/functions.yaml").read_text()
    return [entry["op"] if "op" in entry else entry["func"].split("(")[0] for entry in yaml.safe_load(text)]


def calls() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield a program for each portable operator that is called by itself."""
    for operator in portable_operators():
        if operator in UNREACHABLE:
            described = {"forward": {"calls": [{f"aten::{operator}": UNREACHABLE[operator]}]}}
            yield f"written_{operator}", lambda described=described: pte.program(described)
            continue
        if "::" in operator:
            continue  # the passes for dimension orders lead to them, see models()
        target = functional(operator) if "bitwise_left" not in operator and "bitwise_right" not in operator else None
        if target is None and "shift" in operator:
            name, overload = operator.removesuffix("_out").split(".")
            target = getattr(getattr(torch.ops.aten, name), overload)
        arguments = ARGUMENTS[operator]() if operator in ARGUMENTS else None
        yield (
            f"op_{operator}",
            lambda target=target, arguments=arguments: export_call(
                target, arguments if arguments is not None else default_arguments(target)
            ),
        )


def lowered(module: torch.nn.Module, inputs: tuple[Any, ...], *partitioners: Any, **options: Any) -> bytes:
    """Return a module's program, lowered as executorch recommends it."""
    program = torch.export.export(module.eval(), inputs)
    return to_edge_transform_and_lower(program, partitioner=list(partitioners), **options).to_executorch().buffer


class Calls(torch.nn.Module):
    """A module from a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def cnn() -> torch.nn.Module:
    nn = torch.nn
    layers = {
        "conv": nn.Conv2d(3, 4, 3), "norm": nn.BatchNorm2d(4), "relu": nn.ReLU(), "pool": nn.MaxPool2d(2),
        "flat": nn.Flatten(), "fc": nn.Linear(36, 5), "softmax": nn.Softmax(1),
    }  # fmt: skip
    return nn.Sequential(OrderedDict(layers))  # XNNPACK fuses no batch norm of a module whose name is a number


def models() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield whole models: types, layouts, methods, delegates, custom and quantized operators, missing kernels."""
    nn, image = torch.nn, torch.rand(1, 3, 8, 8)
    binary = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
        "minimum": torch.minimum, "remainder": torch.remainder, "fmod": torch.fmod, "pow": torch.pow, "eq": torch.eq,
        "lt": torch.lt, "atan2": torch.atan2,
    }  # fmt: skip
    for dtype in (torch.half, torch.bfloat16):
        short = str(dtype).removeprefix("torch.")
        for name, function in binary.items():
            yield (
                f"{short}_{name}",
                lambda function=function, dtype=dtype: lowered(Calls(function), (X.to(dtype), Y.to(dtype))),
            )
        yield (
            f"{short}_mlp",
            lambda dtype=dtype: lowered(
                nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).to(dtype), (X.to(dtype),)
            ),
        )
        yield f"{short}_mixed", lambda dtype=dtype: lowered(Calls(torch.add), (X.to(dtype), WHOLE))
    last = image.to(memory_format=torch.channels_last)
    yield "channels_last", lambda: lowered(cnn().to(memory_format=torch.channels_last), (last,))
    yield (
        "channels_last_inside",
        lambda: lowered(Calls(lambda x: x.to(memory_format=torch.channels_last) + 1), (image,)),
    )
    yield "clone_order", lambda: lowered(Calls(lambda x: x.clone(memory_format=torch.channels_last).relu()), (image,))
    yield (
        "empty_order",
        lambda: lowered(
            Calls(lambda x: torch.empty_like(x).fill_(1.0) + x),
            (image,),
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        ),
    )
    yield "cnn", lambda: lowered(cnn(), (image,))
    for name, maker in partitioners().items():
        yield f"cnn_{name}", lambda maker=maker: lowered(cnn(), (image,), maker())
        yield f"mlp_{name}", lambda maker=maker: lowered(nn.Sequential(nn.Linear(4, 4), nn.GELU()), (X,), maker())
        yield (
            f"parts_{name}",
            lambda maker=maker: lowered(
                Calls(lambda x: torch.topk((x + x).relu(), 2)[0].cumsum(1).sigmoid() * 2), (X,), maker()
            ),
        )
    yield (
        "attention",
        lambda: lowered(
            Calls(torch.nn.functional.scaled_dot_product_attention), tuple(torch.rand(1, 2, 4, 8) for _ in range(3))
        ),
    )
    yield "lstm", lambda: lowered(nn.LSTM(4, 3), (torch.rand(2, 1, 4),))
    yield "several_methods", several_methods
    yield (
        "condition",
        lambda: lowered(Calls(lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))), (X,)),
    )
    yield "dynamic", dynamic
    yield "custom", custom
    yield "quantized", quantized
    plain = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True)
    yield "plain_clone", lambda: lowered(Calls(lambda x: x.clone().relu()), (X,), compile_config=plain)
    yield "plain_to", lambda: lowered(Calls(lambda x: x.half() + 1), (X,), compile_config=plain)
    yield "plain_empty", lambda: lowered(Calls(lambda x: torch.empty(2, 4) + x), (X,), compile_config=plain)
    yield "in_place", in_place
    for name in ("_h2d_copy", "_d2h_copy"):
        yield name, lambda name=name: export_call(getattr(torch.ops.et_copy, name).default, (X,))
    yield "buffer", lambda: lowered(Counter(), (X,))
    yield "sort", lambda: lowered(Calls(lambda x: torch.sort(x)[0]), (X,))
    yield "max_pool3d", lambda: lowered(nn.MaxPool3d(2), (torch.rand(1, 2, 4, 4, 4),))
    yield "scatter_reduce", lambda: lowered(Calls(lambda x: x.scatter_reduce(1, INDEX, x, "amax")), (X,))
    for name in ("lgamma", "erfinv", "digamma"):
        yield name, lambda name=name: export_call(getattr(torch.ops.aten, name).default, (X,))


def partitioners() -> dict[str, Callable[[], Any]]:
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return {"xnnpack": XnnpackPartitioner, "vulkan": VulkanPartitioner}


class Counter(torch.nn.Module):
    """Changes a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count * 2


def several_methods() -> bytes:
    programs = {
        "encode": torch.export.export(Calls(torch.exp), (X,)),
        "decode": torch.export.export(Calls(lambda x: torch.log(x).half()), (X,)),
    }
    return to_edge_transform_and_lower(programs).to_executorch().buffer


def in_place() -> bytes:
    rows = torch.zeros(1, dtype=torch.long)
    module = Calls(lambda x, y: (x * 2).index_put((rows,), y))
    edge = to_edge_transform_and_lower(torch.export.export(module, (X, torch.rand(1, 4))))
    return edge.to_executorch(ExecutorchBackendConfig(run_reinplace_pass=True)).buffer


def dynamic() -> bytes:
    rows = torch.export.Dim("rows", min=2, max=16)
    module = torch.nn.Linear(4, 4)
    program = torch.export.export(module, (X,), dynamic_shapes={"input": {0: rows}})
    return to_edge_transform_and_lower(program).to_executorch().buffer


def custom() -> bytes:
    library = torch.library.Library("equality", "FRAGMENT")
    library.define("scale(Tensor x, float k) -> Tensor")
    library.define("scale.out(Tensor x, float k, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("scale", lambda x, k: x * k, "CompositeExplicitAutograd")
    library.impl("scale.out", lambda x, k, out: out.copy_(x * k), "CompositeExplicitAutograd")
    return lowered(
        Calls(lambda x: torch.ops.equality.scale(x, 2.0) + 1), (X,),
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )  # fmt: skip


def quantized() -> bytes:
    import executorch.kernels.quantized  # noqa: F401
    from torch.ao.quantization.fx._decomposed import quantized_decomposed_lib  # noqa: F401

    ops = torch.ops.quantized_decomposed

    def function(x: torch.Tensor) -> torch.Tensor:
        whole = ops.quantize_per_tensor(x, 0.1, 0, -128, 127, torch.int8)
        return ops.dequantize_per_tensor(whole, 0.1, 0, -128, 127, torch.int8) + 1

    return lowered(Calls(function), (X,), compile_config=EdgeCompileConfig(_check_ir_validity=False))


def write(folder: Path) -> dict[str, str]:
    """Write every program; return name → message for those that do not export."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    failed: dict[str, str] = {}
    for name, make in [*calls(), *models()]:
        try:
            (folder / f"{name}.pte").write_bytes(make())
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
    (folder / "failed.json").write_text(json.dumps(failed, indent=1))
    return failed


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for entry, message in write(target).items():
        print(entry, message, sep=": ")
