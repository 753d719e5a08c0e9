"""Which device a tensor provably has: a forward reading of one function's statements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from kexec_lint.aten import aten
from kexec_lint.aten.python.module import Module, argument

FACTORIES = aten.words(
    "empty zeros ones full rand randn randint arange linspace eye tensor randperm empty_strided "
    "as_tensor from_numpy "
    "scalar_tensor logspace"
)
LIKE = aten.words("empty_like zeros_like ones_like full_like rand_like randn_like randint_like")
LEAVES = aten.words("item tolist numpy size dim numel stride data_ptr element_size nelement is_contiguous get_device")
NN_MODULES = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


@dataclass(frozen=True)
class Tensor:
    """What is known of a tensor: device type ("" unknown), whether it requires grad, and whether it is 0-dim."""

    device: str
    grad: bool = False
    scalar: bool = False
    made: ast.Call | None = None


class Devices:
    """Reads statements in order and calls `visit(node, env)` for every call expression on the way."""

    def __init__(self, module: Module, visit: Callable[[ast.expr, Devices], None]) -> None:
        self.module = module
        self.visit = visit
        self.env: dict[str, Tensor] = {}
        self.no_grad = 0

    def body(self, statements: list[ast.stmt]) -> None:
        """Read a block."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Read one statement: visit its expressions, then update what the names stand for."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(node, (ast.If, ast.While)):
            self._expression(node.test)
            self._branches([node.body, node.orelse])
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._expression(node.iter)
            self._forget(node.target)
            self._branches([node.body, node.orelse])
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            quiet = False
            for item in node.items:
                self._expression(item.context_expr)
                quiet |= any(w in ast.unparse(item.context_expr) for w in ("no_grad", "inference_mode"))
                if item.optional_vars is not None:
                    self._forget(item.optional_vars)
            self.no_grad += quiet
            self.body(node.body)
            self.no_grad -= quiet
        elif isinstance(node, ast.Try):
            self._branches([node.body, *(h.body for h in node.handlers), node.orelse])
            self.body(node.finalbody)
        elif isinstance(node, ast.Assign):
            self._expression(node.value)
            found = self.tensor(node.value)
            for target in node.targets:
                self._assign(target, found, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            if node.value is not None:
                self._expression(node.value)
                if isinstance(node, ast.AnnAssign):
                    self._assign(node.target, self.tensor(node.value), node.value)
                else:
                    self.visit(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node), self)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._expression(child)

    def _expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.Lambda):
            return  # its body is read by itself
        if isinstance(node, (ast.Call, ast.BinOp, ast.Compare)):
            self.visit(node, self)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child)
            elif isinstance(child, ast.keyword):
                self._expression(child.value)
            elif isinstance(child, ast.comprehension):
                self._expression(child.iter)

    def _assign(self, target: ast.expr, found: Tensor | None, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            if found is None:
                self.env.pop(target.id, None)
            else:
                self.env[target.id] = found
        elif isinstance(target, (ast.Tuple, ast.List)):
            elements = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for index, element in enumerate(target.elts):
                inner = elements[index] if len(elements) == len(target.elts) else None
                self._assign(element, self.tensor(inner) if inner is not None else None, value)

    def _forget(self, target: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.env.pop(node.id, None)

    def _branches(self, bodies: list[list[ast.stmt]]) -> None:
        before = dict(self.env)
        after = []
        for body in bodies:
            self.env = dict(before)
            self.body(body)
            after.append(self.env)
        self.env = {k: v for k, v in after[0].items() if all(e.get(k) == v for e in after)}

    def device(self, node: ast.expr | None, depth: int = 0) -> str:
        """Return the device type an argument names ("cuda" for "cuda:0", torch.device("cuda"), a constant), or
        ""."""
        if depth > 4:  # `device = torch.device(device)` is made of itself
            return ""
        if isinstance(node, ast.Call) and self.module.dotted(node.func) == "torch.device" and node.args:
            return self.device(node.args[0], depth + 1)
        if isinstance(node, ast.Attribute) and node.attr == "device":
            found = self.tensor(node.value)
            return found.device if found else ""
        if isinstance(node, ast.Name):
            value = self.module.value(node)
            if isinstance(value, ast.Call):
                return self.device(value, depth + 1)
        values = self.module.strings(node)
        devices = {v.partition(":")[0] for v in values} if values else set()
        return devices.pop() if len(devices) == 1 else ""

    def tensor(self, node: ast.expr | None) -> Tensor | None:
        """Return what is known of a tensor-valued expression, or None."""
        if isinstance(node, ast.Name):
            return self.env.get(node.id)
        if isinstance(node, ast.BinOp):
            left, right = self.tensor(node.left), self.tensor(node.right)
            if left and right:
                big = right if left.scalar else left
                same = left.device == right.device or left.scalar or right.scalar
                return Tensor(big.device if same else "", left.grad or right.grad, left.scalar and right.scalar)
            known = left or right
            return replace(known, made=None) if known else None
        if isinstance(node, ast.UnaryOp):
            return self.tensor(node.operand)
        if isinstance(node, ast.Subscript):
            found = self.tensor(node.value)
            return replace(found, made=None) if found else None
        if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "data", "grad"):
            found = self.tensor(node.value)
            return replace(found, made=None, grad=found.grad and node.attr != "data") if found else None
        if isinstance(node, ast.Call):
            return self._call(node)
        return None

    def _call(self, node: ast.Call) -> Tensor | None:
        name = self.module.dotted(node.func)
        if name in NN_MODULES and node.args:
            inner = self.tensor(node.args[0])
            off = argument(node, 1, "requires_grad")
            return Tensor(inner.device if inner else "", not (isinstance(off, ast.Constant) and off.value is False))
        if name.startswith("torch.") and name.count(".") == 1:
            short = name[6:]
            if short in FACTORIES:
                return self._factory(node, short)
            if short in LIKE and node.args:
                inner = self.tensor(node.args[0])
                given = argument(node, None, "device")
                device = self.device(given) if given is not None else inner.device if inner else ""
                return Tensor(device, _is_true(argument(node, None, "requires_grad")))
            tensors = [t for t in map(self.tensor, node.args) if t and not t.scalar]
            return replace(tensors[0], made=None) if tensors and len({t.device for t in tensors}) == 1 else None
        if isinstance(node.func, ast.Attribute):
            inner = self.tensor(node.func.value)
            if inner is not None:
                return self._method(node, node.func.attr, inner)
        return None

    def _factory(self, node: ast.Call, short: str) -> Tensor:
        given = argument(node, None, "device")
        if any(k.arg is None for k in node.keywords):
            device = ""
        elif given is not None and not (isinstance(given, ast.Constant) and given.value is None):
            device = self.device(given)
        else:
            device = "" if self.module.has_default_device or short in ("as_tensor",) else "cpu"
        scalar = short == "scalar_tensor" or (
            short == "tensor" and bool(node.args) and not isinstance(node.args[0], (ast.List, ast.Tuple))
        )
        if short in ("zeros", "ones", "empty", "full", "rand", "randn") and node.args:
            scalar = isinstance(node.args[0], (ast.Tuple, ast.List)) and not node.args[0].elts
        grad = _is_true(argument(node, None, "requires_grad"))
        return Tensor(device, grad, scalar, node if given is None and device == "cpu" else None)

    def _method(self, node: ast.Call, method: str, inner: Tensor) -> Tensor | None:
        if method in ("cuda", "cpu", "xpu", "hpu"):
            return Tensor(method, inner.grad, inner.scalar)
        if method == "to":
            given = argument(node, 0, "device")
            if given is None:
                return replace(inner, made=None)
            if self.module.dotted(given).startswith("torch.") and not isinstance(given, ast.Call):
                return replace(inner, made=None)  # a dtype
            other = self.tensor(given)
            return Tensor(other.device if other else self.device(given), inner.grad, inner.scalar)
        if method == "requires_grad_":
            return replace(inner, grad=not (node.args and ast.unparse(node.args[0]) == "False"), made=inner.made)
        if method in ("detach", "detach_"):
            return replace(inner, grad=False, made=None)
        if method.startswith("new_"):
            given = argument(node, None, "device")
            return Tensor(self.device(given) if given is not None else inner.device)
        return None if method in LEAVES else replace(inner, made=None)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
