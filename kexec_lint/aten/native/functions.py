"""What a C++ kernel does with its tensors: raw pointers, launches, dtype switches, in-place calls."""

from __future__ import annotations

import re
from dataclasses import replace

from tree_sitter import Node

from kexec_lint.aten import aten
from kexec_lint.aten.facts import Event, Function, Parameter
from kexec_lint.aten.native.text import NativeFile, functions, split_arguments, walk

_DATA = re.compile(
    r"\b(?P<name>\w+)\s*(?:\.|->)\s*(?:(?:mutable_|const_)?data_ptr|data)\s*(?:<\s*(?P<type>[\w:]+)\s*>)?\s*\(\s*\)"
)
_LAUNCH = re.compile(r"<<<(?P<config>[^;{}]*?)>>>\s*\(", re.S)
_LAUNCH_CHECK = re.compile(
    r"LAUNCH_CHECK|GetLastError|PeekAtLastError|KERNEL_CHECK|CUDA_CHECK|CUDA_ERR|POST_KERNEL|cudaCheck|checkCuda|"
    r"check_?(?:cuda|hip|gpu)?_?(?:launch|kernel|last|err)|CUDA_KERNEL_ASSERT_LAST|LAST_ERROR|DeviceSynchronize|"
    r"StreamSynchronize",
    re.I,
)
_CALL = re.compile(r"\b(?P<name>[A-Za-z_]\w*(?:::\w+)*)\s*(?:<[^;(){}]*>)?\s*\(")
_FLOATING = frozenset(
    (
        "float",
        "double",
        "half",
        "Half",
        "__half",
        "at::Half",
        "c10::Half",
        "torch::Half",
        "at::BFloat16",
        "c10::BFloat16",
        "__nv_bfloat16",
        "nv_bfloat16",
        "bfloat16",
    )
)
"""Types for which another floating dtype is a plausible input; an index of another dtype than int64 is not."""
_CAST = re.compile(r"(?:\(|_cast\s*<)\s*(?:const\s+)?(?P<type>[\w:]+)\s*(?:const\s*)?\*\s*(?:>\s*\(|\))\s*$")
_FACTORY = re.compile(r"\b(?:at|torch)::(?P<name>empty|zeros)\s*\(\s*\{\s*0\s*\}\s*\)")
"""An empty tensor without options: float32 on the CPU."""
_OBJECT = re.compile(r"\b(?!ctx\b|context\b)\w+\s*->\s*\w+\s*\(")
"""A method of an object behind a pointer, which no tensor is."""
_BRACE = re.compile(rb"[{}]")
_DISPATCH = re.compile(r"\bAT_DISPATCH_(?P<kind>\w+)\s*\(")
_WORDS = aten.words(
    "if for while switch return sizeof static_cast reinterpret_cast const_cast dynamic_cast "
    "TORCH_CHECK AT_ASSERTM "
    "TORCH_INTERNAL_ASSERT AT_ERROR TORCH_CHECK_VALUE decltype alignof catch"
)
_PURE_CALLS = re.compile(r"^(at|torch|c10|std)::|^(AT|TORCH|C10)_|^min$|^max$")


def read_functions(file: NativeFile) -> list[Function]:
    """Return the facts of each function definition that takes or returns a Tensor."""
    found = []
    bodies: list[tuple[str, str]] = []
    for node in functions(file.tree.root_node):
        declarator = function_declarator(node)
        if declarator is None:
            continue
        name = file.text(declarator.child_by_field_name("declarator"))
        if name.startswith(("TORCH_LIBRARY", "STABLE_TORCH_LIBRARY", "PYBIND11_MODULE")):
            continue
        signature = file.code[node.start_byte : declarator.end_byte]
        body = node.child_by_field_name("body")
        if body is None or b"Tensor" not in signature:
            continue
        found.append(read_function(file, node, declarator, body, name.rpartition("::")[2]))
        if b"<<<" in file.data:
            bodies.append((found[-1].name, file.plain[body.start_byte : body.end_byte].decode(errors="replace")))
    if b"autograd::Function<" in file.data:
        found += _autograd_functions(file)
    return _checked_by_callers(found, bodies) if any(f.of_kind("launch") for f in found) else found


def _autograd_functions(file: NativeFile) -> list[Function]:
    """Return `X::apply` of each class that is a torch::autograd::Function; what its forward and backward call is
    what it calls, raw pointers and methods of other objects included."""
    found = []
    for node in walk(file.tree.root_node, "class_specifier", "struct_specifier"):
        head, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        bases = next((c for c in node.children if c.type == "base_class_clause"), None)
        if head is None or body is None or bases is None or "autograd::Function<" not in file.text(bases):
            continue
        calls: list[str] = []
        pure = True
        for method in body.named_children:
            declarator = function_declarator(method) if method.type == "function_definition" else None
            inner = method.child_by_field_name("body")
            if declarator is None or inner is None:
                continue
            facts = read_function(file, method, declarator, inner, "")
            text = file.plain[inner.start_byte : inner.end_byte].decode(errors="replace")
            calls += [*facts.calls, *(e.kind for e in facts.of_kind("data-pointer", "launch")), *_OBJECT.findall(text)]
            pure &= facts.pure and not _OBJECT.search(text)
        found.append(Function(f"{file.text(head)}::apply", file.at(head), pure=pure, calls=tuple(dict.fromkeys(calls))))
    return found


def _checked_by_callers(found: list[Function], bodies: list[tuple[str, str]]) -> list[Function]:
    """Return the functions without the missing checks of launches that every caller in the file asks for
    afterwards."""
    checked: set[str] = set()
    open_names = {f.name for f in found if any("check" in e.detail.split(",") for e in f.of_kind("launch"))}
    while True:
        before = len(checked)
        for name in open_names - checked:
            pattern = re.compile(rf"\b{re.escape(name)}\s*(?:<[^;(){{}}]*>)?\s*\(")
            calls = [(caller, m.end(), text) for caller, text in bodies for m in pattern.finditer(text)]
            if calls and all(c in checked or _LAUNCH_CHECK.search(text, end) for c, end, text in calls):
                checked.add(name)
        if len(checked) == before:
            return [replace(f, events=_without_check(f.events)) if f.name in checked else f for f in found]


def _without_check(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return tuple(
        replace(e, detail=",".join(d for d in e.detail.split(",") if d != "check")) if e.kind == "launch" else e
        for e in events
    )


def function_declarator(node: Node) -> Node | None:
    """Return the function declarator of a definition, under any pointers and references."""
    current = node.child_by_field_name("declarator")
    while current is not None and current.type != "function_declarator":
        current = current.child_by_field_name("declarator") or next(
            (c for c in current.children if c.type.endswith("declarator")), None
        )
    return current


def read_function(file: NativeFile, node: Node, declarator: Node, body: Node, name: str) -> Function:
    """Return signature and events of one function or lambda."""
    parameters = read_parameters(file, declarator)
    kind = node.child_by_field_name("type")
    text = file.plain[body.start_byte : body.end_byte].decode(errors="replace")
    events = [
        *_data_pointers(file, body, text, parameters),
        *_launches(file, body, text),
        *_unchecked_devices(file, body, text, parameters),
        *_dispatches(file, body, text),
        *_writes(file, body, text, parameters),
        *_factories(file, body, text),
    ]
    calls = [
        m["name"] for m in _CALL.finditer(text) if m["name"] not in _WORDS and not m["name"].startswith("AT_DISPATCH")
    ]
    methods = {m[1] for m in re.finditer(r"(?:\.|->)\s*(?:template\s+)?(\w+)\s*(?:<[^;(){}]*>)?\s*\(", text)}
    own = [c for c in calls if not _PURE_CALLS.match(c) and c.rpartition("::")[2] not in methods]
    pure = not own and not any(e.kind in ("data-pointer", "launch") for e in events)
    place = declarator if node.type == "function_definition" else node
    first = file.data.find(b"\n", node.start_byte)
    at = file.span(node.start_byte, min(place.end_byte, first if first > 0 else place.end_byte))
    return Function(
        name,
        at,
        parameters,
        file.text(kind) if kind is not None else None,
        tuple(events),
        False,
        pure,
        tuple(
            dict.fromkeys(
                "::".join(c.rsplit("::", 2)[-2:] if c.endswith("::apply") else c.split("::")[-1:]) for c in own
            )
        ),
    )


def read_parameters(file: NativeFile, declarator: Node) -> tuple[Parameter, ...]:
    """Return the parameters with their types as text (`const at::Tensor&`)."""
    node = declarator.child_by_field_name("parameters")
    found = []
    for child in node.named_children if node is not None else []:
        if child.type not in ("parameter_declaration", "optional_parameter_declaration"):
            continue
        inner = child.child_by_field_name("declarator")
        name = next((file.text(n) for n in walk(inner, "identifier")), "") if inner is not None else ""
        end = inner.start_byte if inner is not None else child.end_byte
        kind = file.code[child.start_byte : end].decode(errors="replace").strip()
        if inner is not None:
            prefix = re.match(r"[&*\s]+(const)?", file.text(inner))
            kind += (prefix.group().strip() if prefix else "").replace("const", "")
        default = child.child_by_field_name("default_value")
        kind = " ".join(kind.split())
        if kind == "void" and not name:
            continue
        found.append(
            Parameter(
                name,
                "positional",
                kind,
                file.text(default).lstrip("= ") if default is not None else None,
                file.at(child),
            )
        )
    return tuple(found)


def _data_pointers(file: NativeFile, body: Node, text: str, parameters: tuple[Parameter, ...]) -> list[Event]:
    """Return raw-pointer uses of tensor parameters; `sure` when nothing in the body looks at the dtype first."""
    tensors = {p.name for p in parameters if p.annotation and "Tensor" in p.annotation}
    found = []
    for match in _DATA.finditer(text):
        name = match["name"]
        kind = match["type"] or ""
        if "data_ptr" not in match.group() and not kind:
            continue  # std::vector::data()
        origin = _alias_of(name, text, tensors)
        if origin is None:
            continue
        checked = looks_at_type(text, name) or looks_at_type(text, origin)
        cast = None if kind else _CAST.search(text, 0, match.start())
        concrete = kind in _FLOATING or (cast is not None and cast["type"] in _FLOATING)
        offset = body.start_byte + len(text[: match.start()].encode())
        at = file.span(offset, offset + len(match.group().encode()))
        found.append(Event("data-pointer", at, origin, kind, sure=concrete and not checked))
    return found


def _unchecked_devices(file: NativeFile, body: Node, text: str, parameters: tuple[Parameter, ...]) -> list[Event]:
    """Return the first raw pointer of each tensor that goes to a launched kernel without a look at its device.

    `sure` when the function looks at the device of no tensor at all.
    """
    if "<<<" not in text:
        return []
    found: dict[str, Event] = {}
    for pointer in _data_pointers(file, body, text, parameters):
        names = [pointer.subject, *_copies(pointer.subject, text)]
        if not any(looks_at_device(text, n) for n in names):
            found.setdefault(pointer.subject, replace(pointer, kind="unchecked-device"))
    tensors = [p.name for p in parameters if p.name and "Tensor" in (p.annotation or "")]
    sure = not any(looks_at_device(text, n) for n in tensors)
    return [replace(e, sure=sure) for e in found.values()]


def _copies(name: str, text: str) -> list[str]:
    """Return the locals made from a tensor by `contiguous()`."""
    return re.findall(rf"(\w+)\s*=\s*{re.escape(name)}\s*(?:\.|->)\s*(?:expect_)?contiguous\b", text)


def _alias_of(name: str, text: str, tensors: set[str]) -> str | None:
    """Return the parameter a local name is made from (`auto xc = x.contiguous()`), or the name itself."""
    if name in tensors:
        return name
    match = re.search(rf"\b{re.escape(name)}\s*=\s*(\w+)\s*(?:\.|->)\s*(?:contiguous|expect_contiguous)\b", text)
    return match[1] if match and match[1] in tensors else None


def looks_at_type(text: str, name: str) -> bool:
    """Whether a body looks at a tensor's dtype: a check macro, a dispatch macro, a conversion, a checking
    helper."""
    n = re.escape(name)
    return bool(
        re.search(rf"\b{n}\s*(?:\.|->)\s*(?:scalar_type|dtype|options|to|toType|type|is_floating_point)\b", text)
        or re.search(rf"\b\w*(?:CHECK|ASSERT|ENFORCE|EXPECT|VERIFY|REQUIRE)\w*\s*\(\s*{n}\s*[,)]", text)
        or re.search(rf"\b\w*(?:check|valid|assert|ensure|verify)\w*\s*(?:<[^;(){{}}]*>)?\s*\([^;]*\b{n}\b", text)
        or re.search(rf"\b(?:TensorArg|TensorGeometryArg)\b[^;]*\b{n}\b", text)
    )


def looks_at_device(text: str, name: str) -> bool:
    """Whether a body looks at a tensor's device."""
    n = re.escape(name)
    return bool(
        re.search(rf"\b{n}\s*(?:\.|->)\s*(?:is_cuda|device|is_cpu|options|get_device\w*|to|cuda)\b", text)
        or re.search(rf"\b\w*(?:device_of|[Gg]uard)\w*\s*\w*\s*[({{][^;]*\b{n}\b", text)
        or re.search(rf"\b\w*(?:CHECK|ASSERT|ENFORCE|EXPECT|VERIFY|REQUIRE)\w*\s*\(\s*{n}\s*[,)]", text)
        or re.search(rf"\b\w*(?:check|valid|assert|ensure|verify)\w*\s*(?:<[^;(){{}}]*>)?\s*\([^;]*\b{n}\b", text)
    )


def _launches(file: NativeFile, body: Node, text: str) -> list[Event]:
    """Return kernel launches; the detail says what the function leaves out: check, stream, guard."""
    found = []
    cut = file.plain[body.end_byte : _end(file, body)].decode(errors="replace")
    for match in _LAUNCH.finditer(text):
        kernel, start = _launched(text, match.start())
        missing = []
        if not _LAUNCH_CHECK.search(text, match.end()) and not _LAUNCH_CHECK.search(cut):
            missing.append("check")
        config = split_arguments(match["config"])
        if len(config) == 1 and config[0] and "," not in config[0]:
            missing.append("unknown")
        elif len(config) < 4 or config[3] in ("0", "nullptr", "NULL"):
            missing.append("stream")
        if not re.search(r"CUDAGuard|DeviceGuard|cudaSetDevice|HIPGuard|device_of", text):
            missing.append("guard")
        offset = body.start_byte + len(text[:start].encode())
        at = file.span(offset, offset + len(text[start : match.end()].encode()))
        found.append(Event("launch", at, kernel, ",".join(missing)))
    return found


def _end(file: NativeFile, body: Node) -> int:
    """Return where a body ends; what does not parse (a macro used without a semicolon) cuts it short, and then the
    braces say."""
    depth = 0
    for match in _BRACE.finditer(file.plain, body.start_byte) if body.has_error else ():
        depth += 1 if match.group() == b"{" else -1
        if depth == 0:
            return max(match.end(), body.end_byte)
    return body.end_byte


def _launched(text: str, end: int) -> tuple[str, int]:
    """Return the name before a launch configuration, template arguments left out, and where it starts."""
    blank = " \t\r\n\\"  # a launch in a macro goes on after a backslash
    at = len(text[:end].rstrip(blank))
    if text[at - 1 : at] == ">":
        depth = 0
        while at > 0:
            at -= 1
            depth += (text[at] == ">") - (text[at] == "<")
            if depth == 0:
                break
        at = len(text[:at].rstrip(blank))
    match = re.search(r"\w+$", text[max(0, at - 200) : at])
    return (match.group(), at - len(match.group())) if match else ("", end)


def _dispatches(file: NativeFile, body: Node, text: str) -> list[Event]:
    found = []
    for match in _DISPATCH.finditer(text):
        offset = body.start_byte + len(text[: match.start()].encode())
        found.append(Event("dtype-switch", file.span(offset, offset + len(match.group()) - 1), match["kind"]))
    return found


def _factories(file: NativeFile, body: Node, text: str) -> list[Event]:
    match = _FACTORY.search(text)
    if match is None:
        return []
    offset = body.start_byte + len(text[: match.start()].encode())
    return [Event("factory", file.span(offset, offset + len(match.group().encode())), match["name"])]


def _writes(file: NativeFile, body: Node, text: str, parameters: tuple[Parameter, ...]) -> list[Event]:
    """Return in-place calls on tensor parameters: `x.add_(y)`, `at::mul_out(x, …)`, `x[i] = …` on a Tensor."""
    found = []
    for parameter in parameters:
        if not parameter.name or "Tensor" not in (parameter.annotation or ""):
            continue
        name = re.escape(parameter.name)
        if re.search(rf"(?<![\w.=!<>]){name}\s*=(?!=)", text):
            continue  # rebound: what is written later may be another tensor
        for match in re.finditer(rf"\b{name}\s*\.\s*(\w+_)\s*\(|\bat::(\w+_out)\s*\(\s*{name}\b", text):
            method = match[1] or match[2]
            if match[1] and match[1] not in aten.inplace_names():
                continue
            offset = body.start_byte + len(text[: match.start()].encode())
            at = file.span(offset, offset + len(match.group().encode()))
            found.append(Event("mutates", at, parameter.name, f"{method}()"))
    return found
