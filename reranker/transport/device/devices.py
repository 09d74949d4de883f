"""Turns the name of a device into the array library that computes there; knows nothing of transport."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.errors import BadInput, WrongParameter

Array = Any  # an array of the device's library

KNOWN = "'cpu' (NumPy), 'cuda' or 'cuda:1' (torch, or CuPy where that is missing), 'cupy', or 'torch:' and torch's name"
_INSTALL = {
    "array_api_compat": "pip install 'sinkrank[gpu]'",
    "torch": "pip install 'sinkrank[gpu]'",
    "cupy": "pip install array-api-compat and the cupy package of your CUDA, as cupy-cuda12x",
}


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """Where arrays lie and what computes with them.

    Attributes:
        name: as it was asked for.
        xp: a namespace of the array API standard (2022.12 or later).
        place: what that library calls the device; None: its own choice.
    """

    name: str
    xp: Any
    place: Any = None

    def put(self, array: NDArray[Any]) -> Array:
        """A copy of a host array on the device, of the same type."""
        return self.xp.asarray(np.array(array), device=self.place)

    def fetch(self, array: Array) -> NDArray[Any]:
        """A copy of a device array on the host."""
        from array_api_compat import to_device

        return np.array(np.from_dlpack(to_device(array, "cpu")))

    def check_products(self) -> None:
        """Raises BadInput where torch was told to round the factors of float32 products to ten bits."""
        if self.xp.__name__.endswith("torch") and self.xp.get_float32_matmul_precision() != "highest":
            raise BadInput(
                f"torch's float32 matmul precision is '{self.xp.get_float32_matmul_precision()}', which is wrong by"
                " 1e-3 in a cost; call torch.set_float32_matmul_precision('highest')"
            )


def open_device(name: str) -> Device:
    """The device of a name: `cpu`, `cuda`, `cuda:1`, `cupy`, or `torch:` and what torch calls it.

    Raises:
        WrongParameter: no device has this name, its library is not installed, or it does not answer.
    """
    library, place = _library_and_place(name)
    xp = _namespace(library, name)
    device = Device(name, xp, place)
    try:
        device.fetch(xp.zeros(1, dtype=xp.float64, device=place))
    except Exception as error:  # each library has errors of its own for a driver or a card that is not there
        raise WrongParameter(
            f"device '{name}' cannot be used ({str(error)[:200]}); look at its driver, or give 'cpu'"
        ) from error
    return device


def slices(n: int, size: int) -> Iterator[slice]:
    """Parts of n, `size` at a time, none beyond n, which the standard leaves undefined."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _library_and_place(name: str) -> tuple[str, str | None]:
    kind, _, number = name.partition(":")
    if name == "cpu":
        return "numpy", None
    if name == "cupy":
        return "cupy", None
    if kind == "torch" and number:
        return "torch", number
    if kind == "cuda" and (name == kind or number.isdecimal()):
        only_cupy = name == kind and not _installed("torch") and _installed("cupy")
        return ("cupy", None) if only_cupy else ("torch", name)
    raise WrongParameter(f"device is '{name}'; give {KNOWN}")


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _namespace(library: str, name: str) -> Any:
    try:
        return importlib.import_module(f"array_api_compat.{library}")
    except ImportError as error:
        missing = "array_api_compat" if not _installed("array_api_compat") else library
        raise WrongParameter(
            f"device '{name}' needs {missing}, which cannot be imported ({error}); {_INSTALL.get(missing, '')}"
        ) from error
