"""Symbolic values of kernel variables: polynomials over ids, sizes and parameters, and what they depend on.

`get_global_id(d)` is `grp_d * lsz_d + lid_d`, so that "same work-group" is a question about polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_TERMS = 16

Terms = tuple[tuple[tuple[str, ...], int], ...]
"""A polynomial in canonical order: (atoms of the monomial, coefficient)."""


class Dep:
    """Bits of what a value depends on; those in DIVERGENT can differ between the work-items of a group."""

    NONE = 0
    LOCAL0 = 1
    LOCAL1 = 2
    LOCAL2 = 4
    GLOBAL0 = 8
    GLOBAL1 = 16
    GLOBAL2 = 32
    GROUP = 64
    DATA = 128  # memory read at an address that differs between work-items, or the result of an atomic
    MAYBE = 256  # not understood: may be uniform or not
    ATOMIC = 512  # result of an atomic on global memory, also by way of local memory
    LOAD = 1024  # global memory was read
    TILE = 2048  # derived from a local id or, by division, remainder or mask, from a global one
    LOCAL = LOCAL0 | LOCAL1 | LOCAL2
    GLOBAL = GLOBAL0 | GLOBAL1 | GLOBAL2
    DIVERGENT = LOCAL | GLOBAL | DATA


def dimension(of: int, d: int) -> int:
    """Return LOCALd or GLOBALd, given LOCAL0 or GLOBAL0."""
    return of << d


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar, or a pointer when `roots` is not empty: then `terms` is the offset in elements of `unit`.

    `parts` are the components of a vector made from scalars.
    """

    terms: Terms
    deps: int
    roots: frozenset[str] = frozenset()
    unit: str = ""
    parts: tuple[Value, ...] = ()


NOTHING = Value((), Dep.NONE)


@dataclass(frozen=True, slots=True)
class Atom:
    """An indivisible symbol. `op` and `parts` tell how an opaque one was computed."""

    op: str
    deps: int
    parts: tuple[Terms, ...] = ()


@dataclass
class Algebra:
    """Makes values and remembers what each atom is; equal expressions get the same atom."""

    atoms: dict[str, Atom] = field(default_factory=dict)
    _interned: dict[object, str] = field(default_factory=dict)
    _fresh: int = 0

    def number(self, value: int) -> Value:
        """Return a constant."""
        return Value((((), value),) if value else (), Dep.NONE)

    def symbol(self, name: str, deps: int = Dep.NONE) -> Value:
        """Return the value of a named atom."""
        self.atoms.setdefault(name, Atom("symbol", deps))
        return Value((((name,), 1),), deps)

    def fresh(self, op: str, deps: int) -> Value:
        """Return a value equal to no other."""
        self._fresh += 1
        name = f"{op}'{self._fresh}"
        self.atoms[name] = Atom(op, deps)
        return Value((((name,), 1),), deps)

    def opaque(self, op: str, parts: tuple[Terms, ...], deps: int, tag: object = None) -> Value:
        """Return the value of an operation that is not followed; the same operation on the same parts is equal."""
        key = (op, parts, tag)
        name = self._interned.get(key)
        if name is None:
            name = self._interned[key] = f"{op}~{len(self._interned)}"
            self.atoms[name] = Atom(op, deps, parts)
        return Value((((name,), 1),), deps)

    def add(self, left: Value, right: Value, sign: int = 1) -> Value:
        """Return left + sign * right."""
        terms = add_terms(left.terms, right.terms, sign)
        deps = left.deps | right.deps
        if len(terms) > MAX_TERMS:
            return self.opaque("sum", (left.terms, right.terms), deps, sign)
        return Value(terms, deps)

    def multiply(self, left: Value, right: Value) -> Value:
        """Return left * right."""
        deps = left.deps | right.deps
        product: dict[tuple[str, ...], int] = {}
        for atoms, factor in left.terms:
            for others, other in right.terms:
                key = tuple(sorted(atoms + others))
                product[key] = product.get(key, 0) + factor * other
        if len(product) > MAX_TERMS or any(len(key) > 6 for key in product):
            return self.opaque("product", tuple(sorted((left.terms, right.terms))), deps)
        return Value(canonical(product), deps)

    def term_deps(self, atoms: tuple[str, ...]) -> int:
        """Return what a monomial depends on."""
        deps = Dep.NONE
        for atom in atoms:
            deps |= self.atoms[atom].deps
        return deps

    def deps(self, terms: Terms) -> int:
        """Return what a polynomial depends on."""
        deps = Dep.NONE
        for atoms, _ in terms:
            deps |= self.term_deps(atoms)
        return deps


def canonical(terms: dict[tuple[str, ...], int]) -> Terms:
    """Return the polynomial in canonical order without zero terms."""
    return tuple(sorted((atoms, factor) for atoms, factor in terms.items() if factor))


def add_terms(left: Terms, right: Terms, sign: int = 1) -> Terms:
    """Return left + sign * right."""
    total = dict(left)
    for atoms, factor in right:
        total[atoms] = total.get(atoms, 0) + sign * factor
    return canonical(total)


def constant(terms: Terms) -> int | None:
    """Return the number that a polynomial is, None if it is none."""
    if not terms:
        return 0
    return terms[0][1] if len(terms) == 1 and not terms[0][0] else None


def divide(terms: Terms, by: Terms) -> Terms | None:
    """Return terms / by when every term is a whole multiple of the single monomial `by`, else None."""
    if len(by) != 1:
        return (((), 1),) if terms and terms == by else None
    divisor, factor = by[0]
    out: dict[tuple[str, ...], int] = {}
    for atoms, coefficient in terms:
        rest = list(atoms)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % factor:
            return None
        out[tuple(rest)] = coefficient // factor
    return canonical(out)
