#!/usr/bin/env python3
"""usage: report.py [FOLDER]

Draws the charts and writes the page of a report's folder (default: the folder of this script), with
Python's standard library alone. results.jsonl, lines of kandela bench, becomes chart-*.svg: one chart
for each question (time or rate, SAH cost at equal cost constants, speed-up, stages, published figures).
levels.json, of kandela tree, becomes figure-*.svg. NAME.json with a "kind" becomes NAME.svg or, with
the kind "scale", the key of the picture NAME.png. estimates.csv and experiment.csv become curves and
tables, and the pictures named in estimates.csv a grid.
index.html holds all of these and the title and text of page.json in one file. kandela bench --report
copies the script to the folder and runs it; edit it and run it again to change the page.
"""

import base64
import csv
import html
import json
import os
import re
import sys

from report_drawing import SVG_STYLE, bars, curves, natural, number, power, segments

# Quantities. {}: the noun of what a rate counts.
BUILD, TIME, RATE = "build time [ms]", "time [ms]", "million {} per second"
# Of each benchmark: title, explanation, quantity, what a rate counts, what the size n counts.
BENCHES = {
    "points": ("Building point trees", "A left-balanced k-d tree of points, built by each builder; all build the same tree.", BUILD, "points", "points"),
    "knn": ("Nearest neighbours", "The k nearest points of each query.", RATE, "queries", "points"),
    "within": ("Points within a radius", "All points within a radius of each query.", RATE, "queries", "points"),
    "index": ("Indices for queries", "The index of a query method, built from a tree.", BUILD, "points", "points"),
    "calls": ("Calls of the library", "Wall-clock time of a call on a device: opening a tree, few and many queries, self-queries of all points.", TIME, "queries", "points"),
    "worlds": ("Scenes of rays", "A lidar of 10,000 rays in each of many worlds, each with twelve meshes; “commit”: all meshes move.", RATE, "rays", "worlds"),
    "changes": ("Dynamic trees", "Inserting and removing points, compared with rebuilding the tree; then queries of the changed tree and of a rebuilt one.", TIME, "points", "points"),
    "build": ("Building triangle trees", "A k-d tree by the surface area heuristic (SAH). Its SAH cost is the expected work of a ray, in units of a triangle test. C_t is the cost of a traversal step; the factor “empty” lowers the cost of a split that cuts off empty space. SAH costs are comparable at equal constants only, so each pair of constants has its own charts.", BUILD, "triangles", "triangles"),
    "widen": ("Converting triangle trees to their wide form", "CPU rays traverse nodes with eight or sixteen children, which are made from the k-d tree of each builder.", "conversion time [ms]", "triangles", "triangles"),
    "trace": ("Tracing rays", "Consecutive primary rays are similar, diffuse rays leave surfaces in all directions, ao rays are short, random rays are unrelated; “any” rays stop at the first triangle found. All intersection tests are watertight.", RATE, "rays", "triangles"),
    "load": ("Reading meshes", "A million bytes is a megabyte.", RATE, "bytes", "bytes"),
    "photons": ("Photons", "Emission: photons are traced through the scene and stored. Trees: the photons are arranged as a k-d tree.", RATE, "photons", "photons"),
    "frame": ("Frames", "A pass of sppm, or a sample per pixel of photon, at 1920 x 1080 pixels. “By walk”: density estimates by traversal of the k-d tree of photons.", TIME, "passes", "photons"),
    "scaling": ("Scaling with size", "Logarithmic axes: a straight line is a power of the size. Builds should grow as n log n, a query and a ray as log n.", BUILD, "points", "points"),
    "wald-build": ("Wald 2022, building left-balanced trees, Table 1", "", BUILD, "points", "points"),
    "wald-query": ("Wald 2022, stack-free queries, Table 1", "", RATE, "queries", "points"),
    "robinson-times": ("Robinson, performance examples, each stage separately", "", BUILD, "points", "points"),
    "robinson-threads": ("Robinson, CPU examples by number of threads", "", BUILD, "points", "points"),
    "robinson": ("Robinson, performance examples", "", BUILD, "points", "points"),
    "wehr": ("Wehr and Radkowski 2018, Tables I and III", "", BUILD, "points", "points"),
    "wehr-1": ("Wehr and Radkowski 2018, Table I", "", BUILD, "points", "points"),
    "wehr-2": ("Wehr and Radkowski 2018, Table II", "Builds by points per block (TPB).", BUILD, "points", "points"),
    "wehr-3": ("Wehr and Radkowski 2018, Table III", "Closest points by the approximate search.", "time of all searches [ms]", "searches", "points"),
    "wehr-figure4": ("Wehr and Radkowski 2018, Figure 4", "Builds by cutoff, which the paper sets to the block size (TPB).", BUILD, "points", "points"),
    "wehr-figure5": ("Wehr and Radkowski 2018, Figure 5", "Random points, by points per block (TPB).", BUILD, "points", "points"),
    "wehr-figure6": ("Wehr and Radkowski 2018, Figure 6", "A scan and a bunny, by points per block (TPB).", BUILD, "points", "points"),
    "wehr-figure8": ("Wehr and Radkowski 2018, Figure 8", "Each chunk is sorted by a single core.", BUILD, "points", "points"),
    "wehr-figure9": ("Wehr and Radkowski 2018, Figure 9", "Builds on the CPU.", BUILD, "points", "points"),
    "wehr-figure10": ("Wehr and Radkowski 2018, Figure 10", "The last levels by three sorting methods, by the size of the chunks of a level.", TIME, "points", "points"),
    "choi-ye": ("Choi and Ye 2020, Tables I and III", "", BUILD, "triangles", "triangles"),
    "choi-ye-figure3": ("Choi and Ye 2020, Figure 3", "", BUILD, "triangles", "triangles"),
    "choi-ye-threads": ("Choi and Ye 2020, builders by threads", "", BUILD, "triangles", "triangles"),
}  # fmt: skip
BASES = {"build": "sweep on one thread", "choi-ye-threads": "the same builder on one thread"}
SETTINGS = {"Ct 1, empty 0.8": "C_t 1, empty 0.8", "rays": "C_t 1.5, empty 1 (as for rendering)"}
SCALED = {"8 nearest": ("time of a query [µs]", "points"), "diffuse rays": ("time of a ray [µs]", "triangles"),
          "triangle trees": (BUILD, "triangles")}
HEADS = {"seconds": "time [s]", "relmse": "relMSE", "relmse_blocks": "relMSE of 4 x 4 pixel means", "rmse": "RMSE [radiance]",
         "radius": "radius [scene units]", "spp": "samples per pixel"}
# What the columns of experiment.csv mean on the axes of its charts.
PARAMETERS = {"seconds": "time of photons, their trees and rendering [s]", "spp": "samples per pixel", "photons": "photons stored",
              "k": "photons per estimate k", "radius": "radius [scene units]", "passes": "passes", "alpha": "alpha"}
NOT_COMPARED = "by tests"  # this run had no second result to compare with
MOST_CURVES = 8
OPEN_ROWS = 30  # longer tables are folded
STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1100px;padding:0 12px 60px;"
    "color:#1d1f23;background:#fff;overflow-wrap:anywhere}h1{font-size:1.5em}"
    "h2{font-size:1.25em;margin-top:2em;border-top:1px solid #9aa0a8;padding-top:.6em}"
    "svg,img{display:block;width:100%;height:auto}img{image-rendering:pixelated}figure{margin:0;width:520px;max-width:100%}"
    ".case{display:flex;flex-wrap:wrap;gap:20px;align-items:flex-start;margin:12px 0}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(160px,46%),1fr));gap:12px;margin:12px 0}.grid figure{width:auto}"
    "figcaption{font-size:.9em;line-height:1.35}.key{height:14px;border:1px solid #9aa0a8}.ends{display:flex;justify-content:space-between}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85em}"
    "td,th{padding:2px 8px;text-align:right;vertical-align:bottom;border-bottom:1px solid #9aa0a855;overflow-wrap:normal}td{white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left;min-width:9em;white-space:normal}td.long{min-width:14em;white-space:normal}summary{cursor:pointer}"
    "@media(prefers-color-scheme:dark){body{color:#e8e9eb;background:#16181c}}"
)


# --- results of kandela bench ----------------------------------------------------------------------

def describe(line):
    """Adds what the charts need: the setting, which no chart mixes, and the rest of the variant."""
    if line["bench"] == "build" and line["builder"] == "wide form":  # of earlier versions
        line["bench"] = "widen"
    line["setting"], line["what"] = "", line.get("variant", "")
    if line["bench"] in ("build", "widen"):
        base, _, threads = line["what"].partition(" thread")[0].rpartition(", ") if " thread" in line["what"] else (line["what"], "", "")
        line["setting"], line["what"] = SETTINGS.get(base, base), f"{threads} thread{'s' * (threads != '1')}" if threads else ""
        if line["device"] == "cpu":
            line["what"] = line["what"] or "all threads"
    elif line["bench"] == "points":
        line["what"] = line["what"] or "round-robin"  # how the axis of a split is chosen
    elif line["bench"] == "photons":
        line["setting"], line["what"] = line["what"], ""
    elif line["bench"] == "changes":
        line["setting"] = "queries" if line.get("k") else "changes"
    return line


def whole_frames(lines):
    """Makes the stages of a frame, which are lines of their own, stages of the line of the whole pass."""
    wholes = {}
    for line in lines:
        stage, _, walk = line["variant"].partition(" by walk")
        key = (line["case"], line["builder"], line["device"], line["n"], line.get("k"), line["variant"].endswith("by walk"))
        if stage == "whole pass":
            wholes[key] = dict(line, what="by walk" if key[-1] else "", stage_ms={})
        elif key in wholes and stage != "samples":  # the sum of eye rays, gather and film
            wholes[key]["stage_ms"][stage] = line["ms"]["median"]
    return list(wholes.values())


def size(line):
    return line.get("triangles") if line["bench"] == "trace" else line.get("n") or line.get("triangles") or 0


def items_of(line):
    """Returns what the rate counts: a line of trace may measure rays or, for the making of a tree's form, triangles."""
    named = [key.removesuffix("_per_second") for key in line if key.endswith("_per_second")]
    return named[0] if len(named) == 1 else BENCHES.get(line["bench"], ("", "", "", "items"))[3]


def quantity_of(line):
    _, _, quantity, _, sizes = BENCHES.get(line["bench"], ("", "", TIME, "items", "items"))
    if line["bench"] == "scaling":
        quantity, sizes = SCALED.get(line["case"], (quantity, sizes))
    return quantity.format(items_of(line)), sizes


def values_of(line):
    """Returns the median and the ends of the middle half, in the unit of quantity_of."""
    ms = line["ms"]
    times = [ms["median"], ms.get("q1") or ms["median"], ms.get("q3") or ms["median"]]
    quantity, rate = quantity_of(line)[0], line.get("rate", 0)
    if quantity.startswith("million"):
        return [rate * 1e-6 * times[0] / time for time in (times[0], times[2], times[1])]
    return [1e6 / rate * time / times[0] for time in times] if "µs" in quantity and rate else times


def parts_of(line):
    return {"case": line["case"], "builder": line.get("builder", ""), "device": line.get("device", ""), "what": line["what"],
            "dims": f"{line['dims']} dimension{'s' * (line['dims'] > 1)}" if line.get("dims") else "", "k": f"k {line['k']}" if line.get("k") else "",
            "n": f"{power(size(line))} {quantity_of(line)[1]}" if size(line) else ""}


def name_with(line, fields, left_out=()):
    parts = parts_of(line)
    return ", ".join(parts[field] for field in parts if field in fields and field not in left_out and parts[field])


def varying(lines, title):
    """Returns the fields that differ, which become the labels, and the text of the others that the title does not name."""
    rows = [parts_of(line) for line in lines]
    fields = [field for field in rows[0] if len({row[field] for row in rows}) > 1]
    return fields, ", ".join(rows[0][field] for field in rows[0] if field not in fields and rows[0][field] and rows[0][field] not in title)


def labels_of(lines, fields):
    made, seen = [], {}
    for line in lines:
        label = name_with(line, fields) or line.get("builder", "")
        seen[label] = seen.get(label, 0) + 1
        made.append(f"{label} (run {seen[label]})" if seen[label] > 1 else label)
    return made


def in_order(lines):
    """Sorts by case and builder as measured, then by all numbers."""
    def places(field):
        return {value: index for index, value in enumerate(dict.fromkeys(line.get(field) for line in lines))}
    cases, builders = places("case"), places("builder")
    settings = list(dict.fromkeys(line["setting"] for line in lines))
    return sorted(lines, key=lambda line: (cases[line["case"]], settings.index(line["setting"]), line.get("dims", 0), line.get("k", 0), size(line),
                                           builders[line.get("builder")], natural(line.get("device", "")), natural(line["what"])))


def faceted(lines, key):
    """Splits lines so that a chart has at most MOST_CURVES curves."""
    names = list(dict.fromkeys(name_with(line, parts_of(line), key) for line in lines))
    if len(names) <= MOST_CURVES:
        return [lines]
    for field in ("device", "what", "dims", "builder"):
        values = list(dict.fromkeys(str(line.get(field)) for line in lines))
        if 1 < len(values) <= 4:
            return [part for value in values for part in faceted([line for line in lines if str(line.get(field)) == value], key)]
    groups = [names[i:i + MOST_CURVES] for i in range(0, len(names), MOST_CURVES)]
    return [[line for line in lines if name_with(line, parts_of(line), key) in group] for group in groups]


def curves_of(title, lines, key, x_name):
    """Draws the quantity against n or k, with a vertical line for the middle half of the runs."""
    for part in faceted(lines, (key,)):
        fields, constant = varying(part, title)
        series = {}
        for line in sorted(part, key=lambda line: size(line) if key == "n" else line["k"]):
            value, low, high = values_of(line)
            at = size(line) if key == "n" else line["k"]
            series.setdefault(name_with(line, fields, (key,)) or line.get("builder", ""), []).append((at, value, "", low, high))
        yield curves(title, constant, x_name, quantity_of(part[0])[0], series.items(), part)


def main_charts(title, lines):
    """Yields the charts of the measured quantity: against n, else against k, else as bars."""
    quantity, sizes = quantity_of(lines[0])
    for key, x_name, value in (("n", sizes, size), ("k", "neighbours k", lambda line: line.get("k", 0))):
        curve = {}
        for line in lines:
            curve.setdefault(name_with(line, parts_of(line), (key,)), set()).add(value(line))
        if all(map(value, lines)) and max(map(len, curve.values())) > 1:
            yield from curves_of(f"{title}: {quantity} against {x_name}", lines, key, x_name)
            return
    fields, constant = varying(lines, title)
    rows = [(label, values_of(line)[:1], values_of(line)[1:], 0) for label, line in zip(labels_of(lines, fields), lines)]
    yield bars(f"{title}: {quantity}", constant, rows, lines)


def simple_bars(title, lines, value):
    fields, constant = varying(lines, title)
    yield bars(title, constant, [(label, [value(line)], None, 0) for label, line in zip(labels_of(lines, fields), lines)], lines)


def stage_charts(title, lines):
    """Yields a chart for each set of stages, for the largest size alone."""
    kinds = {}
    for line in lines:
        held = tuple(stage for stage, ms in (line.get("stage_ms") or {}).items() if stage != "-")
        kinds.setdefault(held, []).append(line)
    for held, some in kinds.items():
        some = [line for line in some if size(line) == max(map(size, some)) and any(line["stage_ms"].values())] if held else []
        if not some:
            continue
        fields, constant = varying(some, title)
        rows = [(label, [line["stage_ms"][stage] for stage in held], None, 0) for label, line in zip(labels_of(some, fields), some)]
        yield bars(f"{title}: time of each stage [ms]", constant, rows, some, held)


def published_chart(title, lines):
    lines = [line for line in lines if line.get("published")]
    for unit in dict.fromkeys(line.get("published_unit", "ms") for line in lines):
        some = [line for line in lines if line.get("published_unit", "ms") == unit]
        fields, constant = varying(some, title)
        places = {line.get("published_on", "another machine") for line in some}
        several = len(places) > 1
        rows = [(f"{label} (published for {line['published_on']})" if several else label,
                 [line["ms"]["median"] if unit == "ms" else line["rate"] * 1e-6], None, line["published"])
                for label, line in zip(labels_of(some, fields), some)]
        what = "time [ms]" if unit == "ms" else RATE.format(items_of(some[0]))
        yield bars(f"{title}: measured and published {what}", constant, rows, some, ("measured (median)",),
                   "published" if several else f"published for {places.pop()}")


def charts_of(bench, lines):
    """Yields (name, drawing): for each case and setting a chart per question."""
    lines = in_order(whole_frames(lines) if bench == "frame" else lines)
    groups = {}
    for line in lines:
        groups.setdefault((line["case"], line["setting"]), []).append(line)
    if len(lines) > 1 and all(len(some) == 1 for some in groups.values()):  # bars of one chart, for each setting
        groups = {}
        for line in lines:
            groups.setdefault(("", line["setting"]), []).append(line)
    several = len({setting for _, setting in groups}) > 1 or bench in ("build", "widen", "photons")
    for (case, setting), some in groups.items():
        title = ": ".join(text for text in (BENCHES.get(bench, (bench,))[0], case, setting if several else "") if text)
        questions = [("", main_charts(title, some)), ("stages", stage_charts(title, some)), ("published", published_chart(title, some))]
        costs = [line for line in some if line.get("sah_cost") and line["what"] in ("", "all threads")]  # threads do not change it
        if bench == "build" and costs:
            questions.insert(1, ("cost", simple_bars(f"{title}: SAH cost [triangle tests per ray]", costs, lambda line: line["sah_cost"])))
        faster = [line for line in some if line.get("speedup")]
        if faster:
            base = BASES.get(bench, "the base")
            questions.insert(1, ("speedup", simple_bars(f"{title}: speed-up over {base} [ratio]", faster, lambda line: line["speedup"])))
        for question, made in questions:
            for index, drawing in enumerate(made):
                parts = [bench, case, setting if several else "", question, str(index + 1) if index else ""]
                yield re.sub(r"[^A-Za-z0-9.]", "-", "-".join(["chart", *filter(None, parts)])), drawing


# --- the page --------------------------------------------------------------------------------------

def table(heads, rows, constant=""):
    """Returns a table without its empty columns. constant: what all rows share."""
    kept = [i for i in range(len(heads)) if any(row[i] != "" for row in rows)]
    cells = [[html.escape(str(row[i])) for i in kept] for row in [heads, *rows]]
    text = "".join(f"<th>{cell}</th>" for cell in cells[0]) + "</tr>\n"
    text += "".join("<tr>" + "".join(f"<td{' class=long' if len(cell) > 40 else ''}>{cell}</td>" for cell in row) + "</tr>\n" for row in cells[1:])
    shared = f": {html.escape(constant)}" if constant else ""
    return (f"<details{' open' if len(rows) <= OPEN_ROWS else ''}><summary>All {len(rows)} row{'s' * (len(rows) > 1)}{shared}</summary>"
            f'<div class="wide"><table><tr>{text}</table></div></details>\n')


def table_of(lines):
    items = " or ".join(dict.fromkeys(map(items_of, lines)))
    heads = ["what", "n" if lines[0]["bench"] == "scaling" else quantity_of(lines[0])[1], "median [ms]", "middle half [ms]",
             f"million {items} per second", "runs", "least [ms]", "SAH cost", "published", "on", "faster than published", "compared", "stages [ms]"]
    rows, (fields, constant) = [], varying(lines, "")
    for line in in_order(lines):
        ms, shown = line["ms"], lambda value: number(value) if value else ""
        what = ", ".join(filter(None, [line["case"] if "case" in fields else "", line["setting"], name_with(line, fields, ("case", "n"))])) or line["case"]
        stages = ", ".join(f"{name} {number(value)}" for name, value in (line.get("stage_ms") or {}).items() if name != "-")
        published = f"{number(line['published'])} {line.get('published_unit', 'ms')}" if line.get("published") else ""
        rows.append([what, power(size(line)) if "n" in fields else "", number(ms["median"]),
                     f"{number(ms.get('q1', 0))} to {number(ms.get('q3', 0))}", shown(line.get("rate", 0) * 1e-6), len(ms.get("all", ())) or "", number(ms.get("min", 0)), shown(line.get("sah_cost")),
                     published, line.get("published_on", ""), f"{number(line['ratio'])} x" if line.get("ratio") else "",
                     "yes" if line.get("checked") else NOT_COMPARED, stages])
    return table(heads, rows, constant)


def notes_of(lines):
    commits = {}
    for line in lines:
        machine = line.get("gpu") or line.get("cpu")
        if machine:
            commits.setdefault(machine, {})[line.get("commit", "")] = None
    listed = "; ".join(f"{machine} (commit {', '.join(names)})" for machine, names in commits.items())
    text = (f"Measured on {listed or 'unnamed machines'}. Times are valid for the named machine only. Each row was measured several times after "
            "a first run that is not counted: bars and points are medians, and the thin line over them is the middle half of the runs "
            "(first to third quartile).")
    compared = "Each result was compared with a reference before it was timed."
    if any(not line.get("checked") for line in lines):
        compared = (f"Each result was compared with a reference before it was timed, except in rows with “{NOT_COMPARED}”: there this run had no "
                    "second result to compare with, and the tests of Kandela compare the same code.")
    if any(line.get("stage_ms") for line in lines):
        text += " The times of stages may come from another run than the median, so that their sum differs from it."
    return f"<p>{html.escape(text)}</p>\n<p>{compared}</p>\n"


def picture(folder, file, caption):
    with open(os.path.join(folder, file), "rb") as stream:
        held = base64.b64encode(stream.read()).decode()
    return f'<figure><img alt="{html.escape(file)}" src="data:image/png;base64,{held}"><figcaption>{caption}</figcaption></figure>\n'


def key(stops, ends):
    """Returns a colour scale: grey or colour stops at equal distances, and its numbers."""
    return (f'<div class="key" style="background:linear-gradient(90deg,{",".join(stops)})"></div>'
            f'<div class="ends">{"".join(f"<span>{end}</span>" for end in ends)}</div>')


def scale(made):
    """Returns the key of a grey picture whose values grow linearly from 0 to made["most"]."""
    def grey(value):
        return 255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055)
    stops = [f"rgb({grey(i / 16):.0f},{grey(i / 16):.0f},{grey(i / 16):.0f})" for i in range(17)]
    return html.escape(made["title"]) + key(stops, [number(made["most"] * i / 4) for i in range(5)])


def estimates(folder):
    """Returns the pictures of an estimate, each with its difference from the reference, by estimator and k."""
    rows = read_rows(folder, "estimates.csv")
    # the colours of compare_images: log2(1 + 1023 e) / 10
    stops = ["rgb(0,0,0)", "rgb(71,15,120)", "rgb(186,46,89)", "rgb(245,128,51)", "rgb(252,219,102)", "rgb(255,255,255)"]
    text = "<h2>Pictures</h2>\n<p>Each picture is followed by its difference: a pixel's term of the relMSE on a logarithmic scale.</p>\n"
    levels = [f"{(2 ** (10 * i / 5) - 1) / 1023:.1g}" for i in range(6)]
    if os.path.exists(os.path.join(folder, "reference.png")):
        text += f'<div class="grid">{picture(folder, "reference.png", "reference")}<figure><figcaption>key of the differences' \
                f"{key(stops, levels)}</figcaption></figure></div>\n"
    for name in dict.fromkeys(row["estimator"] for row in rows):
        text += f'<h3>{html.escape(name)}</h3>\n<div class="grid">'
        for row in sorted((row for row in rows if row["estimator"] == name), key=lambda row: int(row["k"])):
            for ending, caption in (("", f"k {row['k']}, {number(float(row['seconds']))} s"), ("-difference", f"relMSE {number(float(row['relmse']))}")):
                if os.path.exists(os.path.join(folder, f"{name}-{row['k']}{ending}.png")):
                    text += picture(folder, f"{name}-{row['k']}{ending}.png", caption)
        text += "</div>\n"
    return text


def shares(folder):
    """Returns the pictures by the weighted shares of vcm's techniques, which add up to the first one."""
    text = "<h2>Techniques</h2>\n<p>The part of the picture that each technique of vcm finds, after weighting; all parts add up to the whole.</p>\n"
    rows = read_rows(folder, "shares.csv")
    return text + '<div class="grid">' + "".join(
        picture(folder, f"share-{row['technique']}.png", f"{row['technique']}: {100 * float(row['share']):.1f} % of the light") for row in rows) + "</div>\n"


def csv_table(folder, file):
    with open(os.path.join(folder, file), encoding="utf-8") as stream:
        heads, *rows = csv.reader(stream)
    def shown(text):
        return number(float(text)) if re.fullmatch(r"[-+.\de]*\d[-+.\de]*", text) else text
    return table([HEADS.get(head, head) for head in heads], [[shown(text) for text in row] for row in rows])


def read_rows(folder, file):
    with open(os.path.join(folder, file), encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def estimate_charts(rows):
    """Yields (name, drawing) of estimates.csv: the errors against time and against k."""
    for name, title, x_name, x, y, label in (
            ("error-time", "relMSE against time; the numbers are photons per estimate", "rendering time [s]", "seconds", "relmse", "k"),
            ("error-k", "relMSE of 4 x 4 pixel means against photons per estimate", PARAMETERS["k"], "k", "relmse_blocks", "")):
        series = {}
        for row in rows:
            series.setdefault(row["estimator"], []).append((float(row[x]), float(row[y]), row.get(label, "")))
        yield name, curves(title, "", x_name, "relMSE", series.items(), rows)


def experiment_charts(rows):
    """Yields (name, drawing) of experiment.csv: the error against time and against each parameter that varies."""
    def name_of(row):
        return " ".join(filter(None, (row["integrator"], row["estimator"], row["lookup"])))
    fixed = {name: colour for colour, name in zip(range(MOST_CURVES), dict.fromkeys(map(name_of, rows)))}  # equal in all charts
    for axis, x_name in PARAMETERS.items():
        series = {}
        for row in rows:
            if axis in ("seconds", row["varies"]):
                series.setdefault(name_of(row), []).append((float(row[axis]), float(row["relmse"])))
        found = [(name, sorted(points)) for name, points in series.items() if len(points) > 1]
        more = " (further curves in the table)" if len(found) > MOST_CURVES else ""
        if found:
            title = f"relMSE against {x_name}{more}"
            shown = [name for name, _ in found[:MOST_CURVES]]
            free = iter(sorted(set(range(MOST_CURVES)) - {fixed.get(name) for name in shown}))
            colours = {name: fixed[name] if name in fixed else next(free) for name in shown}
            yield f"figure-error-{axis}", curves(title, "", x_name, "relMSE", found[:MOST_CURVES], rows, axis == "seconds", colours)


def level_charts(made):
    """Yields (name, drawing) of levels.json, the statistics of a tree."""
    levels = [(f"level {level['level']}", level) for level in made["levels"]]
    costs = [(name, [level["inner_cost"], level["leaf_cost"]], None, 0) for name, level in levels]
    yield "figure-1-cost", bars("SAH cost by level [triangle tests per ray]", "", costs, made, ("inner nodes", "leaves"))
    visits = [(name, [level["met"]], None, level["expected"]) for name, level in levels]
    yield "figure-2-visits", bars("Nodes that a line through the box intersects [nodes per line]", "", visits, made,
                                  ("counted, mean of random lines",), "predicted from the surface areas of their boxes")
    last = len(made["leaf_sizes"]) - 1
    sizes = [(f"{i} triangles{' or more' * (i == last)}", [count], None, 0) for i, count in enumerate(made["leaf_sizes"])]
    yield "figure-3-leaves", bars("Leaves by their number of triangles [leaves]", "", sizes, made)


def write_drawing(folder, name, drawing):
    with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as file:
        file.write(drawing.replace("<title>", f"<style>{SVG_STYLE}</style><title>", 1) + "\n")
    return f"<figure>{drawing}</figure>\n"


def figures(folder, benchmark):
    """Draws what tables of errors and the .json files describe, and adds pictures that no table names."""
    text = ""
    for file, charts in (("estimates.csv", estimate_charts), ("experiment.csv", experiment_charts)):
        if not benchmark and os.path.exists(os.path.join(folder, file)):
            text += "".join(write_drawing(folder, *each) for each in charts(read_rows(folder, file)))
    for file in sorted(os.listdir(folder), key=natural):
        name, path = file.removesuffix(".json"), os.path.join(folder, file)
        if not file.endswith(".json") or file == "page.json" or (benchmark and not file.startswith("figure-")):
            continue
        with open(path, encoding="utf-8") as stream:
            made = json.load(stream)
        if file == "levels.json":
            text += "".join(write_drawing(folder, *each) for each in level_charts(made))
        elif isinstance(made, dict) and made.get("kind") == "segments":
            text += write_drawing(folder, name, segments(made["rows"], made))
        elif isinstance(made, dict) and made.get("kind") == "scale":
            text += picture(folder, name + ".png", scale(made))
    return f'<div class="case">{text}</div>\n' if text else ""


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    lines, page = [], {"title": "results", "text": ""}
    if os.path.exists(os.path.join(folder, "results.jsonl")):
        with open(os.path.join(folder, "results.jsonl"), encoding="utf-8") as file:
            lines = [describe(json.loads(text)) for text in file if text.strip()]
    if os.path.exists(os.path.join(folder, "page.json")):
        with open(os.path.join(folder, "page.json"), encoding="utf-8") as file:
            page = json.load(file)
    title = html.escape(page["title"])
    text = ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Kandela: {title}</title><style>{STYLE}{SVG_STYLE}</style></head><body>\n<h1>{title}</h1>\n")
    text += f"<p>{html.escape(page['text'])}</p>\n" if page["text"] else ""
    text += notes_of(lines) if lines else ""
    for bench in dict.fromkeys(line["bench"] for line in lines):
        some = [line for line in lines if line["bench"] == bench]
        head, meaning = BENCHES.get(bench, (bench, ""))[:2]
        text += f"<h2>{html.escape(head)}</h2>\n<p>{meaning}</p>\n"
        text += f'<div class="case">{"".join(write_drawing(folder, *each) for each in charts_of(bench, some))}</div>\n{table_of(some)}'
    text += figures(folder, bool(lines))
    for file in ("estimates.csv", "experiment.csv"):
        if not lines and os.path.exists(os.path.join(folder, file)):
            text += csv_table(folder, file) + (estimates(folder) if file == "estimates.csv" else "")
    if not lines and os.path.exists(os.path.join(folder, "shares.csv")):
        text += shares(folder)
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write(text + "</body></html>\n")


if __name__ == "__main__":
    main()
