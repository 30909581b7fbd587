"""Rays and triangles, distances and insides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _c
from .arrays import framework, is_foreign, is_there, settle, stream_number
from .sides import Outward, solid_angles

NO_TRIANGLE = np.uint32(0xFFFFFFFF)  #: the triangle of a ray that hits nothing


class Hits(NamedTuple):
    """What rays meet first; `t` is inf (or the ray's tmax) and `triangle` NO_TRIANGLE for nothing."""

    t: np.ndarray  #: (n,) float32, in lengths of the direction
    triangle: np.ndarray  #: (n,) uint32
    u: np.ndarray  #: (n,) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (n,) float32, weight of its third vertex

    @property
    def hit(self) -> Any:
        """(n,) bool: something was met."""
        return is_there(self.triangle, NO_TRIANGLE)


class Nearest(NamedTuple):
    """What is nearest to points; `distance` is inf and `triangle` NO_TRIANGLE where nothing is."""

    point: np.ndarray  #: (n, 3) float32, the nearest places
    distance: np.ndarray  #: (n,) float32, to them, in the mesh's unit
    triangle: np.ndarray  #: (n,) uint32
    u: np.ndarray  #: (n,) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (n,) float32, weight of its third vertex
    feature: np.ndarray  #: (n,) uint32: 0 inside; 1, 2, 3 on the edge from vertex 0, 1, 2 on; 4, 5, 6 at vertex 0, 1, 2


class TriangleMesh:
    """Triangles; rays never slip through shared edges, and nearest ones are exact.

    vertices: (n, 3), taken as float32; faces: (m, 3) of vertex numbers, or None: three vertices a triangle. Both
    may be arrays of PyTorch, CuPy or JAX, and are read where they lie. builder: a name that `kandela info` lists;
    device: "cpu", "cuda:N"; "auto" chooses. ValueError for faces that name no vertex, InputError for a vertex
    that is not finite.

    >>> import numpy as np, kandela
    >>> mesh = kandela.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> hits = mesh.intersect([[0.25, 0.25, 1]], [[0, 0, -1]])
    >>> float(hits.t[0]), int(hits.triangle[0])
    (1.0, 0)
    """

    def __init__(self, vertices, faces=None, *, device="auto", builder="auto"):
        self._outward = None
        options = _c.kd_triangles_options_default()
        options.device, options.builder = device, builder
        if is_foreign(vertices) and framework(vertices).on_device(vertices):
            row = framework(vertices)
            self._there = row.plain(vertices, np.float32), None if faces is None else self._named(row, faces)
            self._host = None
            given = self._there
            settle(*self._there[:1 + (faces is not None)])
        else:
            given = self._host = self._of_host(vertices, faces)
        self._c = _c.kd_triangles_open(_c.kd_triangle_mesh_make(*given), options)

    @staticmethod
    def _named(row, faces):
        """The faces' numbers with 32 bits, on the vertices' device."""
        return row.plain(faces.reshape(-1, 3), np.int32) if row.wide else row.plain(faces, np.uint32)

    @staticmethod
    def _of_host(vertices, faces):
        vertices = np.ascontiguousarray(framework(vertices).host(vertices), np.float32)
        if faces is None:
            return vertices, np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3)
        faces = framework(faces).host(faces)
        if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
            raise ValueError(f"faces name vertices from {faces.min()} to {faces.max()}, "
                             f"expected 0 to {len(vertices) - 1}")
        return vertices, np.ascontiguousarray(faces.reshape(-1, 3), np.uint32)

    def _arrays(self):
        if self._host is None:
            vertices, faces = self._there
            self._host = self._of_host(vertices, faces)
        return self._host

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) float32, in host memory."""
        return self._arrays()[0]

    @property
    def faces(self) -> np.ndarray:
        """(m, 3) uint32, in host memory."""
        return self._arrays()[1]

    def describe(self) -> dict:
        """What the tree is: triangles, nodes, builder, device, bytes, sah_cost, hash, ...: a dict.

        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).describe()["triangles"]
        1
        """
        return _c.kd_triangles_describe(self._c)

    @property
    def nbytes(self) -> int:
        """Bytes that the tree holds, on whatever device, without what the first closest_point makes.

        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).nbytes > 36
        True
        """
        return self.describe()["bytes"]

    @staticmethod
    def _rays(origins, directions, tmin, tmax):
        origins, directions = np.asarray(origins), np.asarray(directions)
        count = np.broadcast_shapes(origins.shape, directions.shape)[0]
        rays = np.empty((count, 8), np.float32)
        rays[:, 0:3], rays[:, 3], rays[:, 4:7], rays[:, 7] = origins, tmin, directions, tmax
        return rays

    @staticmethod
    def _rays_there(row, origins, directions, tmin, tmax):
        """The same in memory of a framework's: (n, 3) each, tmin and tmax numbers."""
        low, high = (row.xp.full_like(origins[:, :1], float(t)) for t in (tmin, tmax))
        return row.plain(row.joined([origins, low, directions, high]), np.float32)

    def _cast(self, origins, directions, tmin, tmax, stream):
        """A batch of rays, and the array that answers are to be like."""
        batch, like = _c.kd_ray_batch_default(), None
        if is_foreign(origins):
            row, like = framework(origins), origins
            batch.stream = stream_number(stream, origins)
            batch.rays = self._rays_there(row, row.plain(origins, np.float32),
                                          row.plain(directions, np.float32), tmin, tmax)
        else:
            batch.rays = self._rays(np.atleast_2d(origins), np.atleast_2d(directions), tmin, tmax)
            like = batch.rays
        return batch, like

    def intersect(self, origins, directions, tmin=0.0, tmax=np.inf, *, stream=None) -> Hits:
        """What each ray meets first, as Hits.

        origins, directions: (n, 3), or (3,) for all; of PyTorch, CuPy or JAX (n, 3) both, and the answers
        are such arrays on their device (triangles in torch int32, -1 for none). tmin, tmax: in lengths of
        the direction, the ends excluded; a number, or of NumPy one a ray. stream: as of `kandela.Points`.

        >>> mesh = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        >>> mesh.intersect([[0.25, 0.25, 1], [2, 2, 2]], [0, 0, -2]).t.tolist()
        [0.5, inf]
        """
        batch, like = self._cast(origins, directions, tmin, tmax, stream)
        row = framework(like)
        hits = row.empty(like, (len(batch.rays), 4), np.float32)
        batch.hits = row.target(hits)
        _c.kd_triangles_cast(self._c, batch)
        hits = row.done(like, hits)
        return Hits(hits[:, 0], row.bits(hits[:, 3], np.uint32), hits[:, 1], hits[:, 2])

    def occluded(self, origins, directions, tmin=0.0, tmax=np.inf, *, stream=None) -> Any:
        """(n,) bool: whether each ray meets anything; arguments as of `intersect`.

        >>> mesh = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        >>> mesh.occluded([[0.25, 0.25, 1], [2, 2, 2]], [0, 0, -2]).tolist()
        [True, False]
        """
        batch, like = self._cast(origins, directions, tmin, tmax, stream)
        row = framework(like)
        blocked = row.empty(like, len(batch.rays), np.uint8)
        batch.blocked = row.target(blocked)
        _c.kd_triangles_cast(self._c, batch)
        return row.done(like, blocked) != 0

    def face_normals(self) -> np.ndarray:
        """(m, 3) float32 of length 1 by the faces' windings; 0 for faces without area.

        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).face_normals().tolist()
        [[0.0, 0.0, 1.0]]
        """
        a, b, c = (self.vertices[self.faces[:, k]].astype(np.float64) for k in range(3))
        normals = np.cross(b - a, c - a)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.divide(normals, lengths, out=np.zeros_like(normals),
                         where=lengths > 0).astype(np.float32)

    def closest_point(self, points, max_distance=np.inf) -> Nearest:
        """The nearest place on the mesh of each point, as Nearest.

        points: (n, 3), taken as float32. max_distance: in the mesh's unit; what is farther away is not
        found. Of triangles as near the one with the smallest number counts. Exact in double, the
        same on one thread, on many and on a GPU. The first call makes a tree (44 bytes a triangle). Points of
        PyTorch, CuPy or JAX are answered by such arrays (triangle and feature in torch int32).

        >>> import kandela
        >>> mesh = kandela.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> near = mesh.closest_point([[0.25, 0.25, 2], [3, 0, 0]])
        >>> near.distance.tolist(), near.point[1].tolist(), near.feature.tolist()
        ([2.0, 2.0], [1.0, 0.0, 0.0], [0, 5])
        """
        row = framework(points)
        points = row.plain(points if is_foreign(points) else np.atleast_2d(points), np.float32)
        found = row.empty(points, (len(points), 8), np.float32)
        settle(points, found)
        _c.kd_triangles_closest_point(self._c, points, max_distance, row.target(found))
        found = row.done(points, found)
        numbers = row.bits(found[:, 6:], np.uint32)
        return Nearest(found[:, :3], found[:, 3], numbers[:, 0], found[:, 4], found[:, 5],
                       numbers[:, 1])

    def _sides(self):
        """Normals of faces, edges and vertices for signed_distance, made once."""
        if self._outward is None:
            self._outward = Outward(self.vertices, self.faces)
        return self._outward

    @property
    def is_closed(self) -> bool:
        """Each edge belongs to two faces, which run along it in opposite directions. Vertices at the
        same place are one."""
        return self._sides().is_closed

    def signed_distance(self, points) -> Any:
        """(n,) float32: the distance to the mesh of each point, in its unit, negative inside.

        The sign is decided in double by the side of the nearest face, or by the angle-weighted normal of
        the nearest edge or vertex (Baerentzen and Aanaes 2005). That is right for a closed mesh that does
        not meet itself, with windings outwards; ValueError if `is_closed` is false: see
        `winding_number`.

        >>> import kandela
        >>> tetrahedron = kandela.TriangleMesh([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]],
        ...                                    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> tetrahedron.signed_distance([[0.5, 0.75, 0.75], [-2, -2, -1]]).tolist()
        [-0.5, 3.0]
        """
        if not self.is_closed:
            raise ValueError("the mesh is not closed: some edge does not belong to two faces that run "
                             "along it in opposite directions; winding_number() takes such meshes")
        if is_foreign(points):
            row = framework(points)
            return row.of_host(points, self.signed_distance(row.host(points)))
        points = np.ascontiguousarray(np.atleast_2d(points), np.float32)
        near = self.closest_point(points)
        side = self._sides().side(points, near.triangle, near.feature)
        distance = np.where(np.isnan(side), np.nan, near.distance)
        return np.where(side < 0, -distance, distance)

    def winding_number(self, points) -> Any:
        """(n,) float64: how often the mesh goes round each point: 1 inside a closed mesh with windings
        outwards, 0 outside, between for a mesh with holes (Jacobson et al. 2013). Each triangle's
        solid angle is added up: n times m work.

        >>> import kandela
        >>> tetrahedron = kandela.TriangleMesh([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]],
        ...                                    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> tetrahedron.winding_number([[0.5, 0.5, 0.5], [2, 2, 2]]).round(9).tolist()
        [1.0, 0.0]
        """
        if is_foreign(points):
            row = framework(points)
            return row.of_host(points, self.winding_number(row.host(points)))
        points = np.atleast_2d(np.asarray(points, np.float64))
        corners = self.vertices.astype(np.float64)[self.faces]
        piece = max(1, (1 << 20) // max(1, len(corners)))
        return np.concatenate([np.zeros(0)] + [
            solid_angles(corners, points[i:i + piece]) for i in range(0, len(points), piece)
        ]) / (4 * np.pi)

    def contains(self, points) -> Any:
        """(n,) bool: inside of the mesh; a point on it is not. By the sign of `signed_distance` if the
        mesh is closed, else by more than half a `winding_number`.

        >>> import kandela
        >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
        >>> kandela.TriangleMesh(square, [[0, 1, 2], [0, 2, 3]]).contains([[0.5, 0.5, 1]]).tolist()
        [False]
        """
        if not self.is_closed:
            return self.winding_number(points) > 0.5
        return self.signed_distance(points) < 0

    def sample(self, count, seed=0) -> tuple:
        """Points spread evenly over the area: (count, 3) float32, and the face of each (count,) int64.

        ValueError for a mesh without area.

        >>> places, faces = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).sample(100)
        >>> bool((places.sum(1) <= 1).all()), int(faces.max())
        (True, 0)
        """
        draw = np.random.default_rng(seed)
        a, b, c = (self.vertices[self.faces[:, k]].astype(np.float64) for k in range(3))
        areas = np.cumsum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
        if not len(areas) or areas[-1] <= 0:
            raise ValueError("the mesh has no area to sample")
        faces = np.minimum(np.searchsorted(areas, draw.random(count) * areas[-1], "right"),
                           len(areas) - 1)
        root, along = np.sqrt(draw.random(count)), draw.random(count)
        u, v = (1 - root)[:, None], (root * along)[:, None]
        places = u * a[faces] + (1 - u - v) * b[faces] + v * c[faces]
        return places.astype(np.float32), faces

    def save(self, path) -> None:
        """Writes the tree and its triangles, with a checksum. RunError says what failed.

        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).save(path)
        """
        _c.kd_triangles_save(self._c, str(path))

    def close(self) -> None:
        """Gives the memory back now; the tree answers nothing from then on.

        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).close()
        """
        _c.kd_triangles_close(self._c)

    def __repr__(self):
        return f"<kandela.TriangleMesh of {len(self.faces)} triangles>"
