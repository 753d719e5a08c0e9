"""What a Python kernel does to its parameters: writes, returned aliases, data access, missing returns,
recursion."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kexec_lint.aten import aten
from kexec_lint.aten.facts import Event, Function, Parameter
from kexec_lint.aten.python.flow import basic_index, ends, is_stub, operands
from kexec_lint.aten.python.module import Module, Scope, argument

FACTORIES = aten.words(
    "empty zeros ones full rand randn randint arange linspace eye tensor empty_strided randperm logspace scalar_tensor"
)
METADATA = aten.words(
    "shape size dim ndim ndimension numel nelement dtype device layout stride is_cuda is_cpu "
    "is_contiguous requires_grad "
    "is_floating_point is_complex storage_offset element_size itemsize is_sparse names type get_device is_meta "
    "sym_size sym_numel sym_stride nbytes is_quantized is_nested is_leaf grad_fn untyped_storage"
)
"""Attributes and methods that a fake tensor answers without data."""

READS_DATA = frozenset(("item", "tolist", "numpy", "data_ptr", "__array__", "is_nonzero", "equal", "allclose"))
NEEDS_VALUE = frozenset(("bool", "int", "float", "complex"))
_BUILTINS = aten.words(
    "len int float bool str range isinstance max min tuple list zip enumerate abs sum reversed "
    "sorted map any all round "
    "getattr hasattr slice print type dict set math.sqrt math.prod math.ceil math.floor math.exp math.log"
)
FRESH = "fresh"


@dataclass(frozen=True)
class Origin:
    """Which parameter a value comes from; `link`: same, view, maybe (itself or a copy), data (computed from
    it)."""

    parameter: str
    link: str


def read_function(module: Module, node: Scope, name: str) -> Function:
    """Return the signature and the events of a kernel."""
    return _Reader(module, node, name).read()


def signature(module: Module, node: Scope) -> tuple[Parameter, ...]:
    """Return the parameters in order."""
    a = node.args
    positional = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    found = [_parameter(module, x, "positional", d) for x, d in zip(positional, defaults, strict=True)]
    if a.vararg:
        found.append(_parameter(module, a.vararg, "var", None))
    found += [_parameter(module, x, "keyword", d) for x, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    if a.kwarg:
        found.append(_parameter(module, a.kwarg, "varkw", None))
    return tuple(found)


def _parameter(module: Module, arg: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
    annotation = ast.unparse(arg.annotation) if arg.annotation else None
    return Parameter(arg.arg, kind, annotation, ast.unparse(default) if default else None, module.at(arg))


class _Reader:
    """Walks the statements of one kernel in order, with the origin of each local name."""

    def __init__(self, module: Module, node: Scope, name: str) -> None:
        self.module = module
        self.node = node
        self.name = name
        self.events: list[Event] = []
        self.called: list[str] = []
        self.pure = True
        self.env: dict[str, Origin] = {}
        self.conditions = 0
        self.guarded = 0
        self.may_have_returned = False
        self.factories: dict[str, list[Event]] = {}
        self.seen: set[tuple[str, int, int, str]] = set()

    def read(self) -> Function:
        params = signature(self.module, self.node)
        self.env = {p.name: Origin(p.name, "same") for p in params if p.kind in ("positional", "keyword")}
        returns = None
        opaque = False
        if isinstance(self.node, ast.Lambda):
            self.expression(self.node.body)
            self.result(self.node.body, self.node.body)
        else:
            self.body(self.node.body)
            returns = ast.unparse(self.node.returns) if self.node.returns else None
            generator = any(
                isinstance(n, (ast.Yield, ast.YieldFrom)) and self.module.scope(n) is self.node
                for n in ast.walk(self.node)
            )
            if not generator and not ends(self.node.body) and not is_stub(self.node.body):
                self.event("returns", self.node, "none", "the end of the function is reached without a return")
            opaque = isinstance(self.node, ast.AsyncFunctionDef) or generator
        at = self.module.at(self.node)
        if not isinstance(self.node, ast.Lambda):
            at = self.module.place(
                self.node.lineno,
                self.node.col_offset + 1,
                self.node.lineno,
                self.node.col_offset + len("def ") + len(self.node.name) + 1,
            )
        return Function(
            self.name,
            at,
            params,
            returns,
            tuple(self.events),
            opaque,
            self.pure,
            tuple(dict.fromkeys(self.called)),
            self.unread(params),
        )

    def unread(self, parameters: tuple[Parameter, ...]) -> tuple[str, ...]:
        """Return the parameters that the body never reads."""
        body = [self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body
        read = {n.id for b in body for n in ast.walk(b) if isinstance(n, ast.Name)}
        return tuple(p.name for p in parameters if p.name not in read)

    def event(self, kind: str, node: ast.AST, subject: str = "", detail: str = "", sure: bool = True) -> None:
        at = self.module.at(node)
        if kind == "returns" and node is self.node and not isinstance(node, ast.Lambda):
            at = self.module.place(node.lineno, node.col_offset + 1, node.lineno, node.col_offset + 4)
        key = (kind, at.row, at.column, subject)
        if key not in self.seen:
            self.seen.add(key)
            self.events.append(Event(kind, at, subject, detail, sure))

    # Statements

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.pure = False
            return
        if isinstance(node, ast.Return):
            if node.value is not None:
                self.expression(node.value)
            self.result(node.value, node)
            self.may_have_returned = True
        elif isinstance(node, ast.Assign):
            self.expression(node.value)
            for target in node.targets:
                self.assign(target, node.value, node)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.expression(node.value)
                self.assign(node.target, node.value, node)
        elif isinstance(node, ast.AugAssign):
            self.expression(node.value)
            origin = self.origin(node.target) if isinstance(node.target, ast.Name) else self.stored(node.target)
            if origin and origin.link in ("same", "view"):
                kind = "mutates" if not isinstance(node.target, ast.Name) else "augments"
                self.event(kind, node, origin.parameter, ast.unparse(node), sure=True)
        elif isinstance(node, (ast.If, ast.While)):
            self.test(node.test)
            self.branches([node.body, node.orelse])
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter)
            self.assign(node.target, None, node)
            self.branches([node.body, node.orelse])
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            guard = False
            for item in node.items:
                self.expression(item.context_expr)
                text = ast.unparse(item.context_expr)
                guard |= any(w in text for w in ("Guard", "_C.", "Exclude", "Below", "no_dispatch", "Disable", "Mode"))
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, None, node)
            self.guarded += guard
            self.body(node.body)
            self.guarded -= guard
        elif isinstance(node, ast.Try):
            self.branches([node.body, *(h.body for h in node.handlers), node.orelse])
            self.body(node.finalbody)
        elif isinstance(node, ast.Match):
            self.expression(node.subject)
            self.branches([case.body for case in node.cases])
        elif isinstance(node, ast.Expr):
            self.expression(node.value)
        elif isinstance(node, ast.Assert):
            self.test(node.test)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.env.pop(target.id, None)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            pass

    def branches(self, bodies: list[list[ast.stmt]]) -> None:
        before = dict(self.env)
        after: list[dict[str, Origin]] = []
        returned = self.may_have_returned
        self.conditions += 1
        for body in bodies:
            self.env = dict(before)
            self.body(body)
            if not ends(body):
                after.append(self.env)
        self.conditions -= 1
        self.may_have_returned |= returned
        first = after[0] if after else before
        self.env = {k: v for k, v in first.items() if all(e.get(k) == v for e in after)}

    def test(self, node: ast.expr) -> None:
        self.expression(node)
        for part in operands(node):
            origin = self.tensor_value(part)
            if origin is not None:
                self.event("branches-on-data", node, origin.parameter, ast.unparse(node))

    def tensor_value(self, node: ast.expr) -> Origin | None:
        """Return the parameter whose data decides a condition: `x.max() > 0`, `(x == 0).all()`, `x[0] > 1`."""
        if isinstance(node, ast.Compare):
            if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
                return None
            for side in (node.left, *node.comparators):
                origin = self.tensor_value(side)
                if origin:
                    return origin
            return None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in METADATA:
            if node.func.attr in ("item", "tolist"):
                return None
            return self.tensor_value(node.func.value) or self.value_of(node.func.value)
        if isinstance(node, ast.Call) and self.module.dotted(node.func).startswith("torch.") and node.args:
            name = self.module.dotted(node.func).rpartition(".")[2]
            if name in ("any", "all", "max", "min", "sum", "equal", "allclose", "isnan", "isinf", "count_nonzero"):
                return self.value_of(node.args[0])
            return None
        if isinstance(node, ast.Subscript):
            return self.value_of(node.value)
        if isinstance(node, (ast.BinOp,)):
            return self.tensor_value(node.left) or self.tensor_value(node.right)
        return None

    def value_of(self, node: ast.expr) -> Origin | None:
        """Return the origin of a tensor-valued expression, or None for metadata and for unknown values."""
        if isinstance(node, ast.Name):
            return self.env.get(node.id)
        if isinstance(node, ast.Attribute):
            return None if node.attr in METADATA else self.value_of(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return None if node.func.attr in METADATA else self.value_of(node.func.value)
        if isinstance(node, ast.Subscript):
            return self.value_of(node.value)
        if isinstance(node, ast.BinOp):
            return self.value_of(node.left) or self.value_of(node.right)
        if isinstance(node, ast.Compare):
            return self.value_of(node.left)
        if isinstance(node, ast.UnaryOp):
            return self.value_of(node.operand)
        return None

    # Values

    def assign(self, target: ast.expr, value: ast.expr | None, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            origin = self.origin(value) if value is not None else None
            if origin is None and value is not None:
                computed = self.value_of(value)
                origin = Origin(computed.parameter, "data") if computed else None
            if origin is not None:
                self.env[target.id] = origin
            else:
                self.env.pop(target.id, None)
            self.factories.pop(target.id, None)
            if value is not None:
                made = self.factory(value)
                if made:
                    self.factories[target.id] = [made]
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                values = list(value.elts)
            for element, item in zip(target.elts, values, strict=True):
                self.assign(element, item, node)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, None, node)
        else:
            origin = self.stored(target)
            if origin and origin.link in ("same", "view"):
                self.event("mutates", node, origin.parameter, f"{ast.unparse(target)} = …")
            for child in ast.iter_child_nodes(target):
                if isinstance(child, ast.expr):
                    self.expression(child)

    def stored(self, target: ast.expr) -> Origin | None:
        """Return the parameter that a store into `p[...]` or `p.data` writes to."""
        if isinstance(target, ast.Subscript):
            return self.origin(target.value)
        if isinstance(target, ast.Attribute) and target.attr == "data":
            return self.origin(target.value)
        return None

    def origin(self, node: ast.expr | None) -> Origin | None:
        """Return the parameter that a value is, or is a view of; None when it is fresh or unknown."""
        if isinstance(node, ast.Name):
            found = self.env.get(node.id)
            return found if found and found.link != "data" else None
        if isinstance(node, ast.NamedExpr):
            return self.origin(node.value)
        if isinstance(node, ast.Attribute):
            base = self.origin(node.value)
            return _view(base) if base and node.attr in ("T", "mT", "H", "mH", "data", "real", "imag") else None
        if isinstance(node, ast.Subscript):
            base = self.origin(node.value)
            return _view(base) if base and basic_index(node.slice) else None
        if isinstance(node, ast.IfExp):
            left, right = self.origin(node.body), self.origin(node.orelse)
            return left or right
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute):
            base = self.origin(node.func.value)
            if base is not None:
                return self.after_method(base, node.func.attr)
        name = self.module.dotted(node.func)
        if name.startswith("torch.") and not name.startswith("torch.ops.") and node.args:
            base = self.origin(node.args[0])
            if base is not None:
                return self.after_method(base, name.rpartition(".")[2])
        return None

    def after_method(self, base: Origin, method: str) -> Origin | None:
        if method in aten.inplace_names() or method == "requires_grad_":
            return base
        if method in aten.MAYBE_VIEWS:
            # Of a view (permute, expand) it is usually a copy.
            return Origin(base.parameter, "maybe") if base.link != "view" else None
        if method in aten.view_names() or method == "numpy":
            return _view(base)
        return None

    def expression(self, node: ast.expr) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.Call):
                self.call(child)
            elif isinstance(child, ast.IfExp):
                self.test_only(child.test)
            elif isinstance(child, ast.NamedExpr):
                self.assign(child.target, child.value, child)

    def test_only(self, node: ast.expr) -> None:
        for part in operands(node):
            origin = self.tensor_value(part)
            if origin is not None:
                self.event("branches-on-data", node, origin.parameter, ast.unparse(node))

    def call(self, node: ast.Call) -> None:
        name = self.module.dotted(node.func)
        if isinstance(node.func, ast.Attribute):
            self.method(node, node.func)
        out = argument(node, None, "out")
        for written in out.elts if isinstance(out, (ast.Tuple, ast.List)) else [out]:
            origin = self.origin(written)
            if origin and origin.link in ("same", "view"):
                self.event("mutates", node, origin.parameter, f"out={origin.parameter}")
        inplace = argument(node, None, "inplace")
        if isinstance(inplace, ast.Constant) and inplace.value is True and node.args:
            self.written(node, node.args[0], "inplace=True")
        short = name.rpartition(".")[2]
        if name.startswith("torch.") and node.args:
            if short in aten.inplace_names() or (name.startswith("torch.nn.init.") and short.endswith("_")):
                self.written(node, node.args[0], f"{short}()")
            if short.startswith("_foreach_") and short.endswith("_"):
                self.written(node, node.args[0], f"{short}()")
        if short in ("memmove", "memset") and node.args and isinstance(node.args[0], ast.Call):
            first = node.args[0]
            if isinstance(first.func, ast.Attribute) and first.func.attr == "data_ptr":
                self.written(node, first.func.value, f"{short} to data_ptr()")
        if name in NEEDS_VALUE and len(node.args) == 1:
            origin = self.tensor_value(node.args[0]) or (
                self.env.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else None
            )
            if origin:
                self.event("touches-data", node, origin.parameter, f"{name}()")
        if name.startswith("torch._check"):
            own = {p.arg for p in ast.walk(self.node) if isinstance(p, ast.arg)}
            if any(isinstance(n, ast.Name) and n.id not in own | {"torch"} for a in node.args for n in ast.walk(a)):
                self.event("checks-size", node)  # of a value computed here: an unbacked size
        self.operators(node, name)
        self.purity(node, name)

    def method(self, node: ast.Call, func: ast.Attribute) -> None:
        if func.attr in aten.inplace_names():
            self.written(node, func.value, f".{func.attr}()")
        if func.attr in READS_DATA:
            origin = self.value_of(func.value)
            if origin:
                self.event("touches-data", node, origin.parameter, f".{func.attr}()")
        if func.attr == "cpu":
            origin = self.value_of(func.value)
            if origin:
                self.event("copies-to-cpu", node, origin.parameter, ".cpu()")
        if func.attr == "data_ptr" or (
            func.attr == "view" and len(node.args) == 1 and ast.unparse(node.args[0]) == "-1"
        ):
            origin = self.origin(func.value)
            if origin and origin.link == "same":
                self.event("assumes-strides", node, origin.parameter, f".{func.attr}()")
        if func.attr in ("is_contiguous", "stride") or func.attr == "contiguous":
            origin = self.origin(func.value)
            if origin:
                self.event("looks-at-strides", node, origin.parameter)
        if func.attr == "apply":
            self.applied(node, func)

    def written(self, node: ast.AST, target: ast.expr, how: str) -> None:
        origin = self.origin(target)
        if origin and origin.link in ("same", "view"):
            self.event("mutates", node, origin.parameter, how)

    def applied(self, node: ast.Call, func: ast.Attribute) -> None:
        """Record `X.apply(...)` of an autograd.Function of this module."""
        if not isinstance(func.value, ast.Name):
            return
        definition = self.module.classes.get(func.value.id)
        bases = [self.module.dotted(b) for b in definition.bases] if definition else []
        if any(base == "torch.autograd.Function" or base.endswith("autograd.function.Function") for base in bases):
            self.event("applies-function", node, func.value.id, ast.unparse(func))

    def operators(self, node: ast.Call, name: str) -> None:
        """Record a call of `torch.ops.ns.op` (or of an own function, by name) with how sure it is to be
        reached."""
        target = ""
        redispatch = name.endswith(".redispatch")
        if name.startswith("torch.ops."):
            parts = name.removesuffix(".redispatch").split(".")[2:]
            if len(parts) in (2, 3):
                target = f"{parts[0]}::{parts[1]}" + (
                    f".{parts[2]}" if len(parts) == 3 and parts[2] != "default" else ""
                )
        elif isinstance(node.func, ast.Name):
            target = node.func.id
        if not target:
            return
        self.called.append(target)
        plain = all(self.is_same_device(a) for a in [*node.args, *(k.value for k in node.keywords)])
        certain = not self.conditions and not self.may_have_returned and not self.guarded and plain
        # An expression's own branches (x if c else y, a and b) make the call conditional too.
        for ancestor in self.module.enclosing(node, ast.IfExp, ast.BoolOp, ast.Lambda, ast.comprehension):
            certain &= ancestor is self.node or self.module.scope(ancestor) is not self.module.scope(node)
        if not redispatch:
            self.event("calls-operator", node, target, ast.unparse(node.func), sure=certain)

    def is_same_device(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Starred):
            node = node.value
        if isinstance(node, (ast.Constant, ast.UnaryOp)):
            return True
        if isinstance(node, ast.Name):
            origin = self.env.get(node.id)
            kinds = {p.name for p in signature(self.module, self.node) if p.kind in ("var", "varkw")}
            return node.id in kinds or (origin is not None and origin.link != "data")
        origin = self.origin(node)
        if origin is None:
            return False
        return not any(isinstance(n, ast.Attribute) and n.attr in ("to", "cpu", "cuda", "data") for n in ast.walk(node))

    def purity(self, node: ast.Call, name: str) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in (
            "numpy",
            "data_ptr",
            "tolist",
            "item",
            "apply",
        ):
            self.pure = False
        elif name.startswith("torch."):
            self.pure &= not name.startswith(
                ("torch.ops.", "torch._C", "torch.utils", "torch.from_numpy", "torch.autograd")
            )
        elif isinstance(node.func, ast.Attribute):
            root = node.func.value
            while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id in self.module.imports:
                imported = self.module.imports[root.id]
                self.pure &= imported.startswith("torch") or imported in ("math",)
        else:
            self.pure &= name in _BUILTINS

    # Results

    def factory(self, node: ast.expr) -> Event | None:
        """Return an event for a factory call of torch without a device (detail: what is missing).

        Not `sure` where it is empty: a placeholder, as kernels return too.
        """
        if not isinstance(node, ast.Call):
            return None
        name = self.module.dotted(node.func)
        if not (name.startswith("torch.") and name.count(".") == 1 and name[6:] in FACTORIES):
            return None
        given = {k.arg for k in node.keywords}
        if "device" in given or None in given:
            return None
        missing = "device" if "dtype" in given else "device and dtype"
        shape = node.args[0] if len(node.args) == 1 else None
        size = shape.elts[0] if isinstance(shape, (ast.List, ast.Tuple)) and len(shape.elts) == 1 else shape
        empty = isinstance(size, ast.Constant) and size.value == 0
        return Event("factory", self.module.at(node), name, missing, not empty)

    def result(self, value: ast.expr | None, node: ast.AST) -> None:
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            self.event("returns", node, "none", "return" if value is None else "return None")
            return
        items = list(value.elts) if isinstance(value, (ast.Tuple, ast.List)) else [value]
        known = isinstance(value, (ast.BinOp, ast.Compare, ast.Constant)) or self.value_of(value) is not None
        shape = f"tuple:{len(items)}" if isinstance(value, ast.Tuple) else "value" if known else "unknown"
        if isinstance(value, ast.List):
            shape = f"list:{len(items)}"
        if isinstance(value, ast.Tuple) and any(isinstance(i, ast.Starred) for i in items):
            shape = "unknown"
        self.event("returns", node, shape)
        for index, item in enumerate(items):
            origin = self.origin(item)
            if origin is not None:
                self.event(
                    "returns-alias",
                    node,
                    origin.parameter,
                    f"{origin.link}:{index}:{ast.unparse(item)}",
                    sure=origin.link != "maybe",
                )
            made = self.factory(item)
            found = [made] if made else self.factories.get(item.id, []) if isinstance(item, ast.Name) else []
            for event in found:
                key = ("factory", event.at.row, event.at.column, event.subject)
                if key not in self.seen:
                    self.seen.add(key)
                    self.events.append(event)


def _view(base: Origin) -> Origin:
    return base if base.link == "maybe" else Origin(base.parameter, "view")
