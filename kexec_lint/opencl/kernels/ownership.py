"""Whether an element that one work-item reads may be one that another work-group writes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kexec_lint.opencl.kernels.symbolic import Algebra, Atom, Dep, Terms, add_terms, canonical, constant, divide
from kexec_lint.opencl.kernels.walk import Event, Guard

_INTERIOR = {"%", "&", "/", "^"}
_ALTERNATIVES = {"min", "max", "clamp", "select", "?", "%"}


@dataclass(frozen=True)
class Index:
    """An element index split into what depends on the group, on the item within its group, and on neither."""

    group: Terms
    local: Terms
    rest: Terms
    deps: int


class Judge:
    """Compares the indices of one kernel."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    def split(self, terms: Terms) -> Index:
        """Return the three parts of an index."""
        group: dict[tuple[str, ...], int] = {}
        local: dict[tuple[str, ...], int] = {}
        rest: dict[tuple[str, ...], int] = {}
        for atoms, factor in terms:
            deps = self.algebra.term_deps(atoms)
            if deps & (Dep.GROUP | Dep.GLOBAL):
                group[atoms] = factor
            elif deps & (Dep.LOCAL | Dep.DATA):
                local[atoms] = factor
            else:
                rest[atoms] = factor
        return Index(canonical(group), canonical(local), canonical(rest), self.algebra.deps(terms))

    def foreign(self, read: Event, write: Event) -> bool | None:
        """Say whether the read may meet another work-group's write: True, False (its own group's), None (unknown).

        True is said only where the two indices are understood well enough to name an element of another group.
        """
        if read.index.unit != write.index.unit or any(self.one_group_launched(guard) for guard in read.guards):
            return None
        ours, theirs = read.index.terms, write.index.terms
        mine, its = self.split(ours), self.split(theirs)
        if (mine.deps | its.deps) & Dep.MAYBE:
            return self.alternatives(read, write, ours)
        if ours == theirs:
            if not its.group and not its.local and self.one_group(write.guards) and not self.one_group(read.guards):
                return True
            by_one = not its.group and its.local and self.first_group(write.guards)
            return bool(by_one and not self.one_group(read.guards))
        if not its.group:
            return None
        if read.width is None or write.width is None:
            return None
        if self.has_table(mine) != self.has_table(its):
            return self.through_table(read, mine, its)
        if self.has_table(mine):
            return None
        if self.is_opaque(mine.group) or self.is_opaque(its.group):
            return self.alternatives(read, write, ours)
        if not mine.group:
            return self.fixed(read, mine, its)
        if mine.group != its.group:
            return True
        return self.shifted(read, mine, its)

    # --- kinds of indices

    def fixed(self, read: Event, mine: Index, its: Index) -> bool | None:
        """Judge a read at a place that is the same for all groups, of what every group writes for itself."""
        if any(self.of_tile(guard) for guard in read.guards if guard.kind == "loop"):
            return None  # as many elements as one group has: written for a single group
        if mine.local:
            return True if not its.local else None
        looping = any("@" in atom for atoms, _ in mine.rest for atom in atoms)
        if not looping and self.one_group(read.guards):
            return False
        if looping and self.one_group(read.guards) and self.constant_bound(read.guards):
            return None
        return True

    def shifted(self, read: Event, mine: Index, its: Index) -> bool | None:
        """Judge two indices that move alike with the group."""
        difference = add_terms(mine.rest, its.rest, -1)
        if mine.local != its.local:
            number = constant(difference)
            if not mine.local and number is not None and number < 0:
                return True  # before the first element of its own group
            return None
        if not difference:
            return False
        if self.varies(mine.rest) and self.varies(its.rest):
            difference = tuple(t for t in difference if not any("@" in atom for atom in t[0]))
            if not difference:
                return None
        elif self.varies(its.rest):
            return None
        if its.local and any(self.within_tile(guard) for guard in read.guards):
            return None
        strides = self.strides(its)
        if strides is None:
            return None
        numbered = any(constant(s) is None and divide(difference, s) is not None for s, _ in strides)
        rows = not numbered and self.whole_rows(difference, mine.rest + its.rest)
        for stride, full in strides:
            number = constant(stride)
            if number is not None:
                amount = constant(difference)
                if full and amount is not None and abs(amount) >= max(abs(number), read.width or 1):
                    return True
                if full and number == 1 and amount is None and not rows:
                    return True
                if not full and amount is not None and amount and amount % number == 0:
                    return True
            else:
                fixed = tuple(term for term in difference if term[0])
                ratio = divide(fixed, stride)
                times = constant(ratio) if ratio is not None else None
                if times:
                    return True
        return None

    def whole_rows(self, difference: Terms, rest: Terms) -> bool:
        """Say whether a distance is rows of a table, `width * (from - to)`, of which the items number the columns.

        A single `width` is one row where an index has a product with it: `(t - 1) * width + id`, `t * width + id`.
        """
        widths = set.intersection(*(set(atoms) for atoms, _ in difference))
        if any(name.startswith("lsz") for name in widths):
            return False
        known = {name for atoms, _ in rest if len(atoms) > 1 for name in atoms}
        return bool(widths) and (all(len(atoms) > 1 for atoms, _ in difference) or not widths.isdisjoint(known))

    def strides(self, index: Index) -> list[tuple[Terms, bool]] | None:
        """Return the steps between neighbours in each dimension; None when the index is not linear.

        (elements from item to item, True) where the items of all groups are numbered through, else (elements from
        group to group, False).
        """
        out: list[tuple[Terms, bool]] = []
        for d in range(3):
            by_group = self.coefficient(index.group, f"grp{d}")
            by_item = self.coefficient(index.local, f"lid{d}")
            if by_group is None or by_item is None:
                return None
            if not by_group:
                continue
            size = divide(by_group, by_item) if len(by_item) == 1 else None
            through = size is not None and (size == ((((f"lsz{d}",)), 1),) or self.is_size(size))
            out.append((by_item, True) if through else (by_group, False))
        return out or None

    def is_size(self, terms: Terms) -> bool:
        """Say whether these terms are the constant size of a work-group."""
        return constant(terms) is not None and constant(terms) == self.size

    size: int | None = None
    """Work-items of a group in dimension 0 where the kernel fixes it."""

    def coefficient(self, terms: Terms, name: str) -> Terms | None:
        """Return what `name` is multiplied by; None if it occurs in an operation that is not followed."""
        out: dict[tuple[str, ...], int] = {}
        for atoms, factor in terms:
            if atoms.count(name) > 1:
                return None
            if name in atoms:
                rest = list(atoms)
                rest.remove(name)
                out[tuple(rest)] = factor
        return canonical(out)

    def through_table(self, read: Event, mine: Index, its: Index) -> bool | None:
        """Judge a read or write whose index was itself read from memory, against one made of ids."""
        if any(self.within_tile(guard) for guard in read.guards):
            return None
        table, plain = (mine, its) if self.has_table(mine) else (its, mine)
        if self.is_opaque(plain.group) or not plain.group or plain.deps & Dep.DATA:
            return None
        return True if not table.group or self.only_tables(table.group) else None

    def alternatives(self, read: Event, write: Event, ours: Terms) -> bool | None:
        """Judge an index clamped or wrapped by min, max, clamp, `%` or `?:` by what is inside."""
        found = self.single(ours)
        if found is None:
            return None
        atom, rest = found
        inner: tuple[Terms, ...] = ()
        if atom.op in _ALTERNATIVES:
            inner = atom.parts[:1] if atom.op in ("%", "clamp") else atom.parts
            if atom.op == "?":
                inner = atom.parts[1:]
        elif atom.op == "^" and len(atom.parts) == 2:
            return self.exchanged(read, write, atom.parts)
        answers = []
        for part in inner:
            if not self.algebra.deps(part) & Dep.GROUP:
                continue
            changed = replace(read, index=replace(read.index, terms=add_terms(part, rest)))
            answers.append(self.foreign(changed, write))
        return True if True in answers else None

    def exchanged(self, read: Event, write: Event, parts: tuple[Terms, ...]) -> bool | None:
        """Judge `id ^ step`, the partner in a butterfly: another group's once the step outgrows the group."""
        for own, step in (parts, parts[::-1]):
            if own == write.index.terms and not self.algebra.deps(step) & Dep.DIVERGENT and constant(step) is None:
                tiled = any(self.of_tile(guard) for guard in read.guards)
                return None if tiled else True
        return None

    # --- questions about parts

    def single(self, terms: Terms) -> tuple[Atom, Terms] | None:
        """Return the one opaque group-dependent atom of an index and the rest; None if there is no such one."""
        opaque = [t for t in terms if self.algebra.term_deps(t[0]) & (Dep.GROUP | Dep.GLOBAL)]
        if len(opaque) != 1 or len(opaque[0][0]) != 1 or opaque[0][1] != 1:
            return None
        atom = self.algebra.atoms[opaque[0][0][0]]
        return (atom, tuple(t for t in terms if t is not opaque[0])) if atom.parts else None

    def has_table(self, index: Index) -> bool:
        """Say whether an index depends on data that was read at an address of the work-item's own."""
        return bool(index.deps & Dep.DATA)

    def only_tables(self, terms: Terms) -> bool:
        """Say whether every group-dependent atom of the terms is a value read from memory."""
        names = [a for atoms, _ in terms for a in atoms if self.algebra.atoms[a].deps & (Dep.GROUP | Dep.GLOBAL)]
        return all(self.algebra.atoms[name].op == "load" for name in names)

    def is_opaque(self, terms: Terms) -> bool:
        """Say whether group-dependent terms hold anything but group ids, sizes and plain factors."""
        for atoms, _ in terms:
            for name in atoms:
                atom = self.algebra.atoms[name]
                if atom.deps & (Dep.GROUP | Dep.GLOBAL) and (atom.op != "symbol" or not name.startswith("grp")):
                    return True
        return False

    def varies(self, terms: Terms) -> bool:
        """Say whether terms change from one iteration of a loop to the next."""
        return any("@" in name for atoms, _ in terms for name in atoms)

    def of_tile(self, guard: Guard) -> bool:
        """Say whether a condition speaks of local ids or of the group's size (not just within a global id)."""
        if guard.value.deps & Dep.LOCAL:
            return True
        stack = [guard.value.terms]
        seen: set[str] = set()
        while stack:
            for atoms, _ in stack.pop():
                if any(name.startswith("lsz") for name in atoms) and not any(n.startswith("grp") for n in atoms):
                    return True
                for name in set(atoms) - seen:
                    seen.add(name)
                    stack += self.algebra.atoms[name].parts
        return False

    def within_tile(self, guard: Guard) -> bool:
        """Say whether a condition may keep a work-item's neighbour inside its own group."""
        return bool(guard.value.deps & (Dep.TILE | Dep.MAYBE)) or self.of_tile(guard)

    def compared(self, guard: Guard) -> tuple[str, Terms] | None:
        """Return (operator, difference of the sides) of a comparison."""
        terms = guard.value.terms
        if len(terms) != 1 or len(terms[0][0]) != 1:
            return None
        atom = self.algebra.atoms[terms[0][0][0]]
        if atom.op not in ("==", "!=", "<", ">", "<=", ">=") or len(atom.parts) != 2:
            return None
        return atom.op, add_terms(atom.parts[0], atom.parts[1], -1)

    def one_group(self, guards: tuple[Guard, ...]) -> bool:
        """Say whether conditions let only one group, or one item of the whole range, through."""
        return any(self.selects(guard) for guard in guards)

    def one_group_launched(self, guard: Guard) -> bool:
        """Say whether a condition holds only when the launch has a single work-group: `get_num_groups(0) == 1`."""
        compared = self.compared(guard)
        sizes = {name for atoms, _ in (compared[1] if compared else ()) for name in atoms}
        equal = compared is not None and compared[0] == ("==" if guard.holds else "!=")
        return equal and any(name.startswith(("ngrp", "gsz")) for name in sizes)

    def selects(self, guard: Guard) -> bool:
        """Say whether a condition is `id == something the same for all`, of group or global ids."""
        if guard.value.deps & (Dep.DATA | Dep.MAYBE):
            return False
        compared = self.compared(guard)
        if compared is None:  # `if (!gid)`, `if (a && gid == 0)`
            return self.selects_inside(guard)
        operator, difference = compared
        wanted = "==" if guard.holds else "!="
        return operator == wanted and bool(self.split(difference).group)

    def selects_inside(self, guard: Guard) -> bool:
        """Look for such a comparison inside `!x` and `a && b`."""
        terms = guard.value.terms
        if len(terms) != 1 or len(terms[0][0]) != 1:
            return not guard.holds and bool(self.split(terms).group)
        atom = self.algebra.atoms[terms[0][0][0]]
        if not atom.parts:
            return not guard.holds and bool(self.split(terms).group)
        holds = guard.holds != (atom.op == "!")
        if (atom.op == "&&" and guard.holds) or (atom.op == "||" and not guard.holds) or atom.op == "!":
            for part in atom.parts:
                value = replace(guard.value, terms=part, deps=self.algebra.deps(part))
                if self.selects(replace(guard, value=value, holds=holds)):
                    return True
        return False

    def first_group(self, guards: tuple[Guard, ...]) -> bool:
        """Say whether conditions single out one group by its own id."""
        return any(self.selects(guard) and not guard.value.deps & (Dep.GLOBAL | Dep.LOCAL) for guard in guards)

    def constant_bound(self, guards: tuple[Guard, ...]) -> bool:
        """Say whether a loop around runs to a number written in the text."""
        for guard in guards:
            if guard.kind == "loop":
                terms = guard.value.terms
                atom = self.algebra.atoms[terms[0][0][0]] if len(terms) == 1 and terms[0][0] else None
                if atom is not None and any(constant(part) is not None for part in atom.parts):
                    return True
        return False
