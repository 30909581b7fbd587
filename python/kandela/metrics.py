"""Searches by any p-norm from Euclidean searches.

The p-norm of a vector of m numbers lies within fixed factors of its Euclidean norm, so a ball of
one norm is contained in a ball of the other. The points that a Euclidean search finds are measured
again by the p-norm, and the result is exact.
"""

import numpy as np


def euclid_factor(p, m):
    """Return the smallest c with ``|x|_2 <= c |x|_p`` for all x of m numbers."""
    return 1.0 if p <= 2 else float(m) ** (0.5 - (0.0 if np.isinf(p) else 1.0 / p))


def distance(difference, p):
    """Return the p-norms along the last axis. Powers neither overflow nor underflow."""
    difference = np.abs(difference)
    if p == 1:
        return difference.sum(-1)
    largest = difference.max(-1, initial=0)
    if np.isinf(p):
        return largest
    parts = np.divide(difference, largest[..., None], out=np.zeros_like(difference),
                      where=(largest > 0)[..., None])
    scaled = largest * (parts**p).sum(-1) ** (1.0 / p)
    if p != 2:
        return scaled
    with np.errstate(over="ignore", under="ignore"):
        return np.where(is_safe(largest), np.sqrt((difference * difference).sum(-1)), scaled)


def is_safe(lengths, scalar=np.float64):
    """Return for each length whether it is 0 or its square is a normal number of the scalar."""
    limits = np.finfo(scalar)
    return ((lengths > 2 * np.sqrt(float(limits.tiny))) | (lengths == 0)) & (
        lengths < np.sqrt(float(limits.max)) / 4)


def wrapped(difference, box):
    """Return differences of points in a periodic box to the nearest image.

    `box` is None, or the side of the box along each axis; sides of 0 are not periodic.
    """
    if box is None:
        return difference
    sides = np.where(box > 0, box, np.inf)
    difference = np.abs(difference)
    return np.where(box > 0, np.minimum(difference, sides - difference), difference)
