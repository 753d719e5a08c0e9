"""Does `dispatch explain` name the kernel that `dispatch trace` sees run? For every operator that made-up inputs fit.

    python benchmarks/dispatch_agreement.py [--device cpu] [--limit N] [--json FILE]

For each overload of torch.ops.aten, inputs are made from its schema until one call succeeds; then explain is asked
about the same inputs and its winner compared with the first event of the trace (operator, key, registration).
"""

from __future__ import annotations

import argparse
import collections
import json
import warnings

import torch

from kexec_lint.aten.dispatch import inputs, table
from kexec_lint.aten.dispatch.explain import explain
from kexec_lint.aten.dispatch.trace import Tracer

DANGEROUS = ("_cuda", "cudnn", "miopen", "_nnpack", "record_stream", "_assert", "set_", "_foreach_map", "_sync",
             "set_data", "_thnn", "wait", "_use_cudnn", "backward", "_pin", "pin_memory", "is_pinned", "rename",
             "from_file", "_debug", "_dim", "_test", "_to_cpu", "sparse_coo_tensor", "_validate", "_embedding",
             "embedding_bag", "_segment", "quantize", "fake_quant", "_weight_int", "_mkldnn", "mkldnn", "_nested",
             "_jagged", "_make_dep", "_functional", "_local", "resize", "as_strided", "_scaled", "_fused", "mps_",
             "xnnpack", "_cslt", "lstm", "gru", "rnn", "_unsafe_index", "_cufft", "ctc")  # fmt: skip
"""Parts of names whose kernels need more than a fitting schema: made-up inputs could crash the process."""


def overloads() -> list[object]:
    """Return the ATen overloads in order of their names."""
    found = []
    for name in sorted(n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")):
        if any(part in name for part in DANGEROUS):
            continue
        base, _, overload = name.partition("::")[2].partition(".")
        try:
            found.append(getattr(getattr(torch.ops.aten, base), overload or "default"))
        except AttributeError:
            continue
    return found


def judge(overload: object, device: str) -> tuple[str, str]:
    """Return (outcome, detail) of one operator: agree, differ, no inputs, no tensors."""
    for args, kwargs in inputs.generate(overload._schema, device):
        if not list(inputs.tensors([args, kwargs])):
            return "no tensors", ""
        tracer = Tracer()
        try:
            real = inputs.make([args, kwargs], device)
            with tracer:
                overload(*real[0], **real[1])
        except Exception:
            continue
        first = next((e for e in tracer.events if e.operator == table.qualified_name(overload)), None)
        found = explain(overload, args, kwargs, decompose=False)
        if first is None or found.winner is None:
            return "differ", f"trace {first and first.key}, explain {found.winner and found.winner.key}"
        said = (found.winner.key, found.winner.registered_as)
        seen = (first.key, first.registered_as)
        return ("agree", "") if said == seen else ("differ", f"trace {seen}, explain {said}")
    return "no inputs", ""


def main() -> None:
    """Print the counts and every disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=100_000)
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    different = {}
    for overload in overloads()[: options.limit]:
        outcome, detail = judge(overload, options.device)
        counts[outcome] += 1
        if outcome == "differ":
            different[table.qualified_name(overload)] = detail
    print(f"torch {torch.__version__}, {options.device}: {dict(counts)}")
    for name, detail in different.items():
        print(f"  {name}: {detail}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"counts": counts, "different": different}, file, indent=1)


if __name__ == "__main__":
    main()
