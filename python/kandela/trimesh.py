"""Rays for trimesh: its RayMeshIntersector over Kandela's trees. Imported only when asked.

    import kandela.trimesh
    mesh.ray = kandela.trimesh.RayMeshIntersector(mesh)

Rays are cast in float32 around the middle of the mesh; places are where they meet the triangles' planes, in double. A ray goes on
behind a hit exactly where that was, without an offset, so that thin parts and any scale are safe; of triangles that it
meets at the same place, as at an edge, one is reported."""

from __future__ import annotations

import numpy as np
from trimesh import caching, util
from trimesh.ray.ray_util import contains_points

from .mesh import NO_TRIANGLE, TriangleMesh

BEFORE = -np.finfo(np.float32).tiny  #: rays begin here, so that one that starts on a face meets it


class RayMeshIntersector:
    """What `trimesh.Trimesh.ray` is asked, answered by a `kandela.TriangleMesh` of the mesh.

    geometry: a trimesh.Trimesh; it may change: the tree is then built anew. scale_to_box is taken and makes no
    difference. device, builder: as of `kandela.TriangleMesh`.

    >>> import kandela.trimesh, trimesh
    >>> box = trimesh.creation.box()
    >>> box.ray = kandela.trimesh.RayMeshIntersector(box)
    >>> box.ray.intersects_location([[0.1, 0.2, 3]], [[0, 0, -1]])[0].tolist()
    [[0.1, 0.2, 0.5], [0.1, 0.2, -0.5]]
    """

    def __init__(self, geometry, scale_to_box=True, *, device="auto", builder="auto"):
        self.mesh, self._given = geometry, {"device": device, "builder": builder}
        self._cache = caching.Cache(id_function=self.mesh.__hash__)

    @caching.cache_decorator
    def _tree(self):
        vertices = np.asarray(self.mesh.vertices, np.float64)
        middle = (vertices.min(0) + vertices.max(0)) / 2 if len(vertices) else np.zeros(3)
        return TriangleMesh(vertices - middle, np.asarray(self.mesh.faces), **self._given), middle

    @staticmethod
    def _given_rays(ray_origins, ray_directions):
        origins, directions = (np.asanyarray(x, np.float64) for x in (ray_origins, ray_directions))
        if origins.shape != directions.shape:
            raise ValueError(f"{origins.shape} origins and {directions.shape} directions, expected as many")
        return origins.reshape(-1, 3), util.unitize(directions.reshape(-1, 3))

    def intersects_id(self, ray_origins, ray_directions, multiple_hits=True, max_hits=100,
                      return_locations=False) -> tuple:
        """Faces (m,) and rays (m,) of all hits (or of the first of each ray), int64, by depth; with return_locations
        the places (m, 3), too. max_hits: of a ray."""
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
        normals = np.asarray(self.mesh.face_normals)[faces]
        along = (normals * directions).sum(1)
        to_plane = (normals * (np.asarray(self.mesh.triangles)[faces, 0] - origins)).sum(1)
        steep = np.abs(along) > 1e-6
        t = np.where(steep, to_plane / np.where(steep, along, 1), t)
        return origins + directions * t[:, None]

    def intersects_location(self, ray_origins, ray_directions, multiple_hits=True) -> tuple:
        """Places (m, 3) float64, rays (m,) and faces (m,) of all hits, or of the first of each ray."""
        faces, rays, places = self.intersects_id(ray_origins, ray_directions, multiple_hits, return_locations=True)
        return places, rays, faces

    def intersects_first(self, ray_origins, ray_directions) -> np.ndarray:
        """The face that each ray meets first: (n,) int64, -1 for none."""
        origins, directions = self._given_rays(ray_origins, ray_directions)
        tree, middle = self._tree
        faces = tree.intersect(origins - middle, directions, tmin=BEFORE).triangle
        return np.where(faces == NO_TRIANGLE, -1, faces.astype(np.int64))

    def intersects_any(self, ray_origins, ray_directions) -> np.ndarray:
        """Whether each ray meets anything: (n,) bool."""
        origins, directions = self._given_rays(ray_origins, ray_directions)
        tree, middle = self._tree
        return tree.occluded(origins - middle, directions, tmin=BEFORE)

    def contains_points(self, points) -> np.ndarray:
        """Whether the mesh contains each point: (n,) bool, by trimesh's count of crossings."""
        return contains_points(self, points)

    def __getstate__(self):
        return {"mesh": self.mesh, "given": self._given}

    def __setstate__(self, state):
        self.__init__(state["mesh"], **state["given"])

    def __copy__(self, *_):
        return RayMeshIntersector(self.mesh, **self._given)

    __deepcopy__ = __copy__
