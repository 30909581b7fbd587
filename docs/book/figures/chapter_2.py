"""Figures of chapter 2: the stack-free traversal of a photon map's tree, which nodes it visits, and
how many."""

import os

import photon_tree
import svg

SHOWN = 400  # number of photons in the first figure
SIZES = (100, 300, 1000, 3000, 10000)
QUERIES = 60
NEIGHBOURS = (1, 8, 50)


def dist2(a, b):
    return sum((a[axis] - b[axis]) ** 2 for axis in range(3))


def nearest(tree, query, k):
    """Implements pointtree_nearest_k of points/tree/walk.h: returns the first k in the order
    (dist2, id), and the nodes visited."""
    best, met, bound = [], [], float("inf")
    node, before = 0, -1
    while node >= 0:
        axis = tree.axis(node)
        distance = query[axis] - tree.points[node][axis]
        side = distance > 0
        near, far = 2 * node + 1 + side, 2 * node + 2 - side
        from_parent = before < node
        if from_parent:
            met.append(node)
            best = sorted(best + [(dist2(query, tree.points[node]), tree.ids[node], node)])[:k]
            bound = best[-1][0] if len(best) == k else bound
        if from_parent and near < tree.count:
            before, node = node, near
        elif (before == near or from_parent) and far < tree.count and distance * distance <= bound:
            before, node = node, far
        else:
            before, node = node, (node - 1) // 2 if node else -1
    return best, met


def first_turn(tree, met):
    """Returns the number of nodes visited before the traversal first turns back."""
    down = 1
    while down < len(met) and tree.level(met[down]) == down:
        down += 1
    return down


def draw_walk(program, path):
    tree, query, k = photon_tree.grow(program, SHOWN), (0.35, 0.0, 0.1), 8
    best, met = nearest(tree, query, k)
    down = first_turn(tree, met)
    drawing, side = svg.Drawing(800, 440), 380

    def place(point):
        return 20 + side * (point[0] + 1) / 2, 20 + side * (1 - point[2]) / 2

    drawing.box(20, 20, side, side)
    drawing.dots([place(point) for point in tree.points], 2, "#cccccc")
    visited = [place(tree.points[node]) for node in met]
    drawing.dots(visited[:down], 3.2, svg.COLOURS[0])
    drawing.dots(visited[down:], 3.2, svg.COLOURS[1])
    for _, _, node in best:
        drawing.circle(*place(tree.points[node]), 6, "none", svg.COLOURS[2])
    drawing.circle(*place(query), (best[-1][0] ** 0.5) * side / 2, "none", svg.COLOURS[2])
    drawing.circle(*place(query), 3, "#000")
    levels = tree.level(tree.count - 1) + 1
    drawing.box(440, 20, 340, 380, colour="#888")
    for level in range(levels):
        drawing.text(432, 44 + 40 * level, level, 11, "end")
    steps = [(450 + 320 * i / max(1, len(met) - 1), 40 + 40 * tree.level(node)) for i, node in enumerate(met)]
    drawing.path(steps, "#bbb", 1)
    drawing.dots(steps[:down], 3.2, svg.COLOURS[0])
    drawing.dots(steps[down:], 3.2, svg.COLOURS[1])
    for _, _, node in best:
        drawing.circle(*steps[met.index(node)], 6, "none", svg.COLOURS[2])
    drawing.text(20, 420, f"{tree.count} photons from above; black: the query; green: its {k} nearest and their bounding sphere", 11)
    drawing.text(440, 420, f"the {len(met)} nodes visited, in order, by level; blue: descents", 11)
    drawing.write(path)


def draw_met(program, path):
    plot = svg.Plot((80, 12000), (8, 12000), "photons in the tree", "nodes met by a query, mean", True, True)
    for value in SIZES:
        plot.tick_x(value, value)
    for value in (10, 100, 1000, 10000):
        plot.tick_y(value, value)
    trees = [photon_tree.grow(program, size) for size in SIZES]
    for k in NEIGHBOURS:
        points = []
        for tree in trees:
            queries = [tree.points[i * tree.count // QUERIES] for i in range(QUERIES)]
            met = sum(len(nearest(tree, query, k)[1]) for query in queries)
            points.append((tree.count, met / QUERIES))
        plot.curve(points, f"k = {k}")
    plot.curve([(tree.count, tree.count) for tree in trees], "all of them")
    plot.write(path)


def draw(program, folder):
    draw_walk(program, os.path.join(folder, "stack_free_walk.svg"))
    draw_met(program, os.path.join(folder, "stack_free_met.svg"))
