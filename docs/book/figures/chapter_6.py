"""Figure of chapter 6: the shares of the energy ledger's rows, scene by scene (render --stats)."""

import json
import os
import subprocess
import tempfile

from svg import COLOURS, Drawing

SCENES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scenes")
NAMES = ("furnace", "cornell_diffuse", "cornell_caustic", "cornell_fog", "prism", "wedge")
ROWS = ("absorbed", "media", "escaped")


def statistics(program, name, folder):
    path = os.path.join(folder, "stats.json")
    subprocess.run(
        [program, "render", os.path.join(SCENES, name + ".json"), "--device", "cpu", "--quiet"]
        + ["--integrator", "photon", "--photons", "20000", "--caustic-photons", "2000"]
        + ["--media-photons", "2000", "--gather", "20", "--final-gather", "0"]
        + ["--resolution", "8x8", "--spp", "1", "--stats", path]
        + ["-o", os.path.join(folder, "picture.png")],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def draw_bar(drawing, top, name, watts):
    left, length = 130, 360
    emitted = watts["emitted"]
    x = left
    for row, name_of_row in enumerate(ROWS):
        share = watts[name_of_row] / emitted
        drawing.box(x, top, share * length, 20, COLOURS[row], "none", 0, apart=True)
        if share > 0.06:
            drawing.text(x + share * length / 2, top + 14, f"{100 * share:.1f} %", 11, "middle", "white")
        x += share * length
    gap = abs(emitted - sum(watts[row] for row in ROWS) - watts["ended"]) / emitted
    drawing.line(left + length, top - 3, left + length, top + 23)
    drawing.text(left - 8, top + 14, name, 12, "end")
    drawing.text(left + length + 78, top + 14, f"{100 * watts['ended'] / emitted:+.2f} %", 11, "end")
    drawing.text(left + length + 150, top + 14, "below 1e-9" if gap < 1e-9 else f"{gap:.0e}", 11, "end")


def draw(program, folder):
    drawing = Drawing(680, 80 + 30 * len(NAMES))
    for row, name in enumerate(ROWS):
        drawing.box(130 + 100 * row, 12, 12, 12, COLOURS[row], "none", 0, apart=True)
        drawing.text(147 + 100 * row, 23, name, 12)
    drawing.text(568, 23, "ended + cut", 11, "end")
    drawing.text(645, 23, "unaccounted", 11, "end")
    with tempfile.TemporaryDirectory() as scratch:
        for i, name in enumerate(NAMES):
            draw_bar(drawing, 40 + 30 * i, name, statistics(program, name, scratch)["energy_watts"])
    drawing.text(130, 68 + 30 * len(NAMES), "fraction of the emitted power; the line marks 100 %", 11)
    drawing.write(os.path.join(folder, "ledger_shares.svg"))
