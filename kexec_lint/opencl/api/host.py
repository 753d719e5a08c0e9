"""What host code does to host arrays: which attributes, methods and functions read, write or only look at them."""

from __future__ import annotations

METADATA = frozenset(
    [
        "shape",
        "dtype",
        "nbytes",
        "size",
        "strides",
        "ndim",
        "itemsize",
        "flags",
        "ctypes",
        "base",
        "__array_interface__",
        "__len__",
        "__class__",
        "__name__",
        "__dict__",
        "offset",
    ]
)
"""Attributes of an array that read no element."""

VIEWS = frozenset(
    [
        "T",
        "real",
        "imag",
        "data",
        "flat",
        "reshape",
        "ravel",
        "view",
        "squeeze",
        "transpose",
        "swapaxes",
        "diagonal",
    ]
)
"""Attributes and methods that give another view of the same memory."""

WRITERS = frozenset(
    ["fill", "sort", "put", "itemset", "partition", "resize", "setfield", "frombytes", "extend", "append", "clear"]
)
"""Methods that write elements in place."""

QUIET_METHODS = METADATA | VIEWS | frozenset(["setflags", "newbyteorder"])

QUIET_FUNCTIONS = frozenset(
    [
        "builtins.len",
        "builtins.id",
        "builtins.type",
        "builtins.isinstance",
        "builtins.hasattr",
        "builtins.getattr",
        "builtins.callable",
        "builtins.range",
        "builtins.super",
        "builtins.memoryview",
        "builtins.issubclass",
        "builtins.setattr",
        "builtins.enumerate",
        "builtins.zip",
        "builtins.list",
        "builtins.tuple",
        "builtins.dict",
        "builtins.iter",
        "builtins.reversed",
        "builtins.vars",
        "numpy.shape",
        "numpy.ndim",
        "numpy.size",
        "numpy.empty_like",
        "numpy.zeros_like",
        "numpy.ones_like",
        "numpy.full_like",
        "numpy.result_type",
        "numpy.dtype",
        "numpy.iscomplexobj",
        "numpy.isrealobj",
        "numpy.prod",
        "numpy.may_share_memory",
        "numpy.shares_memory",
        "numpy.broadcast_shapes",
        "numpy.can_cast",
        "numpy.empty",
        "numpy.zeros",
        "numpy.ones",
        "weakref.ref",
        "gc.collect",
        "sys.getsizeof",
        "sys.getrefcount",
        "copy.copy",
    ]
)
"""Functions that do not read the elements of an array argument."""

VIEW_FUNCTIONS = frozenset(
    [
        "numpy.asarray",
        "numpy.asanyarray",
        "numpy.ascontiguousarray",
        "numpy.asfortranarray",
        "numpy.require",
        "numpy.reshape",
        "numpy.ravel",
        "numpy.frombuffer",
        "numpy.atleast_1d",
        "numpy.atleast_2d",
        "numpy.atleast_3d",
        "numpy.squeeze",
        "numpy.transpose",
        "numpy.broadcast_to",
        "numpy.expand_dims",
        "numpy.swapaxes",
        "numpy.moveaxis",
        "numpy.real",
        "numpy.imag",
        "numpy.ndarray",
        "numpy.lib.stride_tricks.as_strided",
        "builtins.memoryview",
    ]
)
"""Functions whose result may be the same memory; they read nothing when it is."""

WRITE_FIRST = frozenset(
    [
        "numpy.copyto",
        "numpy.put",
        "numpy.place",
        "numpy.putmask",
        "numpy.fill_diagonal",
        "numpy.random.shuffle",
        "random.shuffle",
        "numpy.put_along_axis",
    ]
)
"""Functions that write into their first argument."""

READING_PACKAGES = frozenset(
    [
        "builtins",
        "numpy",
        "scipy",
        "math",
        "cmath",
        "statistics",
        "matplotlib",
        "PIL",
        "cv2",
        "skimage",
        "pandas",
        "json",
        "pickle",
        "struct",
        "torch",
        "h5py",
        "imageio",
        "hashlib",
        "zlib",
        "csv",
    ]
)
"""Packages whose functions read the arrays they are given (unless listed above)."""

ARRAY_MAKERS = frozenset(
    [
        "empty",
        "zeros",
        "ones",
        "full",
        "array",
        "arange",
        "linspace",
        "empty_like",
        "zeros_like",
        "ones_like",
        "full_like",
        "copy",
        "fromfile",
        "load",
        "loadtxt",
        "frombuffer",
        "fromiter",
        "identity",
        "eye",
        "random",
        "rand",
        "randn",
        "randint",
        "standard_normal",
        "normal",
        "uniform",
        "ascontiguousarray",
        "asarray",
        "require",
        "tile",
        "repeat",
        "concatenate",
        "stack",
        "vstack",
        "hstack",
    ]
)
"""Functions of numpy and numpy.random that make a new array."""

UNINITIALISED = frozenset({"numpy.empty", "numpy.empty_like"})
