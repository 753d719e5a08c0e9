"""ATN128: a tensor made without `device=` meets one that is on the GPU."""

from __future__ import annotations

import ast

from kexec_lint.aten import aten
from kexec_lint.aten.facts import FileBuilder, Problem
from kexec_lint.aten.python.devices import FACTORIES, LIKE, Devices, Tensor
from kexec_lint.aten.python.module import Module, Scope, signature_names


class Mixes:
    """Finds the meetings in one module; kernels registered for CUDA get their tensor parameters on the GPU."""

    def __init__(self, module: Module, facts: FileBuilder) -> None:
        self.module = module
        self.facts = facts
        self.seen: set[ast.AST] = set()

    def read(self, cuda_kernels: dict[Scope, frozenset[str]]) -> None:
        """Report each such factory call once. `cuda_kernels`: kernel → its tensor parameters."""
        for node in self.module.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                reader = Devices(self.module, self.visit)
                known = cuda_kernels.get(node, frozenset())
                lines = self.module.lines[node.lineno - 1 : node.end_lineno]
                if not known and not any("cuda" in line for line in lines):
                    continue
                reader.env = {name: Tensor("cuda") for name in signature_names(node) if name in known}
                reader.body(node.body)
        Devices(self.module, self.visit).body(self.module.tree.body)

    def visit(self, node: ast.expr, devices: Devices) -> None:
        """Look at one operation's operands."""
        if isinstance(node, ast.BinOp):
            operands = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.Call):
            operands = self.operands(node)
        else:
            return
        tensors = [t for t in map(devices.tensor, operands) if t is not None and not t.scalar]
        made = next((t.made for t in tensors if t.device == "cpu" and t.made is not None), None)
        other = next((t.device for t in tensors if t.device not in ("", "cpu", "meta")), None)
        if made is None or other is None or made in self.seen or self._is_expected(node):
            return
        self.seen.add(made)
        self.facts.problems.append(
            Problem(
                "ATN128",
                self.module.at(made),
                f"this tensor is made on the CPU and meets one on '{other}' in line {node.lineno}",
                "pass device= (for example "
                f"device={'x.device' if isinstance(node, ast.Call) else repr(other)}); the "
                "operator raises 'Expected all tensors to be on the same device'",
                "likely",
            )
        )

    def operands(self, node: ast.Call) -> list[ast.expr]:
        """Return the tensor operands of a call of an ATen operator, as function or as method."""
        name = self.module.dotted(node.func)
        if name.startswith("torch.") and name.count(".") == 1:
            short = name[6:]
            known = short in aten.digest()["operators"] and short not in FACTORIES and short not in LIKE
            return list(node.args) if known else []
        if isinstance(node.func, ast.Attribute) and node.args:
            short = node.func.attr
            if short in aten.digest()["operators"] and short not in (
                "to",
                "copy_",
                "index_put_",
                "type_as",
                "set_",
            ):
                return [node.func.value, *node.args]
        return []

    def _is_expected(self, node: ast.AST) -> bool:
        for parent in self.module.enclosing(node, ast.With, ast.Try):
            if isinstance(parent, ast.Try) or "aises" in ast.unparse(parent.items[0].context_expr):  # type: ignore[attr-defined]
                return True
        return False
