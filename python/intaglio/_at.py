"""Updates as values: `x.at[key].set(v)` and its like, with JAX's names. `x` stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _functions, _intaglio

Tensor = _intaglio.Tensor
_fn = _functions.functions


class At:
    """What `x.at` gives: `x.at[key]` names elements, by any key that `x[key]` takes."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> Place:
        return Place(self._x, key)

    def __repr__(self) -> str:
        return f"At({self._x!r})"


class Place:
    """The elements of an array that a key names. Each method gives a new array, and leaves the old one.

    Where positions occur several times, `add`, `multiply`, `min` and `max` (and what is made of them) take all updates;
    of `set` the last one stands.

    Parameters of the methods
    -------------------------
    values : array or number
        Broadcast to the elements, in the array's dtype.
    mode : str, optional
        What becomes of positions in index arrays that an axis does not have. Without it they are an error, when the
        program runs; "drop" leaves such updates out, "clip" takes the nearest position, "fill" (of `get`) gives
        `fill_value`, "promise_in_bounds" does not look. Negative ones count from the end first.
    indices_are_sorted, unique_indices : bool
        Hints that JAX takes; they change nothing here.

    Raises
    ------
    IndexError, ShapeError, TypeError, ValueError
        As `x[key] = values` does; a mode of another name.

    Examples
    --------
    >>> import intaglio as ig
    >>> x = ig.zeros(4)
    >>> x.at[1].set(5.0)
    Tensor([0., 5., 0., 0.], dtype=float32)
    >>> x.at[ig.asarray([0, 0, 3])].add(1.0)
    Tensor([2., 0., 0., 1.], dtype=float32)
    >>> ig.grad(lambda v: ig.sum(x.at[::2].set(v) ** 2))(ig.asarray([1.0, 2.0]))
    Tensor([2., 4.], dtype=float32)
    >>> x.at[ig.asarray([1, 9])].set(7.0, mode="drop"), x
    (Tensor([0., 7., 0., 0.], dtype=float32), Tensor([0., 0., 0., 0.], dtype=float32))
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Tensor, key: Any) -> None:
        self._x, self._key = x, key

    def get(
        self,
        *,
        mode: str | None = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Tensor:
        """The elements; with mode "fill" `fill_value` (NaN, or the least number) where there is none."""
        if fill_value is None and mode == "fill":
            fill_value = _nothing(self._x.dtype)
        return _intaglio._taken(self._x, self._key, mode, 0 if fill_value is None else fill_value)

    def set(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The values in their places."""
        return _intaglio._updated(self._x, self._key, values, "set", mode)

    def add(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The elements plus the values."""
        return _intaglio._updated(self._x, self._key, values, "add", mode)

    def subtract(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The elements minus the values."""
        return _intaglio._updated(self._x, self._key, _fn["negative"](self._like(values)), "add", mode)

    def multiply(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The elements times the values."""
        return _intaglio._updated(self._x, self._key, values, "multiply", mode)

    def divide(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The elements over the values."""
        ones = _functions.ones_like(self._x)
        return self._x / _intaglio._updated(ones, self._key, values, "multiply", mode)

    def power(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The elements to the power of the values."""
        ones = _functions.ones_like(self._x)
        return self._x ** _intaglio._updated(ones, self._key, values, "multiply", mode)

    def min(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The lesser of the elements and the values."""
        return _intaglio._updated(self._x, self._key, values, "min", mode)

    def max(
        self, values: Any, *, mode: str | None = None, indices_are_sorted: bool = False, unique_indices: bool = False
    ) -> Tensor:
        """The greater of the elements and the values."""
        return _intaglio._updated(self._x, self._key, values, "max", mode)

    def apply(
        self,
        func: Callable[[Tensor], Tensor],
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Tensor:
        """What `func` makes of the elements, in their places; once for each of them."""
        return self.set(func(self.get(mode="clip" if mode else None)), mode=mode)

    mul = multiply
    div = divide

    def _like(self, values: Any) -> Tensor:
        return values if isinstance(values, Tensor) else _intaglio.asarray(values, dtype=self._x.dtype)

    def __repr__(self) -> str:
        return f"Place({self._x!r}, {self._key!r})"


def _nothing(dtype: Any) -> Any:
    kind = dtype.kind
    if "floating" in kind:
        return float("nan")
    if kind == "bool":
        return True
    info = _functions.iinfo(dtype)
    return info.max if kind == "unsigned integer" else info.min


def install() -> None:
    """Gives arrays their property `at`."""
    doc = "Updates as values: `x.at[key].set(v)`, `add`, `multiply`, `min`, `max` and so on give new arrays."
    Tensor.at = property(At, doc=doc)  # type: ignore[assignment]
