"""Arrays by name in safetensors files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _errors, _intaglio

Tensor = _intaglio.Tensor


def save_arrays(file: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Writes arrays by name to a safetensors file; the file appears whole or not at all.

    Error: `ig.IOError` where it cannot be written.
    """
    from safetensors.numpy import save

    whole = {name: np.asarray(np.asarray(value), order="C") for name, value in arrays.items()}
    beside = f"{os.fspath(file)}.part"
    try:
        with open(beside, "wb") as out:
            out.write(save(whole))
        os.replace(beside, file)
    except OSError as error:
        raise _errors.IOError(
            f"the arrays cannot be saved to {os.fspath(file)}",
            _intaglio._user_line(),
            why=str(error),
            hint="choose a folder that exists and that may be written",
        ) from error


def load_arrays(file: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The arrays of a safetensors file by name.

    Error: `ig.IOError` where the file is missing, torn or of another form.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return {name: _intaglio.asarray(value) for name, value in load_file(os.fspath(file)).items()}
    except (OSError, SafetensorError) as error:
        raise _errors.IOError(
            f"the arrays in {os.fspath(file)} cannot be read",
            _intaglio._user_line(),
            why=str(error),
            hint="the file is missing, truncated or not a safetensors file",
        ) from error
