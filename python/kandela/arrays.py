"""Arrays of NumPy, PyTorch, CuPy and JAX: where they are, on which stream, and how to create more.

One adapter class per framework, `NumPy` being the default for everything unknown. A framework is
imported only after an array of it was passed.
"""

import os
import sys

import numpy as np

LEGACY_STREAM = 1  #: cudaStreamLegacy; 0 would mean the stream of the tree's options


class NumPy:
    """Adapter for arrays in host memory, and for objects of unknown frameworks."""

    wide = False  # ids are uint32, as in the C library

    def on_device(self, x):
        """Return whether x is in the memory of a CUDA device."""
        return hasattr(x, "__cuda_array_interface__")

    def plain(self, x, dtype=None):
        """Return x C-contiguous and without gradient, converted to `dtype` if that is given."""
        return x if self.on_device(x) else np.ascontiguousarray(x, dtype)

    def empty(self, like, shape, dtype):
        """Return a new array on the device of `like`."""
        return np.empty(shape, dtype)

    def numbers(self, x):
        """Convert ids to the type that is usual in the framework."""
        return x

    def target(self, x):
        """Return the object through which the library writes to x."""
        return x

    def host(self, x):
        """Return x as a NumPy array."""
        return np.asarray(x)

    def of_host(self, like, x):
        """Return the NumPy array x as an array of the framework on the device of `like`."""
        return x

    def done(self, like, x):
        """Return the array of the framework for x, which `empty` made and the library filled."""
        return x

    def stream(self, like):
        """Return the framework's current CUDA stream as an integer; 0 on the CPU."""
        return 0

    def joined(self, parts):
        """Concatenate arrays of equal height by columns."""
        return np.concatenate(parts, 1)

    def bits(self, x, dtype):
        """Reinterpret the bits of x as `dtype`."""
        return np.ascontiguousarray(x).view(dtype)

    def columns(self, x):
        """Return each column of x as a float64 array on the device of x, and the framework's
        `minimum`.
        """
        return [np.ascontiguousarray(x[:, axis], np.float64) for axis in range(x.shape[1])], np.minimum


class Torch(NumPy):
    """Adapter for PyTorch. Ids are int64, which tensors accept as indices; a missing id is -1."""

    wide = True

    def __init__(self):
        self.xp = sys.modules["torch"]

    def _type(self, dtype):
        return getattr(self.xp, np.dtype(dtype).name)

    def on_device(self, x):
        return x.is_cuda

    def plain(self, x, dtype=None):
        x = x.detach()
        return (x if dtype is None else x.to(self._type(dtype))).contiguous()

    def empty(self, like, shape, dtype):
        return self.xp.empty(shape, dtype=self._type(dtype), device=like.device)

    def numbers(self, x):
        return x.to(self.xp.int64)  # a missing id is -1 as int32

    def host(self, x):
        return x.detach().cpu().numpy()

    def of_host(self, like, x):
        if x.dtype.kind == "u" and x.dtype.itemsize > 1:
            x = np.where(x == np.iinfo(x.dtype).max, -1, x.astype(np.int64))
        return self.xp.as_tensor(np.array(x)).to(like.device)

    def stream(self, like):
        if not like.is_cuda:
            return 0
        return self.xp.cuda.current_stream(like.device).cuda_stream or LEGACY_STREAM

    def joined(self, parts):
        return self.xp.cat(parts, 1)

    def bits(self, x, dtype):  # PyTorch has no arithmetic on uint32
        return x.contiguous().view(self._type(np.dtype(dtype).name.lstrip("u")))

    def columns(self, x):
        x = x.detach().to(self.xp.float64)
        return [x[:, axis].contiguous() for axis in range(x.shape[1])], self.xp.minimum


class CuPy(NumPy):
    """Adapter for CuPy, whose arrays are always on a CUDA device."""
    def __init__(self):
        self.xp = sys.modules["cupy"]

    def on_device(self, x):
        return True

    def plain(self, x, dtype=None):
        with x.device:
            return self.xp.ascontiguousarray(x, dtype)

    def empty(self, like, shape, dtype):
        with like.device:
            return self.xp.empty(shape, dtype)

    def host(self, x):
        return self.xp.asnumpy(x)

    def of_host(self, like, x):
        with like.device:
            return self.xp.asarray(x)

    def stream(self, like):
        return self.xp.cuda.get_current_stream().ptr or LEGACY_STREAM

    def joined(self, parts):
        return self.xp.concatenate(parts, 1)

    def bits(self, x, dtype):
        return self.xp.ascontiguousarray(x).view(dtype)

    def columns(self, x):
        with x.device:
            x = x.astype(np.float64)
            return [self.xp.ascontiguousarray(x[:, axis]) for axis in range(x.shape[1])], self.xp.minimum


class _Raw:
    """Writable view of a JAX array that was just created.

    JAX arrays are immutable; writing is safe here because no other code has a reference yet.
    """

    def __init__(self, x):
        self.__cuda_array_interface__ = {
            "shape": x.shape, "typestr": np.dtype(x.dtype).str, "strides": None, "version": 3,
            "data": (x.unsafe_buffer_pointer(), False)}


class Jax(NumPy):
    """Adapter for JAX."""
    def __init__(self):
        import jax.numpy

        self.xp, self.jax = jax.numpy, jax

    def _type(self, dtype):
        """Return dtype, or its 32-bit form if JAX runs without 64-bit types."""
        return self.jax.dtypes.canonicalize_dtype(dtype)

    def on_device(self, x):
        return next(iter(x.devices())).platform in ("gpu", "cuda")

    def plain(self, x, dtype=None):
        return (x if dtype is None else x.astype(self._type(dtype))).block_until_ready()

    def empty(self, like, shape, dtype):
        if not self.on_device(like) or self._type(dtype) != dtype:
            return np.empty(shape, dtype)  # filled on the host, then copied
        return self.xp.zeros(shape, dtype, device=next(iter(like.devices()))).block_until_ready()

    def target(self, x):
        return x if isinstance(x, np.ndarray) else _Raw(x)

    def of_host(self, like, x):
        return self.xp.asarray(x.astype(self._type(x.dtype)))

    def done(self, like, x):
        return self.of_host(like, x) if isinstance(x, np.ndarray) else x

    def joined(self, parts):
        return self.xp.concatenate(parts, 1).block_until_ready()

    def bits(self, x, dtype):
        return self.jax.lax.bitcast_convert_type(x, dtype)

    def columns(self, x):  # on the host, since JAX may have no float64
        return NumPy.columns(self, self.host(x))


_ROWS = {"torch": Torch, "cupy": CuPy, "jax": Jax, "jaxlib": Jax}
_known = {"numpy": NumPy()}


def _module(x):
    """Return the name of the module of an array's type; a masked element is a TypeError."""
    name, _, rest = type(x).__module__.partition(".")
    if name == "numpy" and rest.startswith("ma") and np.ma.is_masked(x):
        raise TypeError("an array has masked elements, which would be used like all others; pass its compressed() or filled()")
    return name


def framework(x):
    """Return the adapter for the framework of an array."""
    name = _module(x)
    if name not in _ROWS:
        return _known["numpy"]
    if name not in _known:
        _known[name] = _ROWS[name]()
    return _known[name]


def is_foreign(x):
    """Return whether x is an array of PyTorch, CuPy or JAX, whose results are of that framework."""
    return _module(x) in _ROWS


def stream_number(stream, like):
    """Return a CUDA stream as an integer.

    Parameters
    ----------
    stream : int, stream object or None
        None: the current stream of the framework of `like`.
    like : array
        Array whose framework determines the current stream.
    """
    if stream is None:
        return framework(like).stream(like)
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            stream = getattr(stream, name)
            break
    return int(getattr(stream, "value", stream)) or LEGACY_STREAM


def settle(*given):
    """Wait for the work that the frameworks have queued on these arrays.

    Needed before calls that take no stream.
    """
    for x in given:
        if not is_foreign(x) or not framework(x).on_device(x):
            continue
        row = framework(x)
        if isinstance(row, Torch):
            row.xp.cuda.current_stream(x.device).synchronize()
        elif isinstance(row, CuPy):
            row.xp.cuda.get_current_stream().synchronize()
        else:
            x.block_until_ready()


def brought(x, device="auto"):
    """Copy an array of any framework to the host for an algorithm that runs there.

    Parameters
    ----------
    x : array
    device : str, optional
        Device for the neighbour search; "auto": the device that holds `x`.

    Returns
    -------
    host : ndarray
        `x` in host memory.
    device : str
        Device for the neighbour search.
    back : callable
        Converts a NumPy result to an array of the framework on the device of `x`.
    """
    if not is_foreign(x):
        return x, device, lambda answer: answer
    row = framework(x)
    settle(x)
    if device == "auto" and row.on_device(x):
        there = getattr(x, "device", None) if not isinstance(row, Jax) else next(iter(x.devices()))
        device = f"cuda:{getattr(there, 'index', None) or getattr(there, 'id', None) or 0}"
    return row.host(x), device, lambda answer: row.of_host(x, answer)


def is_valid(numbers, missing):
    """Return which ids are valid: not -1 if the type is signed, else not equal to `missing`."""
    if "uint" in str(numbers.dtype):
        return numbers != missing
    return numbers >= 0


def path_text(path):
    """Return the path as a string; a null character in it, at which C would end it, is a ValueError."""
    text = os.fspath(path)
    if isinstance(text, str) and "\0" in text:
        raise ValueError(f"the path {text!r} has a null character")
    return text
