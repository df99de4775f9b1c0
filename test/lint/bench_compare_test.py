"""The regression gate on made-up reports: what it must find, what it must not, and what it must refuse to judge."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get('MILLRACE_SOURCE') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'scripts', 'lib'))
import bench_report  # noqa: E402

STEADY = (1.00, 1.01, 0.99, 1.00, 1.01)
WILD = (0.70, 1.00, 1.40, 0.80, 1.30)


def report(times, machine='m1', mood=STEADY, unit='ns'):
    """`times`: name -> nanoseconds; every repetition is that times the mood."""
    entries = []
    for name, time in times.items():
        for i, factor in enumerate(mood):
            entries.append({'name': name, 'run_name': name, 'run_type': 'iteration', 'repetition_index': i,
                            'cpu_time': time * factor, 'real_time': time * factor, 'time_unit': unit})
        entries.append({'name': name + '_median', 'run_name': name, 'run_type': 'aggregate',
                        'aggregate_name': 'median', 'cpu_time': 1e9, 'time_unit': unit})
    return {'context': {'machine': {'id': machine, 'cpu': 'made up'}}, 'benchmarks': entries}


class Gate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, document):
        path = os.path.join(self.folder.name, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        return path

    def run_gate(self, base, new, *options):
        done = subprocess.run([sys.executable, '-B', os.path.join(SOURCE, 'scripts', 'bench-compare'),
                               self.path('base.json', base), self.path('new.json', new), *options],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_the_same_report_twice_passes(self):
        times = {'srmp_parse/64': 4.0, 'srmp_parse__limit_memcpy/64': 2.0}
        self.assertEqual(self.run_gate(report(times), report(times))[0], 0)

    def test_a_slower_ratio_fails_at_its_category_threshold(self):
        for name, threshold in (('srmp_parse', 10), ('object_pool', 20), ('something', 15)):
            base = report({f'{name}/64': 10.0, f'{name}__limit_x/64': 5.0}, machine='a')
            for more, status in ((threshold - 2, 0), (threshold + 2, 1)):
                new = report({f'{name}/64': 10.0 * (1 + more / 100), f'{name}__limit_x/64': 5.0}, machine='b')
                code, text = self.run_gate(base, new)
                self.assertEqual(code, status, f'{name} {more} %: {text}')

    def test_a_slower_machine_is_no_regression(self):
        base = report({'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0}, machine='a')
        new = report({'pipe/1': 30.0, 'pipe__limit_memcpy/1': 15.0}, machine='b')
        code, text = self.run_gate(base, new)
        self.assertEqual(code, 0, text)
        self.assertIn('different machines', text)

    def test_absolute_times_count_on_one_machine_and_it_says_so(self):
        base = report({'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0})
        new = report({'pipe/1': 13.0, 'pipe__limit_memcpy/1': 6.5})
        code, text = self.run_gate(base, new)
        self.assertEqual(code, 1, text)
        self.assertIn('one machine', text)

    def test_a_mood_that_many_limits_share_is_no_regression_on_one_machine(self):
        base, limits = {}, {}
        for i in range(6):
            base[f'pipe/{i}'] = 10.0 + i
            limits[f'pipe__limit_memcpy/{i}'] = 5.0
        slower = {name: time * 1.2 for name, time in {**base, **limits}.items()}
        code, text = self.run_gate(report({**base, **limits}), report(slower))
        self.assertEqual(code, 0, text)
        self.assertIn('+20.0 %', text)
        slower['pipe/3'] *= 1.15
        code, text = self.run_gate(report({**base, **limits}), report(slower))
        self.assertEqual(code, 1, text)
        far = {name: time * 1.5 for name, time in {**base, **limits}.items()}  # no mood is as bad as that
        self.assertEqual(self.run_gate(report({**base, **limits}), report(far))[0], 1)

    def test_categories_go_by_the_part_of_the_name_in_front_of_the_arguments(self):
        for name, threshold in (
                ('s1_4_1_append_read/64', 10), ('s1_4_1_commit_fast_path', 10), ('s1_4_4_build_header/64', 10),
                ('s1_4_4_ws_try_parse/64', 10), ('srmp_try_parse_mixed/long%:10', 10), ('ws_unmask/4096', 10),
                ('ws_utf8/64', 10), ('length_field_parse/2', 10), ('s2_per_packet_buffer/10', 10),
                ('s2_packet_processing_simulation', 10), ('s2_ack_encode', 10), ('s2_varint_encode', 10),
                ('fwd_parse/mixed_full/size:91', 10), ('crypto_seal/bytes:64', 10), ('net_decode_fast_mix', 10),
                ('quic_open_initial_1200/keys:0', 10), ('s2_poolallocator/16', 20), ('s2_block_memory_pool/1024', 20),
                ('s2_multi_thread_alloc_as_published', 50), ('s2_multi_thread_alloc', 20), ('s2_mixed_alloc_free_drawn', 20), ('s2_mixed_pattern', 20), ('packet_pool_bulk/32', 20),
                ('object_pool_handle', 20), ('s2_chain_growth/4096', 15), ('s1_4_2_stream_64k/1048576', 15),
                ('loadgen_fill/srmp/size:91', 15), ('crypto_expand_label/sha_ni:1', 15)):
            self.assertEqual(bench_report.category_of(name)[1], threshold, name)

    def test_a_report_that_names_no_machine_is_of_another_one(self):
        anonymous = report({'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0}, machine='')
        self.assertIn('different machines', self.run_gate(anonymous, anonymous)[1])

    def test_noise_is_not_judged(self):
        base = report({'pipe/1': 10.0})
        new = report({'pipe/1': 20.0}, mood=WILD)
        code, text = self.run_gate(base, new)
        self.assertIn('noisy', text)
        self.assertNotIn('REGRESSION', text)
        self.assertEqual(code, 1)  # nothing at all could be judged
        self.assertEqual(self.run_gate(base, new, '--strict')[0], 1)

    def test_a_slower_median_that_the_fastest_repetitions_do_not_show_is_noise(self):
        times = {'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0}
        steady, new = report(times, 'a'), report(times, 'b')
        for entry in new['benchmarks']:
            if entry['name'] == 'pipe/1' and entry.get('repetition_index', 0) != 2:
                entry['cpu_time'] *= 1.15
        code, text = self.run_gate(steady, new)
        self.assertIn('noisy', text)
        self.assertNotIn('REGRESSION', text)

    def started(self, times, machine, by_start):
        """A report of three starts; `by_start`: what each multiplies the time of pipe/1 by."""
        made = report(times, machine, mood=(1.0, 1.01) * len(by_start))
        for entry in made['benchmarks']:
            if 'repetition_index' in entry:
                entry['start'] = entry['repetition_index'] // 2
                if entry['name'] == 'pipe/1':
                    entry['cpu_time'] *= by_start[entry['start']]
        return made

    def test_a_change_that_one_start_of_the_binary_contradicts_is_noise(self):
        times = {'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0}
        base = self.started(times, 'a', (1.0, 1.0, 1.0, 1.07))
        lucky = self.started(times, 'b', (1.06, 1.13, 1.14, 1.13))  # its first start is faster than the base's last
        code, text = self.run_gate(base, lucky)
        self.assertIn('1 noisy', text)
        self.assertEqual(code, 1)  # nothing else could be judged
        slower = self.started(times, 'b', (1.08, 1.13, 1.14, 1.13))
        code, text = self.run_gate(base, slower)
        self.assertIn('1 REGRESSION', text)
        self.assertEqual(code, 1)
        self.assertIn('1 faster', self.run_gate(slower, base)[1])
        self.assertIn('1 noisy', self.run_gate(lucky, base)[1])

    def test_what_a_filter_left_out_is_not_missing(self):
        base = report({'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0, 'other/1': 1.0})
        new = report({'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0})
        for settings, word, strict in (({}, 'missing', 1), ({'filter': 'pipe'}, 'left out', 0),
                                       ({'filter': None, 'some_rooms': True}, 'left out', 0)):
            new['context']['settings'] = settings
            code, text = self.run_gate(base, new, '--strict')
            self.assertIn(f'1 {word}', text)
            self.assertEqual(code, strict, text)

    def test_noise_that_both_share_cancels_in_the_ratio(self):
        times = {'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0}
        slower = {'pipe/1': 15.0, 'pipe__limit_memcpy/1': 5.0}
        self.assertEqual(self.run_gate(report(times, 'a', WILD), report(times, 'b', WILD))[0], 0)
        self.assertEqual(self.run_gate(report(times, 'a', WILD), report(slower, 'b', WILD))[0], 1)

    def test_few_repetitions_are_not_judged(self):
        code, text = self.run_gate(report({'pipe/1': 10.0}, mood=(1.0, 1.0)), report({'pipe/1': 20.0}, mood=(1.0, 1.0)))
        self.assertIn('few', text)
        self.assertNotIn('REGRESSION', text)
        self.assertEqual(code, 1)

    def test_missing_and_new_rows_are_named_and_fail_only_when_strict(self):
        base = report({'pipe/1': 10.0, 'gone/1': 1.0})
        new = report({'pipe/1': 10.0, 'added/1': 1.0})
        code, text = self.run_gate(base, new, '--all')
        self.assertEqual(code, 0, text)
        self.assertIn('gone/1', text)
        self.assertIn('added/1', text)
        self.assertEqual(self.run_gate(base, new, '--strict')[0], 1)

    def test_a_limit_belongs_to_its_own_arguments_and_is_not_judged_itself(self):
        times = {'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0, 'pipe/2': 20.0, 'pipe__limit_memcpy/2': 5.0}
        loaded = bench_report.load(self.path('r.json', report(times, 'a')))
        self.assertEqual(list(bench_report.limits_of('pipe/2', loaded.cases)), [('memcpy', 'pipe__limit_memcpy/2')])
        verdicts = bench_report.compare(loaded, bench_report.load(self.path('s.json', report(times, 'b'))))
        self.assertEqual([(v.name, v.against) for v in verdicts], [('pipe/1', 'memcpy'), ('pipe/2', 'memcpy')])

    def test_units_are_converted(self):
        base = report({'pipe/1': 1500.0, 'pipe__limit_x/1': 1000.0}, 'a')
        new = report({'pipe/1': 1.5, 'pipe__limit_x/1': 1.0}, 'b', unit='us')
        loaded = bench_report.load(self.path('u.json', new))
        self.assertEqual(loaded.cases['pipe/1'].median, 1500.0)
        self.assertEqual(self.run_gate(base, new)[0], 0)

    def test_unusable_reports_are_named(self):
        good = report({'pipe/1': 10.0})
        deep = '[' * 100000
        no_context = {**report({'pipe/1': 1.0}), 'context': None}
        for bad in ('', '{}', '[]', '{"context": {}, "benchmarks": []}', json.dumps(report({'pipe/1': 0.0})), deep,
                    '{"context": {}, "benchmarks": ["x"]}', json.dumps(no_context),
                    json.dumps(report({'pipe/1': float('nan')})), json.dumps(report({'pipe/1': float('inf')}))):
            code, text = self.run_gate(good, bad)
            self.assertEqual(code, 2, bad[:80] + text[-400:])
            self.assertIn('new.json', text)
        done = subprocess.run([sys.executable, '-B', os.path.join(SOURCE, 'scripts', 'bench-compare'), 'absent.json',
                               'absent.json'], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn('absent.json', done.stderr)

    def test_a_report_with_a_binary_that_crashed_fails(self):
        good = report({'pipe/1': 10.0, 'pipe__limit_memcpy/1': 5.0})
        code, text = self.run_gate(good, {**good, 'trouble': ['buf: signal 11']})
        self.assertEqual(code, 1)
        self.assertIn('could not measure buf: signal 11', text)


if __name__ == '__main__':
    unittest.main()
