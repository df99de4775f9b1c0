"""Stacks to pictures: collapsed stacks (one a line, outermost first, `;` between, then a count) and a flame graph."""
import html

WIDTH = 1200
ROW = 17
MARGIN = 10
LEAST_WIDTH = 0.4  # pixels; narrower boxes are left out
CHARACTER = 6.6    # pixels of the font below
UNKNOWN = '[unknown]'


class Node:
    def __init__(self, name):
        self.name = name
        self.count = 0
        self.children = {}

    def child(self, name):
        return self.children.setdefault(name, Node(name))


def collapse(stacks):
    """`stacks`: iterable of (names outermost first, count) -> sorted collapsed lines.

    Frames without a name that follow one another become one: what a library without frame pointers leaves on the stack
    can look like dozens of them.
    """
    sums = {}
    for names, count in stacks:
        named = [name for i, name in enumerate(names) if name != UNKNOWN or i == 0 or names[i - 1] != UNKNOWN]
        key = ';'.join(name.replace(';', ':').replace(' ', '_') for name in named)
        sums[key] = sums.get(key, 0) + count
    return [f'{key} {count}' for key, count in sorted(sums.items())]


def parse(lines):
    for line in lines:
        stack, _, count = line.rstrip('\n').rpartition(' ')
        if stack:
            yield stack.split(';'), int(count)


def self_times(lines):
    """(function, samples at the top of the stack), most first."""
    sums = {}
    for names, count in parse(lines):
        sums[names[-1]] = sums.get(names[-1], 0) + count
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def tree(lines):
    root = Node('all')
    for names, count in parse(lines):
        root.count += count
        node = root
        for name in names:
            node = node.child(name)
            node.count += count
    return root


def colour(name):
    """The same function has the same warm colour in every picture."""
    seed = sum((i + 1) * ord(c) for i, c in enumerate(name))
    return f'hsl({seed % 47},{60 + seed % 30}%,{58 + seed % 14}%)'


def box(node, x, width, y, total):
    share = 100.0 * node.count / total
    title = html.escape(f'{node.name}: {node.count} samples, {share:.2f} %')
    room = int((width - 4) / CHARACTER)
    label = node.name if len(node.name) <= room else node.name[:max(room - 2, 0)] + '..'
    text = f'<text x="{x + 3:.1f}" y="{y + ROW - 5}">{html.escape(label)}</text>' if room > 2 else ''
    return (f'<g><title>{title}</title><rect x="{x:.2f}" y="{y}" width="{max(width - 0.5, 0.2):.2f}" '
            f'height="{ROW - 1}" fill="{colour(node.name)}"/>{text}</g>')


def places(root):
    """(node, x, width, level) of every box that is wide enough to be drawn."""
    scale = (WIDTH - 2 * MARGIN) / root.count if root.count else 0.0
    pending = [(root, float(MARGIN), 0)]
    while pending:
        node, x, level = pending.pop()
        if node.count * scale < LEAST_WIDTH:
            continue
        yield node, x, node.count * scale, level
        for child in sorted(node.children.values(), key=lambda c: c.name):
            pending.append((child, x, level + 1))
            x += child.count * scale


def svg(lines, title):
    root = tree(lines)
    boxes = list(places(root))
    depth = max((level for _, _, _, level in boxes), default=0) + 1
    height = depth * ROW + 2 * MARGIN + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11">',
           '<style>rect{stroke:#fff;stroke-width:.3}g:hover rect{stroke:#000;stroke-width:1}</style>',
           f'<rect width="{WIDTH}" height="{height}" fill="#fdfcf8"/>',
           f'<text x="{MARGIN}" y="{MARGIN + 12}" font-size="13">{html.escape(title)}: {root.count} samples</text>']
    out += [box(node, x, width, height - MARGIN - (level + 1) * ROW, root.count) for node, x, width, level in boxes]
    out.append('</svg>')
    return '\n'.join(out) + '\n'
