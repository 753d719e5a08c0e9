"""`Library` objects of a module: which namespace a variable stands for, and whether the object lives on."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kexec_lint.aten.facts import FileBuilder, LibraryObject
from kexec_lint.aten.python.module import APIS, Module, argument, parameters
from kexec_lint.source import Project, Source

CONSTRUCTOR = "torch.library.Library"
SCOPED = "torch.library._scoped_library"


@dataclass(frozen=True)
class Library:
    """What a variable that holds a Library stands for; `namespace` None when it is computed."""

    namespace: str | None
    kind: str
    key: str


class Libraries:
    """Finds the Library behind an expression: a local or module variable, an attribute, an import, a parameter."""

    def __init__(self, module: Module, project: Project, facts: FileBuilder) -> None:
        self.module = module
        self.project = project
        self.facts = facts
        self.names: dict[tuple[ast.AST, str], list[tuple[int, Library]]] = {}
        self.attributes: dict[str, Library] = {}
        self.imported: dict[str, Library | None] = {}
        for call in module.calls:
            if is_library(module, call):
                self._bind(call)

    def _bind(self, call: ast.Call) -> None:
        library = read_library(self.module, call)
        parent = self.module.parents.get(call)
        if isinstance(parent, ast.withitem) and isinstance(parent.optional_vars, ast.Name):
            self._name(self.module.scope(call), parent.optional_vars.id, call, library)
        targets: list[ast.expr] = []
        if isinstance(parent, ast.Assign):
            targets = parent.targets
        elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
            targets = [parent.target]
        for target in targets:
            if isinstance(target, ast.Name):
                scope = self.module.scope(call)
                if _is_global(scope, target.id):
                    scope = self.module.tree
                self._name(scope, target.id, call, library)
            elif isinstance(target, ast.Attribute):
                self.attributes[target.attr] = library
        dies = "" if self._is_scoped(call) else self._dies(call, targets, parent)
        if library.namespace is not None:
            guard = self.module.guard(call)
            kind = f"scoped {library.kind}" if self._is_scoped(call) else library.kind
            function: str = getattr(self.module.scope(call), "name", "")
            self.facts.libraries.append(
                LibraryObject(
                    library.namespace, kind, self.module.at(call), "python", library.key, function, dies, guard
                )
            )

    def _name(self, scope: ast.AST, name: str, call: ast.Call, library: Library) -> None:
        self.names.setdefault((scope, name), []).append((call.lineno, library))

    def _is_scoped(self, call: ast.Call) -> bool:
        return self.module.dotted(call.func) == SCOPED

    def find(self, node: ast.expr | None) -> Library | None:
        """Return the Library an expression holds, or None."""
        if isinstance(node, ast.Call) and is_library(self.module, node):
            return read_library(self.module, node)
        if isinstance(node, ast.Attribute):
            return self.attributes.get(node.attr)
        if not isinstance(node, ast.Name):
            return None
        for scope in self.module.scopes(node):
            bound = self.names.get((scope, node.id))
            if bound is not None:
                # In its own scope the last binding before the use counts, elsewhere the last of all.
                before = [x for row, x in bound if row <= node.lineno] if scope is self.module.scope(node) else []
                return (before or [x for _, x in bound])[-1]
            if node.id in parameters(scope):
                return self._from_callers(scope, node.id)
        return self._from_import(node.id)

    def _from_callers(self, scope: ast.AST, name: str) -> Library | None:
        """Return the Library that every call of a function in this module passes for a parameter."""
        if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        position = [a.arg for a in (*scope.args.posonlyargs, *scope.args.args)].index(name) if any(
            a.arg == name for a in (*scope.args.posonlyargs, *scope.args.args)
        ) else None  # fmt: skip
        found: set[Library] = set()
        for call in self.module.calls:
            if isinstance(call.func, ast.Name) and call.func.id == scope.name:
                given = argument(call, position, name)
                library = self.find(given) if isinstance(given, ast.Name) and given.id != name else None
                if library is None:
                    return None
                found.add(library)
        return found.pop() if len(found) == 1 else None

    def _from_import(self, name: str) -> Library | None:
        """Return the Library of that name in the module it is imported from."""
        if name not in self.module.relative:
            return None
        if name not in self.imported:
            origin, level, original = self.module.relative[name]
            source = self.project.module(origin, level, self.module.source.path)
            self.imported[name] = _library_in(source, original) if source else None
        return self.imported[name]

    def _dies(self, call: ast.Call, targets: list[ast.expr], parent: ast.AST | None) -> str:
        """Return why the object is collected while its operators are still wanted, or ""."""
        scope = self.module.scope(call)
        if isinstance(parent, ast.Attribute):  # Library(...).define(...)
            grand = self.module.parents.get(parent)
            if isinstance(grand, ast.Call) and parent.attr in ("define", "impl", "fallback", "_register_fake"):
                return "a temporary: it is collected at the end of the statement"
        if isinstance(parent, ast.Expr):
            return "a temporary: it is collected at the end of the statement"
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if len(targets) != 1 or len(names) != 1:
            return ""
        name = names[0]
        if scope is self.module.tree:
            return self._rebound(name, call)
        if _is_global(scope, name) or not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return ""
        if isinstance(self.module.parents.get(self.module.parents[call]), ast.ClassDef):
            return ""
        if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in ast.walk(scope)):
            return ""
        if self._escapes(scope, name, call):
            return ""
        return f"only the local name '{name}' holds it: it is collected when '{scope.name}' returns"

    def _rebound(self, name: str, call: ast.Call) -> str:
        """Return why a module-level Library dies: its only name is bound to another object or deleted later."""
        if any(
            isinstance(a, (ast.If, ast.Try, ast.For, ast.While, ast.With))
            for a in self.module.enclosing(call, ast.stmt)
        ):
            return ""
        uses = [n for n in self.module.nodes if isinstance(n, ast.Name) and n.id == name]
        if any(not self._is_plain_use(n) for n in uses if isinstance(n.ctx, ast.Load)):
            return ""
        for node in self.module.tree.body:
            if node.lineno <= call.lineno:
                continue
            if isinstance(node, ast.Delete) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return f"'del {name}' in line {node.lineno} collects it"
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return f"'{name}' is bound to another object in line {node.lineno}, which collects it"
        return ""

    def _escapes(self, scope: ast.AST, name: str, call: ast.Call) -> bool:
        for node in ast.walk(scope):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                if self.module.scope(node) is not scope and not self._is_decorator(node):
                    return True  # a closure keeps it
                if not self._is_plain_use(node):
                    return True
        return False

    def _is_decorator(self, node: ast.AST) -> bool:
        child, parent = node, self.module.parents.get(node)
        while parent is not None:
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return child in parent.decorator_list
            child, parent = parent, self.module.parents.get(parent)
        return False

    def _is_plain_use(self, node: ast.Name) -> bool:
        """Whether a use keeps nothing: a method call on it, or an argument of a torch.library function."""
        parent = self.module.parents.get(node)
        if isinstance(parent, ast.Attribute):
            return True
        if isinstance(parent, ast.keyword):
            parent = self.module.parents.get(parent)
        name = self.module.dotted(parent.func) if isinstance(parent, ast.Call) else ""
        return name.startswith("torch.library.") and name.removeprefix("torch.library.") in APIS


def is_library(module: Module, call: ast.Call) -> bool:
    """Whether a call constructs a Library."""
    name = module.dotted(call.func)
    return name in (CONSTRUCTOR, SCOPED) or (name == "Library" and module.imports.get("Library") == CONSTRUCTOR)


def read_library(module: Module, call: ast.Call) -> Library:
    """Return what the arguments of `Library(ns, kind, key)` say."""
    namespaces = module.strings(argument(call, 0, "ns"))
    kinds = module.strings(argument(call, 1, "kind"))
    given = argument(call, 2, "dispatch_key")
    keys = module.strings(given) if given is not None else ("",)
    return Library(
        namespaces[0] if namespaces and len(namespaces) == 1 else None,
        kinds[0] if kinds else "",
        keys[0] if keys and len(keys) == 1 else "?",
    )


def _library_in(source: Source, name: str) -> Library | None:
    """Return the Library bound to a module-level name of another file."""
    if "torch.library" not in source.text and "torch import library" not in source.text:
        return None
    try:
        module = Module(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for call in module.calls:
        parent = module.parents.get(call)
        if (
            is_library(module, call)
            and isinstance(parent, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for t in parent.targets)
        ):
            return read_library(module, call)
    return None


def _is_global(scope: ast.AST, name: str) -> bool:
    return any(
        isinstance(n, (ast.Global, ast.Nonlocal)) and name in n.names
        for n in (ast.walk(scope) if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else ())
    )
