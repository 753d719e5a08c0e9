"""A parsed Python module: places, import table, constant strings, and what a dotted name stands for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from kexec_lint.findings import Location
from kexec_lint.source import Project, Source

APIS = frozenset(
    ("define", "impl", "register_kernel", "register_fake", "impl_abstract", "register_autograd", "register_vmap",
     "custom_op", "triton_op", "register_autocast", "register_torch_dispatch", "Library")
)  # fmt: skip
"""Names of torch.library that a package may re-export."""

_PLAIN = frozenset(("ctx", "op", "ops", "id", "attr", "arg", "kind", "module", "level", "type_comment", "simple"))
"""Fields that hold no node that has a place."""
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: (), ast.alias: ()}
"""Kind of node → its fields that may hold others, in order; filled as kinds are met."""
_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)
_INDEXED = frozenset((ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *_BINDING))
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Module:
    """Names and places of one file. Raises SyntaxError when the text is not Python."""

    def __init__(self, source: Source, project: Project | None = None) -> None:
        self.source = source
        self.project = project
        self._aliases: dict[str, str] = {}
        self._dotted_names: dict[ast.AST, str] = {}
        self.tree = ast.parse(source.text)
        self.lines = source.text.splitlines()
        self.nodes: list[ast.AST] = []
        self.parents: dict[ast.AST, ast.AST] = {}
        self._scopes: dict[ast.AST, ast.AST] = {}
        self.imports: dict[str, str] = {}
        self.relative: dict[str, tuple[str, int, str]] = {}
        self.import_nodes: list[ast.Import | ast.ImportFrom] = []
        self.functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.assigned: dict[tuple[ast.AST, str], list[ast.expr | None]] = {}
        self._index()

    def _index(self) -> None:
        nodes, parents, scopes = self.nodes, self.parents, self._scopes
        nodes.append(self.tree)
        binding: list[ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor] = []
        scope: ast.AST
        for node in nodes:  # grows while it is read: breadth first, like ast.walk, with the parents on the way
            kind = node.__class__
            fields = _FIELDS.get(kind)
            if fields is None:
                fields = _FIELDS[kind] = tuple(field for field in kind._fields if field not in _PLAIN)
            if fields:
                scope = node if kind in _SCOPES else scopes.get(node, self.tree)
                for field in fields:
                    value = getattr(node, field, None)
                    if value.__class__ is list:
                        for child in value:
                            if isinstance(child, ast.AST):
                                parents[child], scopes[child] = node, scope
                                nodes.append(child)
                    elif isinstance(value, ast.AST):
                        parents[value], scopes[value] = node, scope
                        nodes.append(value)
            if kind not in _INDEXED:
                continue
            if isinstance(node, ast.Import):
                self.import_nodes.append(node)
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imports[alias.asname or name] = name
            elif isinstance(node, ast.ImportFrom):
                self.import_nodes.append(node)
                for alias in node.names:
                    bound = alias.asname or alias.name
                    self.relative[bound] = (node.module or "", node.level, alias.name)
                    if node.level == 0 and node.module:
                        self.imports[bound] = f"{node.module}.{alias.name}"
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
            elif isinstance(node, _BINDING):
                binding.append(node)
        for node in binding:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value, node)
            elif isinstance(node, ast.AnnAssign):
                self._assign(node.target, node.value, node)
            else:
                self._assign(node.target, None, node)

    def _assign(self, target: ast.expr, value: ast.expr | None, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault((self.scope(node), target.id), []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._assign(element, None, node)

    def at(self, node: ast.AST) -> Location:
        """Return the span of a node; columns of `ast` are UTF-8 bytes and become code points."""
        row: int = getattr(node, "lineno", 1)
        end_row: int = getattr(node, "end_lineno", None) or row
        column = self._column(row, getattr(node, "col_offset", 0))
        end = self._column(end_row, getattr(node, "end_col_offset", None) or 0)
        return self.place(row, column, end_row, end)

    def place(self, row: int, column: int, end_row: int, end_column: int) -> Location:
        """Return a location; rows count the text, and the engine maps those of a notebook into its cells."""
        return Location(self.source.path, row, column, end_row, end_column)

    def _column(self, row: int, offset: int) -> int:
        line = self.lines[row - 1] if row - 1 < len(self.lines) else ""
        if line.isascii():
            return offset + 1
        return len(line.encode()[:offset].decode(errors="ignore")) + 1

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the innermost function around a node, or the module (a class body counts as its surroundings)."""
        return self._scopes.get(node, self.tree)

    def scopes(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the scopes around a node, innermost first, the module last."""
        scope = self.scope(node)
        while True:
            yield scope
            if scope is self.tree:
                return
            scope = self.scope(scope)

    def value(self, name: ast.Name) -> ast.expr | None:
        """Return what a name was assigned where it is looked up, None if that depends on the path.

        Of several assignments in straight line the last before the use counts, in the scope of the use only.
        """
        for scope in self.scopes(name):
            values = self.assigned.get((scope, name.id))
            if values is not None:
                if len(values) == 1:
                    return values[0]
                straight = scope is self.scope(name) and all(
                    v is not None and self._is_straight(v, scope) for v in values
                )
                before = [v for v in values if v is not None and v.lineno < name.lineno]
                return before[-1] if straight and before else None
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and name.id in parameters(scope):
                return None
        return None

    def _is_straight(self, value: ast.expr, scope: ast.AST) -> bool:
        """Whether a value is assigned by a statement that stands directly in the body of a scope."""
        statement = self.parents.get(value)
        return isinstance(statement, (ast.Assign, ast.AnnAssign)) and self.parents.get(statement) is scope

    def dotted(self, node: ast.AST) -> str:
        """Return the full dotted name an expression stands for ("torch.library.Library"), or ""."""
        name = self._dotted_names.get(node)
        if name is None:
            name = self._dotted_names[node] = self._dotted(node, 0)
        return name

    def _dotted(self, node: ast.AST, depth: int) -> str:
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value, depth)
            return f"{base}.{node.attr}" if base else ""
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self.relative:
            found = self._alias(node.id)
            if found:
                return found
        if node.id in self.imports:
            return self.imports[node.id]
        if depth < 4:
            for scope in self.scopes(node):
                for value in self.assigned.get((scope, node.id), []):
                    if isinstance(value, (ast.Attribute, ast.Name)) and not (
                        isinstance(value, ast.Name) and value.id == node.id
                    ):
                        found = self._dotted(value, depth + 1)
                        if found.startswith("torch"):
                            return found
        return node.id

    @cached_property
    def _names_of_torch(self) -> frozenset[str]:
        """Names that may stand for torch or something in it: imported from there, or assigned what may."""
        names = {name for name, origin in self.imports.items() if origin.startswith("torch")} | {"torch"}
        names |= {name for name, (_, _, original) in self.relative.items() if original in APIS}
        assigned = {
            (name, base) for (_, name), values in self.assigned.items()
            for base in map(_base, values) if base is not None
        }  # fmt: skip
        before = 0
        while len(names) > before:
            before = len(names)
            names |= {name for name, base in assigned if base in names}
        return frozenset(names)

    def in_torch(self, node: ast.expr) -> bool:
        """Return whether the dotted name that an expression stands for can begin with `torch`."""
        return _base(node) in self._names_of_torch

    def _alias(self, name: str) -> str:
        """Return the torch.library function that a module of the tree gives another name, or ""."""
        origin, level, original = self.relative[name]
        if original not in APIS or (level == 0 and origin.startswith("torch")) or self.project is None:
            return ""
        if name not in self._aliases:
            source = self.project.module(origin, level, self.source.path)
            match = (
                re.search(rf"^\s*{re.escape(original)}\s*=\s*(torch\.library\.\w+)", source.text, re.M)
                if source
                else None
            )
            self._aliases[name] = match[1] if match else ""
        return self._aliases[name]

    def strings(self, node: ast.AST | None, depth: int = 0) -> tuple[str, ...] | None:
        """Return the values a string expression can have, or None if that is not known."""
        if isinstance(node, ast.Constant):
            return (node.value,) if isinstance(node.value, str) else None
        if depth > 4:
            return None
        if isinstance(node, ast.JoinedStr):
            texts = [""]
            for part in node.values:
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                values = self.strings(inner, depth + 1)
                if values is None:
                    return None
                texts = [text + value for text in texts for value in values]
            return tuple(texts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.strings(node.left, depth + 1), self.strings(node.right, depth + 1)
            return tuple(a + b for a in left for b in right) if left is not None and right is not None else None
        if isinstance(node, ast.Name):
            looped = self._loop_values(node)
            if looped is not None:
                return looped
            value = self.value(node)
            return self.strings(value, depth + 1) if value is not None else None
        return None

    def _loop_values(self, name: ast.Name) -> tuple[str, ...] | None:
        """Return the strings a `for` over a literal gives a name inside its body."""
        node: ast.AST | None = name
        while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if (
                isinstance(node, ast.For)
                and isinstance(node.target, ast.Name)
                and node.target.id == name.id
                and isinstance(node.iter, (ast.Tuple, ast.List, ast.Set))
            ):
                values = [e.value for e in node.iter.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
                return tuple(values) if len(values) == len(node.iter.elts) else None
            node = self.parents.get(node)
        return None

    def guard(self, node: ast.AST) -> tuple[str, ...]:
        """Return the branches a node stands in, outermost first: two equal guards run together."""
        found: list[str] = []
        child, parent = node, self.parents.get(node)
        while parent is not None:
            if isinstance(parent, ast.If):
                branch = "then" if child in parent.body else "else" if child in parent.orelse else ""
                if branch:
                    found.append(f"if@{parent.lineno}:{branch}")
            elif isinstance(parent, ast.Try):
                branch = "try" if child in parent.body else "handler" if child in parent.handlers else ""
                if branch:
                    found.append(f"try@{parent.lineno}:{branch}")
            elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and child in parent.body:
                found.append(f"def@{parent.lineno}")
            elif isinstance(parent, (ast.For, ast.While)):
                found.append(f"loop@{parent.lineno}")
            elif isinstance(parent, ast.With) and any("_scoped_library" in ast.dump(i) for i in parent.items):
                found.append(f"scoped@{parent.lineno}")  # what is registered in it ends with it
            child, parent = parent, self.parents.get(parent)
        return tuple(reversed(found))

    def enclosing(self, node: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Yield the ancestors of these kinds, innermost first."""
        parent = self.parents.get(node)
        while parent is not None:
            if isinstance(parent, kinds):
                yield parent
            parent = self.parents.get(parent)

    def functions_with_decorators(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return the decorated functions in source order."""
        found = [node for nodes in self.functions.values() for node in nodes if node.decorator_list]
        return sorted(found, key=lambda n: n.lineno)

    def function_before(self, name: str, use: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the visible function of that name which is the last before its use, else the first after it."""
        scopes = list(self.scopes(use))
        visible = [n for n in self.functions.get(name, ()) if self.scope(n) in scopes]
        visible = [n for n in visible if not isinstance(self.parents.get(n), ast.ClassDef)]
        row = getattr(use, "lineno", 0)
        before = [n for n in visible if n.lineno <= row]
        return before[-1] if before else visible[0] if visible else None

    @cached_property
    def calls(self) -> list[ast.Call]:
        """Every call of the module in source order."""
        found = [node for node in self.nodes if isinstance(node, ast.Call)]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    @cached_property
    def has_default_device(self) -> bool:
        """Whether a default device may be in force, so that a factory without `device=` says nothing."""
        return "set_default_" in self.source.text or any(
            isinstance(node, ast.With)
            and any(ast.unparse(i.context_expr).startswith(("torch.device(", "device")) for i in node.items)
            for node in self.nodes
        )


def _base(node: ast.expr | None) -> str | None:
    """Return the name that a dotted name begins with, or None for another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def parameters(scope: ast.AST) -> frozenset[str]:
    """Return the parameter names of a function or lambda."""
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return frozenset()
    a = scope.args
    extra = [x for x in (a.vararg, a.kwarg) if x is not None]
    return frozenset(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, *extra))


def argument(call: ast.Call, position: int | None, name: str) -> ast.expr | None:
    """Return the argument given by position or by keyword; None when absent or hidden behind `*args`."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and position < len(call.args):
        before = call.args[: position + 1]
        return None if any(isinstance(a, ast.Starred) for a in before) else before[-1]
    return None


def signature_names(scope: Scope) -> tuple[str, ...]:
    """Return the names of positional and keyword-only parameters in order."""
    a = scope.args
    return tuple(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs))
