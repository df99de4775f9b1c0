"""Reads the reports of scripts/bench and judges one against another.

A report is Google Benchmark's JSON with every repetition in it, of all rooms, and the machine in its context. What is
judged is a ratio: a benchmark's time over that of the raw limit measured beside it in the same report, because a
ratio survives a change of machine and of its mood. The limit of `name/args` is called `name__limit_what/args`.
Absolute times are judged only where both reports were taken on one machine.
"""
import json
import math
import os
import re
import statistics
from dataclasses import dataclass, field

LIMIT = re.compile(r'__limit_([a-z0-9_]+)')

# The first pattern that matches the part of a benchmark's name in front of its arguments gives its category; the limits
# are in per cent. Packets come first: what handles them is on the critical path even where it takes one from a pool.
CATEGORIES = [
    # Each iteration starts threads, as the published code did: that is the kernel's time, which moves by itself. The same
    # work without it is the row s2_multi_thread_alloc.
    ('kernel', 50.0, re.compile(r'multi_thread_alloc_as_published')),
    ('critical', 10.0, re.compile(
        r'^s1_4_[14]_|per_packet|packet_sim|packet_processing|srmp|websocket|(?<![a-z])ws(?![a-z])|frame|length_field|parse|decode|'
        r'encode|emit|classify|varint|packet_number|qpack|huffman|header|checksum|mask|pipe(?![a-z])|append_read|'
        r'(?<![a-z])(seal|open)(?![a-z])|macswap|fwd')),
    ('allocator', 20.0, re.compile(r'pool|alloc|(?<![a-z])mixed|heap|region')),
    ('critical', 10.0, re.compile(r'packet')),
    ('default', 15.0, re.compile(r'')),
]
LEAST_REPETITIONS = 3
LEAST_STARTS = 3  # of a binary, before they are compared one by one
# A machine's mood, seen on the raw limits, which are none of our code: as many of them have to be in both reports, and
# beyond that much it is no mood any more but another machine, or a report that was meddled with.
LEAST_LIMITS_FOR_DRIFT = 5
MOST_DRIFT = 1.25
SCALE = {'ns': 1.0, 'us': 1e3, 'ms': 1e6, 's': 1e9}


class Unusable(Exception):
    """A report that cannot be judged; the text names the file."""


@dataclass
class Measured:
    """Repetitions of one benchmark: nanoseconds an iteration of CPU time."""
    times: list
    room: str = ''
    starts: list = field(default_factory=list)  # of each time: in which start of the binary it was taken; [] if unknown
    heap_calls: float = None  # the most that a repetition counted, of those that count them

    @property
    def median(self):
        return statistics.median(self.times)


@dataclass
class Report:
    context: dict
    cases: dict  # name -> Measured
    trouble: list = field(default_factory=list)  # what scripts/bench could not measure

    @property
    def partial(self):
        """Whether it was asked for a part of the suite only."""
        settings = self.context.get('settings')
        return isinstance(settings, dict) and bool(settings.get('filter') or settings.get('some_rooms'))

    @property
    def machine(self):
        """What makes two reports come from one machine; None when the report does not say."""
        machine = self.context.get('machine')
        return machine if isinstance(machine, dict) and machine.get('id') else None


@dataclass
class Verdict:
    name: str
    against: str          # what the time was divided by; 'time' for an absolute comparison
    category: str
    threshold: float      # per cent
    base: float = 0.0     # ratio, or ns
    new: float = 0.0
    change: float = 0.0   # per cent; above 0 is slower
    spread: float = 0.0   # per cent; the larger of the two reports
    word: str = 'ok'      # ok | faster | REGRESSION | noisy | few | new | missing | left out | no limit


def category_of(name):
    head = name.partition('/')[0]
    for category, threshold, pattern in CATEGORIES:
        if pattern.search(head):
            return category, threshold
    raise AssertionError('the last pattern matches everything')


def load(path):
    try:
        with open(path, encoding='utf-8') as file:
            document = json.load(file)
        cases = {}
        for entry in document['benchmarks']:
            if entry.get('run_type', 'iteration') != 'iteration' or entry.get('error_occurred'):
                continue
            name = re.sub(r'/(repeats|min_time|iterations):[^/]*', '', entry.get('run_name', entry['name']))
            case = cases.setdefault(name, Measured([], entry.get('room', '')))
            case.times.append(entry['cpu_time'] * SCALE[entry['time_unit']])
            if 'start' in entry:
                case.starts.append(int(entry['start']))
            if 'heap_calls' in entry:
                case.heap_calls = max(case.heap_calls or 0.0, entry['heap_calls'])
        context = document['context']
        if not isinstance(context, dict):
            raise TypeError('its context is no object')
    except OSError as trouble:
        raise Unusable(f'{path}: {trouble.strerror}') from trouble
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as trouble:
        raise Unusable(f'{path}: not a benchmark report ({trouble})') from trouble
    if not cases:
        raise Unusable(f'{path}: holds no benchmark')
    if any(not 0 < time < math.inf for case in cases.values() for time in case.times):
        raise Unusable(f'{path}: holds a time that is not above 0')
    trouble = document.get('trouble') or context.get('trouble') or []
    return Report(context, cases, [str(item) for item in trouble] if isinstance(trouble, list) else [str(trouble)])


def limits_of(name, cases):
    """(what, name of the limit) of each limit measured beside `name`, in the report's order."""
    head, _, arguments = name.partition('/')
    for other in cases:
        found = LIMIT.search(other)
        if found and other[:found.start()] == head and other.partition('/')[2] == arguments:
            yield found.group(1), other


def ratios(case, limit):
    """Repetition by repetition: scripts/bench interleaves them, so the n-th of both saw the same mood."""
    count = min(len(case.times), len(limit.times))
    return [case.times[i] / limit.times[i] for i in range(count)]


def floor(case, limit):
    """The ratio of the fastest repetitions of both."""
    return min(case.times) / min(limit.times)


def change_of(base, new):
    """Per cent; above 0 is slower."""
    return 100.0 * (new / base - 1.0)


def spread_of(values):
    """Per cent: the distance between the quartiles over the median. Outliers of a noisy machine do not decide."""
    if len(values) < LEAST_REPETITIONS:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method='inclusive')
    return 100.0 * (high - low) / statistics.median(values)


def by_start(values, case):
    """The median of each start of the binary; [] when the report does not say which value is of which start."""
    if len(case.starts) != len(case.times):
        return []
    groups = {}
    for value, start in zip(values, case.starts):
        groups.setdefault(start, []).append(value)
    return [statistics.median(group) for group in groups.values()]


def apart(slower, faster):
    """Whether every start of the one is slower than every start of the other. With too few starts nobody can say, and
    nothing is contradicted."""
    if min(len(slower), len(faster)) < LEAST_STARTS:
        return True
    return min(slower) > max(faster)


def judge_values(verdict, base, new, floor_change, starts=((), ())):
    """`floor_change`: per cent by which the fastest repetitions moved. Noise only ever adds time, so a change of the code
    shows in them as well; half the threshold is enough there, because the fastest of few is a rough figure.
    `starts`: what each start of the binary gave, of both."""
    verdict.base = statistics.median(base)
    verdict.new = statistics.median(new)
    verdict.change = change_of(verdict.base, verdict.new)
    verdict.spread = max(spread_of(base), spread_of(new))
    if min(len(base), len(new)) < LEAST_REPETITIONS:
        verdict.word = 'few'
    elif verdict.spread > verdict.threshold:
        verdict.word = 'noisy'
    elif abs(verdict.change) > verdict.threshold:
        slower = verdict.change > 0
        confirmed = floor_change * (1 if slower else -1) > verdict.threshold / 2
        confirmed = confirmed and (apart(starts[1], starts[0]) if slower else apart(starts[0], starts[1]))
        moved = 'REGRESSION' if verdict.change > 0 else 'faster'
        verdict.word = moved if confirmed else 'noisy'
    return verdict


def same_machine(base, new):
    return base.machine is not None and base.machine == new.machine


def drift_of(base, new):
    """How many times as long as in the base report the raw limits take, by their median; 1.0 when nobody can say."""
    changes = [case.median / base.cases[name].median for name, case in new.cases.items()
               if LIMIT.search(name) and name in base.cases]
    if len(changes) < LEAST_LIMITS_FOR_DRIFT:
        return 1.0
    drift = statistics.median(changes)
    return drift if 1 / MOST_DRIFT <= drift <= MOST_DRIFT else 1.0


def compare(base, new):
    """One verdict a benchmark and limit; limits themselves are not judged."""
    verdicts = []
    one_machine = same_machine(base, new)
    drift = drift_of(base, new)
    for name in list(base.cases) + [n for n in new.cases if n not in base.cases]:
        if LIMIT.search(name):
            continue
        category, threshold = category_of(name)
        if name not in new.cases or name not in base.cases:
            word = 'new' if name in new.cases else 'left out' if new.partial else 'missing'
            verdicts.append(Verdict(name, '-', category, threshold, word=word))
            continue
        judged = False
        new_limits = dict(limits_of(name, new.cases))
        for what, limit in limits_of(name, base.cases):
            if what not in new_limits:
                continue
            judged = True
            old_ratios = ratios(base.cases[name], base.cases[limit])
            new_ratios = ratios(new.cases[name], new.cases[new_limits[what]])
            verdicts.append(judge_values(Verdict(name, what, category, threshold), old_ratios, new_ratios,
                                         change_of(floor(base.cases[name], base.cases[limit]),
                                                   floor(new.cases[name], new.cases[new_limits[what]])),
                                         (by_start(old_ratios, base.cases[name]), by_start(new_ratios, new.cases[name]))))
        if one_machine:
            judged = True
            old_times, new_times = [time * drift for time in base.cases[name].times], new.cases[name].times
            verdicts.append(judge_values(Verdict(name, 'time', category, threshold), old_times, new_times,
                                         change_of(min(old_times), min(new_times)),
                                         (by_start(old_times, base.cases[name]), by_start(new_times, new.cases[name]))))
        if not judged:
            verdicts.append(Verdict(name, '-', category, threshold, word='no limit'))
    return verdicts


def machine_context():
    """What a report says of the machine: enough to tell two apart, nothing that names a host."""
    import hashlib
    model = 'unknown'
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            for line in file:
                if line.startswith('model name'):
                    model = line.partition(':')[2].strip()
                    break
    except OSError:
        pass
    identity = ''
    for path in ('/etc/machine-id', '/proc/sys/kernel/random/boot_id'):
        try:
            with open(path, encoding='utf-8') as file:
                identity += file.read().strip()
        except OSError:
            pass
    digest = hashlib.sha256(f'{identity}|{model}|{os.cpu_count()}'.encode()).hexdigest()[:16]
    return {'id': digest, 'cpu': model, 'cores': os.cpu_count(), 'kernel': os.uname().release}
