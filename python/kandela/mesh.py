"""Rays and triangles."""

from typing import NamedTuple

import numpy as np

from . import _c

NO_TRIANGLE = np.uint32(0xFFFFFFFF)  #: the triangle of a ray that hits nothing


class Hits(NamedTuple):
    """What rays meet first; `t` is inf (or the ray's tmax) and `triangle` NO_TRIANGLE for nothing."""

    t: np.ndarray  #: (n,) float32, in lengths of the direction
    triangle: np.ndarray  #: (n,) uint32
    u: np.ndarray  #: (n,) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (n,) float32, weight of its third vertex

    @property
    def hit(self):
        """(n,) bool: something was met."""
        return self.triangle != NO_TRIANGLE


class TriangleMesh:
    """A k-d tree over triangles; rays never slip through shared edges.

    vertices: (n, 3), faces: (m, 3) of vertex numbers, or None: three vertices a triangle. builder,
    device: as of `kandela bench build`; "auto" chooses.

    >>> import numpy as np, kandela
    >>> mesh = kandela.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> hits = mesh.intersect([[0.25, 0.25, 1]], [[0, 0, -1]])
    >>> float(hits.t[0]), int(hits.triangle[0])
    (1.0, 0)
    """

    def __init__(self, vertices, faces=None, *, device="auto", builder="auto"):
        self.vertices = np.ascontiguousarray(vertices, np.float32)
        if faces is None:
            self.faces = np.arange(len(self.vertices), dtype=np.uint32).reshape(-1, 3)
        else:
            faces = np.asarray(faces)
            if faces.size and (faces.min() < 0 or faces.max() >= len(self.vertices)):
                raise ValueError(f"faces name vertices from {faces.min()} to {faces.max()}, "
                                 f"expected 0 to {len(self.vertices) - 1}")
            self.faces = np.ascontiguousarray(faces.reshape(-1, 3), np.uint32)
        options = _c.kd_triangles_options_default()
        options.device, options.builder = device, builder
        self._c = _c.kd_triangles_open(_c.kd_triangle_mesh_make(self.vertices, self.faces), options)

    def describe(self):
        """What the tree is: triangles, nodes, builder, device, bytes, sah_cost, hash, ..."""
        return _c.kd_triangles_describe(self._c)

    @staticmethod
    def _rays(origins, directions, tmin, tmax):
        origins, directions = np.asarray(origins), np.asarray(directions)
        count = np.broadcast_shapes(origins.shape, directions.shape)[0]
        rays = np.empty((count, 8), np.float32)
        rays[:, 0:3], rays[:, 3], rays[:, 4:7], rays[:, 7] = origins, tmin, directions, tmax
        return rays

    def intersect(self, origins, directions, tmin=0.0, tmax=np.inf):
        """What each ray meets first. origins, directions: (n, 3), or (3,) for all."""
        rays = self._rays(np.atleast_2d(origins), np.atleast_2d(directions), tmin, tmax)
        hits = np.empty((len(rays), 4), np.float32)
        _c.kd_triangles_intersect(self._c, rays, hits)
        return Hits(hits[:, 0], np.ascontiguousarray(hits[:, 3]).view(np.uint32), hits[:, 1],
                    hits[:, 2])

    def occluded(self, origins, directions, tmin=0.0, tmax=np.inf):
        """(n,) bool: whether each ray meets anything."""
        rays = self._rays(np.atleast_2d(origins), np.atleast_2d(directions), tmin, tmax)
        blocked = np.empty(len(rays), np.uint8)
        _c.kd_triangles_occluded(self._c, rays, blocked)
        return blocked.astype(bool)

    def face_normals(self):
        """(m, 3) float32 of length 1 by the faces' windings; 0 for faces without area."""
        a, b, c = (self.vertices[self.faces[:, k]].astype(np.float64) for k in range(3))
        normals = np.cross(b - a, c - a)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.divide(normals, lengths, out=np.zeros_like(normals),
                         where=lengths > 0).astype(np.float32)

    def contains(self, points):
        """(n,) bool: inside of the mesh, which is closed with windings outwards: a ray from each
        point leaves it through a face seen from behind."""
        direction = np.array([0.5773, 0.5167, 0.6323])
        hits = self.intersect(points, direction)
        leaves = np.zeros(len(hits.t), bool)
        normals = self.face_normals()
        leaves[hits.hit] = normals[hits.triangle[hits.hit]] @ direction > 0
        return leaves

    def sample(self, count, seed=0):
        """Points spread evenly over the area: (count, 3) float32, and the face of each (count,)."""
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

    def save(self, path):
        """Writes the tree and its triangles, with a checksum."""
        _c.kd_triangles_save(self._c, str(path))

    def close(self):
        """Gives the memory back now; the tree answers nothing from then on."""
        _c.kd_triangles_close(self._c)

    def __repr__(self):
        return f"<kandela.TriangleMesh of {len(self.faces)} triangles>"
