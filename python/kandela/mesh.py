"""Triangle meshes: ray queries, nearest points, signed distances, containment and sampling.

Ambient occlusion, and other secondary rays, without hits on the surface that they start from:

    hits = mesh.intersect(origins, directions)
    points, normals = mesh.hit_points(hits, directions)
    hidden = mesh.occluded(points, secondary, ignore=hits.triangle)

`secondary` are directions in the half-space of `normals`; after a miss `points` are NaN, and rays
from there hit nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _c
from .arrays import framework, is_foreign, is_valid, path_text, settle, stream_number
from .checks import vectors, whole
from .sides import Edges

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

    point: np.ndarray  #: (n, 3) float32, nearest points; float64 if the mesh has a `centre`
    distance: np.ndarray  #: (n,) float32, in the unit of the mesh
    triangle: np.ndarray  #: (n,) uint32
    u: np.ndarray  #: (n,) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (n,) float32, weight of its third vertex
    #: (n,) uint32: 0: interior; 1, 2, 3: edge from vertex 0, 1, 2 to the next; 4, 5, 6: that vertex
    feature: np.ndarray


class TriangleMesh:
    """Triangle mesh for ray queries and nearest-point queries. It holds copies of its arrays.

    Parameters
    ----------
    vertices : array_like, (n, 3)
        Finite positions, converted to float32; if they are not float32 and far from the origin for
        the size of the mesh, relative to `centre`, so that a mesh in UTM coordinates keeps its
        shape. Arrays of PyTorch, CuPy and JAX are read in place.
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
        If an array has the wrong shape, as that of quads, or a face refers to a vertex that does not
        exist.
    TypeError
        If `faces` are not integers or `vertices` are not real numbers.
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

    def __init__(self, vertices: Any, faces: Any = None, *, device: str = "auto", builder: str = "auto") -> None:
        row = framework(vertices)
        if not is_foreign(vertices):
            vertices = np.asarray(vertices)
        self._check(vertices, faces)
        self.centre = np.zeros(3)  #: (3,) float64, the position to which the tree is relative
        if "float32" not in str(vertices.dtype) and len(vertices):
            self.centre = self._centre_of(row.host(vertices))
        self._is_far = bool(self.centre.any())
        if is_foreign(vertices) and row.on_device(vertices):
            arrays = self._relative(row, vertices), None if faces is None else self._named(row, faces)
        else:
            arrays = self._of_host(self._relative(row, vertices), faces)
        self._open(arrays, {"device": device, "builder": builder})

    def _open(self, arrays, given):
        """Build the tree of vertices, which are relative to the centre, and faces."""
        options = _c.kd_triangles_options_default()
        options.device, options.builder = given["device"], given["builder"]
        settle(*(array for array in arrays if array is not None))
        mesh = _c.kd_triangle_mesh_make(*arrays)
        self._take(_c.kd_triangles_open(mesh, options), given, (mesh.vertex_count, mesh.triangle_count))

    def _take(self, tree, given, sizes):
        """Set the tree and its numbers of vertices and faces, and forget what was computed from the
        one before.
        """
        self._c, self._given, self._sizes = tree, given, sizes
        self._edges = self._host = None

    @staticmethod
    def _check(vertices, faces):
        """Raise an exception for arrays of the wrong shape or type."""
        if not any(kind in str(vertices.dtype) for kind in ("float", "int")):
            raise TypeError(f"`vertices` is an array of {vertices.dtype}; expected real numbers")
        if len(vertices.shape) != 2 or vertices.shape[1] != 3:
            raise ValueError(f"`vertices` has the shape {tuple(vertices.shape)}; expected (n, 3)")
        if faces is None:
            if len(vertices) % 3:
                raise ValueError(f"`vertices` without `faces` has {len(vertices)} rows; expected three for each triangle")
            return
        try:
            faces = faces if hasattr(faces, "dtype") else np.asarray(faces)
        except ValueError:
            raise ValueError("the rows of `faces` differ in length; expected (m, 3)") from None
        shape, empty = tuple(faces.shape), 0 in faces.shape
        if not empty and "int" not in str(faces.dtype):
            raise TypeError(f"`faces` is an array of {faces.dtype}; expected integers")
        if len(shape) == 2 and shape[1] == 4:
            raise ValueError(f"`faces` has the shape {shape}; expected (m, 3). Split quads into triangles, such as "
                             "faces[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)")
        if not empty and (len(shape) != 2 or shape[1] != 3):
            raise ValueError(f"`faces` has the shape {shape}; expected (m, 3)")

    @staticmethod
    def _centre_of(vertices):
        """Return the middle of the bounding box along the axes on which it is more than four times
        its longest side away from 0; 0 along the others.
        """
        lo, hi = vertices.min(0).astype(np.float64), vertices.max(0).astype(np.float64)
        away = np.maximum(np.maximum(lo, -hi), 0)
        middle = (lo / 2 + hi / 2).astype(np.float32).astype(np.float64)
        return np.where((away > 4 * (hi - lo).max()) & np.isfinite(middle), middle, 0.0)

    def _relative(self, row, x):
        """Return positions relative to the centre, as float32."""
        if self._is_far:
            x = x - row.of_host(x, self.centre)
        return row.plain(x, np.float32)

    def _absolute(self, row, x):
        """Return positions that are relative to the centre as absolute ones."""
        return row.plain(x, np.float64) + row.of_host(x, self.centre) if self._is_far else x

    @staticmethod
    def _named(row, faces):
        """Return the faces with 32-bit indices, on the device of the vertices."""
        return row.plain(faces.reshape(-1, 3), np.int32 if row.wide else np.uint32)

    @staticmethod
    def _of_host(vertices, faces):
        """Return vertices and faces as NumPy arrays in the library's types."""
        vertices = np.ascontiguousarray(framework(vertices).host(vertices), np.float32)
        if faces is None:
            return vertices, np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3)
        faces = np.asarray(framework(faces).host(faces))
        if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
            raise ValueError(f"`faces` has vertex indices from {faces.min()} to {faces.max()}, "
                             f"but there are {len(vertices)} vertices")
        return vertices, np.ascontiguousarray(faces.reshape(-1, 3), np.uint32)

    def _arrays(self):
        """Return vertices, relative to the centre, and faces in host memory, copied from the tree on
        first use; read-only.
        """
        if self._host is None:
            host = np.empty((self._sizes[0], 3), np.float32), np.empty((self._sizes[1], 3), np.uint32)
            _c.kd_triangles_download(self._c, *host)
            for array in host:
                array.flags.writeable = False
            self._host = host
        return self._host

    @property
    def vertices(self) -> np.ndarray:
        """Vertices, (n, 3) float32, in host memory; float64 if the mesh has a `centre`. A read-only
        copy of those of the tree.
        """
        return self._absolute(framework(self._arrays()[0]), self._arrays()[0])

    @property
    def faces(self) -> np.ndarray:
        """Vertex indices of the faces, (m, 3) uint32, in host memory: a read-only copy."""
        return self._arrays()[1]

    def _corners(self):
        """Return the corners of the faces relative to the centre, (m, 3, 3) float64."""
        vertices, faces = self._arrays()
        return vertices.astype(np.float64)[faces]

    @property
    def volume(self) -> float:
        """Signed volume of a closed mesh: negative if its faces are wound inwards."""
        a, b, c = self._corners().transpose(1, 0, 2)
        return float((a * np.cross(b, c)).sum() / 6)

    def describe(self) -> dict[str, Any]:
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
        info = _c.kd_triangles_describe(self._c)
        for corner in ("lo", "hi") if self._is_far else ():
            info[corner] = tuple((self.centre + info[corner]).tolist())
        return info

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes of the tree, for kernels of your own (`kandela/device.cuh`).

        Returns
        -------
        nodes : ndarray
            (n,) with fields split (float32), first and word (uint32), as in `kd_triangle_node`;
            split and first share their bytes. Planes are relative to `centre`.
        references : ndarray of uint32
            Indices of the triangles in all leaves.

        Examples
        --------
        >>> nodes, references = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).nodes()
        >>> nodes["word"] & 3, references  # a leaf
        (array([3], dtype=uint32), array([0], dtype=uint32))
        """
        info = _c.kd_triangles_describe(self._c)
        rows, references = np.empty((info["nodes"], 2), np.uint32), np.empty(info["references"], np.uint32)
        _c.kd_triangles_download_nodes(self._c, rows, references)
        kind = np.dtype({"names": ["split", "first", "word"], "formats": ["f4", "u4", "u4"],
                         "offsets": [0, 0, 4], "itemsize": 8})
        return rows.view(kind)[:, 0], references

    @property
    def nbytes(self) -> int:
        """Bytes that the tree holds, on whichever device, without the tree of `closest_point`.

        Examples
        --------
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).nbytes > 36
        True
        """
        return self.describe()["bytes"]

    def _rays(self, origins, directions, tmin, tmax):
        """Return rays as (n, 8) float32, the layout of `kd_ray`."""
        row = framework(origins)
        if is_foreign(origins):
            origins, directions = self._relative(row, origins), row.plain(directions, np.float32)
            low, high = (t.reshape(-1, 1) if is_foreign(t) else row.xp.full_like(origins[:, :1], float(t))
                         for t in (tmin, tmax))
            return row.plain(row.joined([origins, low, directions, high]), np.float32)
        origins, directions = vectors(origins, "origins"), vectors(directions, "directions")
        count = max(len(origins), len(directions)) if len(origins) and len(directions) else 0
        if not {len(origins), len(directions)} <= {1, count}:
            raise ValueError(f"`origins` has {len(origins)} rows and `directions` {len(directions)}; they must have as many")
        for name, t in (("tmin", tmin), ("tmax", tmax)):
            if np.shape(t) not in ((), (count,)):
                raise ValueError(f"`{name}` has the shape {np.shape(t)}; expected a number or ({count},)")
        rays = np.empty((count, 8), np.float32)
        rays[:, 0:3] = origins - self.centre if self._is_far else origins
        rays[:, 3], rays[:, 4:7], rays[:, 7] = tmin, directions, tmax
        return rays

    def _cast(self, rays, like, stream, output):
        """Cast rays; return the array of `output` ("hits" or "blocked"), of the framework and on the
        device of `like`.
        """
        batch, row = _c.kd_ray_batch_default(), framework(like)
        batch.stream = stream_number(stream, like) if is_foreign(like) else 0
        batch.rays = rays
        out = row.empty(like, (len(rays), 4), np.float32) if output == "hits" else row.empty(like, len(rays), np.uint8)
        setattr(batch, output, row.target(out))
        _c.kd_triangles_cast(self._c, batch)
        return row.done(like, out)

    def _hits(self, rays, like, stream):
        """Return the closest hits of rays."""
        hits = self._cast(rays, like, stream, "hits")
        return Hits(hits[:, 0], framework(like).bits(hits[:, 3], np.uint32), hits[:, 1], hits[:, 2])

    def _ignored(self, ignore, hits):
        """Return which hits are on the triangle that their ray ignores."""
        row = framework(hits.triangle)
        if is_foreign(hits.triangle):
            ignore = ignore if is_foreign(ignore) else row.of_host(hits.triangle, np.asarray(ignore))
            return hits.triangle == row.plain(ignore, np.int32 if row.wide else np.uint32)
        ignore = np.asarray(framework(ignore).host(ignore))
        if ignore.dtype.kind not in "iu" or ignore.shape not in ((), hits.triangle.shape):
            raise ValueError(f"`ignore` is an array of {ignore.dtype} with the shape {ignore.shape}; expected one "
                             f"triangle, or integers of the shape {hits.triangle.shape}")
        named = (ignore != -1) & (ignore != NO_TRIANGLE)
        if (named & ((ignore < 0) | (ignore >= self._sizes[1]))).any():
            raise ValueError(f"`ignore` has values from {ignore.min()} to {ignore.max()}, but there are "
                             f"{self._sizes[1]} triangles")
        return (hits.triangle == ignore.astype(np.uint32)) & named

    def intersect(self, origins: Any, directions: Any, tmin: Any = 0.0, tmax: Any = np.inf, *,
                  ignore: Any = None, stream: Any = None) -> Hits:
        """Find the closest hit of each ray.

        Parameters
        ----------
        origins, directions : array_like, (n, 3) or (3,)
            Directions need not be normalised. Arrays of PyTorch, CuPy and JAX must both be (n, 3).
        tmin, tmax : float or array_like, (n,), optional
            Open interval of t, in lengths of the direction. Arrays only with NumPy rays.
        ignore : int or array_like of int, (n,), optional
            A triangle for each ray that the ray passes through, such as `hits.triangle` of the rays
            that ended where these begin; -1 or NO_TRIANGLE: none. Other triangles at exactly the t
            of that hit are passed, too. See `hit_points`.
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
        >>> mesh.intersect([[0.25, 0.25, 1]], [0, 0, -2], ignore=0).hit.tolist()
        [False]
        """
        rays = self._rays(origins, directions, tmin, tmax)
        like = origins if is_foreign(origins) else rays
        hits = self._hits(rays, like, stream)
        if ignore is None:
            return hits
        again = self._ignored(ignore, hits)
        if is_foreign(origins):
            begin = framework(origins).xp.where(again, hits.t, rays[:, 3])
            return self._hits(self._rays(origins, directions, begin, tmax), like, stream)
        rays = rays[again]
        rays[:, 3] = hits.t[again]
        for old, new in zip(hits, self._hits(rays, rays, stream)):
            old[again] = new
        return hits

    def occluded(self, origins: Any, directions: Any, tmin: Any = 0.0, tmax: Any = np.inf, *,
                 ignore: Any = None, stream: Any = None) -> Any:
        """Test whether each ray hits any triangle.

        Parameters
        ----------
        origins, directions, tmin, tmax, ignore, stream
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
        if ignore is not None:
            return self.intersect(origins, directions, tmin, tmax, ignore=ignore, stream=stream).hit
        rays = self._rays(origins, directions, tmin, tmax)
        return self._cast(rays, origins if is_foreign(origins) else rays, stream, "blocked") != 0

    def hit_points(self, hits: Any, directions: Any) -> tuple[Any, ...]:
        """Compute the points of hits, from which secondary rays can start.

        Parameters
        ----------
        hits : Hits
            As `intersect` returned them.
        directions : array_like, (n, 3) or (3,)
            The directions of these rays.

        Returns
        -------
        points : array of float64, (n, 3)
            The hits, moved off the surface by about 2^-21 of the size of the mesh, more than the
            rounding error, to the side that the rays came from. NaN for a miss.
        normals : array of float64, (n, 3)
            Unit normals of the triangles on that side. NaN for a miss.

        Examples
        --------
        >>> mesh = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        >>> hits = mesh.intersect([[0.25, 0.25, 1]], [[0, 0, -1]])
        >>> points, normals = mesh.hit_points(hits, [[0, 0, -1]])
        >>> points.round(5).tolist(), normals.tolist()
        ([[0.25, 0.25, 0.0]], [[0.0, 0.0, 1.0]])
        >>> mesh.occluded(points, normals, ignore=hits.triangle).tolist()
        [False]
        """
        row = framework(hits.t)
        if is_foreign(hits.t):
            found = self.hit_points(Hits(*map(row.host, hits)), framework(directions).host(directions))
            return tuple(row.of_host(hits.t, x) for x in found)
        directions = vectors(directions, "directions")
        if len(directions) not in (1, len(hits.t)):
            raise ValueError(f"`directions` has {len(directions)} rows; expected those of the {len(hits.t)} rays")
        vertices, faces = self._arrays()
        valid = is_valid(hits.triangle, NO_TRIANGLE)
        corner = vertices[faces[np.where(valid, hits.triangle, 0)]].astype(np.float64) if len(faces) else (
            np.full((len(valid), 3, 3), np.nan))
        u, v = (np.asarray(x, np.float64)[:, None] for x in (hits.u, hits.v))
        points = (1 - u - v) * corner[:, 0] + u * corner[:, 1] + v * corner[:, 2]
        normals = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        with np.errstate(invalid="ignore"):
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        normals[(normals * directions).sum(1) > 0] *= -1
        size = (vertices.max(0) - vertices.min(0)).max() if len(vertices) else 0
        points += normals * 2.0**-21 * (np.abs(points).max(1, keepdims=True) + size)
        points[~valid], normals[~valid] = np.nan, np.nan
        return self._absolute(row, points), normals

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
        a, b, c = self._corners().transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.divide(normals, lengths, out=np.zeros_like(normals),
                         where=lengths > 0).astype(np.float32)

    def closest_point(self, points: Any, max_distance: float = np.inf) -> Nearest:
        """Find the point of the mesh nearest to each query point.

        Parameters
        ----------
        points : array_like, (n, 3)
            Converted to float32, relative to `centre`.
        max_distance : float, optional
            Search radius, in the unit of the mesh.

        Returns
        -------
        Nearest
            Arrays of the framework, and on the device, of `points`; in PyTorch triangle and feature
            are int32.

        Notes
        -----
        Distances are compared in double precision. Among equally near triangles, the one with the
        smallest index is returned, for any number of threads and on any device. The first call
        builds a second tree of 44 bytes per triangle.

        Examples
        --------
        >>> import kandela
        >>> mesh = kandela.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> near = mesh.closest_point([[0.25, 0.25, 2], [3, 0, 0]])
        >>> near.distance.tolist(), near.point[1].tolist(), near.feature.tolist()
        ([2.0, 2.0], [1.0, 0.0, 0.0], [0, 5])
        """
        row = framework(points)
        points = self._relative(row, points if is_foreign(points) else vectors(points, "points"))
        found = row.empty(points, (len(points), 8), np.float32)
        settle(points, found)
        _c.kd_triangles_closest_point(self._c, points, max_distance, row.target(found))
        found = row.done(points, found)
        numbers = row.bits(found[:, 6:], np.uint32)
        return Nearest(self._absolute(row, found[:, :3]), found[:, 3], numbers[:, 0], found[:, 4], found[:, 5],
                       numbers[:, 1])

    def _meetings(self):
        """Return how the faces meet at edges, computed on first use."""
        if self._edges is None:
            self._edges = Edges(*self._arrays())
        return self._edges

    @property
    def is_closed(self) -> bool:
        """True if each edge belongs to two faces that run along it in opposite directions.

        Vertices at the same position count as one.
        """
        return self._meetings().closed

    def _inside(self, points, sign):
        """Return whether points, float32 and relative to the centre, are inside."""
        if sign == "winding":
            return np.abs(self._winding(points, 3.0)) > 0.5
        if sign != "parity":
            raise ValueError(f'`sign` is {sign!r}; expected "winding" or "parity"')
        if not self._meetings().even:
            raise ValueError("the mesh is not closed: an edge belongs to an odd number of faces; "
                             'sign="winding" supports such meshes')
        crossings = np.empty(len(points), np.uint32)
        _c.kd_triangles_crossings(self._c, points, crossings, None)
        return crossings % 2 == 1

    def _winding(self, points, accuracy):
        """Return winding numbers about points, float32 and relative to the centre."""
        numbers = np.empty(len(points))
        if not self._meetings().balanced:
            _c.kd_triangles_winding_number(self._c, points, accuracy, numbers)
            return numbers
        exact = np.empty(len(points), np.int32)
        _c.kd_triangles_crossings(self._c, points, None, exact)
        return np.where(np.isfinite(points).all(1), exact, np.nan)

    def signed_distance(self, points: Any, sign: str = "winding") -> Any:
        """Compute the distance of each point to the mesh, negative inside.

        Parameters
        ----------
        points : array_like, (n, 3)
        sign : {"winding", "parity"}, optional
            As for `contains`.

        Returns
        -------
        array of float32, (n,)
            In the unit of the mesh; NaN for points that are not finite.

        Raises
        ------
        ValueError
            If `sign` is "parity" and an edge belongs to an odd number of faces.

        Examples
        --------
        >>> import kandela
        >>> tetrahedron = kandela.TriangleMesh([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]],
        ...                                    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> tetrahedron.signed_distance([[0.5, 0.75, 0.75], [-2, -2, -1]]).tolist()
        [-0.5, 3.0]
        """
        if is_foreign(points):
            row = framework(points)
            return row.of_host(points, self.signed_distance(row.host(points), sign))
        distance = self.closest_point(points).distance
        points = self._relative(framework(points), vectors(points, "points"))
        distance[~np.isfinite(points).all(1)] = np.nan
        return np.where(self._inside(points, sign), -distance, distance)

    def winding_number(self, points: Any, accuracy: float = 3.0) -> Any:
        """Compute the generalised winding number of the mesh about each point (Jacobson et al.
        2013).

        It is 1 inside and 0 outside of a closed mesh whose faces are wound outwards, -1 inside if
        they are wound inwards, the sum over bodies that overlap, and in between for a mesh with
        holes.

        Parameters
        ----------
        points : array_like, (n, 3)
        accuracy : float, optional
            From 1 to inf. Groups of triangles that are farther away than `accuracy` times their
            radius count as dipoles (Barill et al. 2018). With 2, errors are below about 0.05, with
            4 below 0.01; inf: the exact sum over all triangles.

        Returns
        -------
        array of float64, (n,)
            NaN for points that are not finite. Exact integers if as many faces run along each edge
            in one direction as in the other, and 0 on the surface of such a mesh.

        Examples
        --------
        >>> import kandela
        >>> tetrahedron = kandela.TriangleMesh([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]],
        ...                                    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> tetrahedron.winding_number([[0.5, 0.5, 0.5], [2, 2, 2]]).tolist()
        [1.0, 0.0]
        """
        if is_foreign(points):
            row = framework(points)
            return row.of_host(points, self.winding_number(row.host(points), accuracy))
        if not accuracy >= 1:
            raise ValueError(f"`accuracy` is {accuracy}; expected 1 to inf")
        return self._winding(self._relative(framework(points), vectors(points, "points")), accuracy)

    def contains(self, points: Any, sign: str = "winding") -> Any:
        """Test whether each point is inside of the mesh, whichever way its faces are wound.

        Parameters
        ----------
        points : array_like, (n, 3)
        sign : {"winding", "parity"}, optional
            "winding" (default): where the absolute `winding_number` exceeds one half: inside of any
            of several bodies that overlap, and of meshes with holes. "parity": where a ray crosses
            an odd number of faces: bodies that overlap cut each other out, and the winding of single
            faces does not matter. Coincident faces count each.

        Returns
        -------
        array of bool, (n,)
            False for points that are not finite and, if the mesh has no boundary, for those on it.

        Raises
        ------
        ValueError
            If `sign` is "parity" and an edge belongs to an odd number of faces.

        Examples
        --------
        >>> import kandela
        >>> square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
        >>> kandela.TriangleMesh(square, [[0, 1, 2], [0, 2, 3]]).contains([[0.5, 0.5, 1]]).tolist()
        [False]
        """
        if is_foreign(points):
            row = framework(points)
            return row.of_host(points, self.contains(row.host(points), sign))
        return self._inside(self._relative(framework(points), vectors(points, "points")), sign)

    def sample(self, count: Any, seed: int = 0) -> tuple[Any, ...]:
        """Sample points uniformly by area.

        Parameters
        ----------
        count : int
        seed : int, optional

        Returns
        -------
        points : ndarray, (count, 3)
            Of the type of `vertices`.
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
        draw, count = np.random.default_rng(seed), whole(count, "count", 0)
        a, b, c = self._corners().transpose(1, 0, 2)
        areas = np.cumsum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
        if not len(areas) or areas[-1] <= 0:
            raise ValueError("the mesh has no area, so no points can be sampled")
        faces = np.minimum(np.searchsorted(areas, draw.random(count) * areas[-1], "right"),
                           len(areas) - 1)
        root, along = np.sqrt(draw.random(count)), draw.random(count)
        u, v = (1 - root)[:, None], (root * along)[:, None]
        places = u * a[faces] + (1 - u - v) * b[faces] + v * c[faces]
        return (places + self.centre if self._is_far else places.astype(np.float32)), faces

    def save(self, path: Any) -> None:
        """Write the tree and its triangles to a file with a checksum, which `TriangleMesh.load`
        reads.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        RunError
            If the file cannot be written.
        ValueError
            If the mesh has a `centre`, which the file cannot hold.

        Examples
        --------
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "tree")
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).save(path)
        >>> TriangleMesh.load(path)
        <kandela.TriangleMesh of 1 triangles>
        """
        if self._is_far:
            raise ValueError(f"the mesh is relative to its centre {self.centre.tolist()}, which the file cannot "
                             "hold; subtract it from the vertices")
        _c.kd_triangles_save(self._c, path_text(path))

    @classmethod
    def load(cls, path: Any, *, device: str = "auto") -> TriangleMesh:
        """Read a tree that `save` wrote.

        Parameters
        ----------
        path : str or path-like
        device : str, optional
            As for `TriangleMesh`.

        Returns
        -------
        TriangleMesh

        Raises
        ------
        InputError
            If the file is missing, truncated, modified or not a tree of triangles.

        Examples
        --------
        >>> TriangleMesh.load("/nowhere/at/all")
        Traceback (most recent call last):
        kandela.errors.InputError: /nowhere/at/all: cannot open: No such file or directory
        """
        options = _c.kd_triangles_options_default()
        options.device = device
        loaded = cls.__new__(cls)
        loaded.centre, loaded._is_far = np.zeros(3), False
        tree = _c.kd_triangles_load(path_text(path), options)
        info = _c.kd_triangles_describe(tree)
        loaded._take(tree, {"device": device, "builder": "auto"}, (info["vertices"], info["triangles"]))
        return loaded

    def close(self) -> None:
        """Free the memory of the tree now. Any later query raises UsageError.

        Examples
        --------
        >>> TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).close()
        """
        _c.kd_triangles_close(self._c)

    def __getstate__(self):
        return {"arrays": self._arrays(), "centre": self.centre, "given": self._given}

    def __setstate__(self, state):
        self.centre, self._is_far = state["centre"], bool(state["centre"].any())
        self._open(state["arrays"], state["given"])

    def __repr__(self):
        return f"<kandela.TriangleMesh of {self._sizes[1]} triangles>"
