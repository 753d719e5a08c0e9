"""Parser for PyTorch's operator schema language, without torch: `ns::op.overload(Tensor x, int k=2) -> Tensor`.

The grammar is that of `torch/csrc/jit/frontend/function_schema_parser.cpp` and `schema_type_parser.cpp` (2.13);
agreement with them on every schema of the wheel is a test (tests/aten/test_schema.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kexec_lint.aten import aten

Default = int | float | complex | bool | str | None | tuple["Default", ...]

BASE_TYPES = aten.words(
    "Tensor Generator ScalarType Layout MemoryFormat Storage QScheme Quantizer Device DeviceIndex "
    "Stream Scalar str "
    "float complex int SymInt bool SymBool None NoneType Capsule Any AnyClassType AnyEnumType"
)
GENERIC_TYPES = frozenset(("Dict", "Union", "Future", "Await", "RRef"))
ENUM_DEFAULTS = aten.words(
    "uint8 int8 short int long half float double complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 "
    "strided sparse contiguous_format preserve_format Mean Sum"
)
"""Identifiers that stand for a number as a default value."""
_NO_DEFAULT_TYPES = frozenset(
    ("Any", "AnyClassType", "AnyEnumType", "Capsule", "Storage", "QScheme", "Quantizer", "Stream")
)
_RESERVED = aten.words(
    "def while for in if else elif None True False and or not global import with break continue del "
    "pass class assert "
    "raise return is"
)
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
  | (?P<newline>\n)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<mark>->|\.\.\.|[()\[\]{},:*?!|=.+-])""",
    re.X,
)


class SchemaError(ValueError):
    """A text that is no operator schema. `offset` counts characters from its start."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class Type:
    """A schema type as written: `name` for a base type; `element` for `T[]`, `T[2]` (size 2) and `T?`."""

    name: str
    element: Type | None = None
    optional: bool = False
    size: int | None = None
    parts: tuple[Type, ...] = ()

    @property
    def base(self) -> str:
        """Name of the innermost type: `Tensor` for `Tensor?[]`."""
        return self.element.base if self.element else self.name

    @property
    def is_list(self) -> bool:
        """Whether it is a list, possibly optional."""
        return self.name == "[]" or bool(self.optional and self.element and self.element.is_list)

    def __str__(self) -> str:
        if self.element is None:
            return f"{self.name}({', '.join(map(str, self.parts))})" if self.parts else self.name
        return f"{self.element}?" if self.optional else f"{self.element}[{self.size or ''}]"


@dataclass(frozen=True)
class Alias:
    """An alias annotation: the sets before and after the call, and whether the operator writes."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    write: bool


@dataclass(frozen=True)
class Argument:
    """One argument or return value. `has_default` tells a default of None from no default."""

    name: str
    type: Type
    kwarg_only: bool = False
    has_default: bool = False
    default: Default = None
    alias: Alias | None = None

    @property
    def writes(self) -> bool:
        """Whether the operator declares to write to it."""
        return self.alias is not None and self.alias.write


@dataclass(frozen=True)
class Schema:
    """A parsed schema. `namespace` and `overload` are empty when not written."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def is_functional(self) -> bool:
        """No argument is written to and no return aliases one (torch's `is_functional_schema`)."""
        return not any(a.writes for a in self.arguments) and not any(r.alias for r in self.returns)

    def argument(self, name: str) -> Argument | None:
        """Return the argument of that name."""
        return next((a for a in self.arguments if a.name == name), None)


@lru_cache(4096)
def parse(text: str, typevars: bool = False) -> Schema:
    """Return the schema. Raises SchemaError where torch's parser does; see `_Parser.type` for `typevars`."""
    return _Parser(text, typevars).schema()


def split_name(text: str) -> tuple[str, str, str]:
    """Return (namespace, name, overload) of an operator name, each empty if absent."""
    namespace, _, rest = text.rpartition("::")
    name, _, overload = rest.partition(".")
    return namespace, name, overload


class _Parser:
    def __init__(self, text: str, typevars: bool) -> None:
        self.typevars = typevars
        self.fresh = 0
        self.at = 0
        self.tokens: list[tuple[str, str, int]] = []
        offset = depth = 0
        while offset < len(text):
            match = _TOKEN.match(text, offset)
            if match is None:
                raise SchemaError(f"a character that is no part of a schema: {text[offset]!r}", offset)
            kind, value = str(match.lastgroup), match.group()
            depth += (value in "([" and kind == "mark") - (value in ")]" and kind == "mark")
            if kind == "newline":
                # A line break is only white space inside brackets and at either end.
                if depth == 0 and self.tokens and text[offset:].strip():
                    raise SchemaError("a line break outside parentheses", offset)
            elif kind != "space":
                self.tokens.append((kind, value, offset))
            offset = match.end()
        self.tokens.append(("end", "the end", len(text)))

    def peek(self, value: str, ahead: int = 0) -> bool:
        kind, text, _ = self.tokens[min(self.at + ahead, len(self.tokens) - 1)]
        return kind in ("mark", "name") and text == value

    def take(self, value: str) -> bool:
        found = self.peek(value)
        self.at += found
        return found

    def fail(self, message: str) -> SchemaError:
        return SchemaError(message, self.tokens[self.at][2])

    def expect(self, value: str) -> None:
        if not self.take(value):
            raise self.fail(f"expected {value!r} but found {self.tokens[self.at][1]!r}")

    def identifier(self) -> str:
        kind, text, _ = self.tokens[self.at]
        if kind != "name" or text in _RESERVED:
            raise self.fail(f"expected a name but found {text!r}")
        self.at += 1
        return text

    def schema(self) -> Schema:
        namespace, name, overload = "", self.identifier(), ""
        if self.take(":"):
            self.expect(":")
            namespace, name = name, self.identifier()
        if self.take("."):
            overload = self.identifier()
            if overload == "default":
                raise self.fail("'default' is the name of the overload without a name; leave it out")
        arguments, is_vararg = self.arguments()
        self.expect("->")
        returns, is_varret = self.returns()
        if self.tokens[self.at][0] != "end":
            raise self.fail(f"expected the end but found {self.tokens[self.at][1]!r}")
        return Schema(namespace, name, overload, tuple(arguments), tuple(returns), is_vararg, is_varret)

    def arguments(self) -> tuple[list[Argument], bool]:
        found: list[Argument] = []
        kwarg_only = is_vararg = False
        self.expect("(")
        while not self.peek(")") or found or kwarg_only or is_vararg:
            if is_vararg:
                raise self.fail("'...' must be the last argument")
            if self.take("*"):
                kwarg_only = True
            elif self.take("..."):
                is_vararg = True
            else:
                argument = self.argument(kwarg_only)
                # Lists without default may follow a default: old serialized schemas have them.
                bare = not argument.has_default and argument.type.name != "[]"
                if not kwarg_only and bare and any(a.has_default for a in found):
                    raise self.fail(f"argument '{argument.name}' without default after one with a default")
                found.append(argument)
            if not self.take(","):
                break
        self.expect(")")
        return found, is_vararg

    def returns(self) -> tuple[list[Argument], bool]:
        if self.take("..."):
            return [], True
        if not self.peek("("):
            return [self.result()], False
        found: list[Argument] = []
        is_varret = False
        self.expect("(")
        while not self.peek(")") or found:
            if is_varret:
                raise self.fail("'...' must be the last return")
            if self.take("..."):
                is_varret = True
            else:
                found.append(self.result())
            if not self.take(","):
                break
        self.expect(")")
        return found, is_varret

    def argument(self, kwarg_only: bool) -> Argument:
        kind, alias = self.sized_type()
        name = self.identifier()
        if not self.take("="):
            return Argument(name, kind, kwarg_only, alias=alias)
        return Argument(name, kind, kwarg_only, True, self.default(kind), alias)

    def result(self) -> Argument:
        kind, alias = self.sized_type()
        token, text, _ = self.tokens[self.at]
        name = self.identifier() if token == "name" and text not in _RESERVED else ""
        return Argument(name, kind, alias=alias)

    def sized_type(self) -> tuple[Type, Alias | None]:
        kind, alias = self.type()
        if self.take("["):
            token, text, _ = self.tokens[self.at]
            if token != "number" or not text.isdigit():
                raise self.fail(f"expected a list size but found {text!r}")
            self.at += 1
            self.expect("]")
            kind = Type("[]", kind, size=int(text))
            outer = self.alias()
            alias = outer or alias
            if self.take("?"):
                kind = _optional(kind)
        return kind, alias

    def type(self) -> tuple[Type, Alias | None]:
        """Read a type and its alias annotation; lower-case names are type variables if `typevars` (JIT only)."""
        if self.peek("("):
            kind = Type("Tuple", parts=tuple(self.type_list()))
            alias = None
        else:
            name = "None" if self.take("None") else self.identifier()
            while name in ("torch", "__torch__") and self.take("."):
                name = f"{name}.{self.identifier()}"
            name = name.rpartition(".")[2] if name.startswith("torch.") else name
            if name in GENERIC_TYPES and self.peek("("):
                kind = Type(name, parts=tuple(self.type_list()))
            elif name.startswith("__torch__"):
                while self.take("."):
                    name = f"{name}.{self.identifier()}"
                kind = Type(name)
            elif name in BASE_TYPES or (self.typevars and name[0].islower()):
                kind = Type(name)
            else:
                raise SchemaError(f"unknown type '{name}'{_hint(name)}", self.tokens[self.at - 1][2])
            alias = self.alias()
        while True:
            if self.peek("[") and self.peek("]", 1):
                self.at += 2
                kind = Type("[]", kind)
                alias = self.alias() or alias
            elif self.take("?"):
                kind = _optional(kind)
            else:
                return kind, alias

    def type_list(self) -> list[Type]:
        self.expect("(")
        found: list[Type] = []
        while not self.peek(")") or found:
            found.append(self.sized_type()[0])
            if self.tokens[self.at][0] == "name":  # a named field of a tuple
                self.identifier()
            if not self.take(","):
                break
        self.expect(")")
        return found

    def alias(self) -> Alias | None:
        if self.take("!"):
            self.fresh += 1
            return Alias((f"${self.fresh - 1}",), (), True)
        if not self.take("("):
            return None
        before = self.alias_sets()
        write = self.take("!")
        after = self.alias_sets() if self.take("->") else before
        self.expect(")")
        return Alias(before, after, write)

    def alias_sets(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            found.append("*" if self.take("*") else self.identifier())
            if not self.take("|"):
                return tuple(found)

    def default(self, kind: Type) -> Default:
        if kind.optional and self.take("None"):
            return None
        inner = kind.element if kind.optional and kind.element else kind
        if inner.name == "[]" and inner.element:
            return self.list_default(inner)
        if inner.name == "Tensor":
            self.expect("None")
            return None
        if inner.name in _NO_DEFAULT_TYPES or inner.name in GENERIC_TYPES or inner.name not in BASE_TYPES:
            raise self.fail(f"a default value for type {inner}")
        token, text, _ = self.tokens[self.at]
        if inner.name == "Device":
            if token != "string" and text != "None":
                raise self.fail(f"expected a string but found {text!r}")
        elif inner.name == "Generator":
            self.expect("None")
            return None
        return self.scalar()

    def list_default(self, kind: Type) -> Default:
        element = kind.element
        assert element is not None
        if element.base not in ("int", "SymInt", "float", "complex", "bool", "Scalar", "ScalarType") or element.element:
            raise self.fail(f"a default value for type {kind}")
        if kind.size is not None and not self.peek("["):
            return (self.scalar(),) * kind.size
        self.expect("[")
        found: list[Default] = []
        while not self.peek("]") or found:
            found.append(self.scalar())
            if not self.take(","):
                break
        self.expect("]")
        return tuple(found)

    def scalar(self) -> Default:
        negative = self.take("-")
        kind, text, _ = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            value: int | float | complex
            if text.endswith("j"):
                value = complex(text)
            else:
                # Hexadecimal digits are one token to torch, and its conversion stops at the x.
                value = 0 if text[:2].lower() == "0x" else int(text) if text.isdigit() else float(text)
            return -value if negative else value
        if not negative:
            if kind == "string":
                return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1])
            if text in ("True", "False", "None"):
                return {"True": True, "False": False, "None": None}[text]
            if text in ENUM_DEFAULTS:
                return text
        self.at -= 1
        raise self.fail(f"expected a default value but found {text!r}")


def _optional(kind: Type) -> Type:
    return kind if kind.optional else Type("?", kind, optional=True)


def _hint(name: str) -> str:
    """Return what the author may have meant by an unknown type."""
    meant = {
        "double": "float",
        "float32": "float",
        "float64": "float",
        "int64": "int",
        "int64_t": "int",
        "int32": "int",
        "long": "int",
        "size_t": "int",
        "number": "Scalar",
        "string": "str",
        "tensor": "Tensor",
        "List": "T[]",
        "list": "T[]",
        "Sequence": "T[]",
        "Optional": "T?",
        "Tuple": "(T, U)",
        "tuple": "(T, U)",
        "Bool": "bool",
        "boolean": "bool",
        "Int": "int",
        "Float": "float",
        "Str": "str",
        "dtype": "ScalarType",
        "device": "Device",
        "SymFloat": "float",
        "TensorList": "Tensor[]",
        "void": "()",
    }.get(name)
    return f"; the schema language writes {meant}" if meant else ""
