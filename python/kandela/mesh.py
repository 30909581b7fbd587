"""Triangle meshes: ray queries, nearest points, signed distances, containment and sampling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _c
from .arrays import framework, is_foreign, is_valid, path_text, settle, stream_number
from .sides import Outward, solid_angles

NO_TRIANGLE = np.uint32(0xFFFFFFFF)  #: triangle index of a ray that hits nothing


class Hits(NamedTuple):
    """Closest hits of rays. After a miss `t` is inf (or tmax) and `triangle` is NO_TRIANGLE."""

    t: np.ndarray  #: (n,) float32, distance in lengths of the direction
    triangle: np.ndarray  #: (n,) uint32
    u: np.ndarray  #: (n,) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (n,) float32, weight of its third vertex

    @property
    def hit(self) -> Any:
        """Boolean array, (n,): which rays hit a triangle."""
        return is_valid(self.triangle, NO_TRIANGLE)


class Nearest(NamedTuple):
    """Nearest points on a mesh. If there is none, `distance` is inf and `triangle` NO_TRIANGLE."""

    point: np.ndarray  #: (n, 3) float32, nearest points
    distance: np.ndarray  #: (n,) float32, in the unit of the mesh
    triangle: np.ndarray  #: (n,) uint32
    u: np.ndarray  #: (n,) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (n,) float32, weight of its third vertex
    #: (n,) uint32: 0: interior; 1, 2, 3: edge from vertex 0, 1, 2 to the next; 4, 5, 6: that vertex
    feature: np.ndarray


class TriangleMesh:
    """Triangle mesh for ray queries and nearest-point queries.

    Parameters
    ----------
    vertices : array_like, (n, 3)
        Finite positions, converted to float32. Arrays of PyTorch, CuPy and JAX are read in place.
    faces : array_like of int, (m, 3), optional
        Vertex indices of each triangle; None: triangle i has vertices 3i, 3i+1, 3i+2.
    device : str, optional
        "auto" (default): the device that holds the vertices; for vertices in host memory the first
        CUDA device if there are at least 100,000 triangles, else the CPU. "cpu" or "cuda:N".
    builder : str, optional
        "auto" (default) or a name that `kandela info` lists.

    Raises
    ------
    ValueError
        If a face refers to a vertex that does not exist.
    InputError
        If a vertex is not finite.

    Notes
    -----
    The intersection test is watertight: no ray passes between two triangles that share an edge.

    Examples
    --------
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
        """Return the faces with 32-bit indices, on the device of the vertices."""
        return row.plain(faces.reshape(-1, 3), np.int32) if row.wide else row.plain(faces, np.uint32)

    @staticmethod
    def _of_host(vertices, faces):
        """Return vertices and faces as NumPy arrays in the library's types."""
        vertices = np.ascontiguousarray(framework(vertices).host(vertices), np.float32)
        if faces is None:
            return vertices, np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3)
        faces = framework(faces).host(faces)
        if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
            raise ValueError(f"`faces` has vertex indices from {faces.min()} to {faces.max()}, "
                             f"but there are {len(vertices)} vertices")
        return vertices, np.ascontiguousarray(faces.reshape(-1, 3), np.uint32)

    def _arrays(self):
        """Return vertices and faces in host memory, copied from the device on first use."""
        if self._host is None:
            vertices, faces = self._there
            self._host = self._of_host(vertices, faces)
        return self._host

    @property
    def vertices(self) -> np.ndarray:
        """Vertices, (n, 3) float32, in host memory."""
        return self._arrays()[0]

    @property
    def faces(self) -> np.ndarray:
        """Vertex indices of the faces, (m, 3) uint32, in host memory."""
        return self._arrays()[1]

    def describe(self) -> dict:
        """Return statistics of the tree.

        Returns
        -------
        dict
            The fields of `kd_triangles_info`: triangles, nodes, builder, device, bytes, sah_cost,
            hash, ...

        Examples
        --------
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).describe()["triangles"]
        1
        """
        return _c.kd_triangles_describe(self._c)

    @property
    def nbytes(self) -> int:
        """Bytes that the tree holds, on whichever device, without the tree of `closest_point`.

        Examples
        --------
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).nbytes > 36
        True
        """
        return self.describe()["bytes"]

    @staticmethod
    def _rays(origins, directions, tmin, tmax):
        """Return rays as (n, 8) float32, the layout of `kd_ray`."""
        origins, directions = np.asarray(origins), np.asarray(directions)
        count = np.broadcast_shapes(origins.shape, directions.shape)[0]
        rays = np.empty((count, 8), np.float32)
        rays[:, 0:3], rays[:, 3], rays[:, 4:7], rays[:, 7] = origins, tmin, directions, tmax
        return rays

    @staticmethod
    def _rays_there(row, origins, directions, tmin, tmax):
        """Implement `_rays` for arrays of another framework; tmin and tmax are numbers."""
        low, high = (row.xp.full_like(origins[:, :1], float(t)) for t in (tmin, tmax))
        return row.plain(row.joined([origins, low, directions, high]), np.float32)

    def _cast(self, origins, directions, tmin, tmax, stream):
        """Return a RayBatch of the rays, and the array that determines framework and device of the
        results.
        """
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
        """Find the closest hit of each ray.

        Parameters
        ----------
        origins, directions : array_like, (n, 3) or (3,)
            Directions need not be normalised. Arrays of PyTorch, CuPy and JAX must both be (n, 3).
        tmin, tmax : float or array_like, (n,), optional
            Open interval of t, in lengths of the direction. Arrays only with NumPy rays.
        stream : optional
            CUDA stream, as for `kandela.Points`.

        Returns
        -------
        Hits
            Arrays of the framework, and on the device, of the rays; in PyTorch triangles are int32
            with -1 for a miss.

        Examples
        --------
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
        """Test whether each ray hits any triangle.

        Parameters
        ----------
        origins, directions, tmin, tmax, stream
            As for `intersect`.

        Returns
        -------
        array of bool, (n,)

        Examples
        --------
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
        """Compute the normals of the faces by their winding.

        Returns
        -------
        ndarray of float32, (m, 3)
            Unit vectors; 0 for faces without area.

        Examples
        --------
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).face_normals().tolist()
        [[0.0, 0.0, 1.0]]
        """
        a, b, c = (self.vertices[self.faces[:, k]].astype(np.float64) for k in range(3))
        normals = np.cross(b - a, c - a)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.divide(normals, lengths, out=np.zeros_like(normals),
                         where=lengths > 0).astype(np.float32)

    def closest_point(self, points, max_distance=np.inf) -> Nearest:
        """Find the point of the mesh nearest to each query point.

        Parameters
        ----------
        points : array_like, (n, 3)
            Converted to float32.
        max_distance : float, optional
            Search radius, in the unit of the mesh.

        Returns
        -------
        Nearest
            Arrays of the framework, and on the device, of `points`; in PyTorch triangle and feature
            are int32.

        Notes
        -----
        Distances are compared in double precision. Of equally near triangles the smallest index is
        returned, for any number of threads and on any device. The first call builds a second tree
        of 44 bytes per triangle.

        Examples
        --------
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
        """Return the normals for `signed_distance`, computed on first use."""
        if self._outward is None:
            self._outward = Outward(self.vertices, self.faces)
        return self._outward

    @property
    def is_closed(self) -> bool:
        """Whether each edge belongs to two faces that run along it in opposite directions.

        Vertices at the same position count as one.
        """
        return self._sides().is_closed

    def signed_distance(self, points) -> Any:
        """Compute the distance of each point to the mesh, negative inside.

        Parameters
        ----------
        points : array_like, (n, 3)

        Returns
        -------
        array of float32, (n,)
            In the unit of the mesh; NaN for points that are not finite.

        Raises
        ------
        ValueError
            If `is_closed` is false; `winding_number` accepts such meshes.

        Notes
        -----
        The sign is that of the side of the nearest face, or of the angle-weighted normal of the
        nearest edge or vertex (Baerentzen and Aanaes 2005), evaluated in double precision. It is
        correct for a closed mesh that does not intersect itself and whose faces are wound outwards.

        Examples
        --------
        >>> import kandela
        >>> tetrahedron = kandela.TriangleMesh([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]],
        ...                                    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> tetrahedron.signed_distance([[0.5, 0.75, 0.75], [-2, -2, -1]]).tolist()
        [-0.5, 3.0]
        """
        if not self.is_closed:
            raise ValueError("the mesh is not closed: an edge is not shared by two faces that run "
                             "along it in opposite directions; winding_number() supports such meshes")
        if is_foreign(points):
            row = framework(points)
            return row.of_host(points, self.signed_distance(row.host(points)))
        points = np.ascontiguousarray(np.atleast_2d(points), np.float32)
        near = self.closest_point(points)
        side = self._sides().side(points, near.triangle, near.feature)
        distance = np.where(np.isnan(side), np.nan, near.distance)
        return np.where(side < 0, -distance, distance)

    def winding_number(self, points) -> Any:
        """Compute the generalised winding number of the mesh about each point (Jacobson et al.
        2013).

        It is 1 inside and 0 outside of a closed mesh whose faces are wound outwards, and in between
        for a mesh with holes.

        Parameters
        ----------
        points : array_like, (n, 3)

        Returns
        -------
        array of float64, (n,)

        Notes
        -----
        The solid angles of all triangles are summed, which takes time proportional to n times m.

        Examples
        --------
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
        """Test whether each point is inside of the mesh; points on it are not.

        The sign of `signed_distance` decides if the mesh is closed, else whether `winding_number`
        exceeds one half.

        Parameters
        ----------
        points : array_like, (n, 3)

        Returns
        -------
        array of bool, (n,)

        Examples
        --------
        >>> import kandela
        >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
        >>> kandela.TriangleMesh(square, [[0, 1, 2], [0, 2, 3]]).contains([[0.5, 0.5, 1]]).tolist()
        [False]
        """
        if not self.is_closed:
            return self.winding_number(points) > 0.5
        return self.signed_distance(points) < 0

    def sample(self, count, seed=0) -> tuple:
        """Sample points uniformly by area.

        Parameters
        ----------
        count : int
        seed : int, optional

        Returns
        -------
        points : ndarray of float32, (count, 3)
        faces : ndarray of int64, (count,)
            Face of each point.

        Raises
        ------
        ValueError
            If the mesh has no area.

        Examples
        --------
        >>> places, faces = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).sample(100)
        >>> bool((places.sum(1) <= 1).all()), int(faces.max())
        (True, 0)
        """
        draw = np.random.default_rng(seed)
        a, b, c = (self.vertices[self.faces[:, k]].astype(np.float64) for k in range(3))
        areas = np.cumsum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
        if not len(areas) or areas[-1] <= 0:
            raise ValueError("the mesh has no area, so no points can be sampled")
        faces = np.minimum(np.searchsorted(areas, draw.random(count) * areas[-1], "right"),
                           len(areas) - 1)
        root, along = np.sqrt(draw.random(count)), draw.random(count)
        u, v = (1 - root)[:, None], (root * along)[:, None]
        places = u * a[faces] + (1 - u - v) * b[faces] + v * c[faces]
        return places.astype(np.float32), faces

    def save(self, path) -> None:
        """Write the tree and its triangles to a file with a checksum.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        RunError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).save(path)
        """
        _c.kd_triangles_save(self._c, path_text(path))

    def close(self) -> None:
        """Free the memory of the tree now. Any later query raises UsageError.

        Examples
        --------
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).close()
        """
        _c.kd_triangles_close(self._c)

    def __repr__(self):
        return f"<kandela.TriangleMesh of {len(self.faces)} triangles>"
