"""Which side of a mesh a point is on: normals of the nearest feature, and solid angles."""

import numpy as np


def _sum_rows(at, rows, count):
    """Sum the (n, 3) rows with equal indices in `at`: (count, 3)."""
    return np.stack([np.bincount(at, rows[:, axis], count) for axis in range(3)], 1)


def _unit(rows):
    """Normalise vectors along the last axis; zero vectors stay zero."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


class Outward:
    """Normals of the faces, edges and vertices of a mesh, for the sign of distances.

    Vertices at the same position are one vertex. Vertex normals are weighted by the angles of the
    faces (Baerentzen and Aanaes 2005, "Signed distance computation using the angle weighted
    pseudonormal"). `is_closed` says whether each edge belongs to two faces that run along it in
    opposite directions.
    """

    def __init__(self, vertices, faces):
        places, at = np.unique(vertices + np.float32(0), axis=0, return_inverse=True)  # + 0 turns -0 into 0
        self.vertices, self.faces = vertices, faces
        self.at = at.reshape(-1)[faces]  # (m, 3): merged vertices of each face
        self.places = len(places)
        corners = vertices.astype(np.float64)[faces]
        along = np.roll(corners, -1, axis=1) - corners  # edge vectors, from each vertex to the next
        self.of_faces = _unit(np.cross(along[:, 0], -along[:, 2]))
        self._weigh_vertices(_unit(along))
        self._add_edges()

    def _weigh_vertices(self, along):
        """Set the vertex normals: face normals, weighted by the angle of the face at the vertex."""
        cosines = -(along * np.roll(along, 1, axis=1)).sum(2)
        angles = np.arccos(np.clip(cosines, -1, 1))
        weighted = angles[:, :, None] * self.of_faces[:, None]
        self.of_vertices = _sum_rows(self.at.reshape(-1), weighted.reshape(-1, 3), self.places)

    def _key(self, one, other):
        """Return an integer that identifies the edge between two vertices, in either direction."""
        return np.minimum(one, other) * np.int64(self.places) + np.maximum(one, other)

    def _add_edges(self):
        """Set the edge normals and `is_closed`; faces that degenerate to an edge do not count."""
        at, ahead = self.at, np.roll(self.at, -1, axis=1)
        real = (at != ahead).all(1)
        at, ahead = at[real].reshape(-1), ahead[real].reshape(-1)
        self.edges, edge = np.unique(self._key(at, ahead), return_inverse=True)
        edge = edge.reshape(-1)
        self.of_edges = _sum_rows(edge, np.repeat(self.of_faces[real], 3, 0), len(self.edges))
        turns = np.bincount(edge, np.where(at < ahead, 1, -1), len(self.edges))
        self.is_closed = bool(len(self.edges) and (np.bincount(edge) == 2).all() and (turns == 0).all())

    def side(self, points, triangle, feature):
        """Return (n,) float64: positive where a point lies in front of its nearest feature; NaN if
        it has none.
        """
        found = triangle < len(self.faces)  # a non-finite point has no nearest triangle
        triangle = np.where(found, triangle, 0).astype(np.int64)
        feature = np.where(found, feature, 0).astype(np.int64)
        first = np.where(feature > 3, feature - 4, np.maximum(feature - 1, 0))
        normals = self.of_faces[triangle]
        one, other = self.at[triangle, first], self.at[triangle, (first + 1) % 3]
        edge = np.minimum(np.searchsorted(self.edges, self._key(one, other)), len(self.edges) - 1)
        on_edge = (feature >= 1) & (feature <= 3)
        normals = np.where(on_edge[:, None], self.of_edges[edge], normals)
        normals = np.where((feature > 3)[:, None], self.of_vertices[one], normals)
        corner = self.vertices[self.faces[triangle, first]].astype(np.float64)
        return np.where(found, ((points - corner) * normals).sum(1), np.nan)


def solid_angles(corners, points):
    """Return (n,): the sum of the signed solid angles of all triangles as seen from each point.

    Source: van Oosterom and Strackee 1983, "The solid angle of a plane triangle".
    """
    a, b, c = (corners[None, :, k] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=2) for x in (a, b, c))
    volume = (a * np.cross(b, c)).sum(2)
    below = (la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb)
    return 2 * np.arctan2(volume, below).sum(1)
