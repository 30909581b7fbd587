"""Nearest-neighbour queries on points: the basis of `KDTree`, the graphs and the point clouds."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from . import _c
from .arrays import framework, is_foreign, path_text, settle, stream_number
from .checks import not_negative, whole

#: Id in place of a neighbour that does not exist.
NO_POINT = np.uint32(_c.KD_NO_POINT)


def scalar_array(x: Any, name: Any) -> Any:
    """Convert an array to the types that the library accepts.

    Parameters
    ----------
    x : array_like
        Real numbers.
    name : str
        Name of the argument, for error messages.

    Returns
    -------
    ndarray
        C-contiguous; float32 stays float32, everything else becomes float64.

    Raises
    ------
    TypeError
        If `x` is complex.
    ValueError
        If elements of `x` are not numbers, or its rows differ in length.
    """
    try:
        x = np.asarray(x)
        if np.iscomplexobj(x):
            raise TypeError(f"`{name}` is complex; expected real numbers")
        return np.ascontiguousarray(x, None if x.dtype == np.float32 else np.float64)
    except ValueError as error:
        raise ValueError(f"`{name}` is not an array of real numbers: {error}") from None


def id_array(ids: Any, count: Any = None) -> Any:
    """Return ids as a uint32 array after checking them.

    Parameters
    ----------
    ids : array_like of int
        Ids from 0 to 2^32 - 2.
    count : int, optional
        The expected number of ids.

    Raises
    ------
    TypeError
        If `ids` are not integers.
    ValueError
        If there are more or fewer than `count`, or one is out of range.
    """
    ids = np.asarray(framework(ids).host(ids))
    if ids.size and ids.dtype.kind not in "iu":
        raise TypeError(f"`ids` is an array of {ids.dtype}; expected integers")
    if count is not None and ids.shape != (count,):
        raise ValueError(f"`ids` has the shape {ids.shape}; expected ({count},), one for each point")
    _check_ids(ids)
    return np.ascontiguousarray(ids, np.uint32)


def _check_ids(ids):
    if len(ids) and not (int(ids.min()) >= 0 and int(ids.max()) < NO_POINT):
        raise ValueError(f"`ids` has values from {int(ids.min())} to {int(ids.max())}; "
                         f"expected 0 to {NO_POINT - 1}")


def _radius(radius, count, name="radius"):
    """Return the arguments `max_radius` and `radii` of a query for one or `count` radii."""
    if np.ndim(radius) == 0:
        return not_negative(radius, name), None
    if not is_foreign(radius):
        radius = np.asarray(radius)
        if radius.shape != (count,):
            raise ValueError(f"`{name}` has the shape {radius.shape}; expected a number or ({count},)")
        if count and not radius.min() >= 0:
            raise ValueError(f"`{name}` has the value {radius.min():g}; expected at least 0")
    return np.inf, radius


class Points:
    """Left-balanced k-d tree over a copy of a set of points.

    Parameters
    ----------
    x : array, (n, m), m from 1 to 65536
        Finite float32 or float64 coordinates: an array of NumPy, PyTorch, CuPy or JAX, or any
        object with `__dlpack__` or `__cuda_array_interface__`. It is read in place, on the CPU or a
        CUDA device.
    device : str, optional
        "auto" (default): the device that holds `x`; for `x` in host memory the first CUDA device if
        there are at least 100,000 points, else the CPU. "cpu" and "cuda:N" choose one; several, as
        in "cuda:0,cuda:1" or "cuda:all", distribute the tree, and `x` must then be in host memory.
    builder : str, optional
        "auto" (default) or a name that `kandela info` lists.
    split : {"widest", "round-robin"}, optional
        Split axis of a node: the widest side, or x, y, z, x, ...
    ids : array of uint32, (n,), optional
        Ids to return instead of 0, 1, 2, ...; from 0 to 2^32 - 2.
    spread : {"auto", "parts", "copies"}, optional
        Distribution over several devices. "parts": each device holds a part of the points.
        "copies": each holds all points and answers some of the queries. "auto" (default): chosen
        by the number of points.

    Raises
    ------
    InputError
        If a coordinate is NaN or infinite; the message names it.
    DeviceError
        If the device is absent.

    Notes
    -----
    Beyond 8 dimensions the search compares all points in blocks, on the CPU only: arrays must be in
    host memory, points cannot be inserted or removed, and `level_order` is the order of the input.

    Results are arrays of the framework, and on the device, of the queries. Ids are uint32 with
    `NO_POINT` for a missing neighbour; in PyTorch int64 with -1.

    Methods with a `stream` parameter accept a CUDA stream (an integer, or a stream object of
    PyTorch, CuPy or Numba); the default is the framework's current stream. They return when the
    results are complete.

    Examples
    --------
    >>> import numpy as np, kandela
    >>> tree = kandela.Points(np.random.default_rng(0).random((1000, 3), np.float32))
    >>> ids, dist2 = tree.nearest(np.zeros((1, 3), np.float32), 8)
    >>> ids.shape, dist2.dtype
    ((1, 8), dtype('float32'))
    """

    def __init__(self, x: Any, *, device: str = "auto", builder: str = "auto", split: str = "widest",
                 ids: Any = None, spread: str = "auto") -> None:
        options = _c.kd_points_options_default()
        options.device, options.builder = device, builder
        if split not in ("widest", "round-robin"):
            raise ValueError(f'`split` is "{split}"; expected "widest" or "round-robin"')
        options.split = int(split == "round-robin")
        if spread not in ("auto", "parts", "copies"):
            raise ValueError(f'`spread` is "{spread}"; expected "auto", "parts" or "copies"')
        options.spread = ("auto", "parts", "copies").index(spread)
        self._c, self._device = _c.kd_points_open(self._array(x, ids), options), device
        self._describe()

    @staticmethod
    def _array(x, ids=None):
        """Return the C library's view of points and ids, without copying the points."""
        if ids is not None and not framework(ids).on_device(ids):
            ids = id_array(ids, *getattr(x, "shape", ())[:1])
        elif ids is not None and "uint" not in str(ids.dtype):
            _check_ids(ids)
        settle(x, ids)
        return _c.kd_point_array_make(x.detach() if hasattr(x, "detach") else x, ids)

    def _describe(self):
        """Set `n`, `m` and `dtype` from the tree."""
        self.n, self.m = _c.kd_points_count(self._c), self._c.dims
        self.dtype = np.dtype(self._c.scalar)

    def update(self, x: Any, ids: Any = None) -> None:
        """Rebuild the tree from other points, with the same options.

        Parameters
        ----------
        x : array, (n, m)
            Any number of points, of any dimension and scalar type.
        ids : array of uint32, (n,), optional
            Ids to return instead of 0, 1, 2, ...

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.]]))
        >>> tree.update(np.array([[1., 1., 1.], [2., 2., 2.]], np.float32))
        >>> tree
        <kandela.Points of 2 x 3 float32>
        """
        _c.kd_points_update(self._c, self._array(x, ids))
        self._describe()

    def insert(self, x: Any, ids: Any = None) -> int | None:
        """Insert points. Results are from then on those of a tree built from all current points.

        Parameters
        ----------
        x : array, (k, m)
            Points of the dimension and scalar type of the tree.
        ids : array of uint32, (k,), optional
            Their ids; required if the tree was built with ids, else not allowed.

        Returns
        -------
        int or None
            The first of the consecutive, never used ids that the points get; None if `ids` is
            given.

        Examples
        --------
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

    def remove(self, ids: Any) -> None:
        """Remove the points with the given ids.

        Parameters
        ----------
        ids : array_like of uint32, (k,)

        Raises
        ------
        InputError
            If no point has one of the ids; nothing is removed then.

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.remove([0])
        >>> len(tree)
        1
        """
        _c.kd_points_remove(self._c, id_array(ids))
        self.n = _c.kd_points_count(self._c)

    def rebuild(self) -> None:
        """Merge the layers of a changed tree into one tree, which makes queries faster.

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.insert(np.array([[1., 1.]]))
        2
        >>> tree.rebuild()
        >>> tree.describe()["layers"]
        1
        """
        _c.kd_points_rebuild(self._c)

    def describe(self) -> dict[str, Any]:
        """Return statistics of the tree.

        Returns
        -------
        dict
            The fields of `kd_points_info`: count, dims, builder, device, bytes, build_seconds,
            hash, ...

        Examples
        --------
        >>> Points(np.array([[0., 0.], [3., 4.]])).describe()["hi"]
        [3.0, 4.0]
        """
        return _c.kd_points_describe(self._c)

    @property
    def nbytes(self) -> int:
        """Bytes that the tree holds, on whichever device.

        Examples
        --------
        >>> Points(np.zeros((1000, 3), np.float32)).nbytes < 100_000
        True
        """
        return self.describe()["bytes"]

    def _query(self, x, max_radius, radii, coherent, method, stream=None):
        """Return a `PointsQuery` of the C library; `radii` is None or an array of one radius per
        query.
        """
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

    def nearest(self, x: Any, k: Any, *, max_radius: float = np.inf, radii: Any = None,
                coherent: bool = False, method: str = "auto", out: Any = None, stream: Any = None) -> tuple[Any, ...]:
        """Find the k nearest neighbours of each query.

        Parameters
        ----------
        x : array, (q, m)
            Queries of the scalar type of the tree, with contiguous rows.
        k : int
            Number of neighbours.
        max_radius : float, optional
            Search radius of all queries.
        radii : array, (q,), optional
            Search radius of each query.
        coherent : bool, optional
            True if consecutive queries are close in space: they are then not sorted.
        method : {"auto", "leaves", "walk"}, optional
            Leaf index or stack-free traversal; same results.
        out : tuple of two arrays, optional
            Arrays to fill with ids (32 or 64 bits) and squared distances, instead of new ones.
        stream : optional
            CUDA stream.

        Returns
        -------
        ids : array of uint32, (q, k)
            Neighbours ordered by (distance, input index). Rows with fewer than k neighbours are
            padded with `NO_POINT`.
        dist2 : array, (q, k)
            Squared distances in the scalar type of the tree, padded with inf.

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.nearest(np.array([[0., 1.]]), 2)
        (array([[0, 1]], dtype=uint32), array([[ 1., 18.]]))
        """
        k = whole(k, "k", 1, 2**32 - 1)
        not_negative(max_radius, "max_radius")
        query, row = self._query(x, max_radius, radii, coherent, method, stream), framework(x)
        shape = len(x), k
        ids, dist2 = (row.empty(x, shape, np.int32 if row.wide else np.uint32),
                      row.empty(x, shape, self.dtype)) if out is None else out
        is_wide = ids is not None and "64" in str(ids.dtype)
        call = _c.kd_points_nearest64 if is_wide else _c.kd_points_nearest
        call(self._c, query, k, row.target(ids), row.target(dist2))
        return row.numbers(row.done(x, ids)) if out is None else ids, row.done(x, dist2)

    def within(self, x: Any, radius: Any, *, coherent: bool = False, method: str = "auto",
               distances: bool = True, stream: Any = None) -> tuple[Any, ...]:
        """Find all points within a radius of each query, as compressed sparse rows.

        Parameters
        ----------
        x : array, (q, m)
            Queries of the scalar type of the tree, with contiguous rows.
        radius : float or array, (q,)
            Search radius, of all queries or of each.
        coherent, method, stream : optional
            As for `nearest`.
        distances : bool, optional
            False: do not return the distances.

        Returns
        -------
        offsets : array of uint64, (q + 1,)
            The neighbours of query i are the entries from offsets[i] up to offsets[i + 1]. In
            PyTorch int64.
        ids : array of uint32
            Neighbours, each row ordered by (distance, input index). In PyTorch int64.
        dist2 : array or None
            Squared distances.

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.], [3., 4.]]))
        >>> tree.within(np.array([[0., 1.], [9., 9.]]), 2.)[:2]
        (array([0, 1, 1], dtype=uint64), array([0], dtype=uint32))
        """
        max_radius, radii = _radius(radius, len(x))
        return self._rows(self._query(x, max_radius, radii, coherent, method, stream), x, distances)

    def _rows(self, query, x, distances):
        """Implement `within` for a query of the C library, whose points are x."""
        row = framework(x)
        offsets = row.empty(x, len(x) + 1, np.int64 if row.wide else np.uint64)
        _c.kd_points_within_count(self._c, query, row.target(offsets))
        total = int(offsets[-1])
        ids = row.empty(x, total, np.int32 if row.wide else np.uint32)
        dist2 = row.empty(x, total, self.dtype) if distances else None
        _c.kd_points_within(self._c, query, row.target(offsets), row.target(ids), row.target(dist2))
        return row.done(x, offsets), row.numbers(row.done(x, ids)), row.done(x, dist2)

    def visit(self, x: Any, radius: Any, call: Any, *, coherent: bool = False, method: str = "auto") -> None:
        """Call a function for each point within a radius of each query, without storing a list.

        Parameters
        ----------
        x : array, (q, m)
            Queries of the scalar type of the tree, with contiguous rows.
        radius : float or array, (q,)
            Search radius, of all queries or of each.
        call : callable
            call(row, id, dist2, bound). It returns the largest squared distance that is still of
            interest for this row: None or `bound` to continue unchanged, less to narrow the search,
            -1 to end it. An exception that it raises ends the whole call and is raised here.
        coherent, method : optional
            As for `nearest`.

        Notes
        -----
        The order of the points is unspecified. Library threads make the calls, one at a time. The
        tree must be on the CPU. A call from C to Python takes about a microsecond, so `within` is
        faster where many points are visited.

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.], [3., 4.], [1., 0.]]))
        >>> odd = []
        >>> tree.visit(np.array([[0., 0.]]), 5., lambda row, id, dist2, bound: odd.append(id) if id % 2 else None)
        >>> odd
        [1]
        """
        max_radius, radii = _radius(radius, len(x))
        query = self._query(x, max_radius, radii, coherent, method)
        _c.kd_points_visit(self._c, query, call)

    def count_within(self, x: Any, radius: Any, *, stream: Any = None) -> Any:
        """Count the points within a radius of each query.

        Parameters
        ----------
        x : array, (q, m)
            Queries of the scalar type of the tree, with contiguous rows.
        radius : float or array, (q,)
            Search radius, of all queries or of each.
        stream : optional
            CUDA stream.

        Returns
        -------
        array of int64, (q,)

        Examples
        --------
        >>> Points(np.array([[0., 0.], [3., 4.]])).count_within(np.array([[0., 1.]]), 2.)
        array([1])
        """
        max_radius, radii = _radius(radius, len(x))
        query = self._query(x, max_radius, radii, False, "auto", stream)
        offsets = np.empty(len(x) + 1, np.uint64)
        _c.kd_points_within_count(self._c, query, offsets)
        return framework(x).of_host(x, np.diff(offsets.astype(np.int64)))

    def level_order(self) -> tuple[Any, ...]:
        """Return a copy of the tree in level order: the children of node i are 2i+1 and 2i+2.

        Returns
        -------
        x : ndarray, (n, m)
            Coordinates.
        ids : ndarray of uint32, (n,)
        axes : ndarray of uint8, (n,)
            Split axis of each node.

        Examples
        --------
        >>> Points(np.array([[5., 0.], [3., 1.], [9., 2.]])).level_order()[1]
        array([0, 1, 2], dtype=uint32)
        """
        x = np.empty((self.n, self.m), self.dtype)
        ids, axes = np.empty(self.n, np.uint32), np.empty(self.n, np.uint8)
        _c.kd_points_download(self._c, x, ids, axes)
        return x, ids, axes

    def save(self, path: Any) -> None:
        """Write the tree to a file with a checksum, which `Points.load` reads.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        RunError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> Points(np.array([[0., 0.], [3., 4.]])).save(path)
        >>> Points.load(path)
        <kandela.Points of 2 x 2 float64>
        """
        _c.kd_points_save(self._c, path_text(path))

    @classmethod
    def load(cls, path: Any, *, device: str = "auto") -> Points:
        """Read a tree that `save` wrote.

        Parameters
        ----------
        path : str or path-like
        device : str, optional
            As for `Points`.

        Returns
        -------
        Points

        Raises
        ------
        InputError
            If the file is missing, truncated, modified or not a tree.

        Examples
        --------
        >>> Points.load("/nowhere/at/all")
        Traceback (most recent call last):
        kandela.errors.InputError: /nowhere/at/all: cannot open: No such file or directory
        """
        options = _c.kd_points_options_default()
        options.device = device
        loaded = cls.__new__(cls)
        loaded._c, loaded._device = _c.kd_points_load(path_text(path), options), device
        loaded._describe()
        return loaded

    def close(self) -> None:
        """Free the memory of the tree now. Any later use of the tree raises UsageError.

        Examples
        --------
        >>> tree = Points(np.array([[0., 0.]]))
        >>> tree.close()
        """
        _c.kd_points_close(self._c)

    def __getstate__(self):
        """The file of `save`, and the options. Points that were inserted get ids, as in the file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tree")
            self.save(path)
            with open(path, "rb") as file:
                return {"file": file.read(), "device": self._device}

    def __setstate__(self, state):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tree")
            with open(path, "wb") as file:
                file.write(state["file"])
            self.__dict__.update(Points.load(path, device=state["device"]).__dict__)

    def __len__(self) -> int:
        return self.n

    def __repr__(self):
        return f"<kandela.Points of {self.n} x {self.m} {self.dtype}>"
