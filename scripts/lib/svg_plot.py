"""Plots as SVG text: points over a logarithmic axis, and lines over sizes. The same values give the same bytes.

Colours follow the reader's light or dark scheme; shapes differ as well as colours, so that neither is needed to tell the
series apart.
"""
import html
import math

FONT = 'font-family="system-ui, sans-serif" font-size="12"'
CHARACTER = 6.6  # pixels a character of that font takes, about
STYLE = '''<style>
.bg{fill:#fff}.text{fill:#1f2328}.faint{fill:#59636e}.grid{stroke:#d1d9e0}.minor{stroke:#eff2f5}
.s0{fill:#8250df;stroke:#8250df}.s1{fill:#9a6700;stroke:#9a6700}.s2{fill:#0969da;stroke:#0969da}
.s3{fill:#1a7f37;stroke:#1a7f37}.s4{fill:#bc4c00;stroke:#bc4c00}
@media (prefers-color-scheme: dark){
.bg{fill:#0d1117}.text{fill:#e6edf3}.faint{fill:#9198a1}.grid{stroke:#3d444d}.minor{stroke:#21262d}
.s0{fill:#bc8cff;stroke:#bc8cff}.s1{fill:#d29922;stroke:#d29922}.s2{fill:#4493f8;stroke:#4493f8}
.s3{fill:#3fb950;stroke:#3fb950}.s4{fill:#f0883e;stroke:#f0883e}}
</style>'''
WIDTH = 900
MARGIN = 16
ROW = 22
TOP = 78     # title, legend
BOTTOM = 44  # axis


def text(x, y, words, style='text', more=''):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}"{more}>{html.escape(str(words))}</text>'


def line(x1, y1, x2, y2, style, more=''):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"{more}/>'


def mark(series, x, y, title=''):
    """The shape of series number `series` around a point."""
    style = f's{series % 5}'
    shape = {
        0: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="{style}" style="fill:none;stroke-width:2"/>',
        1: f'<path d="M{x:.1f} {y - 5.5:.1f}l5 9.5h-10z" class="{style}" style="fill:none;stroke-width:2"/>',
        2: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{style}"/>',
        3: f'<path d="M{x:.1f} {y - 7:.1f}v14" class="{style}" style="stroke-width:3"/>',
        4: f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" class="{style}" style="stroke-width:2"/>',
    }[series % 5]
    return f'<g><title>{html.escape(title)}</title>{shape}</g>' if title else shape


def legend(names, x, y):
    out = []
    for number, name in names:
        out += [mark(number, x + 6, y - 4), text(x + 18, y, name)]
        x += 18 + len(name) * CHARACTER + 22
    return out


class LogAxis:
    """Values from `low` to `high`, widened to 1, 2 or 5 times a power of ten, on pixels from `start` to `end`."""
    def __init__(self, values, start, end):
        values = [v for v in values if v > 0] or [1.0]
        self.ticks = self._ticks(min(values), max(values))
        self.low, self.high = math.log10(self.ticks[0]), math.log10(self.ticks[-1])
        self.start, self.end = start, end

    @staticmethod
    def _ticks(low, high):
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
        steps = [float(f'{digit}e{power}') for power in powers for digit in (1, 2, 5)]
        first = max(i for i, step in enumerate(steps) if step <= low)
        last = min(i for i, step in enumerate(steps) if step >= high)
        return steps[first:max(last, first + 1) + 1]

    def at(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def labelled(self):
        """(value, whether it has a label): only powers of ten where there are many."""
        wide = len(self.ticks) > 10
        ends = (self.ticks[0], self.ticks[-1])
        for value in self.ticks:
            power = f'{value:e}'.startswith('1.')
            yield value, power or not wide or (value in ends and len(self.ticks) <= 12)


def start_of(height, title, subtitle):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'{FONT} role="img">', f'<title>{html.escape(title)}</title>', STYLE,
            f'<rect width="{WIDTH}" height="{height}" class="bg"/>',
            text(MARGIN, 24, title, more=' font-size="15" font-weight="600"'), text(MARGIN, 42, subtitle, 'faint')]


def points(title, subtitle, axis_label, rows, names, show):
    """`rows`: (label, {series: value}); `names`: (series, name) in the order of the legend; `show(value)`: with unit."""
    height = TOP + len(rows) * ROW + BOTTOM
    left = MARGIN + max([len(label) for label, _ in rows] + [10]) * CHARACTER + 12
    left = min(left, WIDTH * 0.5)
    axis = LogAxis([v for _, values in rows for v in values.values()], left, WIDTH - 2 * MARGIN - 20)
    bottom = height - BOTTOM
    out = start_of(height, title, subtitle) + legend(names, MARGIN, 62)
    for value, has_label in axis.labelled():
        x = axis.at(value)
        out.append(line(x, TOP, x, bottom, 'grid' if has_label else 'minor'))
        if has_label:
            out.append(text(x, bottom + 16, show(value), 'faint', ' text-anchor="middle"'))
    out.append(text((axis.start + axis.end) / 2, bottom + 34, axis_label, 'faint', ' text-anchor="middle"'))
    known = dict(names)
    for i, (label, values) in enumerate(rows):
        y = TOP + i * ROW + ROW / 2
        places = [axis.at(v) for v in values.values()]
        if len(places) > 1:
            out.append(line(min(places), y, max(places), y, 'grid', ' stroke-width="2"'))
        out.append(text(left - 10, y + 4, label, more=' text-anchor="end"'))
        out += [mark(series, axis.at(v), y, f'{label}, {known[series]}: {show(v)}') for series, v in values.items()]
    return '\n'.join(out + ['</svg>']) + '\n'


def lines(title, subtitle, axis_labels, series, names, shows):
    """`series`: number -> [(x, y)]; both axes logarithmic; `axis_labels` and `shows`: (of x, of y)."""
    top = TOP + ROW  # the vertical axis has its label above it
    height = top + 300 + BOTTOM
    every = [point for line_of in series.values() for point in line_of]
    horizontal = LogAxis([x for x, _ in every], MARGIN + 76, WIDTH - 2 * MARGIN - 20)
    horizontal.ticks = sorted({x for x, _ in every})
    horizontal.low, horizontal.high = math.log10(horizontal.ticks[0]), math.log10(horizontal.ticks[-1] * 1.0001)
    bottom = height - BOTTOM
    vertical = LogAxis([y for _, y in every], bottom, top + 6)
    out = start_of(height, title, subtitle) + legend(names, MARGIN, 62)
    for value in horizontal.ticks:
        x = horizontal.at(value)
        out += [line(x, top, x, bottom, 'minor'),
                text(x, bottom + 16, shows[0](value), 'faint', ' text-anchor="middle"')]
    for value, has_label in vertical.labelled():
        y = vertical.at(value)
        out.append(line(horizontal.start, y, horizontal.end, y, 'grid' if has_label else 'minor'))
        if has_label:
            out.append(text(horizontal.start - 8, y + 4, shows[1](value), 'faint', ' text-anchor="end"'))
    out.append(text((horizontal.start + horizontal.end) / 2, bottom + 34, axis_labels[0], 'faint', ' text-anchor="middle"'))
    out.append(text(MARGIN, top - 8, axis_labels[1], 'faint'))
    known = dict(names)
    for number, line_of in sorted(series.items()):
        places = [(horizontal.at(x), vertical.at(y)) for x, y in sorted(line_of)]
        path = 'M' + 'L'.join(f'{x:.1f} {y:.1f}' for x, y in places)
        out.append(f'<path d="{path}" class="s{number % 5}" style="fill:none;stroke-width:1.5"/>')
        out += [mark(number, x, y, f'{known[number]}, {shows[0](value[0])}: {shows[1](value[1])}')
                for (x, y), value in zip(places, sorted(line_of))]
    return '\n'.join(out + ['</svg>']) + '\n'
