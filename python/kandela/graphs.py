"""Neighbour graphs in the layout of PyTorch Geometric, and `knn` and `radius` of torch_cluster.

`edge_index` is (2, edges): row 0 is the neighbour, row 1 the point whose neighbour it is, or the
reverse with flow="target_to_source". Points and batch may be arrays of PyTorch, CuPy or JAX;
neighbours are then searched on their device, and the results are arrays of the same framework and
device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import brought
from .checks import not_negative, whole
from .points import Points, scalar_array


class _Clouds:
    """One tree for the points of several clouds.

    An additional coordinate separates the clouds: it contributes exactly 0 to distances within a
    cloud, and more than the extent of all points to distances between clouds.
    """

    def __init__(self, x, batch, y=None, batch_y=None):
        x, device, self.back = brought(x)
        self.x = self._rows(x, "x")
        self.width = self.x.shape[1]
        self.apart2 = np.inf
        self.y = None if y is None else self._rows(brought(y)[0], "y").astype(self.x.dtype)
        if y is not None and self.y.shape[1] != self.width:
            raise ValueError(f"`y` has {self.y.shape[1]} dimensions; expected {self.width}, as `x`")
        if y is not None and (batch is None) != (batch_y is None):
            raise ValueError("`batch_x` and `batch_y` must be given both or neither")
        if batch is not None:
            name = "batch" if y is None else "batch_x"
            self._add(self._batch(batch, self.x, name),
                      None if y is None else self._batch(batch_y, self.y, "batch_y"))
        if self.x.shape[1] == 1:
            self.x = np.hstack([self.x, np.zeros_like(self.x)])
            self.y = None if y is None else np.hstack([self.y, np.zeros_like(self.y)])
        self.tree = Points(self.x, device=device)

    @staticmethod
    def _rows(x, name):
        x = scalar_array(x, name)
        return x[:, None] if x.ndim == 1 else x

    @staticmethod
    def _batch(batch, x, name):
        batch = np.asarray(brought(batch)[0])
        if batch.shape != (len(x),):
            raise ValueError(f"`{name}` has shape {batch.shape}; expected ({len(x)},)")
        if len(batch) and batch.dtype.kind not in "iu":
            raise TypeError(f"`{name}` is an array of {batch.dtype}; expected integers")
        return batch.astype(np.int64)

    def _add(self, batch, batch_y):
        both = self.x if self.y is None else np.concatenate([self.x, self.y])
        across = float(np.linalg.norm(both.max(0).astype(float) - both.min(0))) if len(both) else 0
        step = 2.0 ** np.ceil(np.log2(4 * max(across, 1e-30)))
        numbers = np.unique(batch if batch_y is None else np.concatenate([batch, batch_y]),
                            return_inverse=True)[1]
        both = np.hstack([both, (numbers * step)[:, None].astype(both.dtype)])
        self.x = np.ascontiguousarray(both[:len(self.x)])
        if self.y is not None:
            self.y = np.ascontiguousarray(both[len(self.x):])
        self.apart2 = step * step / 2


def _edges(clouds, neighbours, centres, flow):
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f'`flow` is "{flow}"; expected "source_to_target" or "target_to_source"')
    pair = [neighbours, centres] if flow == "source_to_target" else [centres, neighbours]
    return clouds.back(np.stack(pair).astype(np.int64))


def knn_graph(x: Any, k: int, batch: Any = None, loop: bool = False, flow: str = "source_to_target") -> np.ndarray:
    """Connect each point to its k nearest other points, nearest first.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
        Points.
    k : int
        Neighbours per point.
    batch : array_like of int, (n,), optional
        Cloud of each point; only points of the same cloud are connected.
    loop : bool, optional
        Count each point as its own neighbour.
    flow : {"source_to_target", "target_to_source"}, optional

    Returns
    -------
    array of int64, (2, edges)
        A cloud of k or fewer points gives fewer edges per point.

    Raises
    ------
    InputError
        If a coordinate is not finite; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> knn_graph(np.array([[0.], [1.], [5.]]), 1)
    array([[1, 0, 1],
           [0, 1, 2]])
    """
    k, clouds = whole(k, "k", 1), _Clouds(x, batch)
    n = len(clouds.x)
    wanted = min(k + (not loop), n)
    if wanted == 0:
        return clouds.back(np.empty((2, 0), np.int64))
    ids, dist2 = clouds.tree.nearest(clouds.x, wanted)
    centres = np.arange(n)[:, None]
    keep = dist2 < clouds.apart2
    if not loop:
        keep &= ids != centres
    keep &= np.cumsum(keep, 1) <= k  # more than k if the point itself is not among them
    return _edges(clouds, ids[keep], np.broadcast_to(centres, ids.shape)[keep], flow)


def radius_graph(x: Any, r: float, batch: Any = None, loop: bool = False, max_neighbors: int | None = 32,
                 flow: str = "source_to_target") -> np.ndarray:
    """Connect each point to the points within a radius, nearest first.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
        Points.
    r : float
        Radius; points at exactly this distance are connected.
    batch, loop, flow : optional
        As for `knn_graph`.
    max_neighbors : int or None, optional
        Keep only this many nearest neighbours per point; None: all.

    Returns
    -------
    array of int64, (2, edges)

    Examples
    --------
    >>> import numpy as np
    >>> radius_graph(np.array([[0.], [1.], [5.]]), 1.5)
    array([[1, 0],
           [0, 1]])
    """
    r, clouds = not_negative(r, "r"), _Clouds(x, batch)
    if max_neighbors is not None:
        whole(max_neighbors, "max_neighbors", 0)
    if len(clouds.x) == 0:
        return clouds.back(np.empty((2, 0), np.int64))
    r = min(r, float(np.sqrt(clouds.apart2)))
    offsets, ids, _ = clouds.tree.within(clouds.x, r, distances=False)
    offsets = offsets.astype(np.int64)
    centres = np.repeat(np.arange(len(clouds.x)), np.diff(offsets))
    keep = np.ones(len(ids), bool) if loop else ids != centres
    if max_neighbors is not None:
        before = np.concatenate([[0], np.cumsum(keep)])
        keep &= before[:-1] - before[offsets[centres]] < max_neighbors
    return _edges(clouds, ids[keep], centres[keep], flow)


def knn(x: Any, y: Any, k: int, batch_x: Any = None, batch_y: Any = None) -> np.ndarray:
    """Find for each point of y its k nearest points of x, nearest first.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
        Points.
    y : array_like, (q, m)
        Queries. Coordinates are compared in the type of `x`.
    k : int
        Neighbours per query.
    batch_x, batch_y : array_like of int, (n,) and (q,), optional
        Cloud of each point and query; only points of the same cloud are found.

    Returns
    -------
    array of int64, (2, pairs)
        As of torch_cluster's `knn`: row 0 has the indices of y, in ascending order, row 1 those
        of x.

    Raises
    ------
    InputError
        If a coordinate is not finite; the message names it.
    ValueError
        If the dimensions differ, or only one batch is given.

    Examples
    --------
    >>> import numpy as np
    >>> knn(np.array([[0.], [1.], [5.]]), np.array([[4.], [0.2]]), 2)
    array([[0, 0, 1, 1],
           [2, 1, 0, 1]])
    """
    k, clouds = whole(k, "k", 1), _Clouds(x, batch_x, y, batch_y)
    wanted = min(k, len(clouds.x))
    if wanted == 0 or len(clouds.y) == 0:
        return clouds.back(np.empty((2, 0), np.int64))
    ids, dist2 = clouds.tree.nearest(clouds.y, wanted)
    keep = dist2 < clouds.apart2
    rows = np.broadcast_to(np.arange(len(clouds.y))[:, None], ids.shape)
    return clouds.back(np.stack([rows[keep], ids[keep]]).astype(np.int64))


def radius(x: Any, y: Any, r: float, batch_x: Any = None, batch_y: Any = None,
           max_num_neighbors: int | None = 32) -> np.ndarray:
    """Find for each point of y the points of x within a radius, nearest first.

    Parameters
    ----------
    x, y, batch_x, batch_y
        As for `knn`.
    r : float
        Radius; points at exactly this distance are found.
    max_num_neighbors : int or None, optional
        Find only this many nearest points per query; None: all.

    Returns
    -------
    array of int64, (2, pairs)
        As of torch_cluster's `radius`: row 0 has the indices of y, in ascending order, row 1 those
        of x.

    Examples
    --------
    >>> import numpy as np
    >>> radius(np.array([[0.], [1.], [5.]]), np.array([[4.], [0.2]]), 1.)
    array([[0, 1, 1],
           [2, 0, 1]])
    """
    r, clouds = not_negative(r, "r"), _Clouds(x, batch_x, y, batch_y)
    if max_num_neighbors is not None:
        whole(max_num_neighbors, "max_num_neighbors", 0)
    if len(clouds.x) == 0 or len(clouds.y) == 0:
        return clouds.back(np.empty((2, 0), np.int64))
    offsets, ids, _ = clouds.tree.within(clouds.y, min(r, float(np.sqrt(clouds.apart2))), distances=False)
    offsets = offsets.astype(np.int64)
    rows = np.repeat(np.arange(len(clouds.y)), np.diff(offsets))
    keep = slice(None)
    if max_num_neighbors is not None:
        keep = np.arange(len(ids)) - offsets[rows] < max_num_neighbors
    return clouds.back(np.stack([rows[keep], ids[keep]]).astype(np.int64))


def mean_dist2(x: Any, k: int = 3) -> np.ndarray:
    """Compute the mean squared distance of each point to its k nearest other points.

    This is distCUDA2 of the package simple-knn, used to initialise Gaussian splatting.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
    k : int, optional

    Returns
    -------
    array, (n,)
        In the type of `x`; 0 if there is only one point.

    Examples
    --------
    >>> import numpy as np
    >>> mean_dist2(np.array([[0.], [1.], [3.]]), k=1)
    array([1., 1., 4.])
    """
    k, clouds = whole(k, "k", 1), _Clouds(x, None)
    n = len(clouds.x)
    if n < 2:
        return clouds.back(np.zeros(n, clouds.x.dtype))
    ids, dist2 = clouds.tree.nearest(clouds.x, min(k + 1, n))
    itself = ids == np.arange(n)[:, None]
    itself[~itself.any(1), -1] = True  # more than k duplicates: drop the last instead
    return clouds.back(dist2[~itself].reshape(n, -1).mean(1))
