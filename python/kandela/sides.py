"""Which edges of a mesh are shared by which faces: whether it has an inside."""

import numpy as np


class Edges:
    """How faces meet at the edges of a mesh. Vertices at the same position are one vertex; faces that
    degenerate to an edge or a point do not count.

    Attributes
    ----------
    closed : bool
        Each edge belongs to two faces that run along it in opposite directions.
    even : bool
        Each edge belongs to an even number of faces, so that the number of faces that a ray crosses
        tells whether it starts inside.
    balanced : bool
        As many faces run along each edge in one direction as in the other, so that the winding
        number is an integer everywhere.
    """

    def __init__(self, vertices, faces):
        places, at = np.unique(vertices + np.float32(0), axis=0, return_inverse=True)  # + 0 turns -0 into 0
        at = at.reshape(-1)[faces]  # (m, 3): merged vertices of each face
        ahead = np.roll(at, -1, axis=1)
        real = (at != ahead).all(1)
        at, ahead = at[real].reshape(-1).astype(np.int64), ahead[real].reshape(-1)
        keys = np.minimum(at, ahead) * len(places) + np.maximum(at, ahead)
        edge = np.unique(keys, return_inverse=True)[1].reshape(-1)
        counts, turns = np.bincount(edge), np.bincount(edge, np.where(at < ahead, 1, -1))
        self.balanced = bool((turns == 0).all())
        self.even = bool((counts % 2 == 0).all())
        self.closed = bool(len(counts) and (counts == 2).all() and self.balanced)
