"""What scripts/bench runs and how it makes one report of many, on made-up binaries and reports."""
import importlib.machinery
import importlib.util
import json
import os
import stat
import sys
import tempfile
import unittest

SOURCE = os.environ.get('MILLRACE_SOURCE') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'scripts', 'lib'))
import bench_report  # noqa: E402
import bench_suite   # noqa: E402

# A binary that behaves as Google Benchmark does, as far as we ask it to.
FAKE = '''#!/usr/bin/python3
import json, re, sys
options = dict(a.removeprefix('--benchmark_').partition('=')[::2] for a in sys.argv[1:])
cases = {cases}
if 'list_tests' in options:
    print('\\n'.join(cases))
    sys.exit({list_status})
picked = [c for c in cases if re.search(options['filter'], c)]
print('working hard', file=sys.stderr)
json.dump({{'context': {{'host_name': 'secret', 'executable': '/secret', 'mhz_per_cpu': 5}}, 'benchmarks': [
    {{'name': c, 'run_name': c, 'run_type': 'iteration', 'repetition_index': i, 'cpu_time': 1.0 + i, 'real_time': 9.0,
      'time_unit': 'ns', 'iterations': 3, 'threads': 1, 'repetitions': int(options['repetitions'])}}
    for c in picked for i in range(int(options['repetitions']))]}}, open(options['out'], 'w'))
sys.exit({status})
'''


def iteration(name, time=1.0, **more):
    return {'name': name, 'run_name': name, 'run_type': 'iteration', 'cpu_time': time, 'real_time': time,
            'time_unit': 'ns', 'iterations': 7, **more}


class Filter(unittest.TestCase):
    def selects(self, expression, words, room, case):
        return bench_suite.selector(expression)(words, room, case)

    def test_matches_whole_words_of_room_and_case(self):
        for expression, words, room, case, expected in (
                ('pipe|srmp|ws|pool|buffer', ['buffer', 'pipe'], 'buf', 's1_4_1_append_read/64', True),
                ('pipe|srmp|ws|pool|buffer', ['pool'], 'mem', 's2_mixed', True),
                ('pipe|srmp|ws|pool|buffer', [], 'srmp', 's1_4_4_build/64', True),
                ('pipe|srmp|ws|pool|buffer', [], 'ws', 'unmask/64', True),
                ('pipe|srmp|ws|pool|buffer', [], 'loadgen', 'fill/srmp/size:91', True),
                ('pipe|srmp|ws|pool|buffer', ['stage'], 'pipeline', 'generate/size:64/flows:64', False),
                ('pipe|srmp|ws|pool|buffer', [], 'quic', 'quic_parse_short_header', False),
                ('varint', [], 'quic', 's2_varint_encode/8', True),
                ('short_header.*', [], 'quic', 'quic_parse_short_header', True),
                ('quic/.*parse', [], 'quic', 'quic_parse_ack/4', True),
                ('pars', [], 'quic', 'quic_parse_ack/4', False)):
            self.assertEqual(self.selects(expression, words, room, case), expected, (expression, room, case))

    def test_nothing_and_a_dot_select_everything(self):
        for expression in (None, '', '.', '.*'):
            self.assertTrue(self.selects(expression, [], 'quic', 'case/1'))

    def test_refuses_what_is_no_expression(self):
        with self.assertRaises(bench_suite.Trouble):
            bench_suite.selector('(')

    def test_limits_come_along_with_their_case_alone(self):
        cases = ['pipe/1', 'pipe/2', 'pipe__limit_memcpy/1', 'pipe__limit_memcpy/2', 'pipe__limit_load/1', 'other']
        self.assertEqual(bench_suite.choose(cases, lambda case: case == 'pipe/1'),
                         ['pipe/1', 'pipe__limit_memcpy/1', 'pipe__limit_load/1'])

    def test_an_exact_expression_escapes(self):
        import re
        cases = ['a.b/long%:1', 'c(d)+[e]']
        pattern = bench_suite.exactly(cases)
        self.assertTrue(all(re.search(pattern, case) for case in cases))
        self.assertFalse(re.search(pattern, 'axb/long%:1') or re.search(pattern, 'c(d)+[e]/1'))


class Merge(unittest.TestCase):
    def test_numbers_repetitions_through_all_rounds_and_keeps_rooms_order(self):
        entries, wrong = bench_suite.merge([
            ('mem', {'benchmarks': [iteration('b', 1.0), iteration('a', 2.0), iteration('b', 3.0)]}),
            ('ws', {'benchmarks': [iteration('c', 9.0)]}),
            ('mem', {'benchmarks': [iteration('a', 4.0), iteration('b', 5.0)]})])
        self.assertEqual(wrong, [])
        self.assertEqual([(e['room'], e['name'], e['repetition_index'], e['cpu_time']) for e in entries],
                         [('mem', 'b', 0, 1.0), ('mem', 'b', 1, 3.0), ('mem', 'b', 2, 5.0), ('mem', 'a', 0, 2.0),
                          ('mem', 'a', 1, 4.0), ('ws', 'c', 0, 9.0)])

    def test_cases_stand_in_the_order_asked_for(self):
        entries, _ = bench_suite.merge([('mem', {'benchmarks': [iteration('b'), iteration('c'), iteration('a')]})],
                                       ['a', 'b'])
        self.assertEqual([e['name'] for e in entries], ['a', 'b', 'c'])

    def test_leaves_aggregates_out_and_keeps_counters(self):
        entries, _ = bench_suite.merge([('mem', {'benchmarks': [
            iteration('a', 1.23456789, heap_calls=0.0, threads=1, family_index=3),
            iteration('a', run_type='aggregate', aggregate_name='median')]})])
        self.assertEqual(len(entries), 1)
        self.assertEqual(entries[0]['heap_calls'], 0.0)
        self.assertEqual(entries[0]['cpu_time'], 1.23457)
        self.assertNotIn('family_index', entries[0])

    def test_an_error_is_named_once_and_not_measured(self):
        failing = iteration('a', error_occurred=True, error_message='pool empty')
        entries, wrong = bench_suite.merge([('mem', {'benchmarks': [failing, failing, iteration('b')]})])
        self.assertEqual([e['name'] for e in entries], ['b'])
        self.assertEqual(wrong, ['mem/a: pool empty'])

    def test_two_rooms_with_one_name_are_named(self):
        entries, wrong = bench_suite.merge([('mem', {'benchmarks': [iteration('a')]}),
                                            ('buf', {'benchmarks': [iteration('a')]})])
        self.assertEqual(len(entries), 1)
        self.assertEqual(wrong, ['buf/a: mem has a case of this name, too'])

    def test_what_is_written_is_read_back(self):
        entries, _ = bench_suite.merge([('mem', {'benchmarks': [iteration('a', 2.5), iteration('a', 3.5)]})])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'r.json')
            bench_suite.write(path, {'machine': {'id': 'x'}}, entries, ['room: trouble'])
            report = bench_report.load(path)
            with open(path, encoding='utf-8') as file:
                self.assertEqual(json.load(file)['trouble'], ['room: trouble'])
        self.assertEqual((report.cases['a'].times, report.cases['a'].room), ([2.5, 3.5], 'mem'))


class Binaries(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def binary(self, cases, status=0, list_status=0):
        path = os.path.join(self.folder.name, 'bench_fake')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(FAKE.format(cases=cases, status=status, list_status=list_status))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_runs_exactly_the_cases_asked_for(self):
        path = self.binary(['a/1', 'a/12', 'b'])
        self.assertEqual(bench_suite.list_cases(path), ['a/1', 'a/12', 'b'])
        document = bench_suite.run(path, ['a/1', 'b'], 2, 0.01)
        self.assertEqual([c['name'] for c in document['benchmarks']], ['a/1', 'a/1', 'b', 'b'])

    def test_a_binary_that_fails_says_how(self):
        with self.assertRaisesRegex(bench_suite.Trouble, 'exit status 3: working hard'):
            bench_suite.run(self.binary(['a'], status=3), ['a'], 1, 0.01)
        with self.assertRaisesRegex(bench_suite.Trouble, 'exit status 77'):
            bench_suite.list_cases(self.binary(['a'], list_status=77))

    def test_the_context_names_no_host_and_no_folder(self):
        document = bench_suite.run(self.binary(['a']), ['a'], 1, 0.01)
        kept = {key: document['context'][key] for key in bench_suite.KEPT_CONTEXT if key in document['context']}
        self.assertEqual(kept, {'mhz_per_cpu': 5})
        self.assertNotIn(os.uname().nodename, json.dumps(bench_report.machine_context()))


class Command(unittest.TestCase):
    """The wiring of scripts/bench, with its binaries made up."""
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader('bench_command', os.path.join(SOURCE, 'scripts', 'bench'))
        spec = importlib.util.spec_from_loader('bench_command', loader)
        self.command = importlib.util.module_from_spec(spec)
        loader.exec_module(self.command)

    def test_a_binary_that_cannot_list_is_named_and_the_others_run(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        paths = {}
        for room, status in (('good', 0), ('bad', 4)):
            paths[room] = os.path.join(folder.name, room)
            with open(paths[room], 'w', encoding='utf-8') as file:
                file.write(FAKE.format(cases=['x_' + room], status=0, list_status=status))
            os.chmod(paths[room], 0o755)
        wrong = []
        selected = self.command.select({room: (path, []) for room, path in paths.items()}, None, wrong)
        self.assertEqual(selected, {'good': ['x_good']})
        self.assertEqual(len(wrong), 1)
        self.assertIn('bad: exit status 4', wrong[0])
        parts = self.command.measure({room: (path, []) for room, path in paths.items()}, selected,
                                     {'rounds': 2, 'repetitions': 3, 'min_time': 0.01}, wrong)
        entries, _ = bench_suite.merge(parts)
        self.assertEqual([e['repetition_index'] for e in entries], [0, 1, 2, 3, 4, 5])

    def test_kept_reports_have_enough_repetitions_to_be_judged(self):
        self.assertGreaterEqual(self.command.KEPT['repetitions'] * self.command.KEPT['rounds'],
                                bench_report.LEAST_REPETITIONS)


if __name__ == '__main__':
    unittest.main()
