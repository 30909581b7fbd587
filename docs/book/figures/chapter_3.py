"""Figures of chapter 3: costs of planes along one axis, and of whole trees by several builders."""

import os

from svg import COLOURS, Drawing, Plot
from tree_costs import tree_costs

# Parts of triangles in a node that extends from 0 to 10 along x and is 4 by 4 across: begin and end
# of each.
PARTS = ((1, 2), (1.5, 3), (2.5, 3.5), (3, 6), (7.2, 8.4), (7.5, 9), (8, 8.6), (8.2, 9.3))
LENGTH, WIDTH, TRAVERSAL = 10.0, 4.0, 1.5
MODELS = ("blob:2000", "blob:8000", "hall:8000", "room:8000")
BUILDERS = ("exact", "sweep", "parallel", "zhou", "median")


def plane_cost(plane):
    """Implements sah_split_cost of accel/tree/sah.h with C_i = 1 and without an empty factor."""
    cap, rim = WIDTH * WIDTH, 2 * WIDTH
    area = cap + rim * LENGTH
    left = sum(1 for begin, _ in PARTS if begin < plane)
    right = sum(1 for _, end in PARTS if end > plane)
    return TRAVERSAL + ((cap + rim * plane) * left + (cap + rim * (LENGTH - plane)) * right) / area


def draw_planes(folder):
    plot = Plot((0, LENGTH), (0, 12), "plane, x", "cost of the split", width=640, height=430)
    for tick in range(0, 11, 2):
        plot.tick_x(tick, tick)
    for tick in range(0, 13, 2):
        plot.tick_y(tick, tick)
    ends = sorted({0, LENGTH} | {end for part in PARTS for end in part})
    colour = COLOURS[0]
    for begin, end in zip(ends, ends[1:]):
        inside = (begin + 1e-9, end - 1e-9)
        plot.path([plot.at(x, plane_cost(x)) for x in inside], colour)
    for x in ends[1:-1]:
        plot.circle(*plot.at(x, plane_cost(x)), 3, colour)
    best = min(ends[1:-1], key=plane_cost)
    plot.line(*plot.at(best, 0), *plot.at(best, 12), COLOURS[1], 1.2, dashed=True)
    plot.text(plot.right + 10, 40, "a plane at x", colour=colour)
    plot.text(plot.right + 10, 58, "dots: candidates", 11, colour=colour)
    plot.text(plot.right + 10, 80, f"best: x = {best:g}", colour=COLOURS[1])
    plot.text(plot.right + 10, 96, f"cost {plane_cost(best):.2f}", 11, colour=COLOURS[1])
    leaf = len(PARTS)
    plot.line(*plot.at(0, leaf), *plot.at(LENGTH, leaf), COLOURS[2], 1.2, dashed=True)
    plot.text(plot.right + 10, 118, f"a leaf: {leaf}", colour=COLOURS[2])
    for row, (begin, end) in enumerate(PARTS):
        y = plot.bottom - 10 - 11 * row
        plot.line(plot.at(begin, 0)[0], y, plot.at(end, 0)[0], y, "#555", 3)
    plot.text(plot.right + 10, plot.bottom - 40, "bars: parts", 11, colour="#555")
    plot.write(os.path.join(folder, "plane_costs.svg"))


def draw_trees(program, folder):
    rows = tree_costs(program, MODELS, BUILDERS)
    variant = "Ct 1, empty 0.8"
    drawing = Drawing(720, 310)
    base, full = 240, 190
    for m, model in enumerate(MODELS):
        left = 40 + 170 * m
        exact = rows[model, "exact", variant]
        for b, builder in enumerate(BUILDERS):
            row = rows[model, builder, variant]
            height = full * row["sah_cost"] / exact["sah_cost"] / 2
            same = row["hash"] == exact["hash"]
            fill = COLOURS[0] if same else COLOURS[1] if builder == "zhou" else COLOURS[4]
            drawing.box(left + 29 * b, base - height, 24, height, fill=fill, stroke=0, apart=True)
            drawing.text(left + 29 * b + 12, base - height - 5, f"{row['sah_cost']:.1f}", 10, "middle")
            drawing.text(left + 29 * b + 12, base + 14, builder, 7, "middle")
        drawing.text(left + 70, base + 36, f"{model}, {exact['n']} triangles", 11, "middle")
    drawing.line(30, base, 710, base)
    drawing.text(30, 22, "SAH cost of whole trees (C_t 1, C_i 1, empty 0.8); bars to the exact tree's scale", 12)
    drawing.text(30, 302, "blue: nodes and references have the hash of the exact tree", 11, colour=COLOURS[0])
    drawing.write(os.path.join(folder, "tree_costs.svg"))


def draw(program, folder):
    draw_planes(folder)
    draw_trees(program, folder)
