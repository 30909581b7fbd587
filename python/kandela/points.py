"""Nearest neighbours of points: what `KDTree`, the graphs and the clouds are made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _c
from .arrays import framework, is_foreign, settle, stream_number

#: The id of an answer that is not there.
NO_POINT = np.uint32(_c.KD_NO_POINT)


def scalar_array(x, name):
    """`x` as a C-contiguous array of float32 or float64; float32 stays, all else becomes float64."""
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise TypeError(f"{name} is complex, expected real numbers")
    if x.dtype != np.float32:
        x = x.astype(np.float64, copy=False)
    return np.ascontiguousarray(x)


class Points:
    """A left-balanced k-d tree over copies of points.

    x: (n, 2 to 8) float32 or float64, finite, of NumPy, PyTorch, CuPy or JAX, or whatever has
    `__dlpack__` or `__cuda_array_interface__`; it is read where it lies. device: "auto" (for an array in
    a device's memory that device; else the first CUDA device for 100,000 points and more), "cpu" or
    "cuda:N"; or several, "cuda:0,cuda:1", "cuda:all": then spread says whether each has a part of the points
    ("parts"), all of them ("copies"; queries are divided), or what suits their number ("auto"), and x is in
    host memory. builder: "auto" or a name that `kandela info` lists. split: "widest" or "round-robin".
    ids: (n,) uint32 to answer with instead of 0, 1, 2, ...

    Answers are arrays of the framework, and on the device, that the asked places are of: ids as uint32,
    in torch as int64 with -1 for NO_POINT. `stream`: a CUDA stream (a number, or an object of torch, CuPy or
    Numba) to work on instead of the framework's own of the moment. Calls return when their answers are there.

    >>> import numpy as np, kandela
    >>> tree = kandela.Points(np.random.default_rng(0).random((1000, 3), np.float32))
    >>> ids, dist2 = tree.nearest(np.zeros((1, 3), np.float32), 8)
    >>> ids.shape, dist2.dtype
    ((1, 8), dtype('float32'))
    """

    def __init__(self, x, *, device="auto", builder="auto", split="widest", ids=None, spread="auto"):
        options = _c.kd_points_options_default()
        options.device, options.builder = device, builder
        if split not in ("widest", "round-robin"):
            raise ValueError(f'split is "{split}", expected "widest" or "round-robin"')
        options.split = int(split == "round-robin")
        if spread not in ("auto", "parts", "copies"):
            raise ValueError(f'spread is "{spread}", expected "auto", "parts" or "copies"')
        options.spread = ("auto", "parts", "copies").index(spread)
        self._c = _c.kd_points_open(self._array(x, ids), options)
        self._describe()

    @staticmethod
    def _array(x, ids=None):
        if ids is not None and not framework(ids).on_device(ids):
            ids = np.ascontiguousarray(ids, np.uint32)
        settle(x, ids)
        return _c.kd_point_array_make(x.detach() if hasattr(x, "detach") else x, ids)

    def _describe(self):
        self.n, self.m = _c.kd_points_count(self._c), self._c.dims
        self.dtype = np.dtype(self._c.scalar)

    def update(self, x, ids=None) -> None:
        """Builds again from other points of any count, width and type, with the same options.

        >>> tree = Points(np.array([[0., 0.]]))
        >>> tree.update(np.array([[1., 1., 1.], [2., 2., 2.]], np.float32))
        >>> tree
        <kandela.Points of 2 x 3 float32>
        """
        _c.kd_points_update(self._c, self._array(x, ids))
        self._describe()

    def insert(self, x, ids=None) -> int | None:
        """Points come; answers are from now on those of a tree built anew of all that are there.

        x: (n, m) of the tree's type. ids: (n,) uint32 if the tree was made with ids, else they get the
        next numbers that no point ever had, the first of which is returned.

        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.insert(np.array([[1., 1.]]))
        2
        >>> tree.remove([0])
        >>> tree.nearest(np.array([[0., 0.]]), 2)[0]
        array([[2, 1]], dtype=uint32)
        """
        first = _c.kd_points_insert(self._c, self._array(x, ids))
        self.n = _c.kd_points_count(self._c)
        return first

    def remove(self, ids) -> None:
        """The points with these ids, (count,), go; InputError names an id that no point has.

        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.remove([0])
        >>> len(tree)
        1
        """
        _c.kd_points_remove(self._c, np.ascontiguousarray(ids, np.uint32))
        self.n = _c.kd_points_count(self._c)

    def rebuild(self) -> None:
        """One tree of all that is there: queries of a tree that changed much are faster then.

        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.insert(np.array([[1., 1.]]))
        2
        >>> tree.rebuild()
        >>> tree.describe()["layers"]
        1
        """
        _c.kd_points_rebuild(self._c)

    def describe(self) -> dict:
        """What the tree is: count, dims, builder, device, bytes, build_seconds, hash, ...: a dict.

        >>> Points(np.array([[0., 0.], [3., 4.]])).describe()["hi"]
        [3.0, 4.0]
        """
        return _c.kd_points_describe(self._c)

    @property
    def nbytes(self) -> int:
        """Bytes that the tree holds, on whatever device: about what memory grows by when it is made.

        >>> Points(np.zeros((1000, 3), np.float32)).nbytes < 100_000
        True
        """
        return self.describe()["bytes"]

    def _query(self, x, max_radius, radii, coherent, method, stream=None):
        query = _c.kd_points_query_default()
        if is_foreign(x):
            query.stream = stream_number(stream, x)
            x = x.detach() if hasattr(x, "detach") else framework(x).plain(x)
        elif stream is not None:
            query.stream = stream_number(stream, x)
        query.points = x
        query.max_radius, query.coherent, query.method = float(max_radius), coherent, method
        if radii is not None:
            query.radii = framework(radii).plain(radii, self.dtype)
        return query

    def nearest(self, x, k, *, max_radius=np.inf, radii=None, coherent=False, method="auto",
                out=None, stream=None) -> tuple:
        """The k nearest of each row of x, ordered by (distance, place in the input).

        x: (q, m) of the tree's type, C-contiguous rows. radii: (q,) or None. Returns ids (q, k)
        uint32 and squared distances (q, k) of the tree's type; where there are fewer, the row ends
        with NO_POINT and inf. out: the two arrays, to be filled instead of new ones; ids of 32 or 64 bits.

        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.nearest(np.array([[0., 1.]]), 2)
        (array([[0, 1]], dtype=uint32), array([[ 1., 18.]]))
        """
        query, row = self._query(x, max_radius, radii, coherent, method, stream), framework(x)
        shape = len(x), k
        ids, dist2 = (row.empty(x, shape, np.int32 if row.wide else np.uint32),
                      row.empty(x, shape, self.dtype)) if out is None else out
        is_wide = ids is not None and "64" in str(ids.dtype)
        call = _c.kd_points_nearest64 if is_wide else _c.kd_points_nearest
        call(self._c, query, k, row.target(ids), row.target(dist2))
        return row.numbers(row.done(x, ids)) if out is None else ids, row.done(x, dist2)

    def within(self, x, radius, *, coherent=False, method="auto", distances=True, stream=None) -> tuple:
        """All points within `radius` (a number, or one a row) of each row of x, as compressed rows.

        Returns offsets (q + 1,) uint64 (in torch int64), ids uint32 (in torch int64) and squared distances
        (or None): those of row i stand from offsets[i] to offsets[i + 1], ordered by (distance, place).

        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.within(np.array([[0., 1.], [9., 9.]]), 2.)[:2]
        (array([0, 1, 1], dtype=uint64), array([0], dtype=uint32))
        """
        radii = None if np.ndim(radius) == 0 else radius
        query = self._query(x, radius if radii is None else np.inf, radii, coherent, method, stream)
        row = framework(x)
        offsets = row.empty(x, len(x) + 1, np.int64 if row.wide else np.uint64)
        _c.kd_points_within_count(self._c, query, row.target(offsets))
        total = int(offsets[-1])
        ids = row.empty(x, total, np.int32 if row.wide else np.uint32)
        dist2 = row.empty(x, total, self.dtype) if distances else None
        _c.kd_points_within(self._c, query, row.target(offsets), row.target(ids), row.target(dist2))
        return row.done(x, offsets), row.numbers(row.done(x, ids)), row.done(x, dist2)

    def visit(self, x, radius, call, *, coherent=False, method="auto") -> None:
        """Calls call(row, id, dist2, bound) for the points within `radius` of each row of x, without a list.

        It returns the largest squared distance that is still of interest for this row: None or `bound` for all,
        less for fewer, -1 for no more. Points come in no promised order; rows are told by several threads, one
        at a time. What it raises ends the call. The tree is on the CPU. A call of Python's takes a microsecond: where
        many points are told, `within` is faster.

        >>> tree = Points(np.array([[0., 0.], [3., 4.], [1., 0.]]))
        >>> odd = []
        >>> tree.visit(np.array([[0., 0.]]), 5., lambda row, id, dist2, bound: odd.append(id) if id % 2 else None)
        >>> odd
        [1]
        """
        radii = None if np.ndim(radius) == 0 else radius
        query = self._query(x, radius if radii is None else np.inf, radii, coherent, method)
        _c.kd_points_visit(self._c, query, call)

    def count_within(self, x, radius, *, stream=None) -> Any:
        """How many points each row of x has within the radius: (q,) int64.

        >>> Points(np.array([[0., 0.], [3., 4.]])).count_within(np.array([[0., 1.]]), 2.)
        array([1])
        """
        radii = None if np.ndim(radius) == 0 else radius
        query = self._query(x, radius if radii is None else np.inf, radii, False, "auto", stream)
        offsets = np.empty(len(x) + 1, np.uint64)
        _c.kd_points_within_count(self._c, query, offsets)
        return framework(x).of_host(x, np.diff(offsets.astype(np.int64)))

    def level_order(self) -> tuple:
        """The tree itself: coordinates (n, m), ids (n,) uint32, axes (n,) uint8; node i's children are 2i+1, 2i+2.

        >>> Points(np.array([[5., 0.], [3., 1.], [9., 2.]])).level_order()[1]
        array([0, 1, 2], dtype=uint32)
        """
        x = np.empty((self.n, self.m), self.dtype)
        ids, axes = np.empty(self.n, np.uint32), np.empty(self.n, np.uint8)
        _c.kd_points_download(self._c, x, ids, axes)
        return x, ids, axes

    def save(self, path) -> None:
        """Writes the tree, with a checksum; `Points.load` reads it. RunError says what failed.

        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> Points(np.array([[0., 0.], [3., 4.]])).save(path)
        >>> Points.load(path)
        <kandela.Points of 2 x 2 float64>
        """
        _c.kd_points_save(self._c, str(path))

    @classmethod
    def load(cls, path, *, device="auto") -> Points:
        """A tree that `save` wrote; InputError for a file that is cut, changed or no tree.

        >>> Points.load("/nowhere/at/all")
        Traceback (most recent call last):
        kandela.errors.InputError: /nowhere/at/all: cannot open: No such file or directory
        """
        options = _c.kd_points_options_default()
        options.device = device
        loaded = cls.__new__(cls)
        loaded._c = _c.kd_points_load(str(path), options)
        loaded._describe()
        return loaded

    def close(self) -> None:
        """Gives the memory back now; the tree answers nothing from then on.

        >>> tree = Points(np.array([[0., 0.]]))
        >>> tree.close()
        """
        _c.kd_points_close(self._c)

    def __len__(self):
        return self.n

    def __repr__(self):
        return f"<kandela.Points of {self.n} x {self.m} {self.dtype}>"
