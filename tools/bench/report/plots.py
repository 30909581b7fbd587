#!/usr/bin/env python3
"""usage: plots.py [FOLDER]

Draws the results.jsonl of a report's folder (this script's own unless named) as PNG files beside it,
plot-BENCH-CASE.png, by matplotlib: time against size where sizes differ, rate against k where these
do, else bars; stages and speed-ups below. kandela bench --report writes it there and runs it where
matplotlib is installed; change it as you like and run it again.
"""

import json
import math
import os
import re
import sys

try:
    import matplotlib
except ImportError:
    sys.exit(77)  # the page has its own plots
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00", "#000000"]
MOST_BARS = 24


def size(line):
    return line.get("triangles") or line.get("n") or 0


def name(line, *left_out):
    parts = [line["builder"], line["device"], line.get("variant", "")]
    parts += [f"{key} {line[key]}" for key in ("dims", "k") if line.get(key) and key not in left_out]
    if "n" not in left_out and size(line):
        parts.append(f"n {size(line):.6g}")
    return " ".join(part for part in parts if part)


def exponent(points):
    x, y = ([math.log(point[i]) for point in points] for i in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread if spread else math.nan


def curves(axes, lines, key, value, *left_out):
    series = {}
    for line in lines:
        if key(line) > 0 and value(line) > 0:
            series.setdefault(name(line, *left_out), []).append((key(line), value(line)))
    for (label, points), colour in zip(series.items(), COLOURS):
        points.sort()
        grown = f" (exponent {exponent(points):.2f})" if len({x for x, _ in points}) > 1 else ""
        axes.loglog(*zip(*points), "o-", color=colour, label=label + grown, markersize=4)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=7)
    if len(series) > len(COLOURS):
        axes.set_title(f"{len(series) - len(COLOURS)} more curves are in the table", fontsize=8)


def bars(axes, lines, value, label):
    rows = [line for line in lines if value(line) > 0][:MOST_BARS][::-1]
    axes.barh([name(line) for line in rows], [value(line) for line in rows], color=COLOURS[0])
    axes.tick_params(axis="y", labelsize=7)
    axes.set_xlabel(label)


def stages(axes, lines):
    rows = [line for line in lines if line.get("stage_ms")][:MOST_BARS][::-1]
    names = list(dict.fromkeys(stage for line in rows for stage in line["stage_ms"]))
    left = [0.0] * len(rows)
    for stage, colour in zip(names, COLOURS):
        widths = [line["stage_ms"].get(stage, 0) for line in rows]
        axes.barh(range(len(rows)), widths, left=left, color=colour, label=stage)
        left = [a + b for a, b in zip(left, widths)]
    axes.set_yticks(range(len(rows)), [name(line) for line in rows], fontsize=7)
    axes.set_xlabel("ms, by stages")
    axes.legend(fontsize=7)


def draw(path, title, lines):
    def ms(line):
        return line["ms"]["median"]

    def rate(line):
        return line.get("rate", 0) * 1e-6

    kinds = []
    if len({size(line) for line in lines}) > 1:
        kinds.append(lambda axes: (curves(axes, lines, size, ms, "n"), axes.set_xlabel("size"), axes.set_ylabel("ms")))
    elif len({line.get("k", 0) for line in lines}) > 1:
        kinds.append(lambda axes: (curves(axes, lines, lambda line: line.get("k", 0), rate, "k", "n"),
                                   axes.set_xlabel("neighbours k"), axes.set_ylabel("million a second")))
    else:
        kinds.append(lambda axes: bars(axes, lines, rate if any(map(rate, lines)) else ms,
                                       "million a second" if any(map(rate, lines)) else "ms"))
    if any(line.get("speedup") for line in lines):
        kinds.append(lambda axes: bars(axes, lines, lambda line: line.get("speedup", 0), "times the base"))
    if any(line.get("stage_ms") for line in lines):
        kinds.append(lambda axes: stages(axes, lines))
    figure, all_axes = plt.subplots(len(kinds), 1, figsize=(7, 4.6 * len(kinds)), squeeze=False)
    for axes, kind in zip(all_axes[:, 0], kinds):
        kind(axes)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    groups = {}
    with open(os.path.join(folder, "results.jsonl"), encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            groups.setdefault((line["bench"], line["case"]), []).append(line)
    for (bench, case), lines in groups.items():
        file = re.sub(r"[^A-Za-z0-9.]+", "-", f"plot-{bench}-{case}") + ".png"
        draw(os.path.join(folder, file), f"{bench}: {case}", lines)


if __name__ == "__main__":
    main()
