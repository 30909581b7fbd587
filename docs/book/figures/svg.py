"""Draws the chapters' figures as SVG text. The output is deterministic."""

COLOURS = ("#1f5fa8", "#c4531d", "#2c8a4b", "#8a4ba0", "#7a7a7a", "#b8860b")


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Drawing:
    """A canvas of width x height points, y downwards."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.parts = []

    def line(self, x0, y0, x1, y1, colour="#333", width=1.0, dashed=False):
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(
            f'<line x1="{number(x0)}" y1="{number(y0)}" x2="{number(x1)}" y2="{number(y1)}" '
            f'stroke="{colour}" stroke-width="{number(width)}"{dash}/>'
        )

    def path(self, points, colour="#333", width=1.5):
        text = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(
            f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{number(width)}"/>'
        )

    def box(self, x, y, width, height, fill="none", colour="#333", stroke=1.0):
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
            f'fill="{fill}" stroke="{colour}" stroke-width="{number(stroke)}"/>'
        )

    def circle(self, x, y, radius, fill="#333", colour="none"):
        self.parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}" stroke="{colour}"/>'
        )

    def dots(self, points, radius, colour):
        """Draws discs of one size and colour as a path of points with round ends."""
        text = "".join(f"M{number(x)} {number(y)}h0" for x, y in points)
        self.parts.append(
            f'<path d="{text}" stroke="{colour}" stroke-width="{number(2 * radius)}" stroke-linecap="round"/>'
        )

    def text(self, x, y, words, size=12, anchor="start", colour="#222"):
        words = str(words).replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-family="sans-serif" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{colour}">{words}</text>'
        )

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}">\n<rect width="100%" height="100%" fill="white"/>\n'
            )
            file.write("\n".join(self.parts) + "\n</svg>\n")


class Plot(Drawing):
    """Curves over an x and a y axis, each linear or logarithmic."""

    def __init__(self, x_range, y_range, x_label, y_label, log_x=False, log_y=False, width=560, height=340):
        super().__init__(width, height)
        self.x_range, self.y_range, self.log_x, self.log_y = x_range, y_range, log_x, log_y
        self.left, self.right, self.top, self.bottom = 70, width - 150, 20, height - 50
        self.box(self.left, self.top, self.right - self.left, self.bottom - self.top, colour="#888")
        self.text((self.left + self.right) / 2, height - 12, x_label, anchor="middle")
        self.text(8, self.top - 6, y_label)
        self.curves = 0

    def place(self, value, limits, logarithmic, begin, end):
        import math

        low, high = limits
        if logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return begin + (value - low) / (high - low) * (end - begin)

    def at(self, x, y):
        return (
            self.place(x, self.x_range, self.log_x, self.left, self.right),
            self.place(y, self.y_range, self.log_y, self.bottom, self.top),
        )

    def tick_x(self, value, words):
        x, _ = self.at(value, self.y_range[0])
        self.line(x, self.bottom, x, self.bottom + 4)
        self.text(x, self.bottom + 18, words, 11, "middle")

    def tick_y(self, value, words):
        _, y = self.at(self.x_range[0], value)
        self.line(self.left - 4, y, self.left, y)
        self.line(self.left, y, self.right, y, "#e4e4e4", 0.7)
        self.text(self.left - 7, y + 4, words, 11, "end")

    def curve(self, points, name):
        colour = COLOURS[self.curves % len(COLOURS)]
        places = [self.at(x, y) for x, y in points]
        self.path(places, colour)
        self.dots(places, 2.5, colour)
        self.text(self.right + 10, self.top + 14 + 18 * self.curves, name, 12, colour=colour)
        self.curves += 1
