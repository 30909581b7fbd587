"""`KDTree`: the interface of `scipy.spatial.cKDTree`, on Kandela's trees."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _c
from .arrays import framework, is_foreign
from .checks import not_negative, whole
from .errors import InputError
from .metrics import distance, euclid_factor, is_safe, wrapped
from .points import Points, id_array, scalar_array

NOT_FINITE = "'x' must be finite, check for nan or inf values"

ROWS = 4096  #: queries per batch, for other norms
TREE_DIMS, DIMS = 8, 65536  #: most dimensions of trees, and of points that are compared in blocks


def _norm(p):
    if not_negative(p, "p") < 1:
        raise ValueError(f"`p` is {p}; only p-norms with 1 <= p <= infinity are supported")
    return float(p)


def _check_workers(workers):
    if whole(workers, "workers", -1) == 0:
        raise ValueError("`workers` is 0; expected -1 or at least 1")


def _numbers(r, name):
    """Return real numbers, none of them NaN, as a float64 array."""
    try:
        r = np.asarray(float(r) if r is None else r, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` is {r!r}; expected numbers") from None
    if np.isnan(r).any():
        raise ValueError(f"`{name}` must not be NaN")
    return r


def _radii(r, eps, shape, name="r"):
    """Return the search radius of all queries, a float, or an array with that of each; enlarged by
    up to 1e-9 if eps allows it, so that rounding loses no point at distance r.
    """
    not_negative(eps, "eps")
    if isinstance(r, float) and r == r:  # the usual case, quickly
        return r * (1 + min(eps, 1e-9))
    r = _numbers(r, name)
    if r.ndim == 0:
        return float(r) * (1 + min(eps, 1e-9))
    try:
        r = np.broadcast_to(r, shape)
    except ValueError:
        raise ValueError(f"`{name}` has the shape {r.shape}, which does not fit the shape {shape} of the "
                         "queries") from None
    return r.reshape(-1) * (1 + min(eps, 1e-9))


def _scalar_of(x):
    return np.float32 if "float32" in str(x.dtype) else np.float64


class KDTree:
    """K-d tree with the interface of `scipy.spatial.cKDTree`. Results are exact.

    Parameters
    ----------
    data : array_like, (n, m), m from 1 to 65536
        Finite points. float32 stays float32; everything else becomes float64. The tree holds a copy
        of the points: changes of `data` after the call have no effect. Arrays of PyTorch, CuPy and
        JAX are read in place.
    leafsize, compact_nodes, copy_data, balanced_tree : optional
        Accepted and ignored: the tree is left-balanced and always holds a copy.
    boxsize : float or array_like, (m,), optional
        Finite sides of a periodic box, in at most 8 dimensions; 0: not periodic along that axis.
    device, builder, split : optional
        As for `kandela.Points`.
    ids : array_like of int, (n,), optional
        Ids from 0 to 2^32 - 2 that all methods return instead of the indices 0, 1, 2, ...; a
        missing neighbour is then -1. Ties are still broken by the index.

    Raises
    ------
    ValueError
        If `data` has the wrong shape, is not finite or lies outside of the periodic box.
    TypeError
        If `data` is complex.

    Notes
    -----
    `p` may be any norm from 1 to infinity. `eps` and `workers` are accepted; results are exact, and
    the library uses its own threads.

    Beyond 8 dimensions the search compares all points in blocks, on the CPU only; arrays on a device
    are copied. Results are as exact, and ordered as in fewer dimensions.

    A float32 tree without a box answers float32 queries, and those between two float32 trees, in
    float32. All other queries, such as lists, are answered in float64; for the first of them a
    float32 tree builds a second tree of its points in float64.

    Queries that are arrays of PyTorch, CuPy or JAX return arrays of that framework on the same
    device, with int64 indices. `query` with p = 2 and without a box runs on the device; everything
    else runs on the host, and the results are copied back.

    Examples
    --------
    >>> import numpy as np, kandela
    >>> tree = kandela.KDTree(np.array([[0., 0.], [1., 0.], [0., 3.]]))
    >>> tree.query([0.2, 0.], k=2)
    (array([0.2, 0.8]), array([0, 1]))
    >>> tree.query_ball_point([0., 0.], 1, return_sorted=True)
    [0, 1]
    """

    if not TYPE_CHECKING:  # so that type checkers report attributes that do not exist

        def __getattr__(self, name):
            if name in ("tree", "innernode", "leafnode"):
                raise AttributeError(f"kandela.KDTree does not have SciPy's node objects ({name!r}); "
                                     "use kandela.Points(x).level_order() for the whole tree")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __init__(self, data: Any, leafsize: int = 16, compact_nodes: bool = True, copy_data: bool = False,
                 balanced_tree: bool = True, boxsize: Any = None, *, device: str = "auto",
                 builder: str = "auto", split: str = "widest", ids: Any = None) -> None:
        if not is_foreign(data) and np.iscomplexobj(data):
            raise TypeError("KDTree does not work with complex data")
        if is_foreign(data) and framework(data).on_device(data) and data.ndim == 2 and data.shape[1] <= TREE_DIMS:
            data = framework(data).plain(data, _scalar_of(data))
        else:
            data = scalar_array(framework(data).host(data), "data")
        if data.ndim != 2:
            raise ValueError("data must be 2 dimensions")
        if not 1 <= data.shape[1] <= DIMS:
            raise ValueError(f"`data` has {data.shape[1]} dimensions; supported: 1 to {DIMS}")
        leafsize = whole(leafsize, "leafsize", 1)
        self._data = self._double = None
        self.n, self.m = data.shape
        self.leafsize = leafsize
        self._given = {"device": device, "builder": builder, "split": split}
        self._ids = None if ids is None else id_array(ids, self.n)
        try:
            self._points = Points(data, **self._given)
        except InputError:
            raise ValueError("data must be finite, check for nan or inf values") from None
        box = self._points._c.box if self.m <= TREE_DIMS else (data.min(0, initial=np.inf), data.max(0, initial=-np.inf))
        self.mins, self.maxes = (np.array(corner if self.n else np.zeros(self.m), self._points.dtype) for corner in box)
        widest = (self.maxes.astype(np.float64) - self.mins).max()
        self._is_safe = bool(is_safe(widest, self._points.dtype))
        self.boxsize, self._box = self._periodic(boxsize)
        # whether calls with a single query may use the fast path
        self._is_quick = bool(self.n and self._box is None and self._ids is None and self._is_safe and
                              self._points.dtype == np.float64 and self._points._c.on_cpu)

    def _periodic(self, boxsize):
        if boxsize is None:
            return None, None
        if self.m > TREE_DIMS:
            raise ValueError(f"`boxsize` is given for {self.m} dimensions; supported: up to {TREE_DIMS}")
        box = np.asarray(scalar_array(boxsize, "boxsize"), np.float64)
        if box.shape not in ((), (1,), (self.m,)):
            raise ValueError(f"`boxsize` has the shape {box.shape}; expected a number or {self.m} numbers")
        box = np.broadcast_to(box, self.m).copy()
        for axis in np.flatnonzero(~(np.isfinite(box) & (box >= 0)))[:1]:
            raise ValueError(f"`boxsize` is {box[axis]:g} along axis {axis}; expected a finite side, "
                             "or 0 for an axis that is not periodic")
        periodic = box > 0
        if self.n and (self.maxes >= box)[periodic].any():
            raise ValueError("Some input data are greater than the size of the periodic box.")
        if (self.mins < 0)[periodic].any():
            raise ValueError("Negative input data are outside of the periodic box.")
        return box, box if periodic.any() else None

    @property
    def data(self) -> np.ndarray:
        """The points, (n, m), in host memory: a read-only copy of those of the tree."""
        if self._data is None:
            places, order, _ = self._points.level_order()
            data = np.empty_like(places)
            data[order] = places
            data.flags.writeable = False
            self._data = data
        return self._data

    def _tree(self, scalar):
        """Return the tree for queries of a scalar type."""
        if scalar == self._points.dtype:
            return self._points
        if self._double is None:
            self._double = Points(self.data.astype(np.float64), **self._given)
        return self._double

    def _named(self, index):
        """Return the ids of points by their index; n is the index of a missing one."""
        if self._ids is None:
            return index
        return np.append(self._ids.astype(np.intp), -1)[index]

    @property
    def size(self) -> int:
        """Number of nodes of the tree, which is the number of points."""
        return self.n

    @property
    def indices(self) -> np.ndarray:
        """Indices (or `ids`) of the points in level order of the tree."""
        return self._named(self._points.level_order()[1].astype(np.intp))

    # --- SciPy's queries -------------------------------------------------------------------------

    def query(self, x: Any, k: Any = 1, eps: float = 0, p: float = 2, distance_upper_bound: float = np.inf,
              workers: int = 1) -> tuple[Any, ...]:
        """Find the k nearest neighbours of each query.

        Parameters
        ----------
        x : array_like, (..., m)
            Finite query points.
        k : int or sequence of int, optional
            Number of neighbours, or the ranks of the wanted neighbours, from 1.
        eps : float, optional
            Accepted and ignored.
        p : float, optional
            Norm, from 1 to infinity.
        distance_upper_bound : float, optional
            Neighbours at this distance or farther are not found.
        workers : int, optional
            -1 or at least 1; ignored.

        Returns
        -------
        distances : float or array, (...) + (k,)
            float32 if the tree, which has no box, and the queries are float32, else float64; inf
            for a missing neighbour. The last axis is missing if k is 1.
        indices : int or array of intp, (...) + (k,)
            n for a missing neighbour, or -1 if the tree has `ids`.

        Raises
        ------
        ValueError
            If a query has the wrong dimension or is not finite.

        Examples
        --------
        >>> tree = KDTree(np.array([[0., 0.], [1., 0.], [0., 3.]]))
        >>> tree.query([[0., 1.]], k=[2], p=1)
        (array([[2.]]), array([[1]]))
        >>> tree.query([[9., 9.]], distance_upper_bound=1)
        (array([inf]), array([3]))
        """
        if (self._is_quick and type(k) is int and k == 1 and p == 2 and eps == 0 and workers == 1 and
                type(x) is np.ndarray and isinstance(distance_upper_bound, float)):
            found = _c.one_nearest(self._points._c, x, distance_upper_bound)
            if found is not None:
                return np.float64(found[0]), found[1]
        p = _norm(p)
        not_negative(eps, "eps")
        not_negative(distance_upper_bound, "distance_upper_bound")
        _check_workers(workers)
        ranks, squeezed = self._ranks(k)
        if is_foreign(x):
            return self._query_there(x, k, ranks, squeezed, p, float(distance_upper_bound))
        x, shape = self._places(x, p == 2 and self._box is None)
        far = int(ranks.max()) if len(ranks) else 0
        found, ids = self._nearest(x, far, p, float(distance_upper_bound))
        ids = self._named(ids)
        if far != len(ranks) or (np.diff(ranks) != 1).any():  # not simply 1, 2, ..., k
            found, ids = found[:, ranks - 1], ids[:, ranks - 1]
        if squeezed:
            found, ids = found.reshape(shape), ids.reshape(shape)
            return (found[()], int(ids)) if shape == () else (found, ids)
        return found.reshape(shape + (len(ranks),)), ids.reshape(shape + (len(ranks),))

    def _query_there(self, x, k, ranks, squeezed, p, bound):
        """Implement `query` for arrays of PyTorch, CuPy and JAX, on the device if possible."""
        row = framework(x)
        far = int(ranks.max()) if len(ranks) else 0
        on_device = not self._points._c.on_cpu and row.on_device(x)
        if not on_device or p != 2 or self._box is not None or not 0 < far <= self.n or (
                x.ndim < 1 or x.shape[-1] != self.m or not self._is_safe or self._ids is not None or
                np.dtype(_scalar_of(x)).itemsize > self._points.dtype.itemsize):
            answers = self.query(row.host(x), k, 0, p, bound)
            return tuple(row.of_host(x, np.asarray(answer)) for answer in answers)
        shape, x = tuple(x.shape[:-1]), row.plain(x.reshape(-1, self.m), self._points.dtype)
        if not bool(row.xp.isfinite(x).all()):
            raise ValueError(NOT_FINITE)
        ids, dist2 = self._points.nearest(x, far, max_radius=bound)
        found = row.xp.sqrt(dist2)
        keep = found < bound
        ids = row.xp.where(keep, row.plain(ids, np.int64), self.n)
        found = row.plain(row.xp.where(keep, found, np.inf), self._points.dtype)
        if far != len(ranks) or (np.diff(ranks) != 1).any():
            ids, found = ids[:, (ranks - 1).tolist()], found[:, (ranks - 1).tolist()]
        shape = shape if squeezed else shape + (len(ranks),)
        return found.reshape(shape), ids.reshape(shape)

    def query_ball_point(self, x: Any, r: Any, p: float = 2.0, eps: float = 0, workers: int = 1,
                         return_sorted: Any = None, return_length: bool = False) -> Any:
        """Find all points within a radius of each query.

        Parameters
        ----------
        x : array_like, (..., m)
            Finite query points.
        r : float or array_like
            Search radius, of all queries or of each.
        p : float, optional
            Norm, from 1 to infinity.
        eps, workers : optional
            Accepted as by `query`; the results are exact.
        return_sorted : bool, optional
            Sort the indices. None (default): only if there is more than one query.
        return_length : bool, optional
            Return the number of points instead of their indices.

        Returns
        -------
        list of int, array of lists, int or array of int
            The indices, or their number: one entry per query; not an array for a single query.

        Examples
        --------
        >>> KDTree(np.array([[0., 0.], [1., 0.], [0., 3.]])).query_ball_point([[0., 1.], [0., 2.]], [1.5, 1.])
        array([list([0, 1]), list([2])], dtype=object)
        """
        if (self._is_quick and isinstance(r, float) and p == 2 and eps == 0 and workers == 1 and
                not return_length and type(x) is np.ndarray):
            found = _c.one_ball(self._points._c, x, r, bool(return_sorted))
            if found is not None:
                return found
        p = _norm(p)
        _check_workers(workers)
        x, shape = self._places(x)
        offsets, ids = self._within(x, _radii(r, eps, shape), p)[:2]
        ids = self._named(ids)
        if return_length:
            counts = np.diff(offsets).reshape(shape)
            return int(counts) if shape == () else counts
        if shape == ():
            return (np.sort(ids) if return_sorted else ids).tolist()
        lists = np.empty(len(x), object)
        for i, row in enumerate(_c.row_lists(offsets, ids, return_sorted is None or bool(return_sorted))):
            lists[i] = row
        return lists.reshape(shape)

    def query_ball_tree(self, other: Any, r: Any, p: float = 2.0, eps: float = 0) -> list[Any]:
        """Find, for each point of this tree, all points of another tree within a radius.

        Parameters
        ----------
        other : KDTree
            Tree of the same dimension and boxsize.
        r : float
            Search radius.
        p : float, optional
            Norm, from 1 to infinity.
        eps : float, optional
            Accepted; the results are exact.

        Returns
        -------
        list of list of int
            Sorted indices into `other`, one list per point of this tree.

        Examples
        --------
        >>> KDTree(np.array([[0.], [5.]])).query_ball_tree(KDTree(np.array([[1.], [2.]])), 2)
        [[0, 1], []]
        """
        self._same_space(other)
        offsets, ids = other._within(self._as(other), _radii(r, eps, (self.n,)), _norm(p))[:2]
        return _c.row_lists(offsets, other._named(ids), True)

    def query_pairs(self, r: Any, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        """Find all pairs i < j of points within a distance of each other. Of a pair of `ids`, the
        smaller comes first.

        Parameters
        ----------
        r : float
            Largest distance.
        p : float, optional
            Norm, from 1 to infinity.
        eps : float, optional
            Accepted; the results are exact.
        output_type : {"set", "ndarray"}, optional

        Returns
        -------
        set of tuple, or ndarray of intp, (count, 2)

        Examples
        --------
        >>> KDTree(np.array([[0.], [1.], [5.]])).query_pairs(2)
        {(0, 1)}
        """
        if output_type not in ("set", "ndarray"):
            raise ValueError(f"`output_type` is {output_type!r}; expected \"set\" or \"ndarray\"")
        p, x, r = _norm(p), self._as(self), _radii(r, eps, (self.n,))
        if isinstance(r, float) and r >= 0 and self.n and self._is_plain(x, p) and self._points._c.on_cpu:
            tree = self._tree(x.dtype)
            pairs = _c.later_pairs(tree._c, self._search(tree, x, r, p))
        else:
            offsets, ids = self._within(x, r, p)[:2]
            rows = np.repeat(np.arange(self.n), np.diff(offsets))
            keep = rows < ids
            pairs = np.stack([rows[keep], ids[keep]], 1).astype(np.intp)
        if self._ids is not None:
            pairs = np.sort(self._named(pairs), 1)
        return pairs if output_type == "ndarray" else set(zip(pairs[:, 0].tolist(), pairs[:, 1].tolist()))

    def count_neighbors(self, other: Any, r: Any, p: float = 2.0, weights: Any = None,
                        cumulative: bool = True) -> Any:
        """Count the pairs of one point of each tree within given distances.

        Parameters
        ----------
        other : KDTree
            Tree of the same dimension and boxsize.
        r : float or array_like, (k,)
            Largest distances; non-decreasing if `cumulative` is False.
        p : float, optional
            Norm, from 1 to infinity.
        weights : array_like, or tuple of two array_like or None, optional
            Weights of the points of both trees, or of each. Instead of counting, the products of
            the weights are summed.
        cumulative : bool, optional
            False: count pairs with distances between one r and the next.

        Returns
        -------
        int, float or ndarray, (k,)

        Examples
        --------
        >>> KDTree(np.array([[0.], [5.]])).count_neighbors(KDTree(np.array([[1.], [2.]])), [1, 2, 9])
        array([1, 2, 4])
        """
        self._same_space(other)
        p, radii = _norm(p), np.atleast_1d(_numbers(r, "r"))
        if radii.ndim > 1:
            raise ValueError("`r` must be either a single value or a one-dimensional array of values")
        if not cumulative and (np.diff(radii) < 0).any():
            raise ValueError("`r` must be non-decreasing if cumulative is False")
        mine, theirs = weights if isinstance(weights, tuple) else (weights, weights)
        if weights is not None:
            mine, theirs = self._weights(mine), other._weights(theirs)
        order = np.argsort(radii, kind="stable")
        sums = np.zeros(len(radii))
        most, here = (radii.max() if len(radii) else -1.0), self._as(other)
        if most >= 0 and self.n and other.n and other._is_plain(here, p) and other._points._c.on_cpu:
            tree = other._tree(here.dtype)
            sums = _c.count_pairs(tree._c, other._search(tree, here, float(most), p), radii[order], mine, theirs)
        elif most >= 0:
            sums = self._sums(other, here, radii[order], p, mine, theirs)
        sums = np.cumsum(sums) if cumulative else sums
        out = np.empty_like(sums)
        out[order] = sums
        if weights is None:
            out = np.rint(out).astype(np.intp)
        return out[0] if np.ndim(r) == 0 else out

    def sparse_distance_matrix(self, other: Any, max_distance: Any, p: float = 2.0,
                               output_type: str = "dok_matrix") -> Any:
        """Compute the distances of all pairs of one point of each tree within a distance.

        Parameters
        ----------
        other : KDTree
            Tree of the same dimension and boxsize.
        max_distance : float
        p : float, optional
            Norm, from 1 to infinity.
        output_type : {"dict", "ndarray", "coo_matrix", "dok_matrix"}, optional
            "ndarray" has the fields i, j, v; the last two need SciPy. Rows and columns are the
            indices, or `ids`, of the points.

        Returns
        -------
        dict, ndarray or sparse matrix

        Examples
        --------
        >>> KDTree(np.array([[0.], [5.]])).sparse_distance_matrix(KDTree(np.array([[1.]])), 2, output_type="dict")
        {(0, 0): 1.0}
        """
        self._same_space(other)
        if output_type not in ("dict", "ndarray", "coo_matrix", "dok_matrix"):
            raise ValueError(f"`output_type` is {output_type!r}; expected \"dict\", \"ndarray\", \"coo_matrix\" or "
                             "\"dok_matrix\"")
        offsets, ids, found = other._within(self._as(other), _radii(max_distance, 0, (self.n,), "max_distance"),
                                            _norm(p), True)
        rows, ids = self._named(np.repeat(np.arange(self.n), np.diff(offsets))), other._named(ids)
        if output_type == "dict":
            return dict(zip(zip(rows.tolist(), ids.tolist()), found.tolist()))
        if output_type == "ndarray":
            out = np.empty(len(rows), [("i", np.intp), ("j", np.intp), ("v", np.float64)])
            out["i"], out["j"], out["v"] = rows, ids, found
            return out
        import scipy.sparse

        matrix = scipy.sparse.coo_matrix((found, (rows, ids)), shape=(self._ids_end(), other._ids_end()))
        return matrix if output_type == "coo_matrix" else matrix.todok()

    # --- beyond SciPy ----------------------------------------------------------------------------

    def query_radius(self, x: Any, r: Any, p: float = 2.0, output_type: str = "rows") -> Any:
        """Find all points within a radius of each query, as compressed sparse rows. Not in SciPy.

        Parameters
        ----------
        x : array_like, (..., m)
            Finite query points.
        r : float or array_like
            Search radius, of all queries or of each.
        p : float, optional
            Norm, from 1 to infinity.

        output_type : {"rows", "distance", "connectivity"}, optional
            "rows": the three arrays below. Otherwise a `scipy.sparse.csr_array` (q, n), with the
            distances, also those of 0, or with ones; its columns are the indices, or `ids`, of the
            points. The entries of a row are in the order of the rows.

        Returns
        -------
        offsets : ndarray, (q + 1,)
            The neighbours of query i are the entries from offsets[i] up to offsets[i + 1].
        ids : ndarray
            Neighbours, each row ordered by (distance, index).
        distances : ndarray

        Examples
        --------
        >>> tree = KDTree(np.array([[0., 0.], [1., 0.]]))
        >>> tree.query_radius(np.array([[0.25, 0.]]), 1.)
        (array([0, 2]), array([0, 1]), array([0.25, 0.75]))
        >>> tree.query_radius(np.array([[0.25, 0.]]), 1., output_type="distance").toarray()
        array([[0.25, 0.75]])
        """
        if output_type not in ("rows", "distance", "connectivity"):
            raise ValueError(f"`output_type` is {output_type!r}; expected \"rows\", \"distance\" or \"connectivity\"")
        x, shape = self._places(x)
        offsets, ids, found = self._within(x, _radii(r, 0, shape), _norm(p), True, True)
        ids = self._named(ids)
        if output_type == "rows":
            return offsets, ids, found
        import scipy.sparse

        values = found if output_type == "distance" else np.ones(len(ids))
        return scipy.sparse.csr_array((values, ids, offsets), shape=(len(x), self._ids_end()))

    def update(self, data: Any, ids: Any = None) -> None:
        """Rebuild the tree from other points, with the same options. Not in SciPy.

        Parameters
        ----------
        data : array_like, (n, m)
        ids : array_like of int, (n,), optional
            Ids to return instead of 0, 1, 2, ...

        Examples
        --------
        >>> tree = KDTree(np.array([[0., 0.]]))
        >>> tree.update(np.array([[1., 1.], [2., 2.]]))
        >>> tree.query([[2., 2.]])
        (array([0.]), array([1]))
        """
        self.__init__(data, self.leafsize, boxsize=self.boxsize, ids=ids, **self._given)

    def save(self, path: Any) -> None:
        """Write the tree to a file with a checksum, which `KDTree.load` reads. Not in SciPy.

        The file holds the points and their ids, without boxsize; `kandela.Points.load` reads it, too.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        RunError
            If the file cannot be written.

        Examples
        --------
        >>> import kandela, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> KDTree(np.array([[0., 0.], [1., 1.]])).save(path)
        >>> KDTree.load(path)
        <kandela.KDTree of 2 x 2 float64>
        """
        (self._points if self._ids is None else Points(self.data, ids=self._ids, **self._given)).save(path)

    @classmethod
    def load(cls, path: Any, boxsize: Any = None, *, device: str = "auto") -> KDTree:
        """Build the tree of the points in a file that `save`, or `Points.save`, wrote. Not in SciPy.

        Parameters
        ----------
        path : str or path-like
        boxsize : float or array_like, (m,), optional
            As for `KDTree`.
        device : str, optional
            As for `Points`.

        Returns
        -------
        KDTree
            Its points are in the order of their ids.

        Raises
        ------
        InputError
            If the file is missing, truncated, modified or not a tree.

        Examples
        --------
        >>> KDTree.load("/nowhere/at/all")
        Traceback (most recent call last):
        kandela.errors.InputError: /nowhere/at/all: cannot open: No such file or directory
        """
        places, ids, _ = Points.load(path, device="cpu").level_order()
        order = np.argsort(ids, kind="stable")
        is_plain = np.array_equal(ids[order], np.arange(len(ids)))
        return cls(places[order], boxsize=boxsize, device=device, ids=None if is_plain else ids[order])

    # --- implementation --------------------------------------------------------------------------

    def _places(self, x, quick=False):
        """Return queries as (q, m) rows, wrapped into the box, and their shape. They are float32 if
        they and the tree are and there is no box, else float64.

        `quick`: skip the check for non-finite coordinates, because the library checks them.
        """
        x = np.asarray(framework(x).host(x))
        if np.iscomplexobj(x):
            raise TypeError("KDTree does not work with complex data")
        if x.dtype != np.float32 or self._points.dtype != np.float32 or self._box is not None:
            try:
                x = np.asarray(x, np.float64)
            except ValueError:
                raise ValueError(f"`x` is an array of {x.dtype}; expected real numbers") from None
        if x.ndim == 0 or x.shape[-1] != self.m:
            raise ValueError(f"`x` must consist of vectors of length {self.m}, but has the shape {x.shape}")
        if not (quick and self.n > 0 and x.size > 0) and not np.isfinite(x).all():
            raise ValueError(NOT_FINITE)
        shape = x.shape[:-1]
        x = np.ascontiguousarray(x.reshape(-1, self.m))
        if self._box is not None:
            x = np.where(self._box > 0, np.mod(x, np.where(self._box > 0, self._box, 1)), x)
        return x, shape

    @staticmethod
    def _ranks(k):
        """Return the ranks that k asks for, and whether the last axis is dropped."""
        one = np.ndim(k) == 0
        try:
            ranks = [operator.index(rank) for rank in ((k,) if one else k)]
        except TypeError:
            raise ValueError("k must be an integer or a sequence of integers") from None
        if min(ranks, default=1) < 1:
            raise ValueError(f"`k` has the value {min(ranks)}; k must be greater than or equal to 1")
        whole(max(ranks, default=1), "k", 1, 2**32 - 1)
        return (np.arange(1, ranks[0] + 1), ranks[0] == 1) if one else (np.array(ranks, np.intp), False)

    def _sums(self, other, here, radii, p, mine, theirs):
        """Implement `count_neighbors` for ascending radii; each sum is without those before it."""
        sums = np.zeros(len(radii))
        mine, theirs = (np.ones(tree.n) if given is None else given
                        for tree, given in ((self, mine), (other, theirs)))
        for begin in range(0, self.n, 256):
            rows = slice(begin, begin + 256)
            offsets, ids, found = other._within(here[rows], float(radii[-1]), p, True)
            weight = np.repeat(mine[rows], np.diff(offsets)) * theirs[ids]
            bins = np.searchsorted(radii, found, "left")
            sums += np.bincount(bins, weight, len(radii) + 1)[:len(radii)]
        return sums

    def _weights(self, given):
        if given is None:
            return np.ones(self.n)
        given = np.ascontiguousarray(given, np.float64)
        if given.shape != (self.n,):
            raise ValueError(f"`weights` has the shape {given.shape}; expected ({self.n},), one for each point")
        return given

    def _ids_end(self):
        """Return the number of rows of a matrix whose rows are the indices, or ids, of the points."""
        return self.n if self._ids is None else int(self._ids.max(initial=0)) + 1

    def _same_space(self, other):
        if not isinstance(other, KDTree):
            raise TypeError(f"`other` is a {type(other).__name__}; expected a KDTree")
        if self.m != other.m:
            raise ValueError(f"`other` has {other.m} dimensions; expected {self.m}")
        mine = np.zeros(self.m) if self.boxsize is None else self.boxsize
        theirs = np.zeros(self.m) if other.boxsize is None else other.boxsize
        if (mine != theirs).any():
            raise ValueError(f"`other` has the boxsize {theirs}; expected {mine}")

    def _as(self, other):
        """Return the points of this tree as queries of the other tree."""
        is_float = self._points.dtype == np.float32 and other._points.dtype == np.float32 and self._box is None
        return self.data if is_float else np.asarray(self.data, np.float64)

    def _is_plain(self, x, p):
        """Return whether the library itself answers: p is 1, 2 or infinity, and squares of distances
        neither overflow nor underflow.
        """
        if p not in (1, 2, np.inf) or (p == 2 and not self._is_safe):
            return False
        most = max(map(abs, x.ravel().tolist()), default=0) if x.size < 32 else max(x.max(), -x.min())
        return most < (1e18 if x.dtype == np.float32 else 1e153)

    def _nearest(self, x, k, p, bound):
        """Return distances and indices, (q, k) each; inf and n where nothing is closer than
        `bound`.
        """
        k_there = min(k, self.n)
        if k_there > 0 and len(x) > 0 and self._is_plain(x, p):
            found, ids = self._plain_nearest(x, k_there, p, bound)
            if k == k_there:
                return found, ids
            more = ((0, 0), (0, k - k_there))
            return np.pad(found, more, constant_values=np.inf), np.pad(ids, more, constant_values=self.n)
        found = np.full((len(x), k), np.inf)
        ids = np.full((len(x), k), self.n, np.intp)
        if k_there > 0 and len(x) > 0 and not np.isfinite(x).all():
            raise ValueError(NOT_FINITE)
        for begin in range(0, len(x) if k_there else 0, ROWS):
            rows = slice(begin, begin + ROWS)
            self._nearest_rows(x[rows], k_there, p, bound, found[rows], ids[rows])
        missing = ~(found < bound)
        found[missing], ids[missing] = np.inf, self.n
        return found.astype(x.dtype), ids

    def _search(self, tree, x, r, p):
        """Return a query of the C library for the points within r, by the norm p and in the box."""
        one = isinstance(r, float)
        query = tree._query(x, r if one else np.inf, None if one else r, False, "auto")
        if p != 2:
            query.norm = p
        if self._box is not None:
            query.period = self._box.tolist()
        return query

    def _plain_nearest(self, x, k, p, bound):
        """Implement `_nearest` for p = 1, 2 and infinity."""
        tree = self._tree(x.dtype)
        query = self._search(tree, x, bound, p)
        found, ids = np.empty((len(x), k), x.dtype), np.empty((len(x), k), np.int64)
        try:
            _c.nearest_distances(tree._c, query, k, ids, found, self.n)
        except InputError:
            raise ValueError(NOT_FINITE) from None
        return found, ids

    def _nearest_rows(self, x, k, p, bound, found, ids):
        """Implement `_nearest` for other norms, for some queries.

        The k Euclidean neighbours of the query give an upper bound on the k-th distance by the
        norm; the search within that bound contains the k nearest.
        """
        near = self._tree(x.dtype).nearest(x, k)[0]
        away = distance(wrapped(self.data[near] - x[:, None].astype(np.float64), self._box), p)
        reach = np.minimum(away.max(1), bound)
        offsets, numbers, dist = self._within(x, reach, p, True)
        rows = np.repeat(np.arange(len(x)), np.diff(offsets))
        order = np.lexsort((numbers, dist, rows))
        place = np.arange(len(rows)) - offsets[rows]
        keep = place < k
        found[rows[keep], place[keep]] = dist[order][keep]
        ids[rows[keep], place[keep]] = numbers[order][keep]

    def _within(self, x, r, p, distances=False, in_order=False):
        """Return offsets, indices and (on request) distances of all points within r, or r[i] of
        row i. `in_order`: by (distance, index); that needs the distances.
        """
        one = isinstance(r, float)
        if self.n == 0 or len(x) == 0 or (one and r < 0):
            return np.zeros(len(x) + 1, np.intp), np.empty(0, np.intp), np.empty(0)
        none = None if one else r < 0
        asked = r if one or not none.any() else np.maximum(r, 0)
        if self._is_plain(x, p):
            tree = self._tree(x.dtype)
            offsets, ids, found = self._rows(tree, self._search(tree, x, asked, p), x, distances, in_order)
        else:
            offsets, ids, found = self._within_measured(x, asked, p)
            if in_order:
                order = np.lexsort((ids, found, np.repeat(np.arange(len(x)), np.diff(offsets))))
                ids, found = ids[order], found[order]
        if asked is not r:
            return self._cut(len(x), offsets, ids, found, ~none[np.repeat(np.arange(len(x)), np.diff(offsets))])
        return offsets, ids, found

    @staticmethod
    def _rows(tree, query, x, distances, in_order=False):
        """Return the results of a query of the C library for the points x."""
        if tree._c.on_cpu and not in_order:
            return _c.within_rows(tree._c, query, distances)
        offsets, ids, found = tree._rows(query, x, distances)
        if distances and query.norm == 2:
            found = np.sqrt(found)
        return offsets.astype(np.intp), ids.astype(np.intp), found

    @staticmethod
    def _cut(count, offsets, ids, found, keep):
        """Keep only the entries of compressed rows for which `keep` is true."""
        rows = np.repeat(np.arange(count), np.diff(offsets))[keep]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
        return offsets.astype(np.intp), ids[keep], None if found is None else found[keep]

    def _within_measured(self, x, r, p):
        """Implement `_within` for other norms.

        Searches Euclidean balls that contain the balls of the norm, and measures the points found.
        """
        tree = self._tree(x.dtype if self._is_safe else np.dtype(np.float64))
        # squares of shorter radii are not normal numbers
        reach = np.maximum(r * euclid_factor(p, self.m) * (1 + 1e-6),
                           4 * np.sqrt(np.finfo(tree.dtype).tiny))
        place = np.ascontiguousarray(x, tree.dtype)
        reach = float(reach) if isinstance(r, float) else reach
        offsets, ids, _ = self._rows(tree, self._search(tree, place, reach, 2), place, False)
        rows = np.repeat(np.arange(len(x)), np.diff(offsets))
        found = distance(wrapped(self.data[ids] - x[rows].astype(np.float64), self._box), p)
        return self._cut(len(x), offsets, ids, found, found <= (r if isinstance(r, float) else r[rows]))

    def __getstate__(self):
        return {"data": self.data, "leafsize": self.leafsize, "boxsize": self.boxsize,
                "given": self._given, "ids": self._ids}

    def __setstate__(self, state):
        self.__init__(state["data"], state["leafsize"], boxsize=state["boxsize"],
                      ids=state["ids"], **state["given"])

    def __repr__(self):
        return f"<kandela.KDTree of {self.n} x {self.m} {self._points.dtype}>"
