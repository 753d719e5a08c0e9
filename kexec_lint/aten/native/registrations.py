"""Reads TORCH_LIBRARY blocks, their stable-ABI forms, PYBIND11_MODULE and EXECUTORCH_LIBRARY."""

from __future__ import annotations

import re

from tree_sitter import Node

from kexec_lint.aten import aten
from kexec_lint.aten.facts import Definition, FileBuilder, Function, Implementation, LibraryObject
from kexec_lint.aten.native.functions import function_declarator, read_function
from kexec_lint.aten.native.text import NativeFile, functions, guard, split_arguments, walk

_MACRO = re.compile(
    r"^(STABLE_)?TORCH_LIBRARY(?P<kind>_FRAGMENT|_IMPL)?(_EXPAND|_THIS_API_IS_FOR_PER_OP_REGISTRATION_ONLY)?$"
)
_NAME_WRAPPERS = ("TORCH_SELECTIVE_SCHEMA", "TORCH_SELECTIVE_NAME", "torch::schema", "c10::Symbol::fromQualString")
_FUNCTION_WRAPPERS = (
    "TORCH_FN",
    "TORCH_BOX",
    "torch::CppFunction",
    "CppFunction",
    "TORCH_FN_TYPE",
)
_DISPATCH = ("torch::dispatch", "dispatch", "c10::dispatch")


class Block:
    """One registration block while it is read: whose namespace, which key."""

    def __init__(self, namespace: str, kind: str, key: str, variable: str) -> None:
        self.namespace = namespace
        self.kind = kind
        self.key = key
        self.variable = variable


def read_registrations(file: NativeFile, facts: FileBuilder) -> None:
    """Add every registration of the file to the facts."""
    helpers = _helpers(file)
    used: set[str] = set()
    for node in functions(file.tree.root_node):
        declarator = function_declarator(node)
        body = node.child_by_field_name("body")
        if declarator is None or body is None:
            continue
        name = file.text(declarator.child_by_field_name("declarator"))
        arguments = split_arguments(file.text(declarator.child_by_field_name("parameters")).strip()[1:-1])
        if name == "PYBIND11_MODULE" and len(arguments) == 2:
            _read_pybind(file, facts, body, arguments[1])
        match = _MACRO.match(name)
        if match is None:
            continue
        block = _block(match["kind"] or "", arguments)
        if block is None:
            continue
        end = declarator.end_byte
        facts.libraries.append(
            LibraryObject(
                block.namespace,
                block.kind,
                file.span(node.start_byte, end),
                "c++",
                block.key,
                guard=guard(node, file),
            )
        )
        _read_block(file, facts, body, block, helpers, used, guard(node, file))
    for name, (node, variable) in helpers.items():
        if name not in used:
            body = node.child_by_field_name("body")
            if body is not None:
                _read_block(file, facts, body, Block("*", "FRAGMENT", "", variable), {}, used, ())
    executorch = b"EXECUTORCH_LIBRARY" in file.data
    for call in walk(file.tree.root_node, "call_expression") if executorch else ():
        name = file.text(call.child_by_field_name("function"))
        if name in ("EXECUTORCH_LIBRARY", "MAKE_EXECUTORCH_LIBRARY"):
            _read_executorch(file, facts, call)
    if b"RegisterOperators" in file.data:
        _read_old_api(file, facts)


def _block(kind: str, arguments: list[str]) -> Block | None:
    if kind == "_IMPL" and len(arguments) == 3:
        return Block(_namespace(arguments[0]), "IMPL", arguments[1].rpartition("::")[2], arguments[2])
    if kind != "_IMPL" and len(arguments) == 2:
        return Block(_namespace(arguments[0]), "FRAGMENT" if kind else "DEF", "", arguments[1])
    return None


def _namespace(text: str) -> str:
    """Return the namespace; one spelled by a macro keeps its spelling, which no Python name can equal."""
    text = text.strip().strip('"')
    return f"${{{text}}}" if not re.fullmatch(r"\w+", text) or (text.isupper() and len(text) > 3) else text


def _helpers(file: NativeFile) -> dict[str, tuple[Node, str]]:
    """Return functions that take a `torch::Library&` and register on it: name → (definition, parameter)."""
    found: dict[str, tuple[Node, str]] = {}
    for node in functions(file.tree.root_node):
        declarator = function_declarator(node)
        if declarator is None:
            continue
        text = file.text(declarator.child_by_field_name("parameters"))
        match = re.search(r"\b(?:torch::)?Library\s*&\s*(\w+)", text)
        if match:
            found[file.text(declarator.child_by_field_name("declarator")).rpartition("::")[2]] = (node, match[1])
    return found


def _read_block(
    file: NativeFile,
    facts: FileBuilder,
    body: Node,
    block: Block,
    helpers: dict[str, tuple[Node, str]],
    used: set[str],
    outer: tuple[str, ...],
) -> None:
    for call in walk(body, "call_expression"):
        function = call.child_by_field_name("function")
        if function is None:
            continue
        if function.type == "field_expression":
            if _root(file, function) != block.variable:
                continue
            method = file.text(function.child_by_field_name("field"))
            arguments = [n for n in _arguments(call) if n.type != "comment"]
            if method == "def":
                _read_def(file, facts, call, arguments, block, outer)
            elif method == "impl":
                _read_impl(file, facts, call, arguments, block, outer)
            elif method == "fallback":
                facts.fallbacks.append(block.key)
                if any("makeFallthrough" in file.text(a) for a in arguments):
                    facts.implementations.append(
                        Implementation("_::*", file.at(call), "m.fallback", "c++", block.key, fallthrough=True)
                    )
            continue
        name = file.text(function).rpartition("::")[2]
        passed = [file.text(a) for a in _arguments(call)]
        if block.variable in passed:
            if name in helpers:
                used.add(name)
                node, variable = helpers[name]
                inner = node.child_by_field_name("body")
                if inner is not None:
                    _read_block(
                        file,
                        facts,
                        inner,
                        Block(block.namespace, block.kind, block.key, variable),
                        {},
                        used,
                        outer,
                    )
            else:
                facts.open_definitions.add(block.namespace)
                facts.open_implementations.add(block.namespace)
    # A macro that is given the library (DEFINE_OPS(m)) registers names that cannot be seen here.
    text = file.plain[body.start_byte : body.end_byte].decode(errors="replace")
    if re.search(rf"\b[A-Z][A-Z0-9_]{{3,}}\s*\(\s*{re.escape(block.variable)}\s*[,)]", text):
        facts.open_definitions.add(block.namespace)
        facts.open_implementations.add(block.namespace)


def _root(file: NativeFile, node: Node) -> str:
    """Return the variable at the start of `m.def(…).def(…)`."""
    current: Node | None = node
    while current is not None and current.type in ("field_expression", "call_expression"):
        if current.type == "field_expression" and file.text(current.child_by_field_name("field")).startswith("class_"):
            return ""  # methods of a bound class are no operators
        current = current.child_by_field_name("argument") or current.child_by_field_name("function")
    return file.text(current)


def _arguments(call: Node) -> list[Node]:
    node = call.child_by_field_name("arguments")
    return list(node.named_children) if node is not None else []


def _string(file: NativeFile, node: Node) -> str | None:
    """Return the value of a string argument, through the selective-build wrappers; None when computed."""
    if node.type == "call_expression":
        name = file.text(node.child_by_field_name("function"))
        inner = _arguments(node)
        return _string(file, inner[0]) if name in _NAME_WRAPPERS and inner else None
    if node.type == "concatenated_string":
        parts = [_string(file, c) for c in node.named_children if c.type != "comment"]
        return None if any(p is None for p in parts) else "".join(p or "" for p in parts)
    if node.type == "raw_string_literal":
        match = re.match(r'R"([^(]*)\((.*)\)\1"$', file.text(node), re.S)
        return match[2] if match else None
    if node.type == "string_literal":
        text = file.data[node.start_byte : node.end_byte].decode(errors="replace")
        return re.sub(r"\\\n", "", text[1:-1]).replace('\\"', '"').replace("\\n", "\n")
    return None


def _key(file: NativeFile, node: Node) -> str | None:
    """Return the dispatch key of `torch::kCUDA`, `c10::DispatchKey::CUDA` or "CUDA"; None if it is none."""
    text = file.text(node)
    if node.type == "string_literal":
        return text.strip('"')
    last = text.rpartition("::")[2]
    if "DispatchKey::" in text:
        return last
    match = re.fullmatch(r"k([A-Z]\w+)", last)
    if match:
        name = match[1]
        devices = {
            "CPU": "CPU",
            "CUDA": "CUDA",
            "XPU": "XPU",
            "MPS": "MPS",
            "HIP": "HIP",
            "Meta": "Meta",
            "XLA": "XLA",
        }
        devices |= {"CompositeImplicit": "CompositeImplicitAutograd", "PrivateUse1": "PrivateUse1"}
        return devices.get(name, name if name in aten.dispatch_keys() else "?")
    return None


def _function(file: NativeFile, node: Node) -> tuple[str, str, Function | None, bool]:
    """Return (key or "", name, facts of a lambda, fallthrough) of a kernel argument."""
    text = file.text(node)
    if "makeFallthrough" in text:
        return "", text, None, True
    if node.type == "call_expression":
        name = file.text(node.child_by_field_name("function"))
        inner = _arguments(node)
        if name in _DISPATCH and len(inner) == 2:
            _, function, facts, through = _function(file, inner[1])
            return _key(file, inner[0]) or "?", function, facts, through
        if name == "WRAP_TO_ATEN":
            return "", "", None, False  # a kernel of ExecuTorch, on the tensors of its own runtime
        if name in _FUNCTION_WRAPPERS and inner:
            return _function(file, inner[0])
        return "", "", None, False
    if node.type == "lambda_expression":
        declarator = next((c for c in node.children if c.type == "abstract_function_declarator"), None)
        body = node.child_by_field_name("body")
        if declarator is not None and body is not None:
            return "", "<lambda>", read_function(file, node, declarator, body, "<lambda>"), False
        return "", "<lambda>", None, False
    name = re.sub(r"<.*>$", "", text.lstrip("&").strip(), flags=re.S)
    return "", name.rpartition("::")[2] if re.fullmatch(r"[\w:]+", name) else "", None, False


def _read_def(
    file: NativeFile, facts: FileBuilder, call: Node, arguments: list[Node], block: Block, outer: tuple[str, ...]
) -> None:
    if not arguments:
        return
    schema = None if call.has_error else _string(file, arguments[0])
    if schema is None or "{{" in schema:  # computed, or the file is a template
        facts.open_definitions.add(block.namespace)
        return
    name = schema.partition("(")[0].strip()
    operator = name if "::" in name else f"{block.namespace}::{name}"
    where = tuple(dict.fromkeys((*outer, *guard(call, file))))
    kernel = None
    tags: tuple[str, ...] = ()
    for argument in arguments[1:]:
        if argument.type == "initializer_list" or "Tag" in file.text(argument):
            tags = tuple(re.findall(r"Tag::(\w+)", file.text(argument))) or ("?",)
        else:
            kernel = argument
    schema_text = schema if "(" in schema else None
    facts.definitions.append(
        Definition(operator, file.at(call), "m.def", "c++", schema_text, block.kind != "DEF", tags=tags, guard=where)
    )
    if kernel is not None:
        key, function, lambda_facts, through = _function(file, kernel)
        facts.implementations.append(
            Implementation(
                operator,
                file.at(call),
                "m.def",
                "c++",
                key or block.key,
                "kernel",
                lambda_facts,
                function,
                False,
                through,
                where,
                "" if key or block.key else "implicit",
                block.kind,
            )
        )


def _read_impl(
    file: NativeFile, facts: FileBuilder, call: Node, arguments: list[Node], block: Block, outer: tuple[str, ...]
) -> None:
    if len(arguments) < 2:
        return
    name = _string(file, arguments[0])
    if name is None:
        facts.open_implementations.add(block.namespace)
        return
    operator = name if "::" in name else f"{block.namespace}::{name}"
    key, function, lambda_facts, through = _function(file, arguments[-1])
    if len(arguments) == 3:
        key = _key(file, arguments[1]) or "?"
    key = key or block.key
    role = "fake" if key == "Meta" else "autograd" if key.startswith("Autograd") else "kernel"
    role = "autocast" if key.startswith("Autocast") else "vmap" if key.startswith("FuncTorch") else role
    facts.implementations.append(
        Implementation(
            operator,
            file.at(call),
            "m.impl",
            "c++",
            key,
            role,
            lambda_facts,
            function,
            False,
            through,
            tuple(dict.fromkeys((*outer, *guard(call, file)))),
            "boxed" if file.text(arguments[-1]).startswith("TORCH_BOX") else "",
            block.kind,
        )
    )


def _read_pybind(file: NativeFile, facts: FileBuilder, body: Node, variable: str) -> None:
    for call in walk(body, "call_expression"):
        function = call.child_by_field_name("function")
        if function is None or function.type != "field_expression" or _root(file, function) != variable:
            continue
        if file.text(function.child_by_field_name("field")) != "def":
            continue
        arguments = _arguments(call)
        name = _string(file, arguments[0]) if arguments else None
        if name is None or len(arguments) < 2:
            continue
        _, function_name, lambda_facts, _ = _function(file, arguments[1])
        facts.implementations.append(
            Implementation(
                f"pybind::{name}",
                file.at(call),
                "PYBIND11_MODULE",
                "c++",
                "",
                "pybind",
                lambda_facts,
                function_name,
                guard=guard(call, file),
            )
        )


def _read_executorch(file: NativeFile, facts: FileBuilder, call: Node) -> None:
    arguments = _arguments(call)
    if len(arguments) == 3:
        name = _string(file, arguments[1])
        if name:
            facts.implementations.append(
                Implementation(
                    f"{file.text(arguments[0])}::{name}",
                    file.at(call),
                    "EXECUTORCH_LIBRARY",
                    "c++",
                    "",
                    "executorch",
                    None,
                    file.text(arguments[2]).lstrip("&"),
                )
            )


def _read_old_api(file: NativeFile, facts: FileBuilder) -> None:
    """Record the names of the deprecated `torch::RegisterOperators`: defined, with a kernel of unknown key."""
    for match in re.finditer(rb'"(\w+)::(\w+(?:\.\w+)?)(\([^"]*)?"', file.data):
        operator = f"{match[1].decode()}::{match[2].decode()}"
        at = file.span(match.start(), match.end())
        schema = f"{operator}{match[3].decode()}" if match[3] and b"->" in match[3] else None
        facts.definitions.append(Definition(operator, at, "RegisterOperators", "c++", schema, True))
        facts.implementations.append(Implementation(operator, at, "RegisterOperators", "c++", "?"))
        facts.open_implementations.add(match[1].decode())
