"""The schema parser: what it reads, what it rejects, and that torch's own parser agrees."""

from __future__ import annotations

import itertools

import pytest

from kexec_lint.aten.schema import Schema, SchemaError, Type, parse


def torch_module() -> object:
    return pytest.importorskip("torch", reason="needs torch: pip install 'kexec-lint[export]'")


def test_everything_at_once() -> None:
    schema = parse("ns::f.out(Tensor(a!)? x, int[2] s=1, *, str m='sum', Tensor(b!)[] o) -> (Tensor(a!)?, int n)")
    assert (schema.namespace, schema.name, schema.overload) == ("ns", "f", "out")
    assert [a.name for a in schema.arguments] == ["x", "s", "m", "o"]
    assert [a.kwarg_only for a in schema.arguments] == [False, False, True, True]
    assert [a.writes for a in schema.arguments] == [True, False, False, True]
    assert schema.arguments[1].type == Type("[]", Type("int"), size=2)
    assert schema.arguments[1].default == (1, 1)
    assert schema.arguments[2].default == "sum"
    assert [str(a.type) for a in schema.arguments] == ["Tensor?", "int[2]", "str", "Tensor[]"]
    assert [r.name for r in schema.returns] == ["", "n"]
    assert not schema.is_functional
    assert parse("f() -> ()").returns == ()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f(float32 x) -> Tensor", "float"),
        ("f(List[int] x) -> Tensor", "T[]"),
        ("f(double x) -> Tensor", "float"),
        ("f(Tensor x -> Tensor", "expected ')'"),
        ("f(Tensor) -> Tensor", "expected a name"),
        ("f(int k=1, float g) -> Tensor", "without default"),
        ("f.default(Tensor x) -> Tensor", "default"),
        ("f(..., int x) -> ()", "last argument"),
        ("f(Tensor x) -> Tensor;", "no part of a schema"),
    ],
)
def test_rejected_with_a_reason(text: str, part: str) -> None:
    with pytest.raises(SchemaError, match=r".") as caught:
        parse(text)
    assert part in str(caught.value)
    assert 0 <= caught.value.offset <= len(text)


def outline(schema: object) -> tuple[object, ...]:
    """What torch's parser says of a schema."""
    arguments = tuple(
        (
            a.name,
            a.kwarg_only,
            a.has_default_value(),
            a.alias_info is not None,
            a.alias_info is not None and a.alias_info.is_write,
        )
        for a in schema.arguments  # type: ignore[attr-defined]
    )
    returns = tuple((r.name, r.alias_info is not None) for r in schema.returns)  # type: ignore[attr-defined]
    return schema.name, schema.overload_name, arguments, returns  # type: ignore[attr-defined]


def own_outline(schema: Schema) -> tuple[object, ...]:
    name = f"{schema.namespace}::{schema.name}" if schema.namespace else schema.name
    arguments = tuple((a.name, a.kwarg_only, a.has_default, a.alias is not None, a.writes) for a in schema.arguments)
    return name, schema.overload, arguments, tuple((r.name, r.alias is not None) for r in schema.returns)


def own_type(kind: Type) -> str:
    """A type as torch prints it: `Optional[List[int]]`."""
    if kind.optional and kind.element:
        return f"Optional[{own_type(kind.element)}]"
    if kind.element:
        return f"List[{own_type(kind.element)}]"
    enumerations = {"ScalarType": "int", "Layout": "int", "MemoryFormat": "int", "DeviceIndex": "int"}
    names = {**enumerations, "Scalar": "number", "SymInt": "int", "SymBool": "bool", "None": "NoneType"}
    return names.get(kind.name, kind.name)


def test_agrees_on_every_schema_of_the_wheel() -> None:
    torch = torch_module()
    schemas = torch._C._jit_get_all_schemas()  # type: ignore[attr-defined]
    texts = {str(s) for s in schemas}
    assert len(texts) > 3000
    different = []
    for text in sorted(texts):
        if "PyObject" in text:
            continue  # printed by torch, and read by no parser of it
        theirs = torch._C.parse_schema(text)  # type: ignore[attr-defined]
        mine = parse(text, typevars=True)
        same = own_outline(mine) == outline(theirs)
        for a, b in zip(mine.arguments, theirs.arguments, strict=True):
            if a.type.base not in ("Tuple", "Dict", "Union", "Future", "Await", "RRef") and "." not in a.type.base:
                listed = a.type.element if a.type.optional and a.type.element else a.type
                same &= own_type(a.type) == str(b.type) and listed.size == b.N
                if isinstance(a.default, (int, float, bool, str)) and not isinstance(
                    b.default_value, (list, torch.dtype)
                ):
                    same &= a.default == b.default_value or isinstance(a.default, str)  # type: ignore[attr-defined]
        if not same:
            different.append(text)
    assert different == []


def malformed() -> list[str]:
    """Texts made from good schemas by one mistake each."""
    good = (
        "f(Tensor x, int k=2) -> Tensor",
        "ns::f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "f(Tensor[] xs, float? eps=None, int[2] s=1) -> (Tensor, Tensor)",
        "f(str m='sum', bool b=True, ScalarType? d=None) -> ()",
        "ns::g(Tensor(a) x, int k=2, *, str m='sum', float? eps=None, int[2] s=1) -> (Tensor(a), Tensor)",
        "f(Tensor(a!) x, bool b=True, *, Tensor(b!) out) -> (Tensor(a!), Tensor(b!))",
        "ns::h.out(Tensor x, bool b=True, str m='sum', *, Tensor(a!) out) -> Tensor(a!)",
        "f(Tensor[] xs, int k=2, str m='sum', ScalarType? d=None, float? eps=None) -> Tensor[]",
    )
    changes = (
        ("(", ""),
        (")", ""),
        ("->", ""),
        ("->", "=>"),
        (",", ""),
        (",", ",,"),
        (" x", ""),
        ("Tensor", "Tensor Tensor"),
        ("Tensor", "List[Tensor]"),
        ("Tensor", "torch.Tensor[Tensor]"),
        ("int", "Int"),
        ("int", "Optional[int]"),
        ("float", "Float"),
        ("bool", "Bool"),
        ("?", "??("),
        ("=", "=="),
        ("=2", "="),
        ("=None", "=nothing"),
        ("=True", "=true"),
        ("'sum'", "sum"),
        ("'sum'", "'sum"),
        ("(a!)", "(!)"),
        ("(a!)", "(a!"),
        ("[2]", "[two]"),
        ("[2]", "[2"),
        (".out", ".default"),
        (".out", "."),
        ("::", ":"),
        ("::", "::::"),
        ("f", "1f"),
        ("f", ""),
        ("*", "**"),
        ("*", "*,"),
        ("-> Tensor", "-> Tensor, Tensor"),
        ("-> (", "-> (("),
        ("-> ()", "->"),
        ("Tensor x", "Tensor x y"),
        ("k=2", "k=2 3"),
        (" k", " in"),
        (" k", " def"),
        (" k", " 2k"),
        ("eps", "eps-2"),
        ("s=1", "s=[1"),
        ("s=1", "s=1]"),
        ("s=1", "s={1}"),
        ("xs", "x.s"),
        ("out)", "out;"),
        ("int k=2", "int k=2, Tensor y"),
        ("int k", "void* k"),
        ("int k", "const int k"),
        ("Tensor x", "const Tensor& x"),
        ("Tensor", "Tensor<float>"),
        ("ScalarType", "torch.dtype"),
        ("str", "Str"),
        ("Tensor)", "Tensor,)"),
        ("Tensor(a!) out", "Tensor(a!)"),
    )
    found = [text.replace(a, b, 1) for text, (a, b) in itertools.product(good, changes) if a in text]
    return list(dict.fromkeys(text for text in found if text not in good))


def test_rejects_what_torch_rejects() -> None:
    """Malformed schemas: the same verdict as `Library.define`, which knows no type variables."""
    torch = torch_module()
    texts = malformed()
    rejected = 0
    for text in texts:
        try:
            torch._C.parse_schema(text)  # type: ignore[attr-defined]
            theirs = True
        except (RuntimeError, ValueError):
            theirs = False
        try:
            parse(text, typevars=True)
            mine = True
        except SchemaError:
            mine = False
        assert mine == theirs, text
        rejected += not theirs
    assert rejected >= 200
