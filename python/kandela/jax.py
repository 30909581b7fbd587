"""JAX: neighbours and rays in functions that `jax.jit` compiles, with gradients. Needs an explicit
`import kandela.jax`.

The library finds which points are near and which triangles are hit; these numbers have no gradients.
JAX then computes distances and positions from them, so that gradients of any order flow to all
coordinates. They are those of the answer that was found: where another point or triangle becomes
the nearest, the derivative jumps.

On the CPU a compiled function calls the library through XLA's FFI if the module was built where
jaxlib was installed (`kandela.jax.HAS_FFI`), else through `jax.pure_callback`, which gives the same
results and calls Python. On other platforms arrays are copied to the host by `jax.pure_callback`.
Each call builds a tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import _c
from .mesh import TriangleMesh
from .points import Points

HAS_FFI: bool = hasattr(jax, "ffi") and bool(_c.xla_handlers())
if HAS_FFI:
    for _name, _handler in _c.xla_handlers().items():
        jax.ffi.register_ffi_target(_name, _handler, platform="cpu")


class RayHits(NamedTuple):
    """The closest hits of rays.

    Attributes
    ----------
    t : Array, (r,)
        Distance in lengths of the direction; inf for a miss.
    position : Array, (r, 3)
        Where the ray hits; inf for a miss.
    weights : Array, (r, 3)
        Barycentric weights of the triangle's vertices; 0 for a miss.
    triangle : Array of int32, (r,)
        -1 for a miss.
    """

    t: Any
    position: Any
    weights: Any
    triangle: Any


def _call(name, host, count, arrays, **attributes):
    """Call the library; the result is an array of int32."""
    shape = jax.ShapeDtypeStruct(count, jnp.int32)
    arrays = [jax.lax.stop_gradient(one) for one in arrays]

    def callback(*given):
        return jax.pure_callback(lambda *host_arrays: host(*map(np.asarray, host_arrays), **attributes), shape, *given,
                                 vmap_method="sequential")

    def compiled(*given):
        return jax.ffi.ffi_call(name, shape, vmap_method="sequential")(*given, **attributes)

    if not HAS_FFI:
        return callback(*arrays)
    return jax.lax.platform_dependent(*arrays, cpu=compiled, default=callback)


def _nearest(query, x, k, max_radius):
    return Points(x, device="cpu").nearest(query, int(k), max_radius=float(max_radius))[0].astype(np.int32)


def _first_triangle(origins, directions, vertices, faces):
    return TriangleMesh(vertices, faces, device="cpu").intersect(origins, directions).triangle.astype(np.int32)


def _middle(vertices):
    """Return the middle of a mesh far from the origin, by the rule of `TriangleMesh`."""
    lo, hi = vertices.min(0), vertices.max(0)
    away = jnp.maximum(jnp.maximum(lo, -hi), 0)
    middle = (lo / 2 + hi / 2).astype(jnp.float32).astype(vertices.dtype)
    return jnp.where((away > 4 * (hi - lo).max()) & jnp.isfinite(middle), middle, 0)


def nearest(query: Any, x: Any, k: int, *, max_radius: float = np.inf) -> tuple[Any, Any]:
    """Compute squared distances to the k nearest neighbours, with gradients.

    Parameters
    ----------
    query : Array, (q, m)
    x : Array, (n, m), m from 1 to 8
        Points, in the type of `query`, float32 or float64.
    k : int
        Static under `jax.jit`, as `max_radius`.
    max_radius : float, optional
        Search radius.

    Returns
    -------
    dist2 : Array, (q, k)
        inf, without gradient, for a missing neighbour.
    ids : Array of int32, (q, k)
        -1 for a missing neighbour.

    Examples
    --------
    >>> import jax, kandela.jax
    >>> x = jax.numpy.array([[0., 0.], [3., 4.]])
    >>> mean = jax.jit(lambda q: kandela.jax.nearest(q, x, 1)[0].mean())
    >>> q = jax.numpy.array([[0., 1.]])
    >>> float(mean(q)), jax.grad(mean)(q).tolist()
    (1.0, [[0.0, 2.0]])
    """
    query, x = jnp.asarray(query), jnp.asarray(x)
    if query.ndim != 2 or x.ndim != 2 or query.shape[1] != x.shape[1] or query.dtype != x.dtype:
        raise ValueError(f"`query` is {query.dtype}{query.shape} and `x` {x.dtype}{x.shape}; expected (q, m) and (n, m) of one type")
    if query.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"`query` has the type {query.dtype}; expected float32 or float64")
    if k < 1:
        raise ValueError(f"`k` is {k}; expected at least 1")
    ids = _call("kandela_nearest", _nearest, (query.shape[0], k), [query, x], k=np.int64(k),
                max_radius=np.float64(max_radius))
    there = ids >= 0
    if not x.shape[0]:
        x = jnp.zeros((1, x.shape[1]), x.dtype)
    away = jnp.where(there[..., None], query[:, None] - x[jnp.where(there, ids, 0)], 0)
    return jnp.where(there, (away * away).sum(-1), jnp.inf), ids


def intersect(origins: Any, directions: Any, vertices: Any, faces: Any) -> RayHits:
    """Find the closest hits of rays, with gradients to rays and vertices.

    Parameters
    ----------
    origins, directions : Array, (r, 3)
    vertices : Array, (v, 3)
        float32 or float64, as the rays.
    faces : Array of int, (f, 3)

    Returns
    -------
    RayHits

    Notes
    -----
    The triangle is that of `kandela.TriangleMesh`, found from coordinates rounded to float32, relative
    to the middle of the mesh if that is far from the origin; the rest is computed from the given coordinates, in their type.

    Examples
    --------
    >>> import jax.numpy as jnp, kandela.jax
    >>> triangle = jnp.array([[0., 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> down = jnp.array([[0., 0., -1.]])
    >>> hits = kandela.jax.intersect(jnp.array([[0.25, 0.25, 2.]]), down, triangle, jnp.array([[0, 1, 2]]))
    >>> float(hits.t[0]), hits.position.tolist(), int(hits.triangle[0])
    (2.0, [[0.25, 0.25, 0.0]], 0)
    """
    origins, directions, vertices = (jnp.asarray(one) for one in (origins, directions, vertices))
    faces = jnp.asarray(faces)
    for name, one in (("origins", origins), ("directions", directions), ("vertices", vertices), ("faces", faces)):
        if one.ndim != 2 or one.shape[1] != 3:
            raise ValueError(f"`{name}` has the shape {one.shape}; expected (n, 3)")
    if origins.shape != directions.shape:
        raise ValueError(f"`origins` has the shape {origins.shape}, `directions` {directions.shape}; expected the same")
    middle = _middle(vertices) if vertices.shape[0] else 0
    singles = [(one - offset).astype(jnp.float32)
               for one, offset in ((origins, middle), (directions, 0), (vertices, middle))]
    triangle = _call("kandela_first_triangle", _first_triangle, origins.shape[:1], [*singles, faces.astype(jnp.int32)])
    hit = triangle >= 0
    if not faces.shape[0]:
        faces, vertices = jnp.zeros((1, 3), jnp.int32), jnp.zeros((1, 3), vertices.dtype)
    a, b, c = (vertices[faces[jnp.where(hit, triangle, 0)][:, corner]] for corner in range(3))
    edge_u, edge_v, to_origin = b - a, c - a, origins - a
    across = jnp.cross(directions, edge_v)
    scale = jnp.where(hit, (edge_u * across).sum(-1), 1)
    turned = jnp.cross(to_origin, edge_u)
    t, u, v = (jnp.where(hit, value.sum(-1) / scale, 0)
               for value in (edge_v * turned, to_origin * across, directions * turned))
    position = origins + t[:, None] * directions
    weights = jnp.where(hit[:, None], jnp.stack([1 - u - v, u, v], -1), 0)
    return RayHits(jnp.where(hit, t, jnp.inf), jnp.where(hit[:, None], position, jnp.inf), weights, triangle)
