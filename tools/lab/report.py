#!/usr/bin/env python3
"""usage: report.py [FOLDER]

Draws the plots and writes the page of a report's folder (default: the folder of this script). Each
NAME.json that describes a drawing becomes NAME.svg; each case of results.jsonl becomes
chart-BENCH-CASE.svg: time against size if sizes differ, else rate against k if k differs, else bars;
speed-ups, stages and published figures follow. index.html holds the title and text of page.json, all
pictures of the folder and all rows of results.jsonl in one file. Plots need matplotlib; without it the
page has the tables only, and the exit code is 77. kandela bench --report copies the script to the folder
and runs it; edit it and run it again to change the page.
"""

import base64
import hashlib
import html
import json
import math
import os
import re
import sys

try:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00", "#000000"]
MOST_BARS = 24
NO_MATPLOTLIB = 77
# Title and explanation of each benchmark.
BENCHES = {
    "points": ("Building point trees", "A left-balanced k-d tree of points, built by each builder; all build the same tree."),
    "knn": ("Nearest neighbours", "The k nearest points of each query. Results are compared with a reference before they are timed."),
    "index": ("Indices for queries", "Time to build the index of a query method from a tree, in points per second."),
    "calls": ("Calls of the library", "Wall-clock time of calls on a device: opening a tree, few and many queries, self-queries of all points."),
    "changes": ("Dynamic trees", "Inserting and removing points, compared with rebuilding the tree."),
    "build": ("Building triangle trees", "A k-d tree by the surface area heuristic. Its SAH cost is the expected work of a ray, so build time and cost must be compared together."),
    "trace": ("Tracing rays", "Consecutive primary rays are similar, diffuse rays leave surfaces in all directions, random rays are unrelated. All intersection tests are watertight."),
    "load": ("Reading meshes", "Bytes of a file read per second."),
    "photons": ("Photons", "Photons stored per second, and the construction of their tree."),
    "frame": ("Frames", "A pass of sppm and a sample of photon at 1920 x 1080, stage by stage."),
    "scaling": ("Scaling with size", "Cost against size on logarithmic axes. Builds should grow as n log n, a query and a ray as log n; times are totals over all queries or rays."),
    "wald-build": ("Wald 2022, building left-balanced trees, Table 1", "The published table beside the measured one."),
    "wald-query": ("Wald 2022, stack-free queries, Table 1", "The published table beside the measured one."),
    "robinson-times": ("Robinson, performance examples", "Each stage separately."),
    "robinson-threads": ("Robinson, CPU examples by number of threads", ""),
    "robinson": ("Robinson, performance examples", "The published totals beside the measured ones."),
    "wehr": ("Wehr and Radkowski 2018, Tables I and III", "The published tables beside the measured ones."),
    "wehr-1": ("Wehr and Radkowski 2018, Table I", "The published table beside the measured one."),
    "wehr-2": ("Wehr and Radkowski 2018, Table II", "Builds by points per block."),
    "wehr-3": ("Wehr and Radkowski 2018, Table III", "Closest points by the approximate search."),
    "wehr-figure4": ("Wehr and Radkowski 2018, Figure 4", "Build time by cutoff, which the paper sets to the block size."),
    "wehr-figure5": ("Wehr and Radkowski 2018, Figure 5", "Random points, by points per block."),
    "wehr-figure6": ("Wehr and Radkowski 2018, Figure 6", "A scan and a bunny, by points per block."),
    "wehr-figure8": ("Wehr and Radkowski 2018, Figure 8", "Each chunk is sorted by a single core."),
    "wehr-figure9": ("Wehr and Radkowski 2018, Figure 9", "Builds on the CPU."),
    "wehr-figure10": ("Wehr and Radkowski 2018, Figure 10", "The last levels by three sorting methods, by the size of the chunks of a level."),
    "choi-ye": ("Choi and Ye 2020, Tables I and III", "The published tables beside the measured ones."),
    "choi-ye-figure3": ("Choi and Ye 2020, Figure 3", "Build time against triangles."),
    "choi-ye-threads": ("Choi and Ye 2020, builders by threads", ""),
}  # fmt: skip
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1100px;padding:0 12px 60px;color:#222}"
    "h1{font-size:1.5em}h2{font-size:1.25em;margin-top:2em;border-top:1px solid #ccc;padding-top:.6em}"
    "img{width:100%;height:auto}figure{margin:0;width:520px;max-width:100%}.case{display:flex;flex-wrap:wrap;gap:12px 20px}"
    "figcaption{color:#555;font-size:.9em}.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85em}"
    "td,th{padding:2px 8px;text-align:right;white-space:nowrap;border-bottom:1px solid #eee}"
    "td:first-child,th:first-child{text-align:left}summary{cursor:pointer}"
)


def size(line):
    return line.get("triangles") or line.get("n") or 0


def median(line):
    return line["ms"]["median"]


def rate(line):
    return line.get("rate", 0) * 1e-6


def name(line, *left_out):
    parts = [line.get("builder", ""), line.get("device", ""), line.get("variant", "")]
    parts += [f"{key} {line[key]}" for key in ("dims", "k") if line.get(key) and key not in left_out]
    if "n" not in left_out and size(line):
        parts.append(f"n {size(line):.6g}")
    return " ".join(part for part in parts if part)


def exponent(points):
    """Returns the slope of the least-squares line through the points on logarithmic axes."""
    x, y = ([math.log(point[i]) for point in points] for i in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread if spread else math.nan


def curves(axes, series, left_out=0):
    """Draws curves on logarithmic axes. series: pairs of a name and points (x, y, label)."""
    for (label, points), colour in zip(series, COLOURS):
        points = [point for point in points if point[0] > 0 and point[1] > 0]
        if not points:
            continue
        grown = f" (exponent {exponent(points):.2f})" if len({point[0] for point in points}) > 1 else ""
        axes.loglog([point[0] for point in points], [point[1] for point in points], "o-", color=colour,
                    label=label + grown, markersize=4)
        for point in points:
            if len(point) > 2 and point[2]:
                axes.annotate(point[2], point[:2], fontsize=7, xytext=(4, 4), textcoords="offset points")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=7)
    if left_out:
        axes.set_title(f"{left_out} more curves are in the table", fontsize=8)


def curves_of(axes, lines, key, value, *left_out):
    series = {}
    for line in lines:
        if key(line) > 0 and value(line) > 0:
            series.setdefault(name(line, *left_out), []).append((key(line), value(line)))
    curves(axes, [(label, sorted(points)) for label, points in series.items()], max(0, len(series) - len(COLOURS)))


def bars(axes, rows, parts, label):
    """Draws horizontal bars. rows: name, values of the parts, mark; parts: names of the parts, or
    ""."""
    rows = rows[:MOST_BARS][::-1]
    left = [0.0] * len(rows)
    for index, (part, colour) in enumerate(zip(parts, COLOURS)):
        widths = [row[1][index] for row in rows]
        axes.barh(range(len(rows)), widths, left=left, color=colour, label=part or None)
        left = [a + b for a, b in zip(left, widths)]
    for place, row in enumerate(rows):
        if row[2]:
            axes.plot([row[2]] * 2, [place - 0.5, place + 0.5], color="#000000")
    axes.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=7)
    axes.set_xlabel(label)
    if any(parts):
        axes.legend(fontsize=7)


def bars_of(axes, lines, value, label, mark=lambda line: 0):
    bars(axes, [(name(line), [value(line)], mark(line)) for line in lines if value(line) > 0], [""], label)


def stages(axes, lines):
    lines = [line for line in lines if line.get("stage_ms")]
    parts = list(dict.fromkeys(stage for line in lines for stage in line["stage_ms"]))
    bars(axes, [(name(line), [line["stage_ms"].get(part, 0) for part in parts], 0) for line in lines], parts, "ms, by stages")


def axes_kinds(lines):
    """Returns the charts that suit the lines of one case, as functions that draw on given axes."""
    if len({size(line) for line in lines}) > 1:
        yield lambda axes: (curves_of(axes, lines, size, median, "n"), axes.set_xlabel("n"), axes.set_ylabel("ms"))
    elif len({line.get("k", 0) for line in lines}) > 1:
        yield lambda axes: (curves_of(axes, lines, lambda line: line.get("k", 0), rate, "k", "n"),
                            axes.set_xlabel("neighbours k"), axes.set_ylabel("million per second"))
    else:
        value, label = (rate, "million per second") if any(map(rate, lines)) else (median, "ms")
        yield lambda axes: bars_of(axes, lines, value, label)
    if any(line.get("speedup") for line in lines):
        yield lambda axes: bars_of(axes, lines, lambda line: line.get("speedup", 0), "times the base")
    if any(line.get("stage_ms") for line in lines):
        yield lambda axes: stages(axes, lines)
    if any(line.get("published") for line in lines):
        yield lambda axes: bars_of(axes, [line for line in lines if line.get("published")], median, "ms; the mark: published",
                                   lambda line: line["published"])


def draw(path, title, kinds, data):
    """Draws a chart of each kind and saves them as one SVG file. data: the values drawn, whose hash
    is written to the file."""
    figure, all_axes = plt.subplots(len(kinds), 1, figsize=(7, 4.6 * len(kinds)), squeeze=False)
    for axes, kind in zip(all_axes[:, 0], kinds):
        kind(axes)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    figure.savefig(path, metadata={"Date": None, "Title": title, "Description": f"data {digest}"})
    plt.close(figure)


def draw_file(path, made):
    """Draws what a .json file describes."""
    def segments(axes):
        for row in made["rows"]:
            axes.plot(*zip(row["from"], row["to"]), color=COLOURS[int(row["colour"])])
            axes.plot(*row["at"], "o", color="#000000")
            axes.annotate(row["label"], row["at"], xytext=(6, 6), textcoords="offset points")
        axes.set_aspect("equal")

    kind = {
        "curves": lambda axes: (curves(axes, [(one["name"], one["points"]) for one in made["series"]]),
                                axes.set_xlabel(made["x"]), axes.set_ylabel(made["y"])),
        "bars": lambda axes: bars(axes, [(row["name"], row["parts"], row["mark"]) for row in made["rows"]],
                                  made["parts"], made["unit"]),
        "segments": segments,
    }[made["kind"]]
    draw(path, made["title"], [kind], made)


def chart_name(bench, case):
    return "chart-" + re.sub(r"[^A-Za-z0-9.]", "-", f"{bench}-{case}") + ".svg"


def figure_of(folder, file):
    with open(os.path.join(folder, file), "rb") as stream:
        held = stream.read()
    kind = "svg+xml" if file.endswith(".svg") else "png"
    picture = f'<img alt="{html.escape(file)}" src="data:image/{kind};base64,{base64.b64encode(held).decode()}">'
    return f"<figure>{picture}<figcaption>{html.escape(file)}</figcaption></figure>\n"


def table_of(lines):
    heads = ["what", "median ms", "least", "middle half", "M/s", "SAH cost", "published", "ratio", "on", "checked"]
    text = f"<details><summary>All {len(lines)} rows</summary><div class=\"wide\"><table><tr>"
    text += "".join(f"<th>{head}</th>" for head in heads) + "</tr>\n"
    for line in lines:
        ms = line["ms"]
        cells = [f"{line['case']} {name(line)}", f"{ms['median']:.4g}", f"{ms.get('min', 0):.4g}",
                 f"{ms.get('q1', 0):.4g} to {ms.get('q3', 0):.4g}"]
        cells += [f"{value:.4g}" if value else "" for value in
                  (rate(line), line.get("sah_cost"), line.get("published"), line.get("ratio"))]
        cells += [line.get("published_on", ""), "yes" if line.get("checked") else "NO"]
        text += "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>\n"
    return text + "</table></div></details>\n"


def machines_of(lines):
    commits = {}
    for line in lines:
        machine = line.get("gpu") or line.get("cpu")
        if machine:
            commits.setdefault(machine, {})[line.get("commit", "")] = None
    listed = "; ".join(html.escape(f"{machine} (commit {', '.join(names)})") for machine, names in commits.items())
    unchecked = sum(not line.get("checked") for line in lines)
    checked = f"{unchecked} of them were <b>not checked</b> against a reference" if unchecked else \
        "each result was checked against a reference before it was timed"
    return (f"<p>Measured on {listed or 'unnamed machines'}.</p>\n<p>{len(lines)} rows; {checked}. "
            "Times are medians. M/s: million points, queries, rays or photons per second. "
            "Absolute times are valid for the named machine only.</p>\n")


def write_page(folder, lines, groups):
    page = {"title": "results", "text": ""}
    if os.path.exists(os.path.join(folder, "page.json")):
        with open(os.path.join(folder, "page.json"), encoding="utf-8") as file:
            page = json.load(file)
    title = html.escape(page["title"])
    text = (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Kandela: {title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n")
    text += f"<p>{html.escape(page['text'])}</p>\n" if page["text"] else ""
    text += machines_of(lines) if lines else ""
    charts = {chart_name(*group) for group in groups}
    for bench in dict.fromkeys(bench for bench, _ in groups):
        head, meaning = BENCHES.get(bench, (bench, ""))
        text += f"<h2>{html.escape(head)}</h2>\n<p>{meaning}</p>\n"
        for case in [case for other, case in groups if other == bench]:
            if os.path.exists(os.path.join(folder, chart_name(bench, case))):
                text += f'<div class="case">{figure_of(folder, chart_name(bench, case))}</div>\n'
        text += table_of([line for line in lines if line["bench"] == bench])
    pictures = [file for file in sorted(os.listdir(folder)) if file.endswith((".svg", ".png")) and file not in charts]
    if lines:  # report of a benchmark: only its own figures
        pictures = [file for file in pictures if file.startswith("figure-")]
    text += f'<div class="case">{"".join(figure_of(folder, file) for file in pictures)}</div>\n' if pictures else ""
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write(text + "</body></html>\n")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    lines, groups = [], {}
    if os.path.exists(os.path.join(folder, "results.jsonl")):
        with open(os.path.join(folder, "results.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(text) for text in file if text.strip()]
    for line in lines:
        groups.setdefault((line["bench"], line["case"]), []).append(line)
    if plt:
        plt.rcParams.update({"svg.hashsalt": "kandela", "svg.fonttype": "none"})
        for (bench, case), some in groups.items():
            title = f"{BENCHES.get(bench, (bench, ''))[0]}: {case}"
            draw(os.path.join(folder, chart_name(bench, case)), title, list(axes_kinds(some)), some)
        for file in sorted(os.listdir(folder)):
            if file.endswith(".json") and file != "page.json":
                with open(os.path.join(folder, file), encoding="utf-8") as stream:
                    made = json.load(stream)
                if isinstance(made, dict) and made.get("kind") in ("curves", "bars", "segments"):
                    draw_file(os.path.join(folder, file.removesuffix(".json") + ".svg"), made)
    write_page(folder, lines, groups)
    return 0 if plt else NO_MATPLOTLIB


if __name__ == "__main__":
    sys.exit(main())
