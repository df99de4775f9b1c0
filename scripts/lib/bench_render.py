"""Tables and plots of a report: the published figures, ours, the raw limits beside ours, and the ratios.

docs/perf/published.json holds what others published and which of our benchmarks answers each figure; nothing in the
pages is written by hand, and the same report gives the same bytes.
"""
import json
import os

import bench_report
import svg_plot

PAGE = 'results.md'
PUBLISHED = 'published.json'
SERIES = ((0, 'published'), (1, 'published, its best case'), (2, 'millrace'), (3, 'raw limit'))
UNITS = ((1e9, 's'), (1e6, 'ms'), (1e3, 'us'), (1.0, 'ns'))


class Unusable(Exception):
    """published.json that does not hold together."""


def show_ns(value):
    for size, unit in UNITS:
        if value >= size * 0.9995 or unit == 'ns':
            return f'{value / size:.3g} {unit}'
    raise AssertionError('the last unit takes everything')


def show_rate(value):
    return f'{value:.3g} GiB/s'


def show_size(value):
    for size, unit in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if value >= size and value % size == 0:
            return f'{value // size:.0f} {unit}'
    return f'{value:.0f}'


def times(value):
    return f'{value:.2g}' if value < 10 else f'{value:.0f}'


class Figure:
    """One published number and what we have for it."""
    def __init__(self, table, row, argument, values, cases):
        self.what, self.label = row['what'], argument.get('label', argument.get('at', ''))
        self.published, self.best = values
        self.target, self.note = argument.get('target', row.get('target')), row.get('note', '')
        self.rate_bytes = None
        at = argument.get('at', '')
        self.size = int(at) if at.isdigit() else None
        if table.get('unit', 'ns') == 'GiB/s':
            self.rate_bytes = argument['bytes']
        name = row.get('ours')
        self.name = name.replace('{}', at) if name else None
        case = cases.get(self.name)
        per = row.get('per', 1) * argument.get('per', 1)
        self.ours = self.value(case.median / per) if case else None
        self.spread = bench_report.spread_of(case.times) if case else 0.0
        # Bytes that they allocate each time, and how often we call the heap at all; None: not said, not counted.
        self.heap, self.heap_calls = row.get('heap'), case.heap_calls if case else None
        self.limits = []
        if case:
            self.limits = [(what, self.value(cases[limit].median / per), self.ratio(case, cases[limit]))
                           for what, limit in bench_report.limits_of(self.name, cases)]

    def value(self, ns):
        """In the table's unit."""
        return ns if self.rate_bytes is None else self.rate_bytes / ns * 1e9 / (1 << 30)

    @staticmethod
    def ratio(case, limit):
        return case.median / limit.median

    def gain(self, other):
        """How many times ours is better than `other`."""
        return other / self.ours if self.rate_bytes is None else self.ours / other

    def show(self, value):
        if value is None:
            return ''
        return show_ns(value) if self.rate_bytes is None else show_rate(value)


def load_published(folder):
    path = os.path.join(folder, PUBLISHED)
    try:
        with open(path, encoding='utf-8') as file:
            document = json.load(file)
        for table in document['tables']:
            if table['source'] not in document['sources']:
                raise Unusable(f'{path}: table {table["id"]} names no known source')
        return document
    except OSError as trouble:
        raise Unusable(f'{path}: {trouble.strerror}') from trouble
    except (ValueError, KeyError, TypeError) as trouble:
        raise Unusable(f'{path}: {trouble!r}') from trouble


def figures_of(table, cases):
    found = []
    for row in table['rows']:
        for argument in row['figures']:
            found.append(Figure(table, row, argument, (argument.get('published'), argument.get('best')), cases))
    return found


def cell(value):
    return str(value).replace('|', '\\|')


def table_lines(header, rows, right):
    lines = ['| ' + ' | '.join(header) + ' |',
             '|' + '|'.join(' ---: ' if i in right else ' --- ' for i in range(len(header))) + '|']
    return lines + ['| ' + ' | '.join(cell(c) for c in row) + ' |' for row in rows]


def heap_words(figure):
    theirs = '' if figure.heap is None else f'{figure.heap} B'
    return theirs if figure.heap_calls is None else f'{theirs} / {figure.heap_calls:.0f} calls'.removeprefix(' / ')


def figure_row(figure, with_best, with_heap):
    row = [figure.what, figure.label, figure.show(figure.published)]
    if with_best:
        row.append(figure.show(figure.best))
    heap = [heap_words(figure)] if with_heap else []
    if figure.ours is None:
        why = f'not measured: {figure.note}' if figure.note else 'not in this report'
        return row + [why, '', '', ''] + heap + ['']
    gains = [times(figure.gain(other)) for other in (figure.published, figure.best) if other]
    target = ''
    if figure.target is not None:
        met = figure.ours <= figure.target if figure.rate_bytes is None else figure.ours >= figure.target
        target = f'{figure.show(figure.target)}: {"met" if met else "missed"}'
    limits = '; '.join(f'{what} {figure.show(value)}' for what, value, _ in figure.limits)
    return row + [figure.show(figure.ours), ' / '.join(gains), limits,
                  '; '.join(f'{ratio:.2f}' for _, _, ratio in figure.limits)] + heap + [target]


def table_page(document, table, figures):
    source = document['sources'][table['source']]
    with_best = any(f.best for f in figures)
    header = ['row', 'case', 'published'] + (['best case'] if with_best else [])
    with_heap = any(f.heap is not None or f.heap_calls is not None for f in figures)
    header += ['millrace', 'times better', 'raw limit beside it', 'time / limit']
    header += (['heap, theirs / ours'] if with_heap else []) + ['target']
    first = 2
    lines = [f'## {table["title"]}', '', f'Published: {source["title"]}; {source["machine"]}.']
    lines += [table['text']] if table.get('text') else []
    lines += ['']
    lines += table_lines(header, [figure_row(f, with_best, with_heap) for f in figures], range(first, len(header) - 1))
    return lines


def plot_of(table, figures, subtitle):
    shown = [f for f in figures if f.ours is not None]
    if not shown:
        return None
    unit = 'time of one operation, logarithmic' if shown[0].rate_bytes is None else 'throughput, logarithmic'
    show = shown[0].show
    if table.get('plot') == 'lines' and all(f.size for f in shown) and len({f.size for f in shown}) > 1:
        series = {}
        for f in shown:
            values = {0: f.published, 1: f.best, 2: f.ours, 3: f.limits[0][1] if f.limits else None}
            for number, value in values.items():
                if value:
                    series.setdefault(number, []).append((f.size, value))
        names = [(number, name) for number, name in SERIES if number in series]
        return svg_plot.lines(table['title'], subtitle, ('bytes', unit), series, names, (show_size, show))
    rows = []
    for f in shown:
        values = {number: value for number, value in ((0, f.published), (1, f.best), (2, f.ours)) if value}
        if f.limits:
            # Several limits: the one that is hardest to reach.
            values[3] = min((v for _, v, _ in f.limits)) if f.rate_bytes is None else max((v for _, v, _ in f.limits))
        rows.append((f'{f.what}, {f.label}' if f.label else f.what, values))
    used = {number for _, values in rows for number in values}
    return svg_plot.points(table['title'], subtitle, unit, rows, [s for s in SERIES if s[0] in used], show)


def machine_words(context):
    machine = context.get('machine') or {}
    build = context.get('build') or {}
    words = [machine.get('cpu', 'unknown CPU'), f'{machine.get("cores", "?")} logical cores']
    if machine.get('kernel'):
        words.append(f'Linux {machine["kernel"]}')
    if build:
        words.append(f'{build.get("compiler")}, {build.get("isa")}, {build.get("type")}')
    words.append('hugepages' if context.get('hugepages') else 'without hugepages')
    return ', '.join(words)


def context_lines(context):
    load = context.get('load_average') or {}
    settings = context.get('settings') or {}
    lines = [f'- Machine: {machine_words(context)}.']
    if context.get('caches'):
        caches = [f'L{c["level"]} {c["type"].lower()} {show_size(c["size"])}' for c in context['caches']]
        lines.append(f'- Caches: {", ".join(caches)}.')
    if context.get('revision'):
        lines.append(f'- Revision {context["revision"]}{", with changes" if context.get("changed_since") else ""}, '
                     f'{context.get("date", "")}.')
    if load:
        lines.append(f'- Load average {load["start"][0]} at the start, {load["end"][0]} at the end.')
    if settings:
        lines.append(f'- {settings.get("rounds")} rounds of {settings.get("repetitions")} repetitions of at least '
                     f'{settings.get("min_time")} s; medians of CPU time.')
    return lines


def everything_lines(report):
    lines = ['## Everything measured', '',
             'Spread is the distance between the quartiles over the median. The gate is what scripts/bench-compare allows a',
             'case to lose.']
    rooms = {}
    for name, case in report.cases.items():
        rooms.setdefault(case.room or 'unnamed', []).append((name, case))
    for room, cases in sorted(rooms.items()):
        rows = []
        for name, case in cases:
            if bench_report.LIMIT.search(name):
                continue
            limits = [(what, report.cases[limit]) for what, limit in bench_report.limits_of(name, report.cases)]
            rows.append((f'`{name}`', show_ns(case.median), f'{bench_report.spread_of(case.times):.1f} %',
                         '; '.join(f'{what} {show_ns(limit.median)}' for what, limit in limits),
                         '; '.join(f'{case.median / limit.median:.2f}' for _, limit in limits),
                         f'{bench_report.category_of(name)[1]:.0f} %'))
        if rows:
            lines += ['', f'### {room}', '']
            lines += table_lines(['case', 'median', 'spread', 'raw limit', 'time / limit', 'gate'], rows, range(1, 6))
    return lines


def pages(report, document):
    """File name -> text."""
    made = {}
    lines = ['# Measured', '', '<!-- Made by scripts/bench-render; what is written here by hand is lost. -->', '',
             'What the columns mean, how to measure and how to compare: [README.md](README.md).', '']
    lines += context_lines(report.context)
    machine = (report.context.get('machine') or {}).get('cpu', 'unknown CPU')
    for table in document['tables']:
        figures = figures_of(table, report.cases)
        lines += [''] + table_page(document, table, figures)
        plot = plot_of(table, figures, f'millrace on {machine}; published: {document["sources"][table["source"]]["short"]}')
        if plot:
            made[f'{table["id"]}.svg'] = plot
            lines += ['', f'![{table["title"]}]({table["id"]}.svg)']
    lines += [''] + everything_lines(report)
    made[PAGE] = '\n'.join(lines) + '\n'
    return made


def write_pages(report, folder):
    """Writes all pages into `folder`, which holds published.json; answers their names."""
    made = pages(report, load_published(folder))
    for name, text in made.items():
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
    return sorted(made)
