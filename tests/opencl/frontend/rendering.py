"""The host program as short text, so that tests read as tables of source and meaning. Spans are left out."""

from __future__ import annotations

from kexec_lint.opencl.frontend.python import lower
from kexec_lint.opencl.program import (
    Arg,
    Assign,
    Attr,
    AugAssign,
    Bind,
    Call,
    Choice,
    Class,
    Comprehension,
    Const,
    Delete,
    Evaluate,
    Format,
    Function,
    If,
    Import,
    Item,
    Jump,
    Lambda,
    Loop,
    Mapping,
    Module,
    Name,
    Opaque,
    Operation,
    Param,
    Raise,
    Return,
    Scope,
    Seq,
    Slice,
    Star,
    Statement,
    Try,
    Value,
    With,
)
from kexec_lint.source import Source


def module(text: str) -> Module:
    return lower(Source("test.py", text, text.encode()))


def lines(text: str) -> list[str]:
    """Lower a text and render it, one statement a line, blocks indented."""
    return block(module(text).body)


def value(node: Value | None) -> str:
    match node:
        case None:
            return "-"
        case Const(value=constant):
            return repr(constant)
        case Name(id=name):
            return name
        case Attr(base=base, name=name):
            return f"{value(base)}.{name}"
        case Item(base=base, index=index):
            return f"{value(base)}[{value(index)}]"
        case Slice(lower=lower, upper=upper, step=step):
            return f"<{value(lower)}:{value(upper)}:{value(step)}>"
        case Call(func=func, args=args):
            return f"{value(func)}({', '.join(map(arg, args))})"
        case Seq(kind=kind, items=items):
            return f"{kind}<{', '.join(map(value, items))}>"
        case Star(value=inner):
            return f"*{value(inner)}"
        case Mapping(items=items):
            return "dict<" + ", ".join(f"{value(key)}: {value(inner)}" for key, inner in items) + ">"
        case Operation(op=op, operands=operands):
            return f"<{op} {' '.join(map(value, operands))}>"
        case Choice(test=test, then=then, orelse=orelse):
            return f"<{value(test)} ? {value(then)} : {value(orelse)}>"
        case Format(parts=parts):
            return f"format<{', '.join(map(value, parts))}>"
        case Comprehension(kind=kind, element=element, clauses=clauses, key=key):
            head = value(element) if key is None else f"{value(key)}: {value(element)}"
            loops = [
                f" for {value(one.target)} in {value(one.iter)}" + "".join(f" if {value(test)}" for test in one.tests)
                for one in clauses
            ]
            return f"{kind}<{head}{''.join(loops)}>"
        case Lambda(params=params, body=body):
            return f"lambda<{', '.join(map(param, params))}: {'; '.join(block(body))}>"
        case Bind(target=target, value=inner):
            return f"<{value(target)} := {value(inner)}>"
        case Opaque(kind=kind, parts=parts):
            return f"?{kind}<{', '.join(map(value, parts))}>"
    raise AssertionError(node)


def arg(node: Arg) -> str:
    return (f"{node.keyword}=" if node.keyword else "*" * node.star) + value(node.value)


def param(node: Param) -> str:
    text = ("kw " if node.keyword_only else "") + "*" * node.star + node.name
    text += f": {node.type}" if node.type else ""
    return text if node.default is None else f"{text}={value(node.default)}"


def block(body: tuple[Statement, ...]) -> list[str]:
    return [line for statement in body for line in _statement(statement)]


def _indented(body: tuple[Statement, ...], title: str | None = None) -> list[str]:
    if title is not None and not body:
        return []
    return ([] if title is None else [title]) + ["  " + line for line in block(body)]


def _statement(node: Statement) -> list[str]:
    match node:
        case Assign(targets=targets, value=inner, type=written):
            return [" = ".join([*map(value, targets), value(inner)]) + (f" : {written}" if written else "")]
        case AugAssign(target=target, op=op, value=inner):
            return [f"{value(target)} {op}= {value(inner)}"]
        case Evaluate(value=inner):
            return [value(inner)]
        case Return(value=inner):
            return [f"return {value(inner)}"]
        case Raise(value=inner):
            return [f"raise {value(inner)}"]
        case Jump(kind=kind):
            return [kind]
        case If(test=test, then=then, orelse=orelse):
            return [f"if {value(test)}", *_indented(then), *_indented(orelse, "else")]
        case Loop(target=target, iter=source, test=test, body=body, orelse=orelse):
            head = f"while {value(test)}" if source is None else f"for {value(target)} in {value(source)}"
            return [head, *_indented(body), *_indented(orelse, "else")]
        case With(items=items, body=body):
            heads = [value(one) + (f" as {value(target)}" if target else "") for one, target in items]
            return ["with " + ", ".join(heads), *_indented(body)]
        case Try(body=body, handlers=handlers, orelse=orelse, final=final):
            result = ["try", *_indented(body)]
            for kind, name, handler in handlers:
                result += [f"except {value(kind)} as {name or '-'}", *_indented(handler)]
            return [*result, *_indented(orelse, "else"), *_indented(final, "finally")]
        case Delete(targets=targets):
            return ["del " + ", ".join(map(value, targets))]
        case Function(name=name, params=params, body=body, decorators=decorators):
            marks = ("async " if node.is_async else "") + ("generator " if node.is_generator else "")
            head = f"{marks}def {name}({', '.join(map(param, params))})"
            return [*(f"@{value(one)}" for one in decorators), head, *_indented(body)]
        case Class(name=name, bases=bases, body=body, decorators=decorators):
            head = f"class {name}({', '.join(map(value, bases))})"
            return [*(f"@{value(one)}" for one in decorators), head, *_indented(body)]
        case Import(module=name, names=names, level=level):
            bound = ", ".join(f"{one or '-'} as {alias or '-'}" for one, alias in names)
            return [f"import {'.' * level}{name}: {bound}"]
        case Scope(kind=kind, names=names):
            return [f"{kind} {', '.join(names)}"]
    raise AssertionError(node)
