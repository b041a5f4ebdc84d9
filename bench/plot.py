# SPDX-License-Identifier: BSD-3-Clause
"""Plots as SVG, by text alone: a page of panels, each a series with a line for each MPI.

Both axes are logarithmic. A size of 0 has its place left of the smallest other one. The limits of
the machine are dashed and grey. A panel with a single size is drawn as marks with their values.
"""

import dataclasses
import math
from xml.sax.saxutils import escape

# Colours that are told apart also by those who see fewer of them (after Okabe and Ito).
COLOURS = ("#d55e00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#e69f00")
MARKS = ("circle", "square", "diamond", "triangle")
GREY = "#777777"
WIDTH, HEIGHT, WIDE, TALL = 400, 290, 820, 480  # of a panel, of the only one on a page
LEFT, RIGHT, TOP, BOTTOM = 62, 92, 30, 44       # around its axes
HEAD, COLUMNS, MARGIN = 64, 3, 12
LABEL_GAP = 12


@dataclasses.dataclass
class Line:
    label: str
    points: list  # [(x, y)], ascending
    limit: bool = False


@dataclasses.dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    lines: list


class Scale:
    """From numbers to places along an axis, logarithmic."""

    def __init__(self, low, high, begin, end):
        if high <= low:
            low, high = low / 2, high * 2
        self.low, self.high, self.begin, self.end = low, high, begin, end

    def __call__(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)


def nice_ticks(low, high, most=8):
    """Powers of ten, with 2 and 5 between them if that is not too many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0 ** power for power in decades for digit in digits]
        ticks = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(ticks) <= most:
            break
    return ticks


def value_text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def number_text(value):
    if value >= 1e4 or value < 1e-3:
        text = f"{value:.0e}"
        return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:.4g}"


def bytes_text(value):
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= unit and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def size_ticks(sizes, is_bytes, most=8):
    """Of the sizes that there are, every so many."""
    step = math.ceil(len(sizes) / most)
    text = bytes_text if is_bytes else number_text
    return [(size, text(size)) for size in sizes[::step]]


class Page:
    """Collects elements; no state but the text."""

    def __init__(self, width, height):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="white"/>']

    def line(self, x1, y1, x2, y2, colour, width=1.0):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}"/>')

    def path(self, points, colour, dashed):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{colour}" '
                          f'stroke-width="{1.2 if dashed else 1.8}"{dash}/>')

    def text(self, x, y, text, anchor="start", colour="#222222", more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'fill="{colour}"{more}>{escape(text)}</text>')

    def mark(self, x, y, shape, colour):
        shapes = {
            "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"',
            "square": f'<rect x="{x - 2.8:.1f}" y="{y - 2.8:.1f}" width="5.6" height="5.6"',
            "diamond": f'<path d="M{x:.1f} {y - 3.8:.1f}l3.8 3.8l-3.8 3.8l-3.8 -3.8z"',
            "triangle": f'<path d="M{x:.1f} {y - 3.8:.1f}l3.6 6.4h-7.2z"'}
        self.parts.append(shapes[shape] + f' fill="{colour}"/>')

    def svg(self):
        return "\n".join([*self.parts, "</svg>", ""])


def style_of(names, line):
    """(colour, mark) of a line: the same on the whole page."""
    if line.limit:
        return GREY, ""
    place = names.index(line.label)
    return COLOURS[place % len(COLOURS)], MARKS[place % len(MARKS)]


def spread(places, low, high):
    """Moves labels apart, so that none covers another; ordered as they were."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in zip(order, order[1:]):
        moved[after] = max(moved[after], moved[before] + LABEL_GAP)
    over = max(0, max(moved, default=low) - high)
    limit = math.inf
    for place in reversed(order):  # what went over the edge goes back, and pushes
        moved[place] = min(moved[place], limit, max(high, low) if over else math.inf)
        limit = moved[place] - LABEL_GAP
    return moved


def draw_axes(page, panel, sizes, x, y):
    page.text((x.begin + x.end) / 2, y.end - 10, panel.title, "middle",
              more=' font-weight="bold" font-size="12"')
    for size, text in size_ticks(sizes, "bytes" in panel.x_label):
        at = x(x_value(size, sizes))
        page.line(at, y.begin, at, y.end, "#e4e4e4")
        page.text(at, y.begin + 14, text, "middle")
    for tick in nice_ticks(y.low, y.high):
        page.line(x.begin, y(tick), x.end, y(tick), "#e4e4e4")
        page.text(x.begin - 5, y(tick) + 4, number_text(tick), "end")
    page.line(x.begin, y.begin, x.end, y.begin, "#222222")
    page.line(x.begin, y.begin, x.begin, y.end, "#222222")
    page.text((x.begin + x.end) / 2, y.begin + 31, panel.x_label, "middle")
    middle, left = (y.begin + y.end) / 2, x.begin - 46
    page.text(left, middle, panel.y_label, "middle",
              more=f' transform="rotate(-90 {left:.1f} {middle:.1f})"')


def x_value(size, sizes):
    """Where a size is drawn: 0 at half of the smallest other one."""
    others = [other for other in sizes if other > 0]
    return size if size > 0 else (min(others) / 2 if others else 1)


def draw_panel(page, panel, names, left, top, width, height):
    sizes = sorted({size for line in panel.lines if not line.limit for size, _ in line.points})
    values = [value for line in panel.lines for _, value in line.points]
    x = Scale(x_value(sizes[0], sizes), x_value(sizes[-1], sizes), left + LEFT,
              left + width - RIGHT)
    y = Scale(min(values) / 1.3, max(values) * 1.3, top + height - BOTTOM, top + TOP)
    draw_axes(page, panel, sizes, x, y)
    ends = []
    for line in panel.lines:
        colour, mark = style_of(names, line)
        points = [(x(x_value(size, sizes)), y(value)) for size, value in line.points]
        if len(sizes) == 1 and line.limit:
            points = [(x.begin, points[0][1]), (x.end, points[0][1])]
        page.path(points, colour, line.limit)
        if mark:
            for place in points:
                page.mark(*place, mark, colour)
        text = "limit" if line.limit else line.label
        if len(sizes) == 1:
            text += f" {value_text(line.points[-1][1])}"
        ends.append((points[-1], text, colour))
    moved = spread([place[1] for place, _, _ in ends], y.end, y.begin)
    for (place, text, colour), at in zip(ends, moved):
        page.text(place[0] + 6, at + 4, text, colour=colour, more=' font-size="10"')


def draw_legend(page, names, lines, y, width):
    """In as many rows as it needs."""
    x = MARGIN + 4
    for line in sorted(lines, key=lambda line: len(names) if line.limit else names.index(line.label)):
        label = f"limit: {line.label}" if line.limit else line.label
        space = 40 + 6.8 * len(label)
        if x + space > width and x > MARGIN + 4:
            x, y = MARGIN + 4, y + 16
        colour, mark = style_of(names, line)
        page.path([(x, y - 4), (x + 22, y - 4)], colour, line.limit)
        if mark:
            page.mark(x + 11, y - 4, mark, colour)
        page.text(x + 27, y, label)
        x += space


def write(path, title, notes, panels, names):
    """Draws the panels that have a line; returns whether there was one.

    A name has the same colour on all pages that are written with the same `names`.
    """
    panels = [panel for panel in panels if any(not line.limit for line in panel.lines)]
    if not panels:
        return False
    columns = min(COLUMNS, len(panels))
    size = (WIDE, TALL) if len(panels) == 1 else (WIDTH, HEIGHT)
    rows = math.ceil(len(panels) / columns)
    head = HEAD + 14 * len(notes)
    width, height = columns * size[0] + 2 * MARGIN, head + rows * size[1] + MARGIN
    page = Page(width, height)
    page.text(MARGIN + 4, 22, title, more=' font-size="16" font-weight="bold"')
    for number, note in enumerate(notes):
        page.text(MARGIN + 4, 38 + 14 * number, note, colour=GREY)
    lines = {line.label: line for panel in panels for line in panel.lines}
    draw_legend(page, names, lines.values(), 46 + 14 * len(notes), width)
    for number, panel in enumerate(panels):
        draw_panel(page, panel, names, MARGIN + number % columns * size[0],
                   head + number // columns * size[1], *size)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page.svg())
    return True
