"""Array types, validation of given arrays and numbers, and operations on responses.

Decisions are always NumPy arrays. Responses stay in the library they were made in (NumPy, JAX,
CuPy, PyTorch, ...): the package subtracts them and multiplies them with `d_y`, in array-API
operations, and never converts them.
"""

from __future__ import annotations

import sys
from math import isfinite, sqrt
from numbers import Integral
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point: TypeAlias = NDArray[np.float64]  # (n,)
Points: TypeAlias = NDArray[np.float64]  # (q, n)
Batches: TypeAlias = NDArray[np.float64]  # (b, q, n)
Response: TypeAlias = Any  # (m,), an array of the follower's own library
Responses: TypeAlias = Any  # (q, m), likewise


FEW = 2**14
_FLOAT64 = np.dtype(np.float64)


class ArgumentError(ValueError):
    """An argument that cannot be used.

    Attributes:
        owner: whose argument it is, such as "Box", or what a value without an owner is called.
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
    """Return `value` as a new read-only float64 vector, or raise an `ArgumentError`.

    Here and below, `value` is the argument `name` of `owner`, or a value called `owner`.
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
    """Return `value` as a new read-only float64 matrix, or raise an `ArgumentError`."""
    matrix = _as_floats(value, owner, name)
    expected = "a non-empty matrix" if columns is None else f"a matrix with {columns} columns"
    fits = matrix.ndim == 2 and matrix.size > 0
    if not fits or (columns is not None and matrix.shape[1] != columns):
        raise ArgumentError(owner, name, f"must be {expected}, got shape {matrix.shape}.")
    return matrix


def as_positive(value: float, owner: str, name: str = "") -> float:
    """Return `value` as a positive, finite float, or raise an `ArgumentError`."""
    if not is_real(value) or not 0 < value < np.inf:
        raise ArgumentError(owner, name, f"must be a positive, finite number, got {value!r}.")
    return float(value)


def as_size(value: int, owner: str, name: str = "") -> int:
    """Return `value` as a positive integer, or raise an `ArgumentError`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ArgumentError(owner, name, f"must be a positive integer, got {value!r}.")
    return int(value)


def is_real(value: object) -> bool:
    """Whether `value` is a real number of Python or NumPy; booleans are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def scaled_to_one(cost: Point) -> Point:
    """Return the cost divided by its largest entry, so that squares neither overflow nor vanish.

    A cost of zeros is returned as it is.
    """
    largest = float(np.abs(cost).max())
    return cost / largest if largest > 0 else cost


def as_response(value: Any) -> Any:
    """Return what a follower returned as an array of floats.

    Arrays of other libraries must be of a floating type and stay in their library; everything else
    becomes NumPy's float64.
    """
    if type(value) is np.ndarray and value.dtype == _FLOAT64:
        return value
    if value is None:
        raise TypeError("it returned None, not a response")
    if _is_foreign(value):
        if "float" not in str(value.dtype):
            kind = value.dtype
            raise TypeError(
                f"it returned an array of {kind}; other libraries' must be of a floating type"
            )
        return value.detach() if hasattr(value, "detach") else value
    if np.iscomplexobj(value):
        raise TypeError("it returned complex numbers")
    if isinstance(value, np.ma.MaskedArray):
        value = value.filled(np.nan)
    return np.asarray(value, dtype=np.float64)


def as_responses(value: Any) -> Responses:
    """Take in several responses: an array with one row each, or a list of arrays."""
    if isinstance(value, (list, tuple)) and len(value) > 0 and hasattr(value[0], "shape"):
        return stack([as_response(row) for row in value])
    return as_response(value)


def owned(response: Response) -> Response:
    """Return a copy that nobody else can change, in the library of the response."""
    if not isinstance(response, np.ndarray):
        return writable(response)
    copy = response.copy()
    copy.setflags(write=False)
    return copy


def guarded(responses: Responses) -> Responses:
    """Return what a follower returned, so that whatever is read-only is nobody else's.

    A read-only array may be a view of a buffer that its maker writes to again.
    """
    if isinstance(responses, np.ndarray) and not responses.flags.writeable:
        return owned(responses)
    return responses


def frozen(response: Response) -> Response:
    """Return the response itself if it is read-only, and a copy that is `owned` otherwise."""
    read_only = isinstance(response, np.ndarray) and not response.flags.writeable
    return response if read_only else owned(response)


def writable(response: Response) -> Response:
    """Return a copy that its receiver may write to, in the library of the response."""
    if isinstance(response, np.ndarray):
        return response.copy()
    return namespace(response).asarray(response, copy=True)


def to_numpy(array: Any) -> NDArray[np.float64]:
    """Return an array of any library and device as NumPy's float64."""
    if type(array) is np.ndarray and array.dtype == _FLOAT64:
        return array
    if hasattr(array, "cpu"):  # PyTorch
        array = array.detach().cpu()
    elif hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.asarray(array, dtype=np.float64)


def norm(array: Response) -> float:
    """Return the Euclidean norm, computed in the library and on the device of the array."""
    return sqrt(float(namespace(array).sum(array * array)))


def namespace(array: Any) -> Any:
    """Return the library an array belongs to.

    This is its array-API namespace, or its top-level module where it has none (PyTorch).
    """
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


def stack(rows: list[Response]) -> Responses:
    """Return responses as the rows of one array of their library."""
    return namespace(rows[0]).stack(rows)


@final
class RowStack:
    """Responses that come in one by one, each copied once, as the rows of one array.

    Args:
        count: how many rows there will be.

    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._rows: list[Response] = []
        self._array: NDArray[np.float64] | None = None  # holds the rows of NumPy

    def __len__(self) -> int:
        return len(self._rows)

    def append(self, row: Response) -> Response:
        """Copy a row, and return the copy."""
        if isinstance(row, np.ndarray):
            if self._array is None:
                self._array = np.empty((self._count, row.size))
            kept = self._array[len(self._rows)]
            kept[...] = row
            kept.setflags(write=False)
        else:
            kept = owned(row)
        self._rows.append(kept)
        return kept

    def rows(self) -> list[Response]:
        """Return the rows so far as a list."""
        return self._rows

    def array(self) -> Responses:
        """Return all rows as one read-only array (count, m)."""
        if self._array is None or not all(isinstance(row, np.ndarray) for row in self._rows):
            return stack(self._rows)
        self._array.setflags(write=False)
        return self._array


def like(array: NDArray[np.float64], model: Any) -> Any:
    """Return an array of NumPy in the library of the model, of its type and on its device."""
    if isinstance(model, np.ndarray):
        return array
    if not array.flags.writeable:  # PyTorch warns of read-only arrays
        array = array.copy()
    return namespace(model).asarray(array, dtype=model.dtype, device=model.device)


def weighted(weights: Point, rows: Responses) -> Response:
    """Return the weighted sum of the rows, computed in their library and on their device."""
    return like(weights, rows) @ rows


def infinite_rows(responses: Responses) -> list[int]:
    """Return the indices of the rows that hold a NaN or an infinity."""
    if isinstance(responses, np.ndarray) and _is_finite(responses):
        return []
    xp = namespace(responses)
    finite = xp.isfinite(responses)
    return [row for row in range(responses.shape[0]) if not xp.all(finite[row, ...])]


def _is_finite(array: NDArray[np.float64]) -> bool:
    """Whether all numbers are finite; a finite sum of squares is the fastest way to tell.

    `vdot` does not warn where squares overflow.
    """
    if array.size <= FEW and isfinite(np.vdot(array, array)):
        return True
    return bool(np.count_nonzero(np.isfinite(array)) == array.size)


def _is_foreign(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    library = type(value).__module__.partition(".")[0]
    return hasattr(value, "__array_namespace__") or library == "torch"


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
