"""smoke.py BINARY... - does every benchmark still run? One case of each, for a moment; the numbers mean nothing.

Also holds their names to what scripts/bench-compare reads: no two alike, and beside every limit its case.
"""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'scripts', 'lib'))
import bench_report  # noqa: E402
import bench_suite   # noqa: E402

MIN_TIME_S = 0.001


def first_of_each(cases):
    """The first arguments of every benchmark, which by custom are its smallest."""
    seen = {}
    for case in cases:
        seen.setdefault(case.partition('/')[0], case)
    return list(seen.values())


def name_faults(owners):
    """`owners`: case -> rooms that have it."""
    for case, rooms in owners.items():
        if len(rooms) > 1:
            yield f'{case}: the name is in {" and ".join(rooms)}'
        limit = bench_report.LIMIT.search(case)
        if limit and case[:limit.start()] + case[limit.end():] not in owners:
            yield f'{case}: a limit of nothing: {case[:limit.start()] + case[limit.end():]} is not there'
        elif '__limit' in case and not limit:
            yield f'{case}: a limit is named CASE__limit_WHAT, in small letters'


def main():
    started = time.monotonic()
    faults, owners, ran = [], {}, 0
    binaries = {os.path.basename(path).removeprefix('bench_'): path for path in sys.argv[1:]}
    for room, binary in binaries.items():
        try:
            cases = bench_suite.list_cases(binary)
            for case in cases:
                owners.setdefault(case, []).append(room)
            document = bench_suite.run(binary, first_of_each(cases), 1, MIN_TIME_S)
            _, wrong = bench_suite.merge([(room, document)])
            faults += wrong
            ran += len(document['benchmarks'])
        except bench_suite.Trouble as trouble:
            faults.append(f'{room}: {trouble}')
    faults += name_faults(owners)
    print(f'{ran} cases of {len(binaries)} rooms in {time.monotonic() - started:.1f} s')
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
