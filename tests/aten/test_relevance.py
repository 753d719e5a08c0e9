"""Which files are read for operators, and which names in them can stand for torch."""

from __future__ import annotations

import ast

import pytest
from aten_tree import DEFAULT

from kexec_lint.aten.python.module import Module
from kexec_lint.engine import executors
from kexec_lint.source import Source

READER = executors.reader("aten", "kexec_lint.aten", DEFAULT)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("torch.ops.aten.add(x, x)", False),
        ("torch.ops.higher_order.cond(p, f, g, [x])", False),
        ("torch.ops.quantized_decomposed.quantize_per_tensor.default(x)", False),
        ("torch.ops.mine.add(x)", True),
        ("torch.ops.atenuate.add(x)", True),
        ("torch.ops.aten.add(x, x) + torch.ops.mine.add(x)", True),
        ("ops = torch.ops\nops.mine.add(x)", True),
        ("torch.ops.load_library('a.so')", True),
    ],
)
def test_only_calls_of_other_operators_than_pytorchs_own_are_read(call, wanted):
    assert READER.wants(".py", f"import torch\nx = torch.ones(2)\n{call}\n".encode()) is wanted


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ntorch.ops.a.b", "torch.ops.a.b"),
        ("import torch as t\nt.ops.a.b", "torch.ops.a.b"),
        ("from torch import ops\nops.a.b", "torch.ops.a.b"),
        ("import torch\no = torch.ops\np = o.a\np.b", "torch.ops.a.b"),
        ("def f(o):\n    q = o\n    q.b", "q.b"),
        ("import numpy as np\nn = np\nn.b", "n.b"),
    ],
)
def test_an_assigned_name_stands_for_torch_if_what_it_was_given_does(text, name):
    module = Module(Source("a.py", text, text.encode()))
    last = next(n for n in reversed(module.nodes) if isinstance(n, ast.Attribute) and n.attr == "b")
    assert module.dotted(last) == name
    assert module.in_torch(last) is name.startswith("torch")


def test_every_node_with_a_place_has_its_parents_and_scope():
    text = (
        "import a\n@a.b\ndef f(x: int = 1, *y, **z):\n    match x:\n        case [1, *r]:\n            return {**z}\n"
    )
    module = Module(Source("a.py", text, text.encode()))
    placed = [node for node in ast.walk(module.tree) if hasattr(node, "lineno")]
    assert {*placed} <= {*module.nodes}
    function = module.functions["f"][0]
    for node in placed:
        chain = list(module.enclosing(node, ast.AST))
        assert chain[-1] is module.tree
        assert module.scope(node) is (function if function in chain else module.tree)
