"""What PyTorch asks for: distances with gradients, and graphs as tensors. Imported only when asked: `import kandela.torch`.

Neighbours are found by the tree, without gradients; distances to them are then computed by torch's own operations, so that
gradients of any order flow to both sets of points. All is done on the device that the tensors are on."""

from __future__ import annotations

import torch

from . import graphs
from .mesh import TriangleMesh
from .points import Points


def nearest(query, x, k, *, max_radius=float("inf"), tree=None) -> tuple:
    """Squared distances (q, k) of each query to its k nearest points of x, with gradients, and their numbers (q, k).

    query: (q, m), x: (n, m), both float32 or float64 tensors of one device, m from 2 to 8. tree: a `kandela.Points` of
    x, if it is there. Where fewer than k lie within max_radius: inf, without gradient, and -1.

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


def chamfer_distance(a, b) -> torch.Tensor:
    """The mean squared distance of a's points to the nearest of b's, plus that of b's to a's: a number with gradients.

    a: (n, m), b: (k, m), of one type and device.

    >>> import torch, kandela.torch
    >>> a = torch.zeros(2, 3, requires_grad=True)
    >>> loss = kandela.torch.chamfer_distance(a, torch.ones(5, 3))
    >>> loss.item()
    6.0
    """
    return nearest(a, b, 1)[0].mean() + nearest(b, a, 1)[0].mean()


def mesh_distance2(points, vertices, faces) -> torch.Tensor:
    """Squared distances (n,) of points to the mesh, with gradients to the points and to the vertices.

    points: (n, 3), vertices: (v, 3), float32 or float64; faces: (f, 3) of integers. The nearest place is found in
    float32 coordinates, exactly; it moves with the vertices as its weights say.

    >>> import torch, kandela.torch
    >>> points = torch.tensor([[0.25, 0.25, 2.]], requires_grad=True)
    >>> triangle = torch.tensor([[0., 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> kandela.torch.mesh_distance2(points, triangle, torch.tensor([[0, 1, 2]])).sum().backward()
    >>> points.grad.tolist()
    [[0.0, 0.0, 4.0]]
    """
    mesh = TriangleMesh(vertices.detach().float(), faces, device="auto" if vertices.is_cuda else "cpu")
    near = mesh.closest_point(points.detach().float())
    u, v = (weight.to(vertices.dtype)[:, None] for weight in (near.u, near.v))
    a, b, c = vertices[faces[near.triangle.long()].long()].unbind(1)
    away = points - ((1 - u - v) * a + u * b + v * c)
    return (away * away).sum(-1)


def knn_graph(x, k, batch=None, loop=False, flow="source_to_target") -> torch.Tensor:
    """`kandela.knn_graph` of tensors: (2, edges) int64 on x's device, where PyTorch Geometric's has it.

    >>> import torch, kandela.torch
    >>> kandela.torch.knn_graph(torch.tensor([[0., 0.], [1., 0.], [5., 0.]]), 1).tolist()
    [[1, 0, 1], [0, 1, 2]]
    """
    return _graph(graphs.knn_graph, x, k, batch, loop=loop, flow=flow)


def radius_graph(x, r, batch=None, loop=False, max_neighbors=32, flow="source_to_target") -> torch.Tensor:
    """`kandela.radius_graph` of tensors: (2, edges) int64 on x's device.

    >>> import torch, kandela.torch
    >>> kandela.torch.radius_graph(torch.tensor([[0., 0.], [1., 0.], [5., 0.]]), 1.5).tolist()
    [[1, 0], [0, 1]]
    """
    return _graph(graphs.radius_graph, x, r, batch, loop=loop, max_neighbors=max_neighbors, flow=flow)


def _graph(make, x, amount, batch, **more):
    batch = None if batch is None else batch.cpu().numpy()
    return torch.from_numpy(make(x.detach().cpu().numpy(), amount, batch, **more)).to(x.device)
