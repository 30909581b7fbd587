"""Point clouds: normals, clustering, outliers, registration and downsampling.

Points may be arrays of PyTorch, CuPy or JAX, on a CUDA device, too. The neighbour search then runs
on that device, the rest in float64 by NumPy (`farthest_points`: by the framework, on the device),
and the results are arrays of the same framework and device, bit for bit those of NumPy arrays on
the CPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _c
from .arrays import brought, framework, is_foreign
from .checks import not_negative, whole
from .errors import InputError
from .points import NO_POINT, Points, scalar_array

ROWS = 65536  #: points per batch, which bounds the memory


def _three(x, name="x"):
    x = scalar_array(brought(x)[0], name)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ValueError(f"`{name}` has shape {x.shape}; expected (n, 3)")
    return x


def normals(x: Any, k: int = 16, toward: Any = None, *, device: str = "auto") -> np.ndarray:
    """Estimate normals as the direction of least variance of the k nearest points.

    Parameters
    ----------
    x : array_like, (n, 3)
    k : int, optional
        Points per neighbourhood, including the point itself.
    toward : array_like, (3,), optional
        Point, such as the scanner, that the normals face. None: the largest component of each
        normal is positive.
    device : str, optional
        Device of the neighbour search, as for `Points`.

    Returns
    -------
    array, (n, 3)
        Unit vectors in the type of `x`.

    Raises
    ------
    ValueError
        If `x` does not have three columns, or `toward` is not finite.
    InputError
        If a coordinate is not finite.

    Examples
    --------
    >>> flat = np.array([[0., 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    >>> np.abs(normals(flat, k=4)).round(6)[0]
    array([0., 0., 1.])
    """
    _, device, back = brought(x, device)
    x, k = _three(x), whole(k, "k", 1)
    if toward is not None and np.shape(toward) != (3,):
        raise ValueError(f"`toward` has the shape {np.shape(toward)}; expected (3,)")
    if toward is not None:
        toward = np.ascontiguousarray(toward, np.float64)
        if not np.isfinite(toward).all():
            raise ValueError(f"`toward` is {toward}; expected finite numbers")
    out, points = np.empty_like(x), _c.kd_point_array_make(x)
    tree, k = Points(x, device=device), min(k, len(x))
    for begin in range(0, len(x), ROWS):
        rows = x[begin:begin + ROWS]
        ids = np.empty((len(rows), k), np.uint32)
        tree.nearest(rows, k, out=(ids, None))
        _c.kd_clouds_normals(points, _c.kd_point_array_make(rows), ids, toward, out[begin:begin + ROWS])
    return back(out)


def _roots(parent):
    """Return the root of each element of a union-find forest."""
    while True:
        above = parent[parent]
        if (above == parent).all():
            return parent
        parent = above


def _join(parent, a, b):
    """Unite the sets of a[i] and b[i] for all i; the smallest element becomes the root."""
    while True:
        parent = _roots(parent)
        low, high = np.minimum(parent[a], parent[b]), np.maximum(parent[a], parent[b])
        apart = low != high
        if not apart.any():
            return parent
        a, b = a[apart], b[apart]
        np.minimum.at(parent, high[apart], low[apart])


def dbscan(x: Any, eps: float, min_samples: int = 5, *, device: str = "auto") -> np.ndarray:
    """Cluster points by density (Ester et al. 1996), with the labels of scikit-learn.

    A point with at least min_samples points within eps, including itself, is a core point. Core
    points within eps of each other are in one cluster; clusters are numbered by their first point.
    Another point within eps of a core point belongs to the first such cluster.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
    eps : float
        Neighbourhood radius, in the unit of `x`.
    min_samples : int, optional
    device : str, optional
        "auto" (default): the CPU, or the CUDA device that holds `x`; otherwise as for `Points`.

    Returns
    -------
    array of int64, (n,)
        Cluster of each point; -1 for noise.

    Raises
    ------
    InputError
        If a coordinate is not finite; the message names it.

    Notes
    -----
    On the CPU points in up to four dimensions are sorted into cells in which all points are within
    eps of each other, so dense data need no lists of neighbours. Where cells are slower (more
    dimensions, few points per cell in four, `eps` tiny in proportion to the extent), and on a
    device, the neighbours of 65,536 points are listed at a time. The labels are the same; memory is
    linear in n apart from these lists.

    Examples
    --------
    >>> dbscan(np.array([[0., 0], [0, 1], [0, 2], [9, 9]]), 1.5, 2)
    array([ 0,  0,  0, -1])
    """
    x, device, back = brought(x, device)
    x, eps, min_samples = scalar_array(x, "x"), not_negative(eps, "eps"), whole(min_samples, "min_samples", 1)
    n = len(x)
    if device in ("auto", "cpu") and x.ndim == 2 and 1 <= x.shape[1] <= 4 and n:
        labels = np.empty(n, np.int64)
        if _c.kd_clouds_cluster(_c.kd_point_array_make(x), eps, min(min_samples, n + 1), labels):
            return back(labels)
    return back(_dbscan_by_tree(x, eps, min_samples, device))


def _dbscan_by_tree(x, eps, min_samples, device):
    """Cluster points as `dbscan`, by the neighbours of each point."""
    n = len(x)
    tree = Points(x, device=device)
    core = np.concatenate([tree.count_within(x[i:i + ROWS], eps) for i in range(0, n, ROWS)] or
                          [np.empty(0, np.int64)]) >= min_samples
    parent = np.arange(n)
    for rows, offsets, ids in _rows_within(tree, x, eps, np.flatnonzero(core)):
        centres = np.repeat(rows, np.diff(offsets))
        keep = core[ids] & (ids < centres)
        parent = _join(parent, centres[keep], ids[keep].astype(np.intp))
    parent = _roots(parent)
    labels = np.full(n, -1, np.int64)
    labels[core] = np.unique(parent[core], return_inverse=True)[1]
    core_labels = np.where(core, labels, n)
    for rows, offsets, ids in _rows_within(tree, x, eps, np.flatnonzero(~core)):
        centres = np.repeat(np.arange(len(rows)), np.diff(offsets))
        first = np.full(len(rows), n, np.int64)
        np.minimum.at(first, centres, core_labels[ids])
        labels[rows[first < n]] = first[first < n]
    return labels


def _rows_within(tree, x, eps, rows):
    """Yield (rows, offsets, ids) of the points within eps of x[rows], in batches of ROWS rows."""
    for begin in range(0, len(rows), ROWS):
        some = rows[begin:begin + ROWS]
        offsets, ids, _ = tree.within(np.ascontiguousarray(x[some]), eps, distances=False)
        yield some, offsets.astype(np.int64), ids


def statistical_outliers(x: Any, k: int = 20, ratio: float = 2.0, *, device: str = "auto") -> np.ndarray:
    """Find the points that are far from their neighbours in comparison with all points.

    A point is an outlier if the mean distance to its k nearest points, the first of which is the
    point itself, exceeds the mean of these over all points by more than `ratio` standard deviations
    (with n - 1 in the denominator). If all are equal, no point is an outlier; otherwise the mask is
    that of Open3D's `remove_statistical_outlier` for points at different positions.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
    k : int, optional
        Points per neighbourhood, including the point itself.
    ratio : float, optional
        Standard deviations above the mean; smaller finds more outliers.
    device : str, optional
        Device of the neighbour search, as for `Points`.

    Returns
    -------
    array of bool, (n,)
        True for outliers.

    Raises
    ------
    InputError
        If a coordinate is not finite; the message names it.

    Examples
    --------
    >>> x = np.array([[0.], [1.], [2.], [3.], [4.], [30.]])
    >>> statistical_outliers(x, k=3, ratio=1)
    array([False, False, False, False, False,  True])
    """
    x, device, back = brought(x, device)
    x, k, ratio = scalar_array(x, "x"), whole(k, "k", 1), not_negative(ratio, "ratio")
    n, mean = len(x), np.empty(len(x))
    tree, k = Points(x, device=device), min(k, len(x))
    for begin in range(0, n, ROWS):
        dist2 = tree.nearest(x[begin:begin + ROWS], k)[1]
        mean[begin:begin + ROWS] = np.sqrt(dist2.astype(np.float64)).mean(1)
    if n < 2:
        return back(np.zeros(n, bool))
    return back(mean > mean.mean() + ratio * mean.std(ddof=1))


def radius_outliers(x: Any, radius: float, min_neighbors: int, *, device: str = "auto") -> np.ndarray:
    """Find the points with fewer than a number of other points within a radius.

    The mask is that of Open3D's `remove_radius_outlier(min_neighbors, radius)`.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
    radius : float
        In the unit of `x`.
    min_neighbors : int
        Other points that a point needs within `radius`.
    device : str, optional
        Device of the neighbour search, as for `Points`.

    Returns
    -------
    array of bool, (n,)
        True for outliers.

    Raises
    ------
    InputError
        If a coordinate is not finite; the message names it.

    Examples
    --------
    >>> radius_outliers(np.array([[0.], [1.], [2.], [9.]]), 1.5, 1)
    array([False, False, False,  True])
    """
    x, device, back = brought(x, device)
    x, radius = scalar_array(x, "x"), not_negative(radius, "radius")
    least = whole(min_neighbors, "min_neighbors", 0)
    tree = Points(x, device=device)
    counts = [tree.count_within(x[i:i + ROWS], radius) for i in range(0, len(x), ROWS)]
    return back(np.concatenate(counts or [np.empty(0, np.int64)]) <= least)


class Registration(NamedTuple):
    """Result of `icp`: target is approximately rotation @ source + translation."""

    rotation: np.ndarray  #: (3, 3)
    translation: np.ndarray  #: (3,)
    rms: float  #: root mean square distance of the pairs
    pairs: int  #: number of source points with a partner
    iterations: int


def _rigid(a, b):
    """Return the least-squares rotation and translation from a to b (Kabsch 1976)."""
    centre_a, centre_b = a.mean(0), b.mean(0)
    u, _, vt = np.linalg.svd((a - centre_a).T @ (b - centre_b))
    turn = np.diag([1, 1, np.sign(np.linalg.det(vt.T @ u.T)) or 1])
    rotation = vt.T @ turn @ u.T
    return rotation, centre_b - rotation @ centre_a


def _to_planes(a, b, n):
    """Return one point-to-plane step (Chen and Medioni 1992), linearised in the angles."""
    rows = np.hstack([np.cross(a, n), n])
    step = np.linalg.lstsq(rows, ((b - a) * n).sum(1), rcond=None)[0]
    angle = np.linalg.norm(step[:3])
    if angle < 1e-300:
        return np.eye(3), step[3:]
    x, y, z = step[:3] / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross, step[3:]


def icp(source: Any, target: Any, *, max_distance: float = np.inf, iterations: int = 50,
        tolerance: float = 1e-9, plane: bool = False, target_normals: Any = None, device: str = "auto") -> Registration:
    """Align `source` with `target` by iterative closest points (Besl and McKay 1992).

    Parameters
    ----------
    source, target : array_like, (n, 3)
        Points in the same unit.
    max_distance : float, optional
        Pairs farther apart than this are ignored.
    iterations : int, optional
        Maximum number of iterations.
    tolerance : float, optional
        Stop when the rms distance changes by less than this fraction.
    plane : bool, optional
        Minimise distances to the tangent planes of the target instead of to its points.
    target_normals : array_like, (n, 3), optional
        Normals for `plane`; None: `normals(target)`.
    device : str, optional
        Device of the neighbour search, as for `Points`; "auto": that of the target.

    Returns
    -------
    Registration
        With NumPy arrays.

    Raises
    ------
    ValueError
        If fewer than three points of the source have a partner.

    Examples
    --------
    >>> target = np.random.default_rng(0).random((500, 3))
    >>> found = icp(target + [0.01, 0, 0.02], target)
    >>> np.allclose(found.translation, [-0.01, 0, -0.02]), found.pairs
    (True, 500)
    """
    not_negative(max_distance, "max_distance")
    not_negative(tolerance, "tolerance")
    device, iterations = brought(target, device)[1], whole(iterations, "iterations", 1)
    source, target = _three(source, "source").astype(np.float64), _three(target, "target")
    tree = Points(np.ascontiguousarray(target, np.float64), device=device)
    target = target.astype(np.float64)
    if plane and target_normals is None:
        target_normals = normals(target, device=device)
    target_normals = None if target_normals is None else np.asarray(brought(target_normals)[0])
    rotation, translation, last = np.eye(3), np.zeros(3), np.inf
    for done in range(1, iterations + 1):
        moved = np.ascontiguousarray(source @ rotation.T + translation)
        ids, dist2 = tree.nearest(moved, 1, max_radius=max_distance)
        near = ids[:, 0] != NO_POINT
        if near.sum() < 3:
            raise ValueError(f"{near.sum()} points of the source have a neighbour within "
                             f"{max_distance}; expected at least 3")
        rms = float(np.sqrt(dist2[near, 0].mean()))
        if abs(last - rms) <= tolerance * max(rms, 1e-300) or rms == 0:
            break
        last, pairs = rms, ids[near, 0]
        if plane:
            turn, shift = _to_planes(moved[near], target[pairs], target_normals[pairs])
        else:
            turn, shift = _rigid(moved[near], target[pairs])
        rotation, translation = turn @ rotation, turn @ translation + shift
    return Registration(rotation, translation, rms, int(near.sum()), done)


def farthest_points(x: Any, count: int, start: int = 0) -> np.ndarray:
    """Choose points by farthest point sampling: each is as far as possible from those before.

    Parameters
    ----------
    x : array_like, (n, m)
    count : int
        Number of points to choose; the time is proportional to n times this.
    start : int, optional
        Index of the first point.

    Returns
    -------
    array of int64, (count,)
        Indices of the chosen points; among equally far points, the one with the smallest
        index.

    Raises
    ------
    ValueError
        If `count` is not from 1 to n.

    Examples
    --------
    >>> farthest_points(np.array([[0.], [1.], [5.], [9.]]), 3)
    array([0, 3, 2])
    """
    x = x if is_foreign(x) else scalar_array(x, "x")
    start = whole(start, "start", 0, len(x) - 1) if len(x) else 0
    if not 0 < whole(count, "count", 1) <= len(x):
        raise ValueError(f"`count` is {count}, but there are {len(x)} points; expected 1 to {len(x)}")
    columns, least = framework(x).columns(x)
    chosen = np.empty(count, np.int64)
    chosen[0] = start
    away = None
    for i in range(1, count):
        last = int(chosen[i - 1])
        dist2 = 0
        for column in columns:
            difference = column - column[last]
            dist2 = dist2 + difference * difference
        away = dist2 if away is None else least(away, dist2)
        chosen[i] = int(away.argmax())
    return framework(x).of_host(x, chosen)


def voxel_downsample(x: Any, size: float, *, origin: Any = None) -> np.ndarray:
    """Replace the points in each cube of a grid by their mean.

    Parameters
    ----------
    x : array_like, (n, m)
    size : float
        Side of the cubes, in the unit of `x`.
    origin : float or array_like, (m,), optional
        A corner of the grid. None: the least coordinates minus half of `size`, as in Open3D.

    Returns
    -------
    array, (cubes, m)
        Means in the type of `x`, in lexicographic order of the cubes.

    Raises
    ------
    ValueError
        If `size` is not positive and finite, or `origin` has the wrong shape or is not finite.
    InputError
        If a coordinate is not finite; the message names its point.

    Examples
    --------
    >>> voxel_downsample(np.array([[0., 0], [0.25, 0], [3, 3]]), 1.)
    array([[0.125, 0.   ],
           [3.   , 3.   ]])
    """
    x, _, back = brought(x)
    x, size = scalar_array(x, "x"), not_negative(size, "size")
    if x.ndim != 2:
        raise ValueError(f"`x` has the shape {x.shape}; expected (n, m)")
    if not 0 < size < np.inf:
        raise ValueError(f"`size` is {size:g}; expected above 0 and finite")
    if origin is not None:
        if np.shape(origin) not in ((), (x.shape[1],)):
            raise ValueError(f"`origin` has the shape {np.shape(origin)}; expected a number or ({x.shape[1]},)")
        origin = np.full(x.shape[1], origin, np.float64)
        if not np.isfinite(origin).all():
            raise ValueError(f"`origin` is {origin}; expected finite numbers")
    if 1 <= x.shape[1] <= 8:
        means = np.empty_like(x)
        voxels = _c.kd_clouds_downsample(_c.kd_point_array_make(x), size, origin, means)
        if voxels is not None:
            return back(means[:voxels].copy())
    return back(_downsample_by_rows(x, size, origin))


def _downsample_by_rows(x, size, origin):
    """Downsample as `voxel_downsample`, for any number of cubes and axes."""
    if not np.isfinite(x).all():
        raise InputError(f"point {np.flatnonzero(~np.isfinite(x).all(1))[0]} of `x` is not finite")
    wide = x.astype(np.float64)
    origin = wide.min(0, initial=np.inf) - size * 0.5 if origin is None else origin
    cubes, which, counts = np.unique(np.floor((wide - origin) / size), axis=0, return_inverse=True,
                                     return_counts=True)
    sums = np.zeros((len(cubes), x.shape[1]))
    np.add.at(sums, which.reshape(-1), wide)
    return (sums / counts[:, None]).astype(x.dtype)
