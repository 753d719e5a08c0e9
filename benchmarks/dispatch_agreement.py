"""Does `dispatch explain` name the kernel that `dispatch trace` sees run? For every operator that made-up
inputs fit.

    python benchmarks/dispatch_agreement.py [--device cpu] [--limit N]

For each overload of torch.ops.aten, inputs are made from its schema until one call succeeds; then explain is asked
about the same inputs and its winner compared with the first event of the trace (operator, key, registration).
"""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import warnings

import torch

from kexec_lint.aten.dispatch import inputs, table
from kexec_lint.aten.dispatch.explain import explain
from kexec_lint.aten.dispatch.trace import Tracer

DANGEROUS = (
    "_cuda",
    "cudnn",
    "miopen",
    "_nnpack",
    "record_stream",
    "_assert",
    "set_",
    "_foreach_map",
    "_sync",
    "set_data",
    "_thnn",
    "wait",
    "_use_cudnn",
    "backward",
    "_pin",
    "pin_memory",
    "is_pinned",
    "rename",
    "from_file",
    "_debug",
    "_dim",
    "_test",
    "_to_cpu",
    "sparse_coo_tensor",
    "_validate",
    "_embedding",
    "embedding_bag",
    "_segment",
    "quantize",
    "fake_quant",
    "_weight_int",
    "_mkldnn",
    "mkldnn",
    "_nested",
    "_jagged",
    "_make_dep",
    "_functional",
    "_local",
    "resize",
    "as_strided",
    "_scaled",
    "_fused",
    "mps_",
    "xnnpack",
    "_cslt",
    "lstm",
    "gru",
    "rnn",
    "_unsafe_index",
    "_cufft",
    "ctc",
)
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


def random(overload: object) -> bool:
    """Whether two calls with the same inputs may give different results, or memory that nobody wrote."""
    tags = {str(tag).rpartition(".")[2] for tag in overload.tags}
    return "nondeterministic_seeded" in tags or "empty" in overload._schema.name


def same(left: object, right: object) -> bool:
    """Whether two results are equal, NaN to NaN."""
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        if left.layout != torch.strided or right.layout != torch.strided:
            return left.layout == right.layout and left.shape == right.shape
        return left.dtype == right.dtype and bool(torch.equal(torch.nan_to_num(left), torch.nan_to_num(right)))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right)


def judge(overload: object, device: str) -> tuple[str, str]:
    """Return (outcome, detail) of one operator: agree, differ, no inputs, no tensors."""
    for args, kwargs in inputs.generate(overload._schema, device):
        if not list(inputs.tensors([args, kwargs])):
            return "no tensors", ""
        try:
            real = inputs.make([args, kwargs], device)
            plain = overload(*real[0], **real[1])
        except Exception:  # inputs are made up until a kernel takes them; what it says of the others varies
            continue
        print("plain", flush=True)
        real = inputs.make([args, kwargs], device)
        tracer = Tracer()
        try:
            with tracer:
                traced = overload(*real[0], **real[1])
        except Exception as error:
            return "differ", f"only the traced call raises {type(error).__name__}: {str(error)[:80]}"
        if not random(overload) and not same(plain, traced):
            return "differ", "the traced call has another result"
        first = next((e for e in tracer.events if e.operator == table.qualified_name(overload)), None)
        found = explain(overload, args, kwargs, decompose=False)
        if first is None or found.winner is None:
            return "differ", f"trace {first and first.key}, explain {found.winner and found.winner.key}"
        said = (found.winner.key, found.winner.registered_as)
        seen = (first.key, first.registered_as)
        return ("agree", "") if said == seen else ("differ", f"trace {seen}, explain {said}")
    return "no inputs", ""


def work(start: int, limit: int, device: str) -> None:
    """Judge the operators from `start` on, one line each; a kernel that crashes on made-up inputs ends the
    process."""
    for overload in overloads()[start:limit]:
        print("start", table.qualified_name(overload), flush=True)
        print("done", *judge(overload, device), flush=True)


def main() -> None:
    """Print the counts and every disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=100_000)
    parser.add_argument("--start", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.start is not None:
        work(options.start, options.limit, options.device)
        return
    counts: collections.Counter[str] = collections.Counter()
    different = {}
    done, total = 0, min(options.limit, len(overloads()))
    while done < total:
        command = [
            sys.executable,
            __file__,
            "--start",
            str(done),
            "--limit",
            str(total),
            "--device",
            options.device,
        ]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        name, plain = "", False
        for line in run.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word == "start":
                name, plain = rest, False
            elif word == "plain":
                plain = True
            elif word == "done":
                outcome = next(o for o in ("agree", "differ", "no inputs", "no tensors") if rest.startswith(o))
                counts[outcome] += 1
                done += 1
                if outcome == "differ":
                    different[name] = rest.removeprefix("differ ")
        if run.returncode:
            outcome = "crashed when traced" if plain else "the kernel itself crashed"
            counts[outcome] += 1
            different[name] = outcome
            done += 1
    print(f"torch {torch.__version__}, {options.device}: {dict(counts)}")
    for name, detail in different.items():
        print(f"  {name}: {detail}")


if __name__ == "__main__":
    main()
