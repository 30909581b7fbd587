"""Other distances than the Euclidean one, and periodic boxes, from Euclidean searches.

A p-norm of m numbers lies within fixed factors of the Euclidean norm, so a ball of one kind lies in
a ball of the other: what a Euclidean search finds is measured again and cut down, exactly. A periodic
box is asked by the images of the query that are near enough.
"""

import itertools

import numpy as np


def euclid_factor(p, m):
    """The least c with |x|_2 <= c |x|_p for all x of m numbers."""
    return 1.0 if p <= 2 else float(m) ** (0.5 - (0.0 if np.isinf(p) else 1.0 / p))


def distance(difference, p):
    """The p-norm along the last axis."""
    difference = np.abs(difference)
    if p == 2:
        return np.sqrt((difference * difference).sum(-1))
    if p == 1:
        return difference.sum(-1)
    if np.isinf(p):
        return difference.max(-1, initial=0)
    return (difference**p).sum(-1) ** (1.0 / p)


def wrapped(difference, box):
    """A difference of places in a periodic box, to the nearest image; sides of 0 are not periodic."""
    if box is None:
        return difference
    sides = np.where(box > 0, box, np.inf)
    difference = np.abs(difference)
    return np.where(box > 0, np.minimum(difference, sides - difference), difference)


def images(x, box, reach, lo, hi):
    """The shifts of a periodic box, each with the rows of x whose image comes within `reach` (a
    number, or one a row) of the box from lo to hi along every axis: pairs (shift, rows)."""
    if box is None:
        return [(np.zeros(x.shape[1]), np.arange(len(x)))]
    found = []
    steps = [(0, -1, 1) if side > 0 else (0,) for side in box]
    for step in itertools.product(*steps):
        shift = np.array(step) * box
        outside = np.maximum(np.maximum(lo - (x + shift), x + shift - hi), 0)
        near = np.sqrt((outside * outside).sum(1)) <= reach * (1 + 1e-12)
        if near.any():
            found.append((shift, np.flatnonzero(near)))
    return found
