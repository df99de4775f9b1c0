"""Runs the benchmark binaries and makes one report of what they measured.

A binary is a room's: bench/bench_ROOM. Its cases are rounds of repetitions: each round starts every binary afresh and
runs its repetitions in random order, so that a case, its limit and its neighbours see the same moods of the machine,
and what depends on where a process happens to lie in memory shows as spread instead of hiding as bias.
"""
import datetime
import json
import os
import re
import subprocess
import tempfile

import bench_report
import builds

# What a case may have beside its times: its own counters are kept as well, these are not.
# What no reader of ours looks at; a report of all rooms holds thousands of repetitions, and baselines are kept in git.
NOT_KEPT = ('family_index', 'per_family_instance_index', 'repetitions', 'threads', 'aggregate_name', 'aggregate_unit',
            'run_name', 'run_type', 'iterations', 'real_time', 'items_per_second', 'bytes_per_second')
# Of Google Benchmark's context; it also names the host and the binary's folder.
KEPT_CONTEXT = ('caches', 'mhz_per_cpu', 'cpu_scaling_enabled')
DIGITS = 6
TIMEOUT_S = 1800


class Trouble(Exception):
    """What went wrong with a binary or a case; the text names it."""


def selector(expression):
    """A predicate over (words of the room, room, case).

    The expression has to match whole words of "WORDS ROOM/CASE", where a word is a run of letters and digits: `pipe`
    selects `s1_pipe_take/64` and all of a room that has the word, not `pipeline`; `ws` does not select `flows`.
    """
    if expression in (None, '', '.'):
        return lambda words, room, case: True
    try:
        pattern = re.compile(rf'(?<![A-Za-z0-9])(?:{expression})(?![A-Za-z0-9])')
    except re.error as error:
        raise Trouble(f'--filter {expression!r}: {error}') from error
    return lambda words, room, case: bool(pattern.search(f'{" ".join(words)} {room}/{case}'))


def choose(cases, chosen):
    """Of `cases`, in their order, those that `chosen` takes, and the limits of each."""
    taken = {case for case in cases if chosen(case)}
    for case in list(taken):
        taken.update(limit for _, limit in bench_report.limits_of(case, cases))
    return [case for case in cases if case in taken]


def exactly(cases):
    """An expression for Google Benchmark that matches these cases and no others."""
    return '^(' + '|'.join(re.sub(r'([.\[\](){}*+?^$|\\])', r'\\\1', case) for case in cases) + ')$'


def list_cases(binary):
    try:
        done = subprocess.run([binary, '--benchmark_list_tests'], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as late:
        raise Trouble(f'did not list its cases in {TIMEOUT_S} s') from late
    if done.returncode:
        raise Trouble(how_it_ended(done))
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def how_it_ended(done):
    """Of a process that failed: its status or signal, and the last line it wrote."""
    ended = f'signal {-done.returncode}' if done.returncode < 0 else f'exit status {done.returncode}'
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith('***WARNING***')]
    return f'{ended}: {said[-1].strip()}' if said else ended


def run(binary, cases, repetitions, min_time):
    """Google Benchmark's report of one start of a binary."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'report.json')
        limit_s = TIMEOUT_S + 20 * len(cases) * repetitions * min_time
        try:
            done = subprocess.run([binary, f'--benchmark_filter={exactly(cases)}', f'--benchmark_min_time={min_time}',
                                   f'--benchmark_repetitions={repetitions}',
                                   '--benchmark_enable_random_interleaving=true', f'--benchmark_out={path}',
                                   '--benchmark_out_format=json'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=limit_s)
        except subprocess.TimeoutExpired as late:
            raise Trouble(f'did not end in {limit_s:.0f} s') from late
        if done.returncode:
            raise Trouble(how_it_ended(done))
        try:
            with open(path, encoding='utf-8') as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise Trouble(f'left no report: {error}') from error


def short(value):
    return float(f'{value:.{DIGITS}g}') if isinstance(value, float) else value


def entry_of(case, room, index, start):
    """One repetition as our report keeps it; `start` counts the starts of its binary."""
    name = case.get('run_name', case['name'])
    kept = {'name': name, 'room': room, 'repetition_index': index, 'start': start}
    for key, value in case.items():
        if key not in NOT_KEPT and key not in kept:
            kept[key] = short(value)
    return kept


def merge(parts, order=()):
    """`parts`: (room, Google Benchmark's report) in the order of running -> (entries, what is wrong).

    Repetitions of one case are numbered through all its rounds; aggregates are left out, as bench_report makes its own.
    An entry with an error is left out and named. Cases stand as in `order`, others behind them as they came: a report
    that ran in random order is the same report.
    """
    entries, wrong, owner, count, starts = [], [], {}, {}, {}
    for room, document in parts:
        starts[room] = starts.get(room, -1) + 1
        for case in document.get('benchmarks', []):
            if case.get('run_type', 'iteration') != 'iteration':
                continue
            name = case.get('run_name', case['name'])
            if case.get('error_occurred'):
                wrong.append(f'{room}/{name}: {case.get("error_message") or "error"}')
                continue
            if owner.setdefault(name, room) != room:
                wrong.append(f'{room}/{name}: {owner[name]} has a case of this name, too')
                continue
            count[name] = count.get(name, 0) + 1
            entries.append(entry_of(case, room, count[name] - 1, starts[room]))
    place = {name: i for i, name in enumerate(dict.fromkeys([*order, *owner]))}
    entries.sort(key=lambda e: place[e['name']])
    return entries, list(dict.fromkeys(wrong))


def revision():
    """(short hash or None, whether files differ from it)."""
    def git(*words):
        return subprocess.run(['git', '-C', builds.ROOT, *words], capture_output=True, text=True, check=False)
    head = git('rev-parse', '--short=12', 'HEAD')
    if head.returncode:
        return None, False
    return head.stdout.strip(), bool(git('status', '--porcelain', '--untracked-files=no').stdout.strip())


def load_average():
    return [round(value, 2) for value in os.getloadavg()]


def compiler(build):
    """What the compiler of the build calls itself."""
    for target in builds.introspect(build, 'targets'):
        for source in target.get('target_sources', []):
            if source.get('compiler'):
                done = subprocess.run([*source['compiler'], '--version'], capture_output=True, text=True, check=False)
                return (done.stdout.splitlines() or ['unknown'])[0]
    return 'unknown'


def context(build, documents, settings, load_at_start):
    """What a reader of the numbers has to know; nothing that names a host, a user or a folder."""
    head, changed = revision()
    made = {
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
        'revision': head,
        'changed_since': changed,
        'machine': bench_report.machine_context(),
        'build': {'compiler': compiler(build), 'isa': builds.option(build, 'isa'),
                  'type': builds.option(build, 'buildtype')},
        'hugepages': 'MILLRACE_BENCH_HUGE' in os.environ,
        'load_average': {'start': load_at_start, 'end': load_average()},
        'settings': settings,
    }
    for document in documents[:1]:
        for key in KEPT_CONTEXT:
            if key in document.get('context', {}):
                made[key] = document['context'][key]
    return made


def write(path, context_of, entries, wrong):
    """One entry a line, so that a report that is kept shows its differences."""
    lines = [json.dumps(entry) for entry in entries]
    text = ('{\n"context": ' + json.dumps(context_of, indent=1) + ',\n"trouble": ' + json.dumps(wrong) +
            ',\n"benchmarks": [\n' + ',\n'.join(lines) + '\n]\n}\n')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
