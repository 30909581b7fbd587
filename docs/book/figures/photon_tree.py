"""Reads the trees of photon maps from the files that `kandela photons` writes
(photon/maps/README.md)."""

import os
import struct
import subprocess
import tempfile

HEADER, PHOTON = 296, 60


class Tree:
    """Points in level order with their ids, as in the file."""

    def __init__(self, points, ids):
        self.points, self.ids, self.count = points, ids, len(points)

    @staticmethod
    def level(node):
        return (node + 1).bit_length() - 1

    def axis(self, node):
        return self.level(node) % 3

    def branch(self, node, level):
        """Returns the ancestor of a node on a level, as a number counted from the left, or None for
        a node above that level."""
        below = self.level(node) - level
        return None if below < 0 else ((node + 1) >> below) - (1 << level)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    counts = [struct.unpack_from("<Q", data, at)[0] for at in (24, 112, 200)]
    photons = [struct.unpack_from("<3f", data, HEADER + PHOTON * i) for i in range(counts[0])]
    ids = struct.unpack_from(f"<{counts[0]}I", data, HEADER + PHOTON * sum(counts))
    return Tree([photons[i] for i in ids], list(ids))


def grow(program, count):
    """Returns the tree of so many photons on the walls of the Cornell box."""
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
    scene = os.path.join(root, "scenes/cornell_diffuse.json")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map.kdp")
        subprocess.run([program, "photons", scene, "--photons", str(count), "-q", "-o", path], check=True, stdout=subprocess.DEVNULL)
        return read(path)
