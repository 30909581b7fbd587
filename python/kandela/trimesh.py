"""trimesh: a replacement for its RayMeshIntersector. Needs an explicit `import kandela.trimesh`.

    import kandela.trimesh
    mesh.ray = kandela.trimesh.RayMeshIntersector(mesh)

Rays are traced in float32, relative to the centre of the mesh; locations are the intersections with
the planes of the triangles, in double precision. To find the next hit, a ray continues from exactly
the t of the last one, without an offset, so thin parts and any scale are safe; if several
triangles are hit at the same t, as at an edge, only one is reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from trimesh import caching, util
from trimesh.ray.ray_util import contains_points

from .mesh import NO_TRIANGLE, TriangleMesh

BEFORE = -np.finfo(np.float32).tiny  #: tmin of rays, so that a ray that starts on a face hits it


class RayMeshIntersector:
    """Ray queries of `trimesh.Trimesh.ray`, answered by a `kandela.TriangleMesh`.

    Parameters
    ----------
    geometry : trimesh.Trimesh
        If it changes, the tree is rebuilt on the next query.
    scale_to_box : bool, optional
        Accepted and ignored.
    device, builder : str, optional
        As for `kandela.TriangleMesh`.

    Examples
    --------
    >>> import kandela.trimesh, trimesh
    >>> box = trimesh.creation.box()
    >>> box.ray = kandela.trimesh.RayMeshIntersector(box)
    >>> box.ray.intersects_location([[0.1, 0.2, 3]], [[0, 0, -1]])[0].tolist()
    [[0.1, 0.2, 0.5], [0.1, 0.2, -0.5]]
    """

    def __init__(self, geometry: Any, scale_to_box: bool = True, *, device: str = "auto",
                 builder: str = "auto") -> None:
        self.mesh, self._given = geometry, {"device": device, "builder": builder}
        self._cache = caching.Cache(id_function=self.mesh.__hash__)

    @caching.cache_decorator
    def _tree(self):
        """Return the tree, relative to the centre of the mesh, and the centre."""
        vertices = np.asarray(self.mesh.vertices, np.float64)
        middle = (vertices.min(0) + vertices.max(0)) / 2 if len(vertices) else np.zeros(3)
        return TriangleMesh(vertices - middle, np.asarray(self.mesh.faces), **self._given), middle

    @staticmethod
    def _given_rays(ray_origins, ray_directions):
        """Return origins and normalised directions, (n, 3) float64 each."""
        origins, directions = (np.asanyarray(x, np.float64) for x in (ray_origins, ray_directions))
        if origins.shape != directions.shape:
            raise ValueError(f"`origins` has shape {origins.shape} and `directions` {directions.shape}; they must have as many rows")
        return origins.reshape(-1, 3), util.unitize(directions.reshape(-1, 3))

    def intersects_id(self, ray_origins: Any, ray_directions: Any, multiple_hits: bool = True,
                      max_hits: int = 100, return_locations: bool = False) -> tuple[Any, ...]:
        """Find the faces that each ray hits.

        Parameters
        ----------
        ray_origins, ray_directions : array_like, (n, 3)
        multiple_hits : bool, optional
            False: only the first hit of each ray.
        max_hits : int, optional
            Maximum number of hits per ray.
        return_locations : bool, optional
            Also return the locations.

        Returns
        -------
        faces : ndarray of int64, (m,)
            All first hits, then all second hits, and so on.
        rays : ndarray of int64, (m,)
            Index of the ray of each hit.
        locations : ndarray of float64, (m, 3)
            Only if `return_locations`.
        """
        origins, directions = self._given_rays(ray_origins, ray_directions)
        tree, middle = self._tree
        live, behind = np.arange(len(origins)), np.full(len(origins), BEFORE)
        found = [[np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros((0, 3))]]
        for _ in range(max_hits if multiple_hits else 1):
            hits = tree.intersect(origins[live] - middle, directions[live], tmin=behind)
            met = hits.triangle != NO_TRIANGLE
            live, behind, faces = live[met], hits.t[met], hits.triangle[met].astype(np.int64)
            if not len(live):
                break
            found[0].append(faces)
            found[1].append(live)
            if return_locations:
                found[2].append(self._places(origins[live], directions[live], faces, behind))
        return tuple(np.concatenate(parts) for parts in found[:2 + return_locations])

    def _places(self, origins, directions, faces, t):
        """Return the intersections of rays with the planes of the faces that they hit at t. For a
        ray that is nearly parallel to the plane, return the point at t instead.
        """
        normals = np.asarray(self.mesh.face_normals)[faces]
        along = (normals * directions).sum(1)
        to_plane = (normals * (np.asarray(self.mesh.triangles)[faces, 0] - origins)).sum(1)
        steep = np.abs(along) > 1e-6
        t = np.where(steep, to_plane / np.where(steep, along, 1), t)
        return origins + directions * t[:, None]

    def intersects_location(self, ray_origins: Any, ray_directions: Any, multiple_hits: bool = True) -> tuple[Any, ...]:
        """Find the locations where rays hit the mesh.

        Parameters
        ----------
        ray_origins, ray_directions : array_like, (n, 3)
        multiple_hits : bool, optional
            False: only the first hit of each ray.

        Returns
        -------
        locations : ndarray of float64, (m, 3)
        rays : ndarray of int64, (m,)
            Index of the ray of each hit.
        faces : ndarray of int64, (m,)
        """
        faces, rays, places = self.intersects_id(ray_origins, ray_directions, multiple_hits, return_locations=True)
        return places, rays, faces

    def intersects_first(self, ray_origins: Any, ray_directions: Any) -> np.ndarray:
        """Return the face that each ray hits first: (n,) int64, -1 for a miss."""
        origins, directions = self._given_rays(ray_origins, ray_directions)
        tree, middle = self._tree
        faces = tree.intersect(origins - middle, directions, tmin=BEFORE).triangle
        return np.where(faces == NO_TRIANGLE, -1, faces.astype(np.int64))

    def intersects_any(self, ray_origins: Any, ray_directions: Any) -> np.ndarray:
        """Return whether each ray hits any face: (n,) bool."""
        origins, directions = self._given_rays(ray_origins, ray_directions)
        tree, middle = self._tree
        return tree.occluded(origins - middle, directions, tmin=BEFORE)

    def contains_points(self, points: Any) -> np.ndarray:
        """Return whether the mesh contains each point: (n,) bool. By trimesh's ray test if an edge
        belongs to an odd number of faces; else by the parity of crossings, in which faces that
        coincide count each.
        """
        tree, middle = self._tree
        if len(self.mesh.faces) == 0 or not tree._meetings().even:
            return contains_points(self, points)
        return tree.contains(np.asarray(points, np.float64).reshape(-1, 3) - middle, sign="parity")

    def __getstate__(self):
        return {"mesh": self.mesh, "given": self._given}

    def __setstate__(self, state):
        self.__init__(state["mesh"], **state["given"])

    def __copy__(self, *_):
        return RayMeshIntersector(self.mesh, **self._given)

    __deepcopy__ = __copy__
