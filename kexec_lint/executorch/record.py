"""`NamedTuple` without `typing`: importing that, and compiling what it makes, costs more than reading a program."""

from __future__ import annotations

from operator import itemgetter


class NamedTuple(tuple):  # type: ignore[type-arg]  # type checkers see typing.NamedTuple in its place
    """A tuple whose annotated names are its items; the last of them may have defaults."""

    __slots__ = ()
    _names: tuple[str, ...] = ()
    _defaults: dict[str, object] = {}  # noqa: RUF012  # each class has its own

    def __init_subclass__(cls) -> None:
        """Make the names properties."""
        cls._names = tuple(cls.__annotations__)
        cls._defaults = {name: cls.__dict__[name] for name in cls._names if name in cls.__dict__}
        for index, name in enumerate(cls._names):
            setattr(cls, name, property(itemgetter(index)))

    def __new__(cls, *values: object, **named: object) -> NamedTuple:
        """Make one from values by position and by name."""
        if named or len(values) != len(cls._names):
            rest = cls._names[len(values) :]
            given = {**cls._defaults, **named}
            if len(values) > len(cls._names) or not named.keys() <= set(rest) or not given.keys() >= set(rest):
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._names)}")
            values = (*values, *(given[name] for name in rest))
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        """Show the items with their names."""
        shown = (f"{name}={value!r}" for name, value in zip(self._names, self, strict=True))
        return f"{type(self).__name__}({', '.join(shown)})"
