"""PyTorch: neighbours and rays with gradients, and graphs as tensors. Needs an explicit `import
kandela.torch`.

The tree finds the neighbours, and the triangles that rays hit, without gradients. PyTorch then
computes distances and positions from them, so that gradients of any order flow to all coordinates.
Everything runs on the device of the tensors. From PyTorch 2.4 on the searches are custom operators
(`torch.ops.kandela`), which `torch.compile` keeps whole, also with `fullgraph=True`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from . import graphs
from .mesh import TriangleMesh
from .points import Points


def _operator(schema, fake):
    """Make a function the operator kandela::NAME of this schema; `fake` returns outputs of its shapes."""
    def wrap(function):
        if not hasattr(torch.library, "custom_op"):
            return function
        made = torch.library.custom_op("kandela::" + function.__name__.strip("_"), function, mutates_args=(),
                                       schema=schema)
        made.register_fake(fake)
        return made
    return wrap


def _mesh(vertices, faces):
    return TriangleMesh(vertices, faces, device="auto" if vertices.is_cuda else "cpu")


@_operator("(Tensor query, Tensor x, int k, float max_radius) -> Tensor",
           lambda query, x, k, max_radius: query.new_empty((query.shape[0], k), dtype=torch.int64))
def _nearest(query, x, k, max_radius):
    return Points(x).nearest(query.contiguous(), k, max_radius=max_radius)[0].long()


@_operator("(Tensor origins, Tensor directions, Tensor vertices, Tensor faces) -> Tensor",
           lambda origins, directions, vertices, faces: origins.new_empty(origins.shape[:1], dtype=torch.int64))
def _first_triangle(origins, directions, vertices, faces):
    return _mesh(vertices, faces).intersect(origins.contiguous(), directions.contiguous()).triangle.long()


@_operator("(Tensor points, Tensor vertices, Tensor faces) -> (Tensor, Tensor)",
           lambda points, vertices, faces: (points.new_empty(points.shape[:1], dtype=torch.int64),
                                            points.new_empty((points.shape[0], 2), dtype=torch.float32)))
def _closest_point(points, vertices, faces):
    near = _mesh(vertices, faces).closest_point(points.contiguous())
    return near.triangle.long(), torch.stack([near.u, near.v], 1)


def _edges(x, *_):
    return x.new_empty((2, torch.library.get_ctx().new_dynamic_size()), dtype=torch.int64)


@_operator("(Tensor x, int k, Tensor? batch, bool loop, str flow) -> Tensor", _edges)
def _knn_graph(x, k, batch, loop, flow):
    return _graph(graphs.knn_graph, x, k, batch, loop=loop, flow=flow)


@_operator("(Tensor x, float r, Tensor? batch, bool loop, int? max_neighbors, str flow) -> Tensor", _edges)
def _radius_graph(x, r, batch, loop, max_neighbors, flow):
    return _graph(graphs.radius_graph, x, r, batch, loop=loop, max_neighbors=max_neighbors, flow=flow)


class RayHits(NamedTuple):
    """The closest hits of rays.

    Attributes
    ----------
    t : Tensor, (r,)
        Distance in lengths of the direction; inf for a miss.
    position : Tensor, (r, 3)
        Where the ray hits; inf for a miss.
    weights : Tensor, (r, 3)
        Barycentric weights of the triangle's vertices; 0 for a miss.
    triangle : Tensor of int64, (r,)
        -1 for a miss.
    """

    t: torch.Tensor
    position: torch.Tensor
    weights: torch.Tensor
    triangle: torch.Tensor


def intersect(origins: Any, directions: Any, vertices: Any, faces: Any) -> RayHits:
    """Find the closest hits of rays, with gradients to rays and vertices.

    Parameters
    ----------
    origins, directions : Tensor, (r, 3)
    vertices : Tensor, (v, 3)
        float32 or float64, as the rays.
    faces : Tensor of int, (f, 3)

    Returns
    -------
    RayHits

    Notes
    -----
    The triangle is that of `kandela.TriangleMesh`, found from coordinates rounded to float32; the rest
    is computed from the given coordinates, in their type.

    Examples
    --------
    >>> import torch, kandela.torch
    >>> triangle = torch.tensor([[0., 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> origin = torch.tensor([[0.25, 0.25, 2.]], requires_grad=True)
    >>> hits = kandela.torch.intersect(origin, torch.tensor([[0., 0., -1.]]), triangle, torch.tensor([[0, 1, 2]]))
    >>> hits.t.sum().backward()
    >>> hits.t.item(), origin.grad.tolist()
    (2.0, [[0.0, 0.0, 1.0]])
    """
    triangle = _first_triangle(origins.detach(), directions.detach(), vertices.detach(), faces)
    hit = triangle >= 0
    if not faces.shape[0]:
        faces, vertices = faces.new_zeros((1, 3)), vertices.new_zeros((1, 3))
    a, b, c = vertices[faces[triangle.clamp(min=0)].long()].unbind(1)
    edge_u, edge_v, to_origin = b - a, c - a, origins - a
    across = torch.cross(directions, edge_v, dim=1)
    scale = torch.where(hit, (edge_u * across).sum(-1), torch.ones_like(directions[:, 0]))
    turned = torch.cross(to_origin, edge_u, dim=1)
    t, u, v = ((value.sum(-1) / scale) for value in (edge_v * turned, to_origin * across, directions * turned))
    t = torch.where(hit, t, torch.zeros_like(t))
    position, none = origins + t[:, None] * directions, torch.full_like(t, float("inf"))
    weights = torch.stack([1 - u - v, u, v], -1)
    return RayHits(torch.where(hit, t, none), torch.where(hit[:, None], position, none[:, None]),
                   torch.where(hit[:, None], weights, torch.zeros_like(weights)), triangle)


def nearest(query: Any, x: Any, k: Any, *, max_radius: float = float("inf"), tree: Any = None) -> tuple[Any, ...]:
    """Compute squared distances to the k nearest neighbours, with gradients.

    Parameters
    ----------
    query : Tensor, (q, m)
    x : Tensor, (n, m), m from 1 to 65536
        Points, in the type and on the device of `query`, float32 or float64.
    k : int
    max_radius : float, optional
        Search radius.
    tree : kandela.Points, optional
        A tree of `x`; None: it is built.

    Returns
    -------
    dist2 : Tensor, (q, k)
        inf, without gradient, for a missing neighbour.
    ids : Tensor of int64, (q, k)
        -1 for a missing neighbour.

    Examples
    --------
    >>> import torch, kandela.torch
    >>> x = torch.tensor([[0., 0.], [3., 4.]], requires_grad=True)
    >>> dist2, numbers = kandela.torch.nearest(torch.tensor([[0., 1.]]), x, 1)
    >>> dist2.sum().backward()
    >>> dist2.item(), x.grad.tolist()
    (1.0, [[0.0, -2.0], [0.0, 0.0]])
    """
    if tree is None:
        numbers = _nearest(query.detach(), x.detach(), k, max_radius)
    else:
        numbers = tree.nearest(query.detach().contiguous(), k, max_radius=max_radius)[0]
    there = numbers >= 0
    away = query[:, None] - x[numbers.clamp(min=0)]
    dist2 = (away * away).sum(-1)
    return torch.where(there, dist2, torch.full_like(dist2, float("inf"))), numbers


def chamfer_distance(a: Any, b: Any) -> torch.Tensor:
    """Compute the chamfer distance of two point sets, with gradients.

    It is the mean squared distance of the points of each set to the nearest of the other, summed
    over both directions.

    Parameters
    ----------
    a : Tensor, (n, m)
    b : Tensor, (k, m)
        In the type and on the device of `a`.

    Returns
    -------
    Tensor, ()

    Examples
    --------
    >>> import torch, kandela.torch
    >>> a = torch.zeros(2, 3, requires_grad=True)
    >>> loss = kandela.torch.chamfer_distance(a, torch.ones(5, 3))
    >>> loss.item()
    6.0
    """
    return nearest(a, b, 1)[0].mean() + nearest(b, a, 1)[0].mean()


def mesh_distance2(points: Any, vertices: Any, faces: Any) -> torch.Tensor:
    """Compute squared distances of points to a mesh, with gradients to points and vertices.

    Parameters
    ----------
    points : Tensor, (n, 3)
    vertices : Tensor, (v, 3)
        float32 or float64.
    faces : Tensor of int, (f, 3)

    Returns
    -------
    Tensor, (n,)

    Notes
    -----
    The nearest point is found from coordinates rounded to float32, relative to the centre of the
    mesh if that is far from the origin. Gradients keep its barycentric
    coordinates fixed.

    Examples
    --------
    >>> import torch, kandela.torch
    >>> points = torch.tensor([[0.25, 0.25, 2.]], requires_grad=True)
    >>> triangle = torch.tensor([[0., 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> kandela.torch.mesh_distance2(points, triangle, torch.tensor([[0, 1, 2]])).sum().backward()
    >>> points.grad.tolist()
    [[0.0, 0.0, 4.0]]
    """
    triangle, weights = _closest_point(points.detach(), vertices.detach(), faces)
    u, v = weights.to(vertices.dtype)[:, :, None].unbind(1)
    a, b, c = vertices[faces[triangle].long()].unbind(1)
    away = points - ((1 - u - v) * a + u * b + v * c)
    return (away * away).sum(-1)


def knn_graph(x: Any, k: Any, batch: Any = None, loop: bool = False, flow: str = "source_to_target") -> torch.Tensor:
    """Connect each point to its k nearest other points, as `kandela.knn_graph`.

    Parameters
    ----------
    x, k, batch, loop, flow
        As for `kandela.knn_graph`, with tensors.

    Returns
    -------
    Tensor of int64, (2, edges)
        On the device of `x`.

    Examples
    --------
    >>> import torch, kandela.torch
    >>> kandela.torch.knn_graph(torch.tensor([[0., 0.], [1., 0.], [5., 0.]]), 1).tolist()
    [[1, 0, 1], [0, 1, 2]]
    """
    return _knn_graph(x.detach(), k, batch, loop, flow)


def radius_graph(x: Any, r: Any, batch: Any = None, loop: bool = False, max_neighbors: int | None = 32,
                 flow: str = "source_to_target") -> torch.Tensor:
    """Connect each point to the points within a radius, as `kandela.radius_graph`.

    Parameters
    ----------
    x, r, batch, loop, max_neighbors, flow
        As for `kandela.radius_graph`, with tensors.

    Returns
    -------
    Tensor of int64, (2, edges)
        On the device of `x`.

    Examples
    --------
    >>> import torch, kandela.torch
    >>> kandela.torch.radius_graph(torch.tensor([[0., 0.], [1., 0.], [5., 0.]]), 1.5).tolist()
    [[1, 0], [0, 1]]
    """
    return _radius_graph(x.detach(), r, batch, loop, max_neighbors, flow)


def _graph(make, x, amount, batch, **more):
    batch = None if batch is None else batch.cpu().numpy()
    return torch.from_numpy(make(x.detach().cpu().numpy(), amount, batch, **more)).to(x.device)
