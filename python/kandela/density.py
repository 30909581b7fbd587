"""Kernel density estimates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _c
from .arrays import brought
from .checks import not_negative
from .points import scalar_array

#: Names of kernels, in the order of kd_density_kernel.
KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def _log_ball(m):
    """Return the logarithm of the volume of the unit ball in m dimensions."""
    return m / 2 * math.log(math.pi) - math.lgamma(m / 2 + 1)


def _log_norm(kernel, m, bandwidth):
    """Return the logarithm of the integral of a kernel over space of m dimensions."""
    log_sphere = math.log(m) + _log_ball(m)  # the surface of the unit ball
    if kernel == "cosine":  # the integral of r^(m-1) cos(pi r / 2) from 0 to 1, by the series of the cosine
        total = math.fsum((-1) ** j * (math.pi / 2) ** (2 * j) / math.factorial(2 * j) / (m + 2 * j) for j in range(20))
        factor = log_sphere + math.log(total)
    else:
        factor = {"gaussian": m / 2 * math.log(2 * math.pi), "tophat": _log_ball(m),
                  "epanechnikov": _log_ball(m) + math.log(2 / (m + 2)),
                  "exponential": log_sphere + math.lgamma(m), "linear": _log_ball(m) - math.log(m + 1)}[kernel]
    return factor + m * math.log(bandwidth)


def kernel_density(x: Any, queries: Any, bandwidth: float, kernel: str = "gaussian", *, weights: Any = None,
                   atol: float = 0.0, rtol: float = 0.0, log: bool = False) -> np.ndarray:
    """Estimate the density of points at given places: the mean of kernels around the points.

    Parameters
    ----------
    x : array_like, (n, m), m from 1 to 65536
        Points, at least one.
    queries : array_like, (q, m)
        Places.
    bandwidth : float
        Width of the kernel, in the unit of `x`: the standard deviation of "gaussian", the decay of
        "exponential", the radius of the others.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, optional
        As in scikit-learn: proportional to exp(-u^2 / 2), 1, 1 - u^2, exp(-u), 1 - u and
        cos(pi u / 2), u being the distance in bandwidths; all but "gaussian" and "exponential" are 0
        from u = 1 on.
    weights : array_like, (n,), optional
        Weights of the points, at least 0 and not all 0. None: all are equal.
    atol, rtol : float, optional
        The error of a density is at most atol + rtol * density. 0 for both (default): that of
        rounding. Larger tolerances are faster.
    log : bool, optional
        Return natural logarithms, which do not underflow far from the points.

    Returns
    -------
    array of float64, (q,)
        Densities, in 1 / unit^m; their integral over space is 1. A new array of the framework of
        `queries`.

    Raises
    ------
    InputError
        If a coordinate is not finite, or a weight negative; the message names it.
    ValueError
        If shapes do not fit, there are no points, or the bandwidth is not above 0.

    Notes
    -----
    Computed in float64, on the CPU; results do not depend on the number of threads.

    Examples
    --------
    >>> kernel_density([[0.], [1.]], [[0.5], [9.]], 1.0, "tophat")
    array([0.5, 0. ])
    """
    places, _, back = brought(queries)
    x, places = (scalar_array(one, name) for one, name in ((brought(x)[0], "x"), (places, "queries")))
    if kernel not in KERNELS:
        raise ValueError(f"`kernel` is {kernel!r}; expected one of {', '.join(KERNELS)}")
    for one, name in ((x, "x"), (places, "queries")):
        if one.ndim != 2 or one.shape[1] < 1:
            raise ValueError(f"`{name}` has the shape {one.shape}; expected (count, dimensions)")
    if x.shape[1] != places.shape[1]:
        raise ValueError(f"`queries` has {places.shape[1]} dimensions; expected {x.shape[1]}, as `x`")
    if len(x) == 0:
        raise ValueError("`x` has no points; expected at least one")
    bandwidth, atol, rtol = (not_negative(one, name) for one, name in
                             ((bandwidth, "bandwidth"), (atol, "atol"), (rtol, "rtol")))
    total = float(len(x))
    if weights is not None:
        weights = np.ascontiguousarray(brought(weights)[0], np.float64)
        if weights.shape != (len(x),):
            raise ValueError(f"`weights` has the shape {weights.shape}; expected ({len(x)},), one for each point")
        total = float(weights.sum())
        if not 0 < total < np.inf:
            raise ValueError(f"`weights` have the sum {total:g}; expected a finite number above 0")
    if not 0 < bandwidth < np.inf:
        raise ValueError(f"`bandwidth` is {bandwidth:g}; expected a finite number above 0")
    out, norm = np.empty(len(places)), _log_norm(kernel, x.shape[1], bandwidth) + math.log(total)
    absolute = math.exp(min(math.log(atol) + norm, 700.0)) if atol > 0 else 0.0
    _c.kd_clouds_density(_c.kd_point_array_make(x), weights, _c.kd_point_array_make(places), KERNELS.index(kernel),
                         bandwidth, absolute, rtol, out)
    return back(out - norm if log else np.exp(out - norm))
