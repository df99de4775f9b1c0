"""Names for addresses: from the symbol tables of the files that /proc/PID/maps lists."""
import bisect
import os
import re
import subprocess


def short(name):
    """A C++ name as people say it: without template arguments, parameters and our own namespace."""
    name = name.replace('(anonymous namespace)::', '').replace('millrace::', '')
    depth, out = 0, []
    for character in name:
        if character == '<' and not ''.join(out[-8:]).endswith('operator'):
            depth += 1
        elif character == '>' and depth:
            depth -= 1
        elif not depth:
            if character == '(':
                break
            out.append(character)
    return ''.join(out).strip().rpartition(' ')[2] or name


class Module:
    def __init__(self, path):
        self.path = path
        self.starts, self.names = [], []
        for options in (['-C', '--defined-only'], ['-C', '-D', '--defined-only']):
            done = subprocess.run(['nm', *options, path], capture_output=True, text=True, check=False)
            table = []
            for line in done.stdout.splitlines():
                found = re.match(r'([0-9a-f]+) [tTwWiuV] (.*)', line)
                if found:
                    table.append((int(found.group(1), 16), found.group(2)))
            if table:
                table.sort()
                self.starts = [start for start, _ in table]
                self.names = [name for _, name in table]
                return

    def name(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return short(self.names[i]) if i >= 0 else f'[{os.path.basename(self.path)}]'


class Maps:
    """`lines`: of /proc/PID/maps."""
    def __init__(self, lines):
        self.ranges = []  # (start, end, base, path)
        bases = {}
        for line in lines:
            found = re.match(r'([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+\s*(.*)', line)
            if not found:
                continue
            start, end, path = int(found.group(1), 16), int(found.group(2), 16), found.group(5)
            if not path:
                continue
            bases.setdefault(path, start - int(found.group(4), 16))
            if 'x' in found.group(3):
                self.ranges.append((start, end, bases[path], path))
        self.ranges.sort()
        self.starts = [r[0] for r in self.ranges]
        self.modules = {}
        self.cache = {}

    def name(self, address):
        if address not in self.cache:
            self.cache[address] = self.look_up(address)
        return self.cache[address]

    def look_up(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0 or address >= self.ranges[i][1]:
            return '[unknown]'
        _, _, base, path = self.ranges[i]
        if not os.path.exists(path):
            return path if path.startswith('[') else f'[{os.path.basename(path)}]'
        module = self.modules.setdefault(path, None) or Module(path)
        self.modules[path] = module
        return module.name(address - base if is_movable(path) else address)


def is_movable(path):
    """ELF type 3: position-independent; type 2 is linked at its addresses."""
    with open(path, 'rb') as file:
        header = file.read(18)
    return len(header) == 18 and header[16] == 3
