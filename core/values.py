"""How a value is made: as attrs makes it, but for what attrs would compile for each class anew.

attrs writes and compiles the methods of a class when its module is imported: half a millisecond,
more than half of it for how its values are compared, hashed and shown. A program that speaks one
protocol has some 300 such classes and compares the values of few. So `value` gives all of them the
same three methods, which do what those of attrs would.
"""

from __future__ import annotations

from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from attrs import frozen as value  # what type checkers know
else:
    import attrs

    def value(cls):
        """As `attrs.frozen` without arguments. What the class defines itself stays as it is."""
        shared = _SHOWN if "__eq__" in cls.__dict__ else _ALL
        for name in shared:
            if name not in cls.__dict__:
                setattr(cls, name, getattr(_Methods, name))
        made = attrs.frozen(cls)
        compared = [each.name for each in attrs.fields(made) if each.eq]
        made._compared = attrgetter("__class__", *compared)
        return made


__all__ = ["value"]

_SHOWN: Final = ("__repr__",)
_ALL: Final = ("__eq__", "__hash__", "__repr__")


class _Methods:
    """Never made: its methods are those of every value."""

    _compared: Any
    __attrs_attrs__: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self._compared(self) == self._compared(other))

    def __hash__(self) -> int:
        return hash(self._compared(self))

    @recursive_repr("...")
    def __repr__(self) -> str:
        fields = (
            f"{each.name}={(repr if each.repr is True else each.repr)(getattr(self, each.name))}"
            for each in self.__attrs_attrs__
            if each.repr
        )
        return f"{self.__class__.__qualname__.rpartition('>.')[2]}({', '.join(fields)})"
