"""Figures of chapter 1: the left-balanced tree of a few photons, and which builders build the same
tree."""

import json
import os
import subprocess
import tempfile

import photon_tree
import svg

PHOTONS = 26
SETS = ("uniform", "photon", "clustered", "stretched", "sorted", "ties", "equal")


def colour_of(tree, node):
    branch = tree.branch(node, 2)
    return "#333" if branch is None else svg.COLOURS[branch]


def draw_nodes(drawing, tree, left, width, top):
    levels = tree.level(tree.count - 1) + 1

    def place(node):
        level = tree.level(node)
        return left + width * (node + 1.5 - (1 << level)) / (1 << level), top + 62 * level

    for node in range(1, 2**levels - 1):
        there = node < tree.count
        drawing.line(*place((node - 1) // 2), *place(node), "#bbb" if there else "#e4e4e4", 1, not there)
    for node in range(2**levels - 1):
        x, y = place(node)
        if node >= tree.count:
            drawing.circle(x, y, 6, "white", "#ccc")
            continue
        drawing.circle(x, y, 9, "white" if node > 2 else "#eee", colour_of(tree, node))
        drawing.text(x, y + 3.5, node, 9, "middle", colour_of(tree, node))
    for level in range(levels):
        drawing.text(left - 34, top + 62 * level + 4, "xyz"[level % 3] + " splits" if level + 1 < levels else "last", 11)


def draw_front(drawing, tree, left, top, side):
    """Draws the photons as the camera sees the back wall of the box: x to the right, y upwards."""

    def place(point):
        return left + side * (point[0] + 1) / 2, top + side * (1 - point[1] / 2)

    drawing.box(left, top, side, side)
    root, _ = place(tree.points[0])
    drawing.line(root, top, root, top + side, "#333", 2)
    for node, x0, x1 in ((1, left, root), (2, root, left + side)):
        _, y = place(tree.points[node])
        drawing.line(x0, y, x1, y, "#333", 1.4)
    for node in range(tree.count):
        x, y = place(tree.points[node])
        drawing.circle(x, y, 3.5, colour_of(tree, node))
        drawing.text(x + 5, y - 4, node, 9, colour=colour_of(tree, node))


def draw_layout(program, path):
    tree = photon_tree.grow(program, PHOTONS)
    drawing = svg.Drawing(920, 350)
    draw_nodes(drawing, tree, 60, 510, 40)
    draw_front(drawing, tree, 605, 25, 280)
    drawing.text(60, 340, "level order: node i has the children 2i+1 and 2i+2; no pointers are stored", 12)
    drawing.text(605, 325, "the same points, front view: node 0 splits x,", 11)
    drawing.text(605, 340, "nodes 1 and 2 split y; a colour is a sub-tree of level 2", 11)
    drawing.write(path)


def hashes(program):
    """Returns the hash of the tree for each (set, builder), and the builders in order."""
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "trees.jsonl")
        command = [program, "bench", "points", "--sizes", "2000", "--sets", ",".join(SETS), "--devices", "cpu"]
        command += ["--runs", "1", "--splits", "round-robin", "--threads", "2", "--json", lines, "-q"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(lines, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    builders = list(dict.fromkeys(row["builder"] for row in rows))
    return {(row["case"], row["builder"]): row["hash"] for row in rows}, builders


def draw_hashes(program, path):
    found, builders = hashes(program)
    drawing = svg.Drawing(760, 60 + 28 * len(builders))
    for column, name in enumerate(SETS):
        drawing.text(145 + 86 * column, 22, name, 12, "middle")
    for row, builder in enumerate(builders):
        y = 36 + 28 * row
        drawing.text(10, y + 17, builder, 12)
        for column, name in enumerate(SETS):
            same = found[name, builder] == found[name, "recursive"]
            colour = svg.COLOURS[0] if same else svg.COLOURS[1]
            drawing.box(106 + 86 * column, y, 78, 24, "white", colour, 1.5, apart=True)
            drawing.text(145 + 86 * column, y + 16, found[name, builder][:8], 11, "middle", colour)
    drawing.text(106, 50 + 28 * len(builders), "the first digits of each tree's hash; blue: the reference tree", 11)
    drawing.write(path)


def draw(program, folder):
    draw_layout(program, os.path.join(folder, "point_tree_layout.svg"))
    draw_hashes(program, os.path.join(folder, "point_tree_hashes.svg"))
