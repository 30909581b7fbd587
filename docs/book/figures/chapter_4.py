"""Figures of chapter 4: bins and their bounds, and the costs of Zhou's trees relative to the exact
ones."""

import os

from svg import COLOURS, Plot
from tree_costs import VARIANTS, tree_costs

SIZES = (1000, 4000, 16000, 64000)
# Parts in a node that extends from 0 to 10 along x and is 4 by 4 across; eight bins.
PARTS = ((0.3, 1.1), (0.4, 2.2), (1.5, 2.7), (1.7, 3.2), (2.1, 3.4), (3.1, 4.2), (6.6, 7.1), (6.8, 8.1), (7.6, 9.6))
LENGTH, WIDTH, TRAVERSAL, BINS = 10.0, 4.0, 1.5, 8


def cost(left_plane, right_plane, begun, right):
    cap, rim = WIDTH * WIDTH, 2 * WIDTH
    meets = (cap + rim * left_plane) * begun + (cap + rim * (LENGTH - right_plane)) * right
    return TRAVERSAL + meets / (cap + rim * LENGTH)


def begun_before(plane):
    return sum(1 for begin, _ in PARTS if begin < plane)


def ends_after(plane):
    return sum(1 for _, end in PARTS if end > plane)


def draw_bins(folder):
    plot = Plot((0, LENGTH), (0, 12), "plane, by edges of bins", "cost of the split", width=680, height=400)
    edges = [LENGTH * k / BINS for k in range(BINS + 1)]
    for k, x in enumerate(edges):
        plot.tick_x(x, k)
    for tick in range(0, 13, 2):
        plot.tick_y(tick, tick)
    ends = sorted({0, LENGTH} | {end for part in PARTS for end in part})
    for begin, end in zip(ends, ends[1:]):
        inside = (begin + 1e-9, end - 1e-9)
        plot.path([plot.at(x, cost(x, x, begun_before(x), ends_after(x))) for x in inside], "#999", 1)
    known = {x: cost(x, x, begun_before(x), ends_after(x)) for x in edges[1:-1]}
    best = min(known.values())
    for x, value in known.items():
        plot.circle(*plot.at(x, value), 4, COLOURS[0])
    plot.line(*plot.at(0, best), *plot.at(LENGTH, best), COLOURS[0], 1, dashed=True)
    for low, high in zip(edges, edges[1:]):
        bound = cost(low, high, begun_before(low), ends_after(high))
        some = any(low <= end < high for part in PARTS for end in part)
        colour = COLOURS[1] if some and bound < best else "#bbb"
        plot.line(*plot.at(low, bound), *plot.at(high, bound), colour, 4)
    side = plot.right + 10
    plot.text(side, 40, "costs at edges", colour=COLOURS[0])
    plot.text(side, 60, "bounds below the", colour=COLOURS[1])
    plot.text(side, 76, "best edge cost", colour=COLOURS[1])
    plot.text(side, 96, "other bounds; bins", colour="#999")
    plot.text(side, 112, "without events", colour="#999")
    plot.text(side, 132, "thin: every plane", 11, colour="#777")
    plot.write(os.path.join(folder, "bin_bounds.svg"))


def draw_zhou(program, folder):
    models = [f"{name}:{size}" for name in ("blob", "hall") for size in SIZES]
    rows = tree_costs(program, models, ("sweep", "zhou"))
    plot = Plot((900, 90000), (0.9, 1.25), "triangles", "SAH cost of zhou / exact", log_x=True, width=640)
    for size in (1000, 10000):
        plot.tick_x(size, size)
    for tick in (0.9, 1.0, 1.1, 1.2):
        plot.tick_y(tick, tick)
    for name in ("blob", "hall"):
        for variant, words in VARIANTS.items():
            points = []
            for size in SIZES:
                exact, zhou = (rows[f"{name}:{size}", builder, variant] for builder in ("sweep", "zhou"))
                points.append((exact["n"], zhou["sah_cost"] / exact["sah_cost"]))
            plot.curve(points, f"{name}, {words}")
    plot.write(os.path.join(folder, "zhou_costs.svg"))


def draw(program, folder):
    draw_bins(folder)
    draw_zhou(program, folder)
