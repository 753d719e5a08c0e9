"""Where a module uses operators: calls with devices and gradients, what is compiled, what is loaded."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from kexec_lint.aten import aten
from kexec_lint.aten.facts import Call, FileBuilder, Swallow
from kexec_lint.aten.python.devices import Devices
from kexec_lint.aten.python.module import Module, argument
from kexec_lint.source import Project

LOADERS = ("torch.ops.load_library", "torch.classes.load_library", "torch.ops.import_module")
COMPILERS = (
    "torch.compile",
    "torch.export.export",
    "torch._dynamo.optimize",
    "torch.export.export_for_training",
    "torch._export.aot_compile",
    "torch.fx.experimental.proxy_tensor.make_fx",
    "torch.export.draft_export",
    "torch._dynamo.export",
)
DEVICE_TESTS = (
    "is_cuda",
    "device",
    "hasattr",
    "is_cpu",
    "backend",
    "_AVAILABLE",
    "HAS_",
    "has_",
    "_OK",
    "support",
)
LOGS = ("print", "warn", "warning", "debug", "info", "error", "exception", "log", "write", "critical")
IGNORED_IMPORTS = frozenset(sys.stdlib_module_names) | aten.words(
    "torch numpy pytest hypothesis scipy matplotlib triton typing_extensions functorch torchgen "
    "packaging setuptools "
    "einops tqdm yaml pandas expecttest parameterized sympy networkx"
)


class Uses:
    """Collects calls and loads; `custom`: what tells the operator of a variable that holds the module's own
    custom_op."""

    def __init__(self, module: Module, project: Project, custom: Callable[[ast.expr], str], facts: FileBuilder) -> None:
        self.module = module
        self.project = project
        self.custom = custom
        self.facts = facts
        self.compiled = _compiled_functions(module)
        self.parameters_with_grad = _module_parameters(module)
        self.seen: set[ast.AST] = set()
        self._skipped: dict[ast.AST, bool] = {}
        text = module.source.text
        # Operators that a delegate takes need no out variant, and passes never get that far.
        self.lowers = any(w in text for w in ("to_executorch", "to_edge(", "exir.capture")) and not any(
            w in text for w in ("artitioner", "to_backend", "delegate", "transform_and_lower")
        )

    def read(self) -> None:
        """Fill calls, loads, imports and swallowed failures."""
        scopes = {
            self.module.scope(node)
            for node in self.module.nodes
            if isinstance(node, (ast.Attribute, ast.Name)) and self.operator(node)
        }
        for scope in sorted(scopes, key=lambda s: getattr(s, "lineno", 0)):
            for body in _bodies(self.module, scope):
                Devices(self.module, self.visit).body(body)
        for node in self.module.nodes:
            if isinstance(node, ast.Attribute) and node not in self.seen:
                self.reference(node)
            elif isinstance(node, ast.Try):
                self.attempt(node)
        for call in self.module.calls:
            if self.module.dotted(call.func) in LOADERS or _is_extension_load(self.module, call):
                self.facts.loads.append(ast.unparse(call)[:80])
        self.facts.calls.sort(key=lambda call: (call.at.row, call.at.column))
        if self.facts.calls or self.facts.implementations or self.facts.definitions:
            self.imports()

    def visit(self, node: ast.expr, devices: Devices) -> None:
        """Record the call of an operator with what is known of its arguments."""
        if not isinstance(node, ast.Call):
            return
        operator = self.operator(node.func)
        if not operator:
            return
        for inner in ast.walk(node.func):
            self.seen.add(inner)
        arguments = [a.value if isinstance(a, ast.Starred) else a for a in node.args] + [k.value for k in node.keywords]
        tensors = [t for t in map(devices.tensor, arguments) if t]
        found = tuple(sorted({t.device for t in tensors if t.device and not t.scalar}))
        grad = not devices.no_grad and (
            any(t.grad for t in tensors)
            or any(isinstance(a, ast.Attribute) and ast.unparse(a) in self.parameters_with_grad for a in arguments)
        )
        self.record(node, operator, found, grad)

    def reference(self, node: ast.Attribute) -> None:
        """Record the mention of an operator that no call was recorded for."""
        parent = self.module.parents.get(node)
        if isinstance(parent, ast.Attribute):
            return
        operator = self.operator(node)
        if operator and not self._is_registration(node):
            self.record(node, operator, (), False)

    def _is_registration(self, node: ast.AST) -> bool:
        parent = self.module.parents.get(node)
        return (
            isinstance(parent, ast.Call)
            and node in parent.args
            and self.module.dotted(parent.func).startswith("torch.library.")
        )

    def record(self, node: ast.expr, operator: str, devices: tuple[str, ...], grad: bool) -> None:
        """Record one use."""
        scope = self.module.scope(node)
        names = [getattr(s, "name", "") for s in self.module.scopes(node)]
        classes = [c.name for c in self.module.enclosing(node, ast.ClassDef) if isinstance(c, ast.ClassDef)]
        compiled = any(name in self.compiled for name in [*names, *classes] if name) or any(
            isinstance(c, ast.Call) and self.module.dotted(c.func) in COMPILERS
            for c in self.module.enclosing(node, ast.Call)
        )
        self.facts.calls.append(
            Call(
                operator,
                self.module.at(node),
                getattr(scope, "name", ""),
                devices,
                grad,
                self.guarded(node),
                compiled,
            )
        )

    def operator(self, node: ast.expr) -> str:
        """Return the operator an expression calls, or ""."""
        if isinstance(node, ast.Name) and not self.module.assigned.get((self.module.scope(node), node.id)):
            custom = self.custom(node)
            if custom:
                return custom
        name = self.module.dotted(node) if self.module.in_torch(node) else ""
        if not name.startswith("torch.ops."):
            return ""
        parts = name.split(".")[2:]
        if len(parts) < 2 or parts[0] in ("load_library", "import_module", "loaded_libraries", "higher_order"):
            return ""
        if parts[1].startswith("__") or len(parts) > 3 or (len(parts) == 3 and parts[2].startswith("_")):
            return "" if parts[1].startswith("__") else f"{parts[0]}::{parts[1]}"
        overload = f".{parts[2]}" if len(parts) == 3 and parts[2] not in ("default", "overloads", "redispatch") else ""
        return f"{parts[0]}::{parts[1]}{overload}"

    def guarded(self, node: ast.AST) -> bool:
        """Whether the use stands where its failure is expected or its conditions were looked at."""
        child, parent = node, self.module.parents.get(node)
        while parent is not None:
            if isinstance(parent, ast.If) and child is not parent.test:
                text = ast.unparse(parent.test)
                if any(word in text for word in DEVICE_TESTS) and "torch.cuda.is_available()" not in text:
                    return True
            elif isinstance(parent, ast.IfExp) and child is not parent.test:
                if any(word in ast.unparse(parent.test) for word in DEVICE_TESTS):
                    return True
            elif isinstance(parent, ast.Try) and child in parent.body and parent.handlers:
                return True
            elif isinstance(parent, (ast.With, ast.AsyncWith)):
                if any(
                    w in ast.unparse(i.context_expr) for i in parent.items for w in ("raises", "Raises", "suppress")
                ):
                    return True
            elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if parent.decorator_list and self._may_be_skipped(parent):
                    return True
            elif isinstance(parent, ast.Call):
                text = ast.unparse(parent.func)
                if any(w in text for w in ("raises", "Raises", "hasattr", "getattr")):
                    return True
            child, parent = parent, self.module.parents.get(parent)
        return False

    def _may_be_skipped(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
        known = self._skipped.get(node)
        if known is None:
            text = " ".join(map(ast.unparse, node.decorator_list))
            known = self._skipped[node] = any(word in text for word in ("skip", "xfail", "expectedFailure"))
        return known

    def attempt(self, node: ast.Try) -> None:
        """Record a `try` around the import of an extension whose handler only logs."""
        modules: list[str] = []
        for statement in node.body:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Import):
                    modules += [a.name for a in inner.names]
                elif isinstance(inner, ast.ImportFrom):
                    base = "." * inner.level + (inner.module or "")
                    modules += [f"{base}.{a.name}" if inner.module else f"{base}{a.name}" for a in inner.names]
                elif isinstance(inner, ast.Call) and self.module.dotted(inner.func) in LOADERS:
                    modules.append("load_library")
                elif isinstance(inner, ast.Call) and self.module.dotted(inner.func) == "importlib.import_module":
                    modules += self.module.strings(argument(inner, 0, "name")) or ()
        if not modules or node.orelse:
            return
        asked = "hasattr(torch.ops" in self.module.source.text
        for handler in node.handlers:
            caught = ast.unparse(handler.type) if handler.type is not None else "Exception"
            kinds = ("ImportError", "OSError", "Exception", "ModuleNotFoundError", "RuntimeError")
            if any(kind in caught for kind in kinds) and all(_only_logs(s) for s in handler.body):
                at = self.module.place(handler.lineno, handler.col_offset + 1, handler.lineno, handler.col_offset + 7)
                self.facts.swallowed.append(Swallow(self.module.at(node.body[0]), tuple(modules), at, asked))

    def imports(self) -> None:
        """Record imports that are neither torch, a well-known package nor in the tree: they may load operators."""
        for node in self.module.import_nodes:
            names: list[tuple[str, int]] = []
            if isinstance(node, ast.Import):
                names = [(a.name, 0) for a in node.names]
            else:
                self.facts.executorch |= self.lowers and (node.module or "").partition(".")[0] == "executorch"
                names = [(node.module or "", node.level)]
                if not node.module or node.level:
                    names += [(f"{node.module}.{a.name}" if node.module else a.name, node.level) for a in node.names]
            for name, level in names:
                self.facts.executorch |= self.lowers and level == 0 and name.partition(".")[0] == "executorch"
                if level == 0 and name.partition(".")[0] in IGNORED_IMPORTS:
                    continue
                source = self.project.module(name, level, self.module.source.path)
                if source is None or any(
                    w in source.text for w in ("load_library", "._C", "import _C", "cpp_extension")
                ):
                    if (
                        source is None
                        and level
                        and any(self.project.module(n, level, self.module.source.path) for n, _ in names if n != name)
                    ):
                        continue  # `from .a import name`: the module is found, the name is an attribute
                    self.facts.external.append("." * level + name)


def _is_extension_load(module: Module, call: ast.Call) -> bool:
    name = module.dotted(call.func)
    return name.startswith("torch.utils.cpp_extension.load") or name in ("ctypes.CDLL", "importlib.import_module")


def _only_logs(node: ast.stmt) -> bool:
    """Whether a handler's statement neither raises, returns nor remembers the failure."""
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Constant):
            return True
        if isinstance(node.value, ast.Call):
            return ast.unparse(node.value.func).rpartition(".")[2] in LOGS
    return False


def _bodies(module: Module, scope: ast.AST) -> list[list[ast.stmt]]:
    """Return the statements of a scope: a function's, a lambda's, or the module's with its class bodies."""
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [scope.body]
    if isinstance(scope, ast.Lambda):
        return [[ast.copy_location(ast.Expr(scope.body), scope.body)]]
    return [module.tree.body, *(c.body for c in module.classes.values() if module.scope(c) is module.tree)]


def _module_parameters(module: Module) -> frozenset[str]:
    """Return `self.weight` for each `self.weight = nn.Parameter(...)` that keeps its gradient."""
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = module.dotted(node.value.func)
            off = argument(node.value, 1, "requires_grad")
            if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter") and off is None:
                found |= {ast.unparse(t) for t in node.targets if isinstance(t, ast.Attribute)}
    return frozenset(found)


def _compiled_functions(module: Module) -> frozenset[str]:
    """Return names of functions and classes that torch.compile or torch.export reaches, by calls inside the
    module."""
    roots: set[str] = set()
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":  # nn.Module.compile()
            roots |= _names(module, call.func.value) & set(module.classes)
        if module.dotted(call.func) not in COMPILERS:
            continue
        parent = module.parents.get(call)
        if isinstance(parent, (ast.FunctionDef, ast.ClassDef)) and call in parent.decorator_list:
            roots.add(parent.name)
        elif isinstance(parent, ast.Call) and parent.func is call and parent.args:
            roots |= _names(module, parent.args[0])
        elif call.args:
            roots |= _names(module, call.args[0])
        else:
            for keyword in call.keywords:
                if keyword.arg in ("model", "mod", "f"):
                    roots |= _names(module, keyword.value)
    for nodes in module.functions.values():
        for node in nodes:
            if any(module.dotted(d) in COMPILERS for d in node.decorator_list):
                roots.add(node.name)
    pending, reached = list(roots), set(roots)
    while pending:
        name = pending.pop()
        for node in [*module.functions.get(name, ()), *([module.classes[name]] if name in module.classes else [])]:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call):
                    target = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
                    own = not isinstance(inner.func, ast.Attribute) or ast.unparse(inner.func.value) == "self"
                    if own and target in {**module.functions, **module.classes} and target not in reached:
                        reached.add(target)
                        pending.append(target)
    return frozenset(reached)


def _names(module: Module, node: ast.expr, depth: int = 0) -> set[str]:
    """Return the function or class names a compiled expression leads to."""
    if isinstance(node, ast.Lambda):
        found: set[str] = set()
        for inner in ast.walk(node.body):
            if isinstance(inner, ast.Call):
                found |= _names(module, inner.func, depth + 1)
        return found
    if isinstance(node, ast.Call):
        return _names(module, node.func, depth + 1)
    if isinstance(node, ast.Attribute):
        return (
            _names(module, node.value, depth + 1) if node.attr in ("eval", "cuda", "to", "train", "forward") else set()
        )
    if isinstance(node, ast.Name):
        found = {node.id}
        if depth < 4:
            value = module.value(node)
            if value is not None:
                found |= _names(module, value, depth + 1)
        return found
    return set()
