"""Who finds what: kexec-lint, TorchFix and torch.library.opcheck on the bad Python examples of the ATN pages.

    python benchmarks/registration_peers.py --torchfix PATH/TO/torchfix

Every example is one broken registration. kexec-lint and TorchFix (all rules) read it; then it is executed,
and opcheck is run on each operator that it registered, with inputs that fit the schema. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kexec_lint import rulebook

WORKER = r"""
import re, sys, warnings
warnings.simplefilter("ignore")
import torch
from kexec_lint.aten.dispatch import inputs
before = set(torch._C._dispatch_get_all_op_names())
names = {"__name__": "example"}
try:
    exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), names)
except Exception as error:
    print("import raises", type(error).__name__)
    sys.exit()
found = sorted(set(torch._C._dispatch_get_all_op_names()) - before)
verdict = "nothing to run it on" if not found else ""
for name in found:
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    try:
        op = getattr(getattr(getattr(torch.ops, space), base), overload or "default")
    except AttributeError:
        continue
    candidates = list(inputs.generate(op._schema)) or [([], {})]
    last = ""
    for args, kwargs in candidates:
        try:
            real = inputs.make([args, kwargs])
            op(*real[0], **real[1])
        except Exception as error:
            last = f"the call raises {type(error).__name__}"
            continue
        real = inputs.make([args, kwargs])
        for a in real[0]:
            if isinstance(a, torch.Tensor) and a.is_floating_point():
                a.requires_grad_()
        try:
            torch.library.opcheck(op, tuple(real[0]), real[1])
            last = ""
        except Exception as error:
            tests = re.findall(r"test_\w+", str(error))
            first = str(error).strip().splitlines()[-1][:90].replace("|", "/") if str(error).strip() else ""
            last = f"fails in {tests[0] if tests else '?'}: {first}"
        break
    if last:
        verdict = last
        break
print(verdict or "passes")
"""


def torchfix(program: str, file: Path) -> str:
    """Return the rules TorchFix reports."""
    run = subprocess.run([program, "--select=ALL", str(file)], capture_output=True, text=True, check=False)
    codes = {word for line in run.stdout.splitlines() for word in line.split() if word.startswith("TOR")}
    return ", ".join(sorted(codes)) or "-"


def opcheck(file: Path) -> str:
    """Return what running the example and opcheck says."""
    run = subprocess.run(
        [sys.executable, "-c", WORKER, str(file)], capture_output=True, text=True, check=False, timeout=120
    )
    return run.stdout.strip().splitlines()[-1] if run.stdout.strip() else "the process dies"


def own(file: Path) -> str:
    """Return the codes kexec-lint reports."""
    run = subprocess.run(
        [sys.executable, "-m", "kexec_lint", "check", "--no-cache", "--isolated", "--extend-select", "ATN",
         "--output-format", "json", str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ", ".join(sorted({f["code"] for f in json.loads(run.stdout or "[]")})) or "-"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torchfix", default="torchfix")
    program = parser.parse_args().torchfix
    print("| broken registration | kexec-lint | TorchFix | opcheck |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for code, rule in rulebook.load().items():
            bad = [e for e in rule.examples() if e.bad and e.language == "python"]
            for number, example in enumerate(bad if code.startswith("ATN") else []):
                file = Path(folder) / f"{code}_{number}.py"
                file.write_text(example.text, encoding="utf-8")
                title = f"{rule.name} ({number + 1})" if len(bad) > 1 else rule.name
                print(f"| {title} | {own(file)} | {torchfix(program, file)} | {opcheck(file)} |", flush=True)


if __name__ == "__main__":
    main()
