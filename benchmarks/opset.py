"""Times `opset check` as a whole process against a bare Python and against asking executorch's runtime.

`python benchmarks/opset.py [RUNS]`, in an environment with kexec-lint; the runtime is asked where executorch is
installed. Every figure is the least of the runs, which take turns.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

DATA = Path(__file__).parent.parent / "tests" / "executorch" / "data"
READ = (
    "from kexec_lint.executorch import program\nprogram.read('m', open('cnn_xnnpack.pte', 'rb').read()).kernel_keys\n"
)
ASK = "from executorch.runtime import Runtime\nRuntime.get().load_program('cnn_xnnpack.pte').load_method('forward')\n"
CHECK = ["-m", "kexec_lint", "opset", "check", "cnn_xnnpack.pte", "--build", "cnn_xnnpack.yaml"]


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=DATA, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    """Print the least times and what they are in runs of a bare Python."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    work = {
        "python -c pass": ["-c", "pass"],
        "read one program": ["-c", READ],
        "opset check": [*CHECK, "--backends", "XnnpackBackend"],
    }
    if importlib.util.find_spec("executorch") and importlib.util.find_spec("torch"):
        work["executorch.runtime, load_method"] = ["-c", ASK]
    least = dict.fromkeys(work, float("inf"))
    for _ in range(runs):
        for name, arguments in work.items():
            least[name] = min(least[name], seconds(arguments))
    for name, taken in least.items():
        print(f"{name:<32} {taken * 1000:8.0f} ms  {taken / least['python -c pass']:6.1f} times a bare Python")


if __name__ == "__main__":
    main()
