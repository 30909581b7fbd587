"""Draws the chapters' figures as SVG text. The output is deterministic."""

COLOURS = ("#1f5fa8", "#c4531d", "#2c8a4b", "#8a4ba0", "#7a7a7a", "#b8860b")


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Drawing:
    """A canvas of width x height points, y downwards. Texts are above all shapes."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.shapes, self.words = [], []

    def shape(self, data, style, filled=False):
        """Draws a path. Paths of one style become one element unless a filled shape comes between them."""
        for shape in reversed(self.shapes):
            if shape[1] == style:
                shape[0] += data
                return
            if filled or shape[2]:
                break
        self.shapes.append([data, style, filled])

    def line(self, x0, y0, x1, y1, colour="#333", width=1.0, dashed=False):
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.path([(x0, y0), (x1, y1)], colour, width, dash)

    def path(self, points, colour="#333", width=1.5, more=""):
        data = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.shape(data, f'stroke="{colour}" stroke-width="{number(width)}"{more}')

    def box(self, x, y, width, height, fill="none", colour="#333", stroke=1.0, apart=False):
        """Draws a rectangle. apart: it overlaps no other filled shape, so it may be drawn with earlier ones."""
        data = f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h{number(-width)}z"
        self.shape(data, f'fill="{fill}" stroke="{colour}" stroke-width="{number(stroke)}"', fill != "none" and not apart)

    def circle(self, x, y, radius, fill="#333", colour="none"):
        if colour == "none":  # a point with round ends
            style = f'stroke="{fill}" stroke-width="{number(2 * radius)}" stroke-linecap="round"'
            self.shape(f"M{number(x)} {number(y)}h0", style, True)
            return
        half = f"a{number(radius)} {number(radius)} 0 1 0 "
        data = f"M{number(x - radius)} {number(y)}{half}{number(2 * radius)} 0{half}{number(-2 * radius)} 0"
        self.shape(data, f'fill="{fill}" stroke="{colour}"', fill != "none")

    def dots(self, points, radius, colour):
        for x, y in points:
            self.circle(x, y, radius, colour)

    def text(self, x, y, words, size=12, anchor="start", colour="#222"):
        words = str(words).replace("&", "&amp;").replace("<", "&lt;")
        self.words.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{words}</text>'
        )

    def write(self, path):
        shapes = [f'<path d="{data}" {style}/>' for data, style, _ in self.shapes]
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}" fill="none" font-family="sans-serif">\n'
                '<rect width="100%" height="100%" fill="white"/>\n'
            )
            file.write("\n".join(shapes + self.words) + "\n</svg>\n")


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
