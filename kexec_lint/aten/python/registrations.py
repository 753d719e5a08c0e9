"""Reads every torch.library form of a module: definitions, kernels, fakes, autograd, vmap, autocast."""

from __future__ import annotations

import ast

from kexec_lint.aten import aten
from kexec_lint.aten.facts import Definition, Event, FileBuilder, Function, Implementation, Problem
from kexec_lint.aten.python.kernels import read_function
from kexec_lint.aten.python.libraries import Libraries, Library
from kexec_lint.aten.python.module import Module, Scope, argument

LIBRARY = "torch.library."
OPERATOR_DEFINERS = ("torch.library.custom_op", "torch.library.triton_op", "torch._library.triton.triton_op")
HARMLESS_DECORATORS = (
    "torch.library.",
    "torch.no_grad",
    "torch.inference_mode",
    "torch.compiler.disable",
    "staticmethod",
)
ROLES = {
    "register_fake": "fake",
    "impl_abstract": "fake",
    "_register_fake": "fake",
    "register_vmap": "vmap",
    "register_autograd": "autograd",
    "register_torch_dispatch": "dispatch",
    "register_autocast": "autocast",
    "register_kernel": "kernel",
}


class Registrations:
    """Collects the registrations of one module into `facts`.

    `operators`: scope and name of a variable → rows where it is bound, and to the operator of which custom_op.
    """

    def __init__(self, module: Module, libraries: Libraries, facts: FileBuilder) -> None:
        self.module = module
        self.libraries = libraries
        self.facts = facts
        self.operators: dict[tuple[ast.AST, str], list[tuple[int, str]]] = {}
        self._functions: dict[ast.AST, Function] = {}

    def read(self) -> None:
        """Fill the facts; definitions first, so that `op.register_fake` finds its operator."""
        for call in self.module.calls:
            if self.module.dotted(call.func) in OPERATOR_DEFINERS:
                self.custom_op(call)
        for call in self.module.calls:
            self.call(call)
        for node in self.module.functions_with_decorators():
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Attribute) and decorator.attr in ROLES:
                    operator = self.custom_operator(decorator.value)
                    if operator:
                        self.implement([operator], decorator, "CustomOpDef." + decorator.attr, "", node, decorator.attr)

    def call(self, call: ast.Call) -> None:
        """Read one call if it is a form of torch.library."""
        name = self.module.dotted(call.func)
        if name.startswith(LIBRARY):
            short = name.removeprefix(LIBRARY)
            if short == "define":
                self.define_function(call)
            elif short == "impl":
                self.impl_function(call)
            elif short in ROLES:
                self.register_function(call, short)
        elif name == "torch.utils.rename_privateuse1_backend":
            self.facts.backends.extend(self.module.strings(argument(call, 0, "backend_name")) or ())
        elif isinstance(call.func, ast.Attribute):
            self.method(call, call.func)

    # Operators

    def custom_op(self, call: ast.Call) -> None:
        """Record `custom_op` and `triton_op`."""
        names = self.module.strings(argument(call, 0, "name"))
        via = self.module.dotted(call.func).rpartition(".")[2]
        function, target = self.applied_to(call, argument(call, 1, "fn"))
        if names is None:
            self.facts.open_definitions.add("*")
            self.facts.open_implementations.add("*")
            return
        mutates = argument(call, None, "mutates_args")
        device_types = argument(call, None, "device_types")
        schema = argument(call, None, "schema")
        schemas = self.module.strings(schema) if schema is not None else None
        for name in names:
            if "::" not in name:
                self.problem(
                    "ATN112",
                    call,
                    f"operator name '{name}' has no namespace",
                    "write it as 'namespace::name'; torch.library raises ValueError on this one",
                )
                continue
            if target is not None:
                self.operators.setdefault(target, []).append((call.lineno, name))
            self.facts.definitions.append(
                Definition(
                    name,
                    self.module.at(call),
                    via,
                    "python",
                    schemas[0] if schemas else None,
                    True,
                    function,
                    self.names(mutates) if mutates is not None else None,
                    self.names(device_types) if device_types is not None else None,
                    self.tags(call),
                    self.module.guard(self._site(call)),
                )
            )
            if schema is not None and schemas is None:
                self.facts.open_definitions.add(name.partition("::")[0])

    def applied_to(self, call: ast.Call, given: ast.expr | None) -> tuple[Function | None, tuple[ast.AST, str] | None]:
        """Return the function an API call is applied to (argument, decorated, called), and scope and name of the
        variable that it is bound to."""
        parent = self.module.parents.get(call)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and call in parent.decorator_list:
            return self.function(parent), (self.module.scope(parent), parent.name)
        outer: ast.AST = call
        if given is None and isinstance(parent, ast.Call) and parent.func is call and parent.args:
            given, outer = parent.args[0], parent
        bound = self.module.parents.get(outer)
        target = None
        if isinstance(bound, ast.Assign) and isinstance(bound.targets[0], ast.Name):
            target = (self.module.scope(bound), bound.targets[0].id)
        return self.resolve_function(given, call)[0], target

    def custom_operator(self, node: ast.expr) -> str:
        """Return the operator of a CustomOpDef variable, or ""; in its own scope the last binding before counts."""
        if isinstance(node, ast.Name):
            for scope in self.module.scopes(node):
                bound = self.operators.get((scope, node.id))
                if bound is not None:
                    before = [name for row, name in bound if row <= node.lineno]
                    return before[-1] if before else bound[-1][1]
        return ""

    def operator(self, node: ast.expr | None, library: Library | None = None) -> list[str] | None:
        """Return the operators an argument names (string, torch.ops path, CustomOpDef), or None if computed."""
        if node is None:
            return None
        custom = self.custom_operator(node)
        if custom:
            return [custom]
        dotted = self.module.dotted(node)
        if dotted.startswith("torch.ops."):
            parts = dotted.split(".")[2:]
            if len(parts) in (2, 3):
                overload = f".{parts[2]}" if len(parts) == 3 and parts[2] != "default" else ""
                return [f"{parts[0]}::{parts[1]}{overload}"]
        strings = self.module.strings(node)
        if strings is None:
            return None
        if library is None:
            return list(strings)
        space = library.namespace if library.namespace is not None else "*"
        return [s if "::" in s else f"{space}::{s}" for s in strings]

    # Library methods

    def method(self, call: ast.Call, func: ast.Attribute) -> None:
        """Record a method call on a Library or a CustomOpDef."""
        custom = self.custom_operator(func.value)
        if custom and func.attr in ROLES:
            self.custom_method(call, func.attr, custom)
            return
        if func.attr not in ("define", "impl", "fallback", "_register_fake", "_impl_with_aoti_compile"):
            return
        library = self.libraries.find(func.value)
        if library is None:
            if self._looks_like_library(func, call):
                library = Library(None, "", "?")
            else:
                return
        if func.attr == "define":
            self.define(call, argument(call, 0, "schema"), library, "Library.define")
        elif func.attr == "impl":
            self.library_impl(call, library)
        elif func.attr == "fallback":
            keys = self.module.strings(argument(call, 1, "dispatch_key")) or (library.key,)
            self.facts.fallbacks.extend(keys)
            if library.namespace not in (None, "_"):
                self.problem(
                    "ATN112",
                    call,
                    f"fallback() on a Library of namespace '{library.namespace}'",
                    "a fallback is only accepted on Library('_', 'IMPL'); this call raises RuntimeError",
                )
        elif func.attr == "_register_fake":
            self.implement(
                self.operator(argument(call, 0, "op_name"), library),
                call,
                "Library._register_fake",
                "",
                self.resolve_node(argument(call, 1, "fn"), call),
                "register_fake",
            )
        else:
            self.facts.open_implementations.add(library.namespace or "*")

    def _looks_like_library(self, func: ast.Attribute, call: ast.Call) -> bool:
        """Whether `x.define("f(Tensor x) -> Tensor")` or `x.impl("f", fn, "CPU")` is a Library of unknown
        origin."""
        if "torch.library" not in self.module.source.text and "torch import library" not in self.module.source.text:
            return False
        text = ast.unparse(func.value).lower()
        return "lib" in text and func.attr in ("define", "impl", "_register_fake") and bool(call.args)

    def library_impl(self, call: ast.Call, library: Library) -> None:
        """Record `Library.impl`."""
        given = argument(call, 2, "dispatch_key")
        keys: tuple[str, ...] | None = (library.key,)
        if given is not None:
            keys = self.module.strings(given)
            keys = tuple(k or library.key for k in keys) if keys is not None else None
        operators = self.operator(argument(call, 0, "op_name"), library)
        keyset = argument(call, None, "with_keyset")
        for key in keys if keys is not None else ("?",):
            self.implement(
                operators,
                call,
                "Library.impl",
                key,
                self.resolve_node(argument(call, 1, "fn"), call),
                "register_kernel",
                keyset is not None and not (isinstance(keyset, ast.Constant) and keyset.value is False),
                library,
            )

    # Functions of torch.library

    def define_function(self, call: ast.Call) -> None:
        """Record `torch.library.define` in both its forms."""
        first = argument(call, 0, "qualname")
        library = self.libraries.find(first)
        if library is not None:  # the old decorator form: define(lib, schema)
            node = self._decorated(call)
            self.define(call, argument(call, 1, "schema"), library, "torch.library.define")
            schemas = self.module.strings(argument(call, 1, "schema"))
            if node is not None and schemas:
                defined = [f"{library.namespace or '*'}::{s.partition('(')[0].strip()}" for s in schemas]
                self.implement(
                    defined, call, "torch.library.define", library.key, node, "register_kernel", False, library
                )
            return
        names, schemas = self.module.strings(first), self.module.strings(argument(call, 1, "schema"))
        if names is None:
            self.facts.open_definitions.add("*")
            return
        for name in names:
            if "::" not in name:
                self.problem(
                    "ATN112",
                    call,
                    f"operator name '{name}' has no namespace",
                    "write it as 'namespace::name'; torch.library.define raises ValueError on this one",
                )
                continue
            schema = schemas[0] if schemas and len(schemas) == 1 else None
            self.facts.definitions.append(
                Definition(
                    name,
                    self.module.at(call),
                    "torch.library.define",
                    "python",
                    schema and f"\x00{schema}",
                    True,
                    tags=self.tags(call),
                    guard=self.module.guard(self._site(call)),
                )
            )

    def define(self, call: ast.Call, schema: ast.expr | None, library: Library, via: str) -> None:
        """Record `Library.define`."""
        schemas = self.module.strings(schema)
        space = library.namespace
        if schemas is None or space is None:
            self.facts.open_definitions.add(space or "*")
            if schemas is None:
                return
        if len(schemas) > 1 and isinstance(schema, ast.JoinedStr):
            self.facts.open_definitions.add(space or "*")
        for text in schemas:
            name = text.partition("(")[0].strip()
            own, _, rest = name.rpartition("::")
            operator = f"{own or space or '*'}::{rest}"
            if own and space is not None and own != space:
                self.problem(
                    "ATN112",
                    call,
                    f"'{name}' is defined in a Library of namespace '{space}'",
                    "the names differ, and PyTorch raises RuntimeError; drop the prefix or change the Library",
                )
            self.facts.definitions.append(
                Definition(
                    operator,
                    self.module.at(call),
                    via,
                    "python",
                    text,
                    library.kind != "DEF",
                    tags=self.tags(call),
                    guard=self.module.guard(self._site(call)),
                )
            )

    def impl_function(self, call: ast.Call) -> None:
        """Record `torch.library.impl` in both its forms."""
        first = argument(call, 0, "qualname")
        library = self.libraries.find(first) or self.libraries.find(argument(call, None, "lib"))
        if library is not None and self.libraries.find(first) is not None:
            given = argument(call, 2, "dispatch_key")
            keys = self.module.strings(given) if given is not None else ("",)
            operators = self.operator(argument(call, 1, "name"), library)
            for key in keys if keys is not None else ("?",):
                self.implement(
                    operators,
                    call,
                    "torch.library.impl",
                    key or library.key,
                    self._decorated(call),
                    "register_kernel",
                    False,
                    library,
                )
            return
        self.register_by_device(call, argument(call, 1, "types"), argument(call, 2, "func"), "torch.library.impl")

    def register_function(self, call: ast.Call, short: str) -> None:
        """Record `torch.library.register_*`."""
        if short == "register_kernel":
            self.register_by_device(
                call, argument(call, 1, "device_types"), argument(call, 2, "func"), f"{LIBRARY}{short}"
            )
            return
        position = {"register_torch_dispatch": 2}.get(short, 1)
        function = argument(call, position, "backward" if short == "register_autograd" else "func")
        node = self._decorated(call) or self.resolve_node(function, call)
        self.implement(
            self.operator(argument(call, 0, "op")),
            call,
            f"{LIBRARY}{short}",
            self._autocast_key(call, short, 1),
            node,
            short,
        )

    def register_by_device(self, call: ast.Call, types: ast.expr | None, given: ast.expr | None, via: str) -> None:
        """Record a kernel for device types or keys."""
        devices: tuple[str, ...] | None
        if types is None or (isinstance(types, ast.Constant) and types.value is None):
            devices = ("default",)
        else:
            devices = self.names(types)
        node = self._decorated(call) or self.resolve_node(given, call)
        operators = self.operator(argument(call, 0, "qualname" if via.endswith("impl") else "op"))
        for device in devices if devices is not None else ("?",):
            self.implement(
                operators, call, via, self.device_key(device, call, via), node, "register_kernel", raw=device
            )

    def custom_method(self, call: ast.Call, attribute: str, operator: str) -> None:
        """Record a method of a CustomOpDef."""
        via = f"CustomOpDef.{attribute}"
        if attribute == "register_kernel":
            types = argument(call, 0, "device_types")
            node = self._decorated(call) or self.resolve_node(argument(call, 1, "fn"), call)
            none = types is None or (isinstance(types, ast.Constant) and types.value is None)
            devices = ("default",) if none else self.names(types)
            for device in devices if devices is not None else ("?",):
                key = self.device_key(device, call, via)
                self.implement([operator], call, via, key, node, attribute, raw=device)
            return
        node = self._decorated(call) or self.resolve_node(
            argument(
                call,
                1 if attribute == "register_torch_dispatch" else 0,
                "backward" if attribute == "register_autograd" else "fn",
            ),
            call,
        )
        self.implement([operator], call, via, self._autocast_key(call, attribute, 0), node, attribute)

    def _autocast_key(self, call: ast.Call, short: str, position: int) -> str:
        if short != "register_autocast":
            return ""
        devices = self.module.strings(argument(call, position, "device_type"))
        return f"Autocast{aten.key_of_device(devices[0]) or '?'}" if devices else "?"

    def device_key(self, device: str, call: ast.AST, via: str) -> str:
        """Return the dispatch key of a device type or, for torch.library.impl, of a key's own name."""
        if device == "default":
            return "CompositeExplicitAutograd"
        if device == "?":
            return "?"
        if not via.startswith("CustomOpDef") and device in aten.dispatch_keys():
            return device
        return aten.key_of_device(device) or f"device {device}"

    # Shared

    def implement(
        self,
        operators: list[str] | None,
        call: ast.expr,
        via: str,
        key: str,
        node: Scope | str | None,
        api: str,
        keyset: bool = False,
        library: Library | None = None,
        raw: str = "",
    ) -> None:
        """Record one implementation for each operator; an unresolved name opens its namespace."""
        role = ROLES[api]
        if operators is None:
            self.facts.open_implementations.add((library.namespace if library else None) or "*")
            return
        function: Function | None = None
        name: str | None = None
        if isinstance(node, str):
            name = node
            function = self._applied_function(node, call)
        elif node is not None:
            function = self.function(node)
            name = function.name
        if role == "fake":
            key = "Meta"
        elif role == "autograd":
            key = "Autograd"
        for operator in operators:
            if "::" not in operator:
                self.problem(
                    "ATN112",
                    call,
                    f"operator name '{operator}' has no namespace",
                    f"write it as 'namespace::{operator}'; {via} raises ValueError on this one",
                )
                continue
            space = operator.partition("::")[0]
            if library is not None and library.namespace is not None and space != library.namespace:
                self.problem(
                    "ATN112",
                    call,
                    f"'{operator}' is implemented through a Library of namespace '{library.namespace}'",
                    "the namespaces differ, and PyTorch raises RuntimeError; use a Library of that namespace",
                )
                continue
            self.facts.implementations.append(
                Implementation(
                    operator,
                    self.module.at(call),
                    via,
                    "python",
                    key,
                    role,
                    function,
                    name,
                    keyset,
                    name == "torch.library.fallthrough_kernel",
                    self.module.guard(self._site(call)),
                    raw,
                    library.kind if library else "",
                )
            )

    def _applied_function(self, name: str, call: ast.expr) -> Function | None:
        """Return the facts of `X.apply` of an autograd.Function, given as a kernel; None for any other name."""
        owner, _, method = name.rpartition(".")
        definition = self.module.classes.get(owner) if method == "apply" else None
        if definition is None or "torch.autograd.Function" not in map(self.module.dotted, definition.bases):
            return None
        at = self.module.at(call)
        return Function(name, at, events=(Event("applies-function", at, owner, name),), opaque=True)

    def _site(self, call: ast.AST) -> ast.AST:
        """Return the statement whose guard counts: the decorated function for a decorator."""
        parent = self.module.parents.get(call)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and call in parent.decorator_list:
            return parent
        return call

    def _decorated(self, call: ast.Call) -> Scope | str | None:
        parent = self.module.parents.get(call)
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)) and call in parent.decorator_list:
            return parent
        if isinstance(parent, ast.Call) and parent.func is call and parent.args:
            return self.resolve_node(parent.args[0], call)
        return None

    def resolve_node(self, node: ast.expr | None, call: ast.Call) -> Scope | str | None:
        """Return the function an expression names, the dotted name of one defined elsewhere, or None."""
        if isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.Name):
            found = self.module.function_before(node.id, call)
            if found is not None:
                return found
            value = self.module.value(node)
            if isinstance(value, ast.Lambda):
                return value
        return (self.module.dotted(node) or None) if node is not None else None

    def resolve_function(self, node: ast.expr | None, call: ast.Call) -> tuple[Function | None, str]:
        """Return the facts and the name of the function an expression names."""
        found = self.resolve_node(node, call)
        if found is None or isinstance(found, str):
            return None, found or ""
        return self.function(found), getattr(found, "name", "<lambda>")

    def function(self, node: Scope) -> Function:
        """Return the facts of a kernel, read once; wrapped by a decorator of unknown effect it is opaque."""
        if node not in self._functions:
            found = read_function(self.module, node, getattr(node, "name", "<lambda>"))
            if not isinstance(node, ast.Lambda):
                for decorator in node.decorator_list:
                    target = decorator.func if isinstance(decorator, ast.Call) else decorator
                    dotted = self.module.dotted(target)
                    own = isinstance(target, ast.Attribute) and (
                        target.attr in ROLES or self.libraries.find(target.value) is not None
                    )
                    if not own and not dotted.startswith(HARMLESS_DECORATORS):
                        found = Function(
                            found.name,
                            found.at,
                            found.parameters,
                            found.returns,
                            found.events,
                            True,
                            False,
                            found.calls,
                        )
            self._functions[node] = found
        return self._functions[node]

    def names(self, node: ast.expr | None) -> tuple[str, ...] | None:
        """Return the strings of a tuple, list, set or single string; None when computed."""
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            found: list[str] = []
            for element in node.elts:
                values = self.module.strings(element)
                if values is None:
                    return None
                found += values
            return tuple(found)
        if isinstance(node, ast.Dict) and not node.keys:
            return ()
        if isinstance(node, ast.Call) and ast.unparse(node) in ("set()", "tuple()", "list()", "frozenset()"):
            return ()
        if isinstance(node, ast.Name):
            value = self.module.value(node)
            if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
                return self.names(value)
        return self.module.strings(node)

    def tags(self, call: ast.Call) -> tuple[str, ...]:
        """Return the names of the tags given; "?" when they are computed."""
        given = argument(call, None, "tags")
        if given is None:
            return ()
        names = [
            n.attr for n in ast.walk(given) if isinstance(n, ast.Attribute) and "Tag" in self.module.dotted(n.value)
        ]
        return tuple(names) or ("?",)

    def problem(self, code: str, node: ast.AST, message: str, help: str) -> None:
        """Record a finding that this file alone shows."""
        self.facts.problems.append(Problem(code, self.module.at(node), message, help))
