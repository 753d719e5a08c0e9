"""Every bad Python example of the ATN pages, executed: torch behaves as the page says, silence included."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import pytest

from kexec_lint import rulebook
from kexec_lint.rulebook import Example

torch = pytest.importorskip("torch", reason="needs torch: pip install 'kexec-lint[export]'")
pytestmark = pytest.mark.filterwarnings("ignore")


@dataclass(frozen=True)
class Expected:
    """`raises`: what running the example raises ("" accepts it silently); then `probe` runs and `then` is its
    error.

    `holds` is an expression over the probe's value `r` and the example's names that must be true.
    """

    raises: str = ""
    probe: str = ""
    then: str = ""
    holds: str = ""


ONES = "torch.ones(3)"
EXPECTED = {
    ("ATN101", 0): Expected(probe="loud(torch.ones(3))", then="Could not run 'page101::gain'"),
    ("ATN102", 0): Expected(
        probe="torch.ops.page102.twice(torch.ones(3, device='meta'))", then="'Meta' backend|page102"
    ),
    ("ATN103", 0): Expected(
        probe="check()", then="Could not run 'page103::twice' with arguments from the 'CPU' backend"
    ),
    ("ATN104", 0): Expected(
        probe="torch.compile(lambda x: twice(x) + 1, backend='aot_eager', fullgraph=True)(torch.ones(3))",
        then="fake impl|fake tensor|FakeTensor",
    ),
    ("ATN104", 1): Expected(
        probe="torch.compile(torch.ops.page104l.root, backend='aot_eager', fullgraph=True)(torch.ones(3))",
        then="does not support running with fake tensors",
    ),
    ("ATN105", 0): Expected(probe="train()", then="no autograd formula was registered"),
    ("ATN106", 0): Expected(probe="torch.ops.page106.gain(torch.ones(3), 2.0)", then="TypeError"),
    ("ATN106", 1): Expected(probe="torch.ops.page106b.scale(torch.ones(3), by=2.0)", then="TypeError"),
    ("ATN107", 0): Expected(probe="torch.ops.page107.scale(torch.ones(1))", holds="float(r) == 5.0"),
    ("ATN108", 0): Expected(
        probe="(x := torch.ones(3), torch.ops.page108.scale(x, 2.0))[0]", holds="float(r[0]) == 2.0"
    ),
    ("ATN108", 1): Expected(
        probe="(x := torch.zeros(2, 2), torch.ops.page108b.fill_first(x))[0]", holds="float(r[0, 0]) == 1.0"
    ),
    ("ATN109", 0): Expected(probe="torch.ops.page109.flat(torch.ones(2, 2))", then="alias"),
    ("ATN109", 1): Expected(
        probe="(x := torch.ones(0), torch.ops.page109b.same(x))", holds="r[1].data_ptr() == r[0].data_ptr()"
    ),
    ("ATN110", 0): Expected(
        probe="torch._C._dispatch_find_dangling_impls()", holds="any('page110::gian' in text for text in r)"
    ),
    ("ATN111", 0): Expected(probe="torch.ops.page111.gain(torch.ones(1), 2.0)", holds="float(r) == 3.0"),
    ("ATN112", 0): Expected(raises="does not match namespace"),
    ("ATN112", 1): Expected(raises="Only a single TORCH_LIBRARY"),
    ("ATN113", 0): Expected(probe="(install(), torch.ops.page113.neg(torch.ones(1)))", then="has no attribute 'neg'"),
    ("ATN114", 0): Expected(probe="gain(torch.ones(1))", then="'_OpNamespace' 'page114' object has no attribute"),
    ("ATN115", 0): Expected(raises="could not parse dispatch key"),
    ("ATN115", 1): Expected(raises="device type"),
    ("ATN116", 0): Expected(raises="unknown type specifier"),
    ("ATN116", 1): Expected(raises="expected schema to look like"),
    ("ATN118", 0): Expected(
        probe="torch._C._dispatch_dump('page118::gain')", holds="'CompositeImplicitAutograd[alias]' in r"
    ),
    ("ATN119", 0): Expected(raises="non-functional operator"),
    ("ATN120", 0): Expected(
        probe="torch._subclasses.FakeTensorMode().__enter__() and "
        "head(torch.ones(3), torch.ones(2, dtype=torch.int64).sum())",
        then="item|DataDependent",
    ),
    ("ATN120", 1): Expected(
        probe="torch._subclasses.FakeTensorMode().__enter__() and torch.ops.page120b.nonneg(torch.ones(3))",
        then="DataDependent|data-dependent|guard",
    ),
    ("ATN121", 0): Expected(
        probe="torch.library.opcheck(twice, (torch.ones(3, dtype=torch.float64),), test_utils='test_faketensor')",
        then="dtype|mismatch",
    ),
    ("ATN122", 0): Expected(probe="clip(torch.ones(3), 2.0)", holds="r is None"),
    ("ATN122", 1): Expected(probe="torch.ops.page122b.halves(torch.ones(1))", holds="isinstance(r, torch.Tensor)"),
    ("ATN123", 0): Expected(raises="Only a single TORCH_LIBRARY"),
    ("ATN124", 0): Expected(probe="torch.sin(torch.zeros(1))", holds="float(r) == 1.0"),
    ("ATN125", 0): Expected(probe="torch.ops.page125.gain(torch.ones(1))", then="RecursionError|recursion"),
    ("ATN126", 0): Expected(probe="total(torch.ones(2, 3).t())", then="view size is not compatible|stride"),
    ("ATN127", 0): Expected(
        probe="double(torch.ones(1, requires_grad=True)).sum().backward()", then="no autograd formula"
    ),
}
ELSEWHERE = {
    "ATN117": "needs ExecuTorch",
    "ATN128": "needs a GPU",
    "ATN129": "its import fails by design: see test_swallowed",
    "ATN211": "compiles C++: see docs/dispatch.md",
    "ATN212": "sets an environment variable",
}


def bad_examples() -> list[tuple[str, int, Example]]:
    found = []
    for code, rule in rulebook.load().items():
        if code.startswith("ATN"):
            bad = [e for e in rule.examples() if e.bad and e.language == "python"]
            found += [(code, index, example) for index, example in enumerate(bad)]
    return found


def attempt(action: object, names: dict[str, object]) -> tuple[object, str]:
    """Return (value, error text) of an expression, or of a module's text."""
    try:
        if isinstance(action, str):
            return eval(action, names), ""
        exec(action, names)  # type: ignore[arg-type]
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return None, ""


@pytest.mark.parametrize(
    ("code", "index", "example"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in bad_examples()]
)
def test_torch_behaves_as_the_page_says(code: str, index: int, example: Example) -> None:
    if code in ELSEWHERE:
        pytest.skip(f"{code}: {ELSEWHERE[code]}")
    expected = EXPECTED[(code, index)]
    names: dict[str, object] = {"__name__": f"page_{code}_{index}"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, error = attempt(compile(example.text, f"{code}.md", "exec"), names)
        assert matches(error, expected.raises), error
        try:
            value, error = attempt(expected.probe, names) if expected.probe else (None, "")
            assert matches(error, expected.then), error
            if expected.holds:
                assert eval(expected.holds, {**names, "r": value, "torch": torch}), value
        finally:
            leave_fake_mode()
            if code == "ATN124":
                names["lib"]._destroy()  # type: ignore[attr-defined]


def leave_fake_mode() -> None:
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    mode = _get_current_dispatch_mode()
    if mode is not None:
        mode.__exit__(None, None, None)


def matches(error: str, wanted: str) -> bool:
    import re

    return not error if not wanted else bool(re.search(wanted, error))


def test_swallowed() -> None:
    """ATN129: what the user sees is the attribute, not the import."""
    names: dict[str, object] = {}
    page = next(e for c, i, e in bad_examples() if c == "ATN129")
    _, error = attempt(compile(page.text, "ATN129.md", "exec"), names)
    assert error == ""
    _, error = attempt("gain(torch.ones(1))", names)
    assert "object has no attribute 'gain'" in error
