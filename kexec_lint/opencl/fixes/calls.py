"""Arguments of a call as text changes: a wait list made or widened, a keyword set, added or removed."""

from __future__ import annotations

import libcst as cst

from kexec_lint.opencl.api import pyopencl
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.tree import Tree


def models(call: cst.Call) -> list[CallModel]:
    """Return what the API tables say of calls by this name."""
    name = called(call)
    tables = [pyopencl.FUNCTIONS, *pyopencl.METHODS.values()]
    return [model for table in tables for key, model in table.items() if key.rpartition(".")[2] == name]


def called(call: cst.Call) -> str:
    """Return the last name of what is called, "" if it has none."""
    match call.func:
        case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
            return name
    return ""


def argument(call: cst.Call, *names: str) -> cst.Arg | None:
    """Return the argument that one of these parameters gets, by keyword or by its position in the API."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in names:
            return arg
    positional = [arg for arg in call.args if arg.keyword is None]
    if any(arg.star for arg in positional):
        return None
    for model in models(call):
        for name in names:
            if name in model.params and model.params.index(name) < len(positional):
                return positional[model.params.index(name)]
    return None


def wait_list(call: cst.Call) -> cst.Arg | None:
    """Return the wait list that a call is given, a kernel's too."""
    named = (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "wait_for")
    return next(named, None) or argument(call, "wait_for")


def add_keyword(tree: Tree, call: cst.Call, text: str) -> list[Change] | None:
    """Add `keyword=value` behind the last argument, on a row of its own if the last argument has one.

    None if a `**` argument may hold the keyword already.
    """
    if any(arg.star == "**" for arg in call.args):
        return None
    end = tree.range(call)[1] - 1
    if not call.args:
        return [Change(end, end, text)]
    last = call.args[-1]
    last_start, last_end = tree.whole(last.value)
    if last.keyword is not None:
        last_start = tree.range(last.keyword)[0]
    comma = isinstance(last.comma, cst.Comma)
    tail = tree.text[last_end:end]
    row_start = tree.text.rfind("\n", 0, last_start) + 1
    indent = tree.text[row_start:last_start].rstrip("*")
    if indent.strip() or "\n" not in tail:
        if "#" in tail or "\n" in tail:
            lead = "" if comma else ","
            at = last_end + tail.index(",") + 1 if comma and "#" not in tail.partition(",")[0] else last_end
            return [Change(at, at, f"{lead} {text}{',' if comma else ''}")]
        return [Change(last_end, last_end, f", {text}")]
    # A row of its own, above that of the closing parenthesis and below the comment of the last argument.
    at = end - len(tail) + tail.rindex("\n")
    if comma:
        return [Change(at, at, f"\n{indent}{text},")]
    if at == last_end:
        return [Change(at, at, f",\n{indent}{text}")]
    return [Change(last_end, last_end, ","), Change(at, at, f"\n{indent}{text}")]


def set_keyword(tree: Tree, call: cst.Call, name: str, value: str) -> list[Change] | None:
    """Give a parameter a value, whether it has one or not."""
    present = argument(call, name)
    if present is not None:
        return [Change(*tree.whole(present.value), value)]
    return add_keyword(tree, call, f"{name}={value}")


def remove_argument(tree: Tree, call: cst.Call, arg: cst.Arg) -> list[Change] | None:
    """Take an argument out, with the comma that parts it from its neighbour; None if a comment stands there."""
    index = call.args.index(arg)
    start, end = tree.range(arg.keyword)[0] if arg.keyword else tree.whole(arg.value)[0], tree.whole(arg.value)[1]
    if index:
        start = tree.whole(call.args[index - 1].value)[1]
    elif len(call.args) > 1:
        following = call.args[1]
        end = tree.range(following.keyword)[0] if following.keyword else tree.whole(following.value)[0]
    return None if "#" in tree.text[start:end] else [Change(start, end, "")]


def wait_for(tree: Tree, call: cst.Call, events: list[str], launch: bool = False) -> list[Change] | None:
    """Put events into the wait list of a call; one that starts with `*` stands for a list of them.

    `launch`: a kernel is called, whose name means nothing. None if the call is known to take no wait list, or may get
    one that cannot be seen.
    """
    own = tree.parameters(called(call), isinstance(call.func, cst.Attribute))
    known = [] if launch or own else models(call)
    if known and not any(model.wait in model.params or model.does == "generated" for model in known):
        return None
    if any(arg.star == "**" for arg in call.args):
        return None
    if launch or own:
        positional = [arg for arg in call.args if arg.keyword is None]
        present = next((arg for arg in call.args if arg.keyword and arg.keyword.value == "wait_for"), None)
        if present is None and "wait_for" in own and own.index("wait_for") < len(positional):
            present = positional[own.index("wait_for")]
    else:
        present = argument(call, "wait_for")
    if present is None:
        return add_keyword(tree, call, f"wait_for={_list(events)}")
    return widen(tree, present.value, events)


def widen(tree: Tree, value: cst.BaseExpression, events: list[str]) -> list[Change] | None:
    """Add events to an expression that is a wait list, None or either."""
    start, end = tree.whole(value)
    lists = [event[1:] for event in events if event.startswith("*")]
    single = [event for event in events if not event.startswith("*")]
    terms = "".join(f" + {term}" for term in [*([f"[{', '.join(single)}]"] if single else []), *lists])
    match value:
        case cst.Name(value="None"):
            return [Change(start, end, _list(events))]
        case cst.List(elements=[]) | cst.Tuple(elements=[]):
            return [Change(start, end, _list(events))]
        case cst.List(elements=elements) if single:
            joined = _append(tree, value, elements[-1], ", ".join(single))
            return [*joined, Change(end, end, "".join(f" + {term}" for term in lists))] if lists else joined
        case cst.Tuple(elements=elements) if value.lpar:
            return _append(tree, value, elements[-1], ", ".join(events))
        case cst.List() | cst.ListComp() | cst.BinaryOperation(operator=cst.Add()):
            return [Change(end, end, terms)]
        case cst.Attribute(attr=cst.Name(value="events")):
            return [Change(end, end, terms)]
        case cst.Name() | cst.Attribute() | cst.Subscript() | cst.Call():
            # What stands there may be None, a tuple or the list of somebody else: it is not changed, but copied.
            if lists and _is_list(tree, value):
                return [Change(end, end, terms)]
            text = tree.source(value)
            more = ", ".join(events)
            whole = f"[*{text}, {more}]" if _is_list(tree, value) else f"[*({text} or ()), {more}]"
            return [Change(start, end, whole)]
    return None


def _append(tree: Tree, value: cst.List | cst.Tuple, last: cst.BaseElement, more: str) -> list[Change]:
    _, last_end = tree.whole(last.value)
    last_start = tree.whole(last.value)[0]
    closing = (tree.range(value) if isinstance(value, cst.List) else tree.whole(value))[1] - 1
    tail = tree.text[last_end:closing]
    row_start = tree.text.rfind("\n", 0, last_start) + 1
    indent = tree.text[row_start:last_start].rstrip("*")
    if "\n" in tail and not indent.strip():
        at = closing - len(tail) + tail.rindex("\n")
        if isinstance(last.comma, cst.Comma):
            return [Change(at, at, f"\n{indent}{more},")]
        if at == last_end:
            return [Change(at, at, f",\n{indent}{more}")]
        return [Change(last_end, last_end, ","), Change(at, at, f"\n{indent}{more}")]
    return [Change(last_end, last_end, f", {more}")]


def _list(events: list[str]) -> str:
    """Return a list of events; those that start with `*` are lists already and are added to it."""
    single = [event for event in events if not event.startswith("*")]
    lists = [event[1:] for event in events if event.startswith("*")]
    return " + ".join([*([f"[{', '.join(single)}]"] if single else []), *lists])


def _is_list(tree: Tree, value: cst.BaseExpression) -> bool:
    """Return whether a variable gets nothing but list displays in its function."""
    if not isinstance(value, cst.Name):
        return False
    function = tree.function(value)
    if isinstance(function, cst.FunctionDef) and value.value in {p.name.value for p in function.params.params}:
        return False
    finder = _Assignments(value.value)
    function.visit(finder)
    return bool(finder.values) and all(isinstance(v, (cst.List, cst.ListComp)) for v in finder.values)


class _Assignments(cst.CSTVisitor):
    """Collects what a variable is assigned; None where it is bound in another way."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.values: list[cst.BaseExpression | None] = []

    def visit_Assign(self, node: cst.Assign) -> None:
        """Collect `name = value`."""
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                if target.target.value == self.name:
                    self.values.append(node.value)
            elif any(
                isinstance(e.value, cst.Name) and e.value.value == self.name
                for e in getattr(target.target, "elements", ())
            ):
                self.values.append(None)

    def visit_For(self, node: cst.For) -> None:
        """A loop variable is no list that can be seen."""
        if isinstance(node.target, cst.Name) and node.target.value == self.name:
            self.values.append(None)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        """Collect `(name := value)`."""
        if isinstance(node.target, cst.Name) and node.target.value == self.name:
            self.values.append(node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        """Collect `name: type = value`."""
        if isinstance(node.target, cst.Name) and node.target.value == self.name:
            self.values.append(node.value)
