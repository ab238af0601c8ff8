"""The arrays that flow through the house, and the door at which given values become them.

Decisions are NumPy, always. Responses stay in the library they were made in (NumPy, JAX, CuPy,
PyTorch, ...): the house subtracts them and multiplies them with `d_y`, in array-API operations, and
never converts them.
"""

from __future__ import annotations

import sys
from math import sqrt
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point: TypeAlias = NDArray[np.float64]  # (n,)
Points: TypeAlias = NDArray[np.float64]  # (q, n)
Batches: TypeAlias = NDArray[np.float64]  # (b, q, n)
Response: TypeAlias = Any  # (m,), an array of the follower's own library
Responses: TypeAlias = Any  # (q, m), likewise


class ArgumentError(ValueError):
    """An argument that cannot be used.

    Attributes:
        owner: whose argument it is, such as "Box"; or what it is called, where that is all.
        names: the parameters at fault, such as ("lower", "upper").

    Example:
        >>> print(ArgumentError("Box", ("lower", "upper"), "leave no choice."))
        Box(lower=..., upper=...) leave no choice.

    """

    def __init__(self, owner: str, names: str | tuple[str, ...], what: str) -> None:
        self.owner = owner
        self.names = (names,) if isinstance(names, str) else names
        called = ", ".join(f"{name}=..." for name in self.names if name)
        super().__init__(f"{owner}({called}) {what}" if called else f"{owner} {what}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_error, (self.owner, self.names, str(self))


def _rebuild_error(owner: str, names: tuple[str, ...], message: str) -> ArgumentError:
    error = ArgumentError(owner, names, "")
    error.args = (message,)
    return error


def as_vector(
    value: ArrayLike, owner: str, name: str = "", *, size: int | None = None, finite: bool = False
) -> Point:
    """Return `value` as a read-only float64 vector of its own, or say what is wrong with it.

    Here and below, `value` is the argument `name` of `owner`, or something called `owner`.
    """
    vector = _as_floats(value, owner, name)
    expected = "a non-empty vector" if size is None else f"a vector of size {size}"
    if vector.ndim != 1 or vector.size == 0 or (size is not None and vector.size != size):
        raise ArgumentError(owner, name, f"must be {expected}, got shape {vector.shape}.")
    if finite and not np.isfinite(vector).all():
        index = int(np.argmin(np.isfinite(vector)))
        raise ArgumentError(owner, name, f"must be finite, but entry {index} is {vector[index]}.")
    return vector


def as_matrix(
    value: ArrayLike, owner: str, name: str = "", *, columns: int | None = None
) -> Points:
    """Return `value` as a read-only float64 matrix of its own, or say what is wrong with it."""
    matrix = _as_floats(value, owner, name)
    expected = "a non-empty matrix" if columns is None else f"a matrix with {columns} columns"
    fits = matrix.ndim == 2 and matrix.size > 0
    if not fits or (columns is not None and matrix.shape[1] != columns):
        raise ArgumentError(owner, name, f"must be {expected}, got shape {matrix.shape}.")
    return matrix


def as_positive(value: float, owner: str, name: str = "") -> float:
    """Return `value` as a positive, finite float, or say what is wrong with it."""
    if not is_real(value) or not 0 < value < np.inf:
        raise ArgumentError(owner, name, f"must be a positive, finite number, got {value!r}.")
    return float(value)


def as_size(value: int, owner: str, name: str = "") -> int:
    """Return `value` as a positive integer, or say what is wrong with it."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ArgumentError(owner, name, f"must be a positive integer, got {value!r}.")
    return int(value)


def is_real(value: object) -> bool:
    """Whether `value` is one real number, of Python's or of NumPy's; a truth value is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def scaled_to_one(cost: Point) -> Point:
    """Return the cost divided by its largest entry, so that squares neither overflow nor vanish; zero stays zero."""
    largest = float(np.abs(cost).max())
    return cost / largest if largest > 0 else cost


def as_response(value: Any) -> Any:
    """Take in what a follower returned.

    Arrays of other libraries stay there, if they are of a floating type; everything else becomes
    NumPy's float64.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    if value is None:
        raise TypeError("it returned None, not a response")
    if _is_foreign(value):
        if "float" not in str(value.dtype):
            raise TypeError(
                f"it returned an array of {value.dtype}; other libraries' must be of a floating type"
            )
        return value.detach() if hasattr(value, "detach") else value
    if np.iscomplexobj(value):
        raise TypeError("it returned complex numbers")
    if isinstance(value, np.ma.MaskedArray):
        value = value.filled(np.nan)
    return np.asarray(value, dtype=np.float64)


def owned(response: Response) -> Response:
    """Return a copy that nobody else can change, in the library the response lives in."""
    if isinstance(response, np.ndarray):
        copy = response.copy()
        copy.setflags(write=False)
        return copy
    return namespace(response).asarray(response, copy=True)


def to_numpy(array: Any) -> NDArray[np.float64]:
    """Bring a few numbers home from wherever they are, a GPU included."""
    if type(array) is np.ndarray and array.dtype == np.float64:
        return array
    if hasattr(array, "cpu"):  # PyTorch
        array = array.detach().cpu()
    elif hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.asarray(array, dtype=np.float64)


def norm(array: Response) -> float:
    """Return the Euclidean norm, computed where the array is."""
    return sqrt(float(namespace(array).sum(array * array)))


def namespace(array: Any) -> Any:
    """Return the library an array belongs to: its array-API namespace, or its module where it has none (PyTorch)."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


def stack(rows: list[Response]) -> Responses:
    """Return responses as rows of one array of their library."""
    return namespace(rows[0]).stack(rows)


def like(array: NDArray[np.float64], model: Any) -> Any:
    """Return NumPy's array in the library of the model, of its type and on its device."""
    if isinstance(model, np.ndarray):
        return array
    mine = (
        array if array.flags.writeable else array.copy()
    )  # PyTorch warns of what cannot be written to
    return namespace(model).asarray(mine, dtype=model.dtype, device=model.device)


def weighted(weights: Point, rows: Responses) -> Response:
    """Return the sum of the rows, each with its weight, computed where the rows are."""
    return like(weights, rows) @ rows


def infinite_rows(responses: Responses) -> list[int]:
    """Return the rows that hold a NaN or an infinity."""
    if (
        isinstance(responses, np.ndarray)
        and np.count_nonzero(np.isfinite(responses)) == responses.size
    ):
        return []
    xp = namespace(responses)
    finite = xp.isfinite(responses)
    return [row for row in range(responses.shape[0]) if not xp.all(finite[row, ...])]


def _is_foreign(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    return (
        hasattr(value, "__array_namespace__") or type(value).__module__.partition(".")[0] == "torch"
    )


def _as_floats(value: ArrayLike, owner: str, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        what = f"must be an array of numbers, got {value!r}."
        raise ArgumentError(owner, name, what) from error
    if np.isnan(array).any():
        index = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise ArgumentError(owner, name, f"must hold numbers, but entry {index} is NaN.")
    array.setflags(write=False)
    return array
