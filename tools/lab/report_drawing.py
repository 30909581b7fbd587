"""Drawings of report.py as SVG: curves on logarithmic axes, bars, and segments. Standard library only."""

import hashlib
import html
import json
import math
import re
import textwrap

SVG_STYLE = (
    "svg{--paper:#fff;--ink:#1d1f23;--dim:#596069;--line:#d9dce1;"
    "--c0:#0072b2;--c1:#c44e00;--c2:#00815f;--c3:#b4538e;--c4:#a97400;--c5:#2b93c9;--c6:#706400;--c7:#1d1f23}"
    "@media(prefers-color-scheme:dark){svg{--paper:#16181c;--ink:#e8e9eb;--dim:#a3a9b2;--line:#3a3f47;"
    "--c0:#4aa8e0;--c1:#f08a4b;--c2:#3fc49c;--c3:#e39ac6;--c4:#eab94d;--c5:#8fd0f5;--c6:#c9bd4a;--c7:#e8e9eb}}"
    "svg text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:var(--ink)}svg .dim{fill:var(--dim)}svg .head{font-weight:600}"
    "svg .grid{stroke:var(--line)}svg .ink{stroke:var(--ink);fill:none;stroke-width:1.5}"
)

SPREAD = "middle half of the runs (first to third quartile)"


def natural(text):
    """Returns a key that sorts texts with numbers by their values."""
    return [(0, float(part), "") if part[:1].isdigit() else (1, 0.0, part) for part in re.findall(r"\d+\.?\d*|\D+", str(text))]


def number(value):
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def power(value):
    """Returns a number of a logarithmic axis or a size, as on the command line: 20K, 1M."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= unit:
            return f"{value / unit:.4g}{suffix}"
    return f"{value:.4g}"


class Drawing:
    """An SVG drawing, 400 units wide so that its text is legible at the width of a phone. Its title is wrapped."""

    def __init__(self, title, subtitle):
        self.parts, self.height, self.title = [], 6, title
        self.wrapped(2, title, 54, "head")
        self.wrapped(2, subtitle, 62, "dim")
        self.height += 8

    def add(self, text):
        self.parts.append(text)

    def text(self, x, y, text, css="", anchor="start"):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def wrapped(self, x, text, width, css):
        """Adds a text below what there is; returns the height of its first row."""
        rows = [f'<tspan x="{x}" y="{self.height + 16 * (i + 1):.1f}">{html.escape(row)} </tspan>' for i, row in enumerate(textwrap.wrap(text, width))]
        first, self.height = self.height + 16, self.height + 16 * len(rows)
        self.add(f'<text class="{css}">{"".join(rows)}</text>')
        return first

    def line(self, x0, y0, x1, y1, css="ink"):
        self.add(f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="{css}"/>')

    def spread(self, low, high, y):
        self.line(low, y, high, y)
        for x in (low, high):
            self.line(x, y - 3, x, y + 3)

    def keys(self, names):
        """Adds the legend: pairs of a colour's index, or "mark" or "spread", and a name."""
        for colour, name in names:
            y = self.wrapped(20, name, 58, "label")
            if colour == "mark":
                self.line(8, y - 11, 8, y + 1)
            elif colour == "spread":
                self.spread(2, 14, y - 4)
            else:
                self.add(f'<rect x="2" y="{y - 9:.1f}" width="12" height="9" fill="var(--c{colour})"/>')

    def done(self, data):
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 {self.height + 8:.0f}" role="img"><title>{html.escape(self.title)}'
                f'</title><desc>data {digest}</desc><rect width="100%" height="100%" fill="var(--paper)"/>{"".join(self.parts)}</svg>')


def exponent(points):
    """Returns the slope of the least-squares line through the points on logarithmic axes."""
    x, y = ([math.log(point[i]) for point in points] for i in (0, 1))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread if spread else math.nan


def ticks(low, high):
    """Returns at least three numbers of a logarithmic axis: powers of ten, or else these times round factors; on a short axis, multiples
    of a step."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        made = [factor * 10.0**decade for decade in decades for factor in factors]
        made = [tick for tick in made if low <= tick <= high]
        if len(made) >= 3:
            return made
    unit = 10.0 ** math.floor(math.log10((high - low) / 3))
    for step in (5 * unit, 2 * unit, unit):
        made = [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(made) >= 3:
            break
    return made


def curves(title, subtitle, x_name, y_name, series, data, scattered=False, colours=None):
    """Draws curves, or points if scattered, on logarithmic axes. series: pairs of a name and points (x, y, label, low, high);
    colours: the index of each, by default its place."""
    series = [(name, [point for point in points if point[0] > 0 and point[1] > 0]) for name, points in series]
    series = [(name, points) for name, points in series if points]
    drawing, left, right, tall = Drawing(title, subtitle), 52, 382, 230
    if not series:
        return drawing.done(data)
    xs = [point[0] for _, points in series for point in points]
    ys = [end for _, points in series for point in points for end in (point[1], *(v for v in point[3:5] if v > 0))]
    low_x, high_x, low_y, high_y = min(xs) / 1.15, max(xs) * 1.15, min(ys) / 1.15, max(ys) * 1.15
    drawing.height += 14
    top = drawing.height

    def at(x, y):
        return (left + (right - left) * math.log(x / low_x) / math.log(high_x / low_x),
                top + tall * (1 - math.log(y / low_y) / math.log(high_y / low_y)))

    drawing.text(2, top - 8, y_name, "dim")
    for tick in ticks(low_y, high_y):
        y = at(low_x, tick)[1]
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 6, y + 4, power(tick), "dim", "end")
    free = 0  # numbers that would overlap are left out
    for tick in ticks(low_x, high_x):
        x = at(tick, low_y)[0]
        drawing.line(x, top, x, top + tall, "grid")
        if x - 4 * len(power(tick)) >= free:
            drawing.text(x, top + tall + 16, power(tick), "dim", "middle")
            free = x + 4 * len(power(tick)) + 6
    drawing.text(right, top + tall + 32, x_name, "dim", "end")
    drawing.height = top + tall + 36
    names, marked = [], []
    for index, (name, points) in enumerate(series):
        colour = colours[name] if colours else index
        places = [at(*point[:2]) for point in points]
        if not scattered:
            drawing.add(f'<polyline fill="none" stroke="var(--c{colour})" stroke-width="2" points="'
                        + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '"/>')
        for (x, y), point in zip(places, points):
            drawing.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="var(--c{colour})"/>')
            if len(point) > 4 and point[3] > 0:
                drawing.line(x, at(point[0], point[3])[1], x, at(point[0], point[4])[1])
            if len(point) > 2 and point[2] and all(abs(x - a) > 26 or abs(y - b) > 12 for a, b in marked):  # none that overlap
                drawing.text(x + 5, y - 5, point[2], "dim")
                marked.append((x, y))
        grown = f" (exponent {exponent(points):.2f})" if not scattered and len({point[0] for point in points}) > 1 else ""
        names.append((colour, name + grown))
    drawing.keys(names + [("mark", SPREAD)] * any(len(point) > 4 for _, points in series for point in points))
    return drawing.done(data)


def bars(title, subtitle, rows, data, parts=("",), mark=""):
    """Draws horizontal bars from 0. rows: name, values of the parts, (low, high) or None, mark; parts: their names."""
    drawing, left, right = Drawing(title, subtitle), 4, 330
    most = max([max(sum(values), ends[1] if ends else 0, place) for _, values, ends, place in rows] + [1e-30])
    for name, values, ends, place in rows:
        drawing.wrapped(left, name, 62, "label")
        y, x = drawing.height + 4, left
        for colour, value in enumerate(values):
            width = (right - left) * value / most
            drawing.add(f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="12" fill="var(--c{colour})"/>')
            x += width
        drawing.text(max([x] + [left + (right - left) * v / most for v in (*(ends or ()), place)]) + 6, y + 11, number(sum(values)))
        if ends:
            drawing.spread(*(left + (right - left) * end / most for end in ends), y + 6)
        if place:
            x = left + (right - left) * place / most
            drawing.line(x, y - 3, x, y + 15)
        drawing.height = y + 16
    drawing.line(left, 6 + drawing.height, right, 6 + drawing.height, "grid")
    spread = any(ends for _, _, ends, _ in rows)
    drawing.keys([(index, part) for index, part in enumerate(parts) if part] + [("mark", mark)] * bool(mark) + [("spread", SPREAD)] * spread)
    return drawing.done(data)


def segments(rows, data):
    drawing = Drawing("", "")
    most = [max(max(row[end][axis] for end in ("from", "to", "at")) for row in rows) for axis in (0, 1)]

    def at(place):
        return 10 + 320 * place[0] / most[0], drawing.height + 320 * (1 - place[1] / most[1])

    for row in rows:
        (x0, y0), (x1, y1) = at(row["from"]), at(row["to"])
        drawing.add(f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="var(--c{int(row["colour"])})" stroke-width="2"/>')
    for row in rows:
        x, y = at(row["at"])
        drawing.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="var(--ink)"/>')
        drawing.text(x + 7, y - 7, row["label"])
    drawing.height += 330
    drawing.keys((colour, f"plane across the {'xyz'[colour]} axis") for colour in sorted({int(row["colour"]) for row in rows}))
    return drawing.done(data)
