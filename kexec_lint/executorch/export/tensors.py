"""Reads real inputs from a file: .pt (a tuple of arguments, or a list of such tuples), .npz, .npy."""

from __future__ import annotations

from typing import Any

from kexec_lint.executorch.export import ExportError, one_line


def load(path: str) -> list[tuple[Any, ...]]:
    """Return one tuple of arguments for each call. A .npz gives one call, its arrays in the order of the file.

    Raises ExportError for a file that holds something else, OSError for one that cannot be read.
    """
    import torch

    try:
        if path.endswith((".npz", ".npy")):
            import numpy

            found = numpy.load(path, allow_pickle=False)
            arrays = [found[name] for name in found.files] if path.endswith(".npz") else [found]
            return [tuple(torch.from_numpy(array) for array in arrays)]
        loaded = torch.load(path, weights_only=True)
    except OSError:
        raise
    except Exception as error:
        raise ExportError(f"{path}: {one_line(error)}") from None
    if isinstance(loaded, torch.Tensor):
        return [(loaded,)]
    if isinstance(loaded, tuple):
        return [loaded]
    if isinstance(loaded, list) and loaded and all(isinstance(call, tuple) for call in loaded):
        return list(loaded)
    raise ExportError(f"{path}: holds {type(loaded).__name__}; a tuple of arguments or a list of tuples is needed")
