"""Which files one extension is built from, as far as a build script says so in one list or glob."""

from __future__ import annotations

import ast
import posixpath

from kexec_lint.aten.python.module import Module, argument

EXTENSIONS = ("CppExtension", "CUDAExtension", "SyclExtension", "Extension")
LOADERS = ("torch.utils.cpp_extension.load",)
_HERE = ("__file__", "dirname", "getcwd", "curdir", ".cwd(")
"""What an expression for the script's own folder holds."""
_SHRINK = ("remove", "pop", "clear")
_DEPTH = 8


def extension_sources(module: Module) -> list[tuple[str, ...]]:
    """Return, for each extension, the paths and glob patterns of its sources relative to the script's folder.

    Only what one expression holds unconditionally is taken: files that a branch adds may be alternatives.
    """
    found = []
    for call in module.calls:
        if _builds(module, call.func):
            names = _names(module, argument(call, 1, "sources"))
            if names:
                found.append(tuple(dict.fromkeys(names)))
    return found


def _builds(module: Module, func: ast.expr) -> bool:
    """Whether a call makes or loads an extension, under a name such as `CUDAExtension if cuda else CppExtension`."""
    if isinstance(func, ast.Name) and (value := module.value(func)) is not None:
        return isinstance(value, ast.IfExp) and all(_builds(module, v) for v in (value.body, value.orelse))
    name = module.dotted(func)
    return name in LOADERS or name.rpartition(".")[2] in EXTENSIONS


def _names(module: Module, node: ast.expr | None, depth: int = 0) -> list[str]:
    """Return the paths of a list expression; elements that are not known are left out."""
    if node is None or depth > _DEPTH:
        return []
    if isinstance(node, ast.Name):
        return _names(module, _first_value(module, node), depth + 1)
    if isinstance(node, (ast.List, ast.Tuple)):
        found = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                found += _names(module, element.value, depth + 1)
            else:
                path = _path(module, element)
                found += [path] if path else []
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _names(module, node.left, depth + 1) + _names(module, node.right, depth + 1)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _comprehension(module, node, depth)
    if not isinstance(node, ast.Call):
        return []
    name = module.dotted(node.func)
    if name in ("list", "sorted", "tuple", "set") and node.args:
        return _names(module, node.args[0], depth + 1)
    if name in ("glob.glob", "glob.iglob") and node.args:
        pattern = _path(module, node.args[0])
        return [pattern] if pattern else []
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("glob", "rglob") and node.args:
        folder, pattern = _path(module, node.func.value), _path(module, node.args[0])
        inner = "**/" if node.func.attr == "rglob" else ""
        return [posixpath.join(folder, inner + pattern)] if folder is not None and pattern else []
    return []


def _first_value(module: Module, name: ast.Name) -> ast.expr | None:
    """Return the one value that a name is assigned; `+=` only adds to it, `remove()` makes it unknown."""
    shrinks = (
        c.func.value.id
        for c in module.calls
        if isinstance(c.func, ast.Attribute) and c.func.attr in _SHRINK and isinstance(c.func.value, ast.Name)
    )
    if name.id in shrinks:
        return None
    value = module.value(name)
    if value is None:
        for scope in module.scopes(name):
            values = module.assigned.get((scope, name.id))
            if values is not None:
                known = [v for v in values if v is not None]
                return known[0] if len(known) == 1 and isinstance(known[0], (ast.List, ast.Call, ast.BinOp)) else None
    return value


def _comprehension(module: Module, node: ast.ListComp | ast.GeneratorExp, depth: int) -> list[str]:
    """Return the paths of `[join(folder, s) for s in names]` and `[str(s) for s in names]`."""
    if len(node.generators) != 1 or node.generators[0].ifs or not isinstance(node.generators[0].target, ast.Name):
        return []
    target, inner = node.generators[0].target.id, _names(module, node.generators[0].iter, depth + 1)
    element = node.elt
    if isinstance(element, ast.Call) and module.dotted(element.func) == "os.path.join" and len(element.args) > 1:
        last = element.args[-1]
        if isinstance(last, ast.Name) and last.id == target:
            folder = _join(module, element.args[:-1])
            return [posixpath.normpath(posixpath.join(folder, i)) for i in inner] if folder is not None else []
    names = [n.id for n in ast.walk(element) if isinstance(n, ast.Name)]
    plain = isinstance(element, ast.Name) or (isinstance(element, ast.Call) and module.dotted(element.func) == "str")
    return inner if plain and target in names else []


def _path(module: Module, node: ast.expr, depth: int = 0) -> str | None:
    """Return a path relative to the script's folder ("" for the folder itself), or None if it is not known."""
    if depth > _DEPTH:
        return None
    values = module.strings(node)
    if values is not None:
        return posixpath.normpath(values[0]).removeprefix("./") if len(values) == 1 and values[0] else None
    if isinstance(node, ast.Name):
        value = module.value(node)
        return _path(module, value, depth + 1) if value is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _join(module, [node.left, node.right], depth)
    if isinstance(node, ast.Call):
        name = module.dotted(node.func)
        if name == "os.path.join":
            return _join(module, node.args, depth)
        if name in ("str", "pathlib.Path", "Path", "os.path.abspath", "os.path.relpath", "os.path.realpath"):
            inner = _path(module, node.args[0], depth + 1) if node.args else None
            if inner is not None:
                return inner
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("as_posix", "resolve", "absolute"):
            inner = _path(module, node.func.value, depth + 1)
            if inner is not None:
                return inner
    text = ast.unparse(node)
    return "" if any(word in text for word in _HERE) and ".." not in text and text.count("parent") < 2 else None


def _join(module: Module, nodes: list[ast.expr], depth: int = 0) -> str | None:
    parts = [_path(module, n, depth + 1) for n in nodes]
    return posixpath.normpath(posixpath.join("", *(p or "" for p in parts))) if None not in parts else None
