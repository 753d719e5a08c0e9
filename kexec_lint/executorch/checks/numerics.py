"""EXT206: outputs that a delegate computes differently from the undelegated program, beyond a tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kexec_lint.executorch.registration import finding, place
from kexec_lint.findings import Finding

TOLERANCES = {
    "Double": (1e-8, 1e-7),
    "Float": (2e-5, 1e-4),
    "Half": (2e-3, 2e-3),
    "BFloat16": (2e-2, 2e-2),
}
"""Absolute and relative tolerance by scalar type: |a - b| may be at most absolute + relative * |b|.

Some units in the last place of a long sum. Over 25 single-operator models of 1.4.1 delegated to XNNPACK every
right result was within 5e-7 for Float; the substitution of GELU's tanh form is 2.5e-4 and more.
"""


@dataclass(frozen=True)
class Difference:
    """How an output of the delegated program differs from the undelegated one on real inputs.

    `excess` is the largest amount by which |a - b| exceeds the tolerance, 0 or less where it does not. `node` is
    the first node whose result leaves the tolerance, where it was looked for.
    """

    output: str
    dtype: str
    absolute: float
    relative: float
    excess: float
    node: str | None = None


def tolerance(dtype: str) -> tuple[float, float]:
    """Return the absolute and relative tolerance of a scalar type; integers and booleans must be equal."""
    return TOLERANCES.get(dtype, (0.0, 0.0))


def check(model: str, backend: str, differences: Iterable[Difference]) -> Iterator[Finding]:
    """Yield a finding for each output outside its tolerance. A NaN difference is outside."""
    for difference in differences:
        if difference.excess <= 0:
            continue
        absolute, relative = tolerance(difference.dtype)
        where = f"; the first node outside is {difference.node}" if difference.node else ""
        yield finding(
            "EXT206",
            f"{model}: {backend} changes output {difference.output} ({difference.dtype}) by up to "
            f"{difference.absolute:.2g}, {difference.relative:.2g} of its value{where}",
            place(model),
            help=f"allowed are {absolute:g} + {relative:g} of the value; keep the node on the CPU, or accept the "
            "result by the model's own metric",
            model=model,
            backend=backend,
            output=difference.output,
            node=difference.node,
        )
