"""PyTorch: distances with gradients, and graphs as tensors. Needs an explicit `import
kandela.torch`.

The tree finds the neighbours, without gradients. PyTorch then computes the distances to them, so
that gradients of any order flow to both sets of points. Everything runs on the device of the
tensors.
"""

from __future__ import annotations

from typing import Any

import torch

from . import graphs
from .mesh import TriangleMesh
from .points import Points


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
    tree = Points(x.detach()) if tree is None else tree
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
    mesh = TriangleMesh(vertices.detach(), faces, device="auto" if vertices.is_cuda else "cpu")
    near = mesh.closest_point(points.detach())
    u, v = (weight.to(vertices.dtype)[:, None] for weight in (near.u, near.v))
    a, b, c = vertices[faces[near.triangle.long()].long()].unbind(1)
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
    return _graph(graphs.knn_graph, x, k, batch, loop=loop, flow=flow)


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
    return _graph(graphs.radius_graph, x, r, batch, loop=loop, max_neighbors=max_neighbors, flow=flow)


def _graph(make, x, amount, batch, **more):
    batch = None if batch is None else batch.cpu().numpy()
    return torch.from_numpy(make(x.detach().cpu().numpy(), amount, batch, **more)).to(x.device)
