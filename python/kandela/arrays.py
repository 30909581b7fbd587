"""Arrays of any framework: whose they are, where they lie, and new ones of the same kind.

A framework is looked for only if an array of it is given. Its row says how an array of it is made, made plain,
and on which stream its work is queued; NumPy's row is that of everything unknown, too."""

import sys

import numpy as np

LEGACY_STREAM = 1  #: CUDA's name for the default stream where 0 would mean "that of the tree"


class NumPy:
    """Host memory; anything that has no row of its own, whose answers are NumPy's."""

    wide = False  # numbers as uint32, as the C library has them

    def on_device(self, x):
        return hasattr(x, "__cuda_array_interface__")

    def plain(self, x, dtype=None):
        """x C-contiguous, of this type if one is named."""
        return x if self.on_device(x) else np.ascontiguousarray(x, dtype)

    def empty(self, like, shape, dtype):
        return np.empty(shape, dtype)

    def numbers(self, x):
        """Points' numbers as the framework's users have them."""
        return x

    def target(self, x):
        """What the library fills instead of x."""
        return x

    def host(self, x):
        return np.asarray(x)

    def of_host(self, like, x):
        return x

    def done(self, like, x):
        """What was made by `empty` and filled, as an array of the framework."""
        return x

    def stream(self, like):
        return 0

    def joined(self, parts):
        """Columns side by side, (n, sum)."""
        return np.concatenate(parts, 1)

    def bits(self, x, dtype):
        return np.ascontiguousarray(x).view(dtype)

    def columns(self, x):
        """The coordinates of each axis as float64, where x lies; and the least of two arrays, item by item."""
        return [np.ascontiguousarray(x[:, axis], np.float64) for axis in range(x.shape[1])], np.minimum


class Torch(NumPy):
    """Numbers are int64, which tensors take as indices; one that is not there is -1."""

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
        return x.to(self.xp.int64)  # as int32 one that is not there is -1

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

    def bits(self, x, dtype):  # torch knows no arithmetic of uint32
        return x.contiguous().view(self._type(np.dtype(dtype).name.lstrip("u")))

    def columns(self, x):
        x = x.detach().to(self.xp.float64)
        return [x[:, axis].contiguous() for axis in range(x.shape[1])], self.xp.minimum


class CuPy(NumPy):
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
    """Memory of a new JAX array that nobody has seen yet: JAX itself lets nobody write."""

    def __init__(self, x):
        self.__cuda_array_interface__ = {
            "shape": x.shape, "typestr": np.dtype(x.dtype).str, "strides": None, "version": 3,
            "data": (x.unsafe_buffer_pointer(), False)}


class Jax(NumPy):
    def __init__(self):
        import jax.numpy

        self.xp, self.jax = jax.numpy, jax

    def _type(self, dtype):
        """The one of 32 bits where JAX was not told to have 64."""
        return self.jax.dtypes.canonicalize_dtype(dtype)

    def on_device(self, x):
        return next(iter(x.devices())).platform in ("gpu", "cuda")

    def plain(self, x, dtype=None):
        return (x if dtype is None else x.astype(self._type(dtype))).block_until_ready()

    def empty(self, like, shape, dtype):
        if not self.on_device(like) or self._type(dtype) != dtype:
            return np.empty(shape, dtype)  # filled, then brought
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

    def columns(self, x):  # JAX may have no float64
        return NumPy.columns(self, self.host(x))


_ROWS = {"torch": Torch, "cupy": CuPy, "jax": Jax, "jaxlib": Jax}
_known = {"numpy": NumPy()}


def framework(x):
    """The row of an array's framework."""
    name = type(x).__module__.partition(".")[0]
    if name not in _ROWS:
        return _known["numpy"]
    if name not in _known:
        _known[name] = _ROWS[name]()
    return _known[name]


def is_foreign(x):
    """An array of a framework that answers are given back to."""
    return type(x).__module__.partition(".")[0] in _ROWS


def stream_number(stream, like):
    """A cudaStream_t as a number: of an object that has one, or the one on which the framework works now."""
    if stream is None:
        return framework(like).stream(like)
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            stream = getattr(stream, name)
            break
    return int(getattr(stream, "value", stream)) or LEGACY_STREAM


def settle(*given):
    """Waits until what the frameworks have queued for these arrays is done, for calls that take no stream."""
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
    """x in host memory; the device on which its neighbours are to be found, that of x unless one is named; what makes an
    answer an array of x's framework, where x is."""
    if not is_foreign(x):
        return x, device, lambda answer: answer
    row = framework(x)
    settle(x)
    if device == "auto" and row.on_device(x):
        there = getattr(x, "device", None) if not isinstance(row, Jax) else next(iter(x.devices()))
        device = f"cuda:{getattr(there, 'index', None) or getattr(there, 'id', None) or 0}"
    return row.host(x), device, lambda answer: row.of_host(x, answer)


def is_there(numbers, missing):
    """Which numbers are of something: not -1 where they are signed, else not `missing`."""
    if "uint" in str(numbers.dtype):
        return numbers != missing
    return numbers >= 0
