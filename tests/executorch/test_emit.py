"""The emulated codegen: tables of selections, and a comparison with torchgen's own selector where that is
installed.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from kexec_lint.executorch.emit import Selection, emit

DEFAULT = {"aten::add.out": ("default",), "aten::add.Scalar_out": ("default",), "aten::relu.out": ("default",)}
SPECIAL = {"aten::relu.out": ("v1/6;0|6;0|6;0",)}


def selection(
    operators: dict[str, dict[str, bool]], metadata: dict[str, list[str]], include_all: bool = False
) -> Selection:
    return Selection(
        frozenset(operators),
        frozenset(name for name, flags in operators.items() if flags.get("is_root_operator", True)),
        frozenset(name for name, flags in operators.items() if flags.get("include_all_overloads", True)),
        metadata,
        include_all,
    )


EXACT = {"include_all_overloads": False}
TABLE = [
    ("by name", {"aten::add.out": EXACT}, {"aten::add.out": ["default"]}, DEFAULT, {"aten::add.out"}),
    ("no metadata", {"aten::add.out": EXACT}, {}, DEFAULT, set()),
    ("not selected", {}, {"aten::add.out": ["default"]}, DEFAULT, set()),
    ("no root", {"aten::add.out": {"is_root_operator": False}}, {"aten::add.out": ["default"]}, DEFAULT, set()),
    ("unknown", {"aten::addd.out": EXACT}, {"aten::addd.out": ["default"]}, DEFAULT, set()),
    ("all overloads", {"aten::add": {}}, {"aten::add.out": ["default"]}, DEFAULT, {"aten::add.out"}),
    ("overloads off", {"aten::add": EXACT}, {"aten::add.out": ["default"]}, DEFAULT, set()),
    (
        "special match",
        {"aten::relu.out": EXACT},
        {"aten::relu.out": ["v1/6;0|6;0|6;0"]},
        SPECIAL,
        {"aten::relu.out"},
    ),
]


@pytest.mark.parametrize(("name", "operators", "metadata", "available", "expected"), TABLE)
def test_emitted(name: str, operators: Any, metadata: Any, available: Any, expected: set[str]) -> None:
    emission = emit(selection(operators, metadata), available)
    assert set(emission.kernels) == expected, name
    assert emission.failures == []


@pytest.mark.parametrize(
    ("metadata", "available", "reason"),
    [
        (["v1/7;0|7;0|7;0"], SPECIAL, "Missing kernel for the model"),
        (["default"], SPECIAL, "list index out of range"),
        (["default"], {"aten::relu.out": ("default", "v1/6;0|6;0|6;0")}, "more than one kernels"),
    ],
)
def test_where_codegen_stops(metadata: list[str], available: Any, reason: str) -> None:
    emission = emit(selection({"aten::relu.out": EXACT}, {"aten::relu.out": metadata}), available)
    assert emission.kernels == {}
    assert reason in emission.failures[0][1]


def test_all_operators() -> None:
    emission = emit(selection({}, {}, include_all=True), DEFAULT)
    assert set(emission.kernels) == set(DEFAULT)


def test_equal_to_torchgen() -> None:
    selector = pytest.importorskip("torchgen.selective_build.selector", reason="needs torch (extra export)")
    choose = random.Random(5)
    names = ["aten::add", "aten::add.out", "aten::add.Scalar_out", "aten::relu.out", "acme::f.out", "aten::mul"]
    keys = ["default", "v1/6;0|6;0|6;0", "v1/5;0|5;0|5;0"]
    for _ in range(2000):
        operators = {
            name: {
                flag: choose.random() < 0.6
                for flag in ("is_root_operator", "include_all_overloads")
                if choose.random() < 0.7
            }
            for name in choose.sample(names, choose.randrange(len(names)))
        }
        metadata = {
            name: choose.sample(keys, choose.randrange(1, 3)) for name in choose.sample(names, choose.randrange(5))
        }
        include_all = choose.random() < 0.1
        available = {name: (choose.choice(keys),) for name in choose.sample(names, choose.randrange(1, len(names)))}
        theirs = selector.SelectiveBuilder.from_yaml_dict(
            {"operators": operators, "et_kernel_metadata": metadata, "include_all_operators": include_all}
        )
        expected: dict[str, tuple[str, ...]] = {}
        failed: set[str] = set()
        for name, listed in available.items():
            if theirs.is_root_operator(name):
                try:
                    chosen = theirs.et_get_selected_kernels(name, list(listed))
                except Exception:
                    failed.add(name)
                else:
                    if chosen:
                        expected[name] = tuple(sorted(chosen))
        ours = emit(selection(operators, metadata, include_all), available)
        assert ours.kernels == expected
        assert {name for name, _ in ours.failures} == failed
