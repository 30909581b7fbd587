"""Figure of chapter 5: the leaves that one ray visits in four trees, and the hit that all of them
report."""

import json
import subprocess

import svg

MODEL, PIXEL = "gen:room:2000", "150,420"  # a ray that passes many triangles before its hit
BUILDERS = ("sweep", "zhou", "exact", "median")


def traced(program, builder):
    command = [program, "trace", MODEL, "--pixel", PIXEL, "--builder", builder, "--json", "--quiet"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def draw_tree(canvas, row, builder, told, place):
    y = 60 + 62 * row
    canvas.text(12, y + 12, builder, 13)
    canvas.text(12, y + 29, f"{told['nodes']} nodes, {told['leaves']} leaves,", 11)
    canvas.text(12, y + 43, f"{told['triangles']} triangles tested", 11)
    for index, leaf in enumerate(told["visited"]):
        begin, end = place(leaf["from"]), place(leaf["to"])
        full = leaf["triangles"] > 0
        colour = svg.COLOURS[1] if leaf["hit"] else svg.COLOURS[0] if full else "#e8e8e8"
        canvas.box(begin, y + 18 * (index % 2), max(end - begin, 1), 18, colour, "white", 0.6, apart=True)


def draw(program, folder):
    found = [(builder, traced(program, builder)) for builder in BUILDERS]
    ends = [leaf[key] for _, told in found for leaf in told["visited"] for key in ("from", "to")]
    low, high = min(ends), max(ends)

    def place(t):
        return 200 + (t - low) / (high - low) * 480

    canvas = svg.Drawing(720, 350)
    canvas.text(12, 24, f"The ray of pixel {PIXEL} of {MODEL}, from left to right", 13)
    for row, (builder, told) in enumerate(found):
        draw_tree(canvas, row, builder, told, place)
    hits = {(told["hit"]["triangle"], told["hit"]["t"]) for _, told in found}
    for triangle, t in sorted(hits):
        canvas.line(place(t), 44, place(t), 312, svg.COLOURS[2], 1.5, True)
        canvas.text(place(t) + 8, 328, f"triangle {triangle}, t = {t:.9g}", 12, "end", svg.COLOURS[2])
    canvas.text(12, 344, "Grey: empty leaves. Blue: leaves with triangles. Red: the leaf where the hit was found.", 11)
    canvas.write(f"{folder}/five_rays_trees.svg")
