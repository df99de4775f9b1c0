"""`loopback` as a user runs it: each workload, on one lcore and on several, over good wires and bad ones.

Needs no network, no hugepages and no rights. Rates are not judged: the machine may be busy.
"""
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MILLRACE = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(SOURCE, 'build')), 'app', 'millrace')
TIMEOUT_S = 120
CPUS = sorted(os.sched_getaffinity(0))
ONE = ['-l', str(CPUS[0])]
# Three lcores on whatever CPUs there are: a client and two servers.
THREE = ['--lcores', '(0-2)@(' + ','.join(str(cpu) for cpu in CPUS[:2]) + ')']
SHORT = ['--duration', '0.2']
QUIC = ['--workload', 'srmp-echo', '--transport', 'quic']

loader = importlib.machinery.SourceFileLoader('validate_json', os.path.join(SOURCE, 'scripts', 'validate_json'))
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))
loader.exec_module(validate_json)


def run(*words, **more):
    return subprocess.run([MILLRACE, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **more)


def last_line(done):
    return done.stderr.strip().splitlines()[-1]


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='millrace-loopback-')
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, 'out.json')

    def result(self):
        with open(self.out, encoding='utf-8') as file:
            text = file.read()
        validator = validate_json.load_validator('result')
        self.assertEqual(list(validate_json.findings(validator, text, validate_json.LINES['result'])), [])
        return json.loads(text)

    def check_sound(self, result):
        """What holds of every run: nothing is lost without a reason, nothing stays behind, no heap."""
        balance = result['conservation']
        self.assertEqual(result['role'], 'loopback')
        self.assertTrue(balance['holds'], balance)
        self.assertEqual(balance['rx'] + balance['originated'],
                         balance['tx'] + balance['delivered'] + balance['held'] + balance['dropped'])
        self.assertEqual([pool['in_use'] for pool in result['mempools']], [0])
        self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)

    def must_run(self, eal, *words, command=None):
        done = run(*(command or []), *eal, '--', 'loopback', *words, '--json', self.out)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        self.assertIn('every packet is accounted for', done.stdout)
        result = self.result()
        self.check_sound(result)
        return result

    def check_good_wire(self, result):
        """Both ends of a good wire agree, and everything asked was answered."""
        balance = result['conservation']
        self.assertEqual(balance['rx'], balance['tx'])
        # Timers of QUIC clients may send last packets when the server's lcore has stopped: they are found in the ring.
        workload = result['workload']['workload']
        is_fetch = workload in ('quic-stream', 'h3-get', 'h3-json')
        over_quic = is_fetch or result['workload'].get('transport') == 'quic'
        self.assertLess(balance['held'],
                        8 + result['workload'].get('connections', 0) if over_quic and len(result['lcores']) > 1 else 1)
        self.assertEqual(result['drops'], {})
        self.assertEqual(result['errors'], {})
        self.assertGreater(result['rate']['requests_per_s' if is_fetch else 'messages_per_s'], 0)
        self.assertGreater(result['rate']['goodput_gbps'], 0)
        latency = result['latency_ns']
        self.assertTrue(0 < latency['p50'] <= latency['p90'] <= latency['p99'] <= latency['p999'] <= latency['max'])
        for stage in ('total', 'rx', 'classify', 'work', 'timers', 'tx'):
            self.assertIn(stage, result['cycles_per_packet'])

    def test_io_circulates_packets(self):
        for eal in ([], ONE, THREE, ['@loopback', *ONE]):
            with self.subTest(eal=eal):
                result = self.must_run(eal, '--workload', 'io', *SHORT)
                self.assertGreater(result['rx']['packets'], 512)
                self.assertEqual(result['rx']['packets'], result['tx']['packets'])
                self.assertEqual(result['conservation']['originated'], result['conservation']['held'])
        large = self.must_run(ONE, '--workload', 'io', '--size', '1514', *SHORT)
        self.assertEqual(large['rx']['bytes'], large['rx']['packets'] * 1514)

    def test_echo_on_one_lcore_and_on_several(self):
        for eal in ([], ONE, THREE, ['@loopback'], ['@loopback', *ONE], ['--no-huge', *ONE]):
            with self.subTest(eal=eal):
                result = self.must_run(eal, *SHORT)
                self.assertEqual(result['workload']['workload'], 'srmp-echo')
                self.check_good_wire(result)

    def test_echo_of_a_number_of_requests_asks_exactly_so_many(self):
        for eal in (ONE, THREE):
            done = run(*eal, '--', 'loopback', '--requests', '10001', '--connections', '3')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('10001 sent, 10001 answered', done.stdout)

    def test_echo_fills_datagrams(self):
        result = self.must_run(ONE, '--fill', '--streams', '230', *SHORT)
        self.check_good_wire(result)
        messages = result['rate']['messages_per_s'] * result['duration_s']
        self.assertLess(result['tx']['packets'], messages / 10)

    def test_echo_calls_methods(self):
        for method in ('Echo', 'Api/All'):
            with self.subTest(method=method):
                result = self.must_run(ONE, '--method', method, *SHORT)
                self.check_good_wire(result)
                self.assertEqual(result['workload']['method'], method)
                self.assertGreater(result['rate']['requests_per_s'], 0)

    def test_echo_of_all_sizes_and_mtus(self):
        for words in (['--size', '0'], ['--size', '1468'], ['--size', '5000', '--streams', '8'],
                      ['--size', '8K', '--mtu', '9000'], ['--size', '100', '--mtu', '576']):
            with self.subTest(words=words):
                done = run(*ONE, '--', 'loopback', '--requests', '2000', *words, '--json', self.out)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                result = self.result()
                self.check_sound(result)
                self.assertEqual((result['errors'], result['drops']), ({}, {}))

    def test_echo_in_open_loop_keeps_its_rate(self):
        result = self.must_run(ONE, '--rate', '20k', '--requests', '4000')
        self.check_good_wire(result)
        self.assertLess(result['rate']['messages_per_s'], 20_500)

    def test_an_unknown_method_is_a_failed_run(self):
        done = run(*ONE, '--', 'loopback', '--method', 'No/Such', '--requests', '100')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn('error_reply 100', last_line(done))

    def test_a_lossy_wire_costs_what_it_loses_and_nothing_else(self):
        for eal in (ONE, THREE):
            with self.subTest(eal=eal):
                result = self.must_run(eal, '--loss', '2', '--timeout', '0.05', *SHORT)
                lost = result['drops'].pop('impaired')
                self.assertEqual(result['drops'], {})
                self.assertGreater(lost, 0)
                self.assertEqual(list(result['errors']), ['timeout'])
                self.assertEqual(result['conservation']['rx'], result['conservation']['tx'])

    def test_a_wire_that_reorders_and_delays_loses_nothing(self):
        result = self.must_run(ONE, '--reorder', '5', '--delay', '2', '--requests', '5000')
        self.check_good_wire(result)
        self.assertGreaterEqual(result['latency_ns']['p50'], 4_000_000)

    def test_streams_come_whole_on_a_good_wire(self):
        for eal in ([], ONE, THREE):
            with self.subTest(eal=eal):
                result = self.must_run(eal, '--workload', 'srmp-stream', *SHORT)
                self.check_good_wire(result)
                self.assertGreater(result['rate']['requests_per_s'], 0)

    def test_streams_of_many_shapes(self):
        for words in (['--size', '1'], ['--size', '1M'], ['--size', '100001', '--item', '1000'],
                      ['--size', '64K', '--item', '8K', '--mtu', '9000'],
                      ['--connections', '3', '--streams', '4', '--size', '10K']):
            with self.subTest(words=words):
                done = run(*ONE, '--', 'loopback', '--workload', 'srmp-stream', '--requests', '50', *words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn('50 whole, 0 with holes, 0 without an end, 0 failed', done.stdout)

    def test_streams_over_a_bad_wire_count_what_is_missing_and_do_not_hang(self):
        result = self.must_run(ONE, '--workload', 'srmp-stream', '--loss', '1', '--reorder', '1', '--delay', '0.1',
                               '--requests', '60')
        self.assertGreater(result['errors']['missing_bytes'], 0)
        self.assertGreater(result['errors']['reordered_items'], 0)
        self.assertNotIn('wrong_items', result['errors'])
        self.assertEqual(list(result['drops']), ['impaired'])

    def test_bodies_over_quic_come_whole(self):
        for eal in ([], ONE, THREE):
            with self.subTest(eal=eal):
                result = self.must_run(eal, '--workload', 'quic-stream', '--size', '10M', '--duration', '0.3')
                self.check_good_wire(result)
                self.assertGreater(result['rate']['goodput_gbps'], 0)
                self.assertGreater(result['rate']['requests_per_s'], 0)

    def test_http3_answers_with_bodies_and_with_json(self):
        for eal in ([], ONE, THREE):
            with self.subTest(eal=eal):
                result = self.must_run(eal, '--workload', 'h3-get', '--duration', '0.3')
                self.check_good_wire(result)
                self.assertEqual([result['workload'][key] for key in ('connections', 'streams', 'size')], [64, 8, 1024])
        self.check_good_wire(self.must_run(ONE, '--workload', 'h3-json', '--duration', '0.3'))

    def test_bodies_over_http3_of_many_shapes(self):
        for words in (['--size', '0'], ['--size', '65536', '--streams', '20'], ['--size', '3M', '--mtu', '9000'],
                      ['--size', '200K', '--mtu', '1280', '--connections', '5', '--streams', '3'],
                      ['--size', '200K', '--loss', '2', '--reorder', '1', '--delay', '0.2', '--connections', '4']):
            with self.subTest(words=words):
                done = run(*ONE, '--', 'loopback', '--workload', 'h3-get', '--requests', '60', *words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn('60 begun, 60 whole', done.stdout)

    def test_bodies_over_quic_of_many_shapes(self):
        for words in (['--size', '1'], ['--size', '100001', '--streams', '20'], ['--size', '3M', '--mtu', '9000'],
                      ['--size', '50K', '--mtu', '1280', '--connections', '5', '--streams', '3']):
            with self.subTest(words=words):
                done = run(*ONE, '--', 'loopback', '--workload', 'quic-stream', '--requests', '60', *words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn('60 begun, 60 whole', done.stdout)

    def test_checksums_are_summed_when_asked(self):
        for workload in ('srmp-echo', 'quic-stream'):
            for how in ('offload', 'software'):
                with self.subTest(workload=workload, how=how):
                    result = self.must_run(ONE, '--workload', workload, '--checksums', how, '--duration', '0.2',
                                           '--size', '1000')
                    self.check_good_wire(result)
                    self.assertEqual(result['workload']['checksums'], how)
        refused = run('--', 'loopback', '--checksums', 'none')
        self.assertEqual(refused.returncode, 2)
        self.assertIn("'none' is none of offload|software", refused.stderr)

    def test_quic_makes_good_what_a_bad_wire_loses(self):
        result = self.must_run(ONE, '--workload', 'quic-stream', '--size', '200K', '--loss', '2', '--reorder', '1',
                               '--delay', '1', '--requests', '5')
        self.assertEqual(result['errors'], {})
        self.assertLessEqual(set(result['drops']), {'impaired', 'quic_no_connection', 'quic_duplicate'})

    def test_echoes_over_quic_on_one_lcore_and_on_several(self):
        for eal in ([], ONE, THREE):
            with self.subTest(eal=eal):
                result = self.must_run(eal, *QUIC, '--duration', '0.3')
                self.check_good_wire(result)
                self.assertEqual(result['workload']['transport'], 'quic')
                self.assertEqual([result['workload'][key] for key in ('connections', 'streams', 'window')], [4, 1, 64])
                self.assertEqual(result['handshakes'], {'begun': 4, 'completed': 4, 'resumed': 0, 'early_data': 0})

    def test_echoes_over_quic_of_many_shapes(self):
        for words in (['--size', '0'], ['--size', '60000', '--window', '3'], ['--size', '1K', '--streams', '20', '--window', '7'],
                      ['--size', '5K', '--mtu', '9000'], ['--method', 'Echo', '--size', '100'], ['--method', 'Api/All'],
                      ['--rate', '20k'], ['--mtu', '1280', '--connections', '7', '--streams', '3']):
            with self.subTest(words=words):
                result = self.must_run(ONE, *QUIC, '--requests', '1500', *words)
                self.assertEqual(result['errors'], {})
                self.assertEqual(result['drops'], {})

    def test_echoes_over_quic_make_good_what_a_bad_wire_loses(self):
        result = self.must_run(ONE, *QUIC, '--loss', '2', '--reorder', '1', '--delay', '1', '--timeout', '10', '--requests', '3000')
        self.assertEqual(result['errors'], {})
        self.assertLessEqual(set(result['drops']), {'impaired', 'quic_no_connection', 'quic_duplicate'})

    def test_says_what_it_does_while_it_does_it(self):
        for workload in ('io', 'srmp-echo', 'srmp-stream', 'quic-stream', 'h3-get'):
            with self.subTest(workload=workload):
                done = run(*ONE, '--', 'loopback', '--workload', workload, '--duration', '0.5', '--stats-period', '0.1')
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreaterEqual(sum(' s  ' in line for line in done.stdout.splitlines()), 3)

    def test_json_on_stdout_leaves_it_to_the_object(self):
        done = run(*ONE, '--', 'loopback', *SHORT, '--json', '-')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['role'], 'loopback')

    def test_verbose_shows_who_runs_where(self):
        done = run(*ONE, '--', 'loopback', *SHORT, '--verbose')
        self.assertIn('and the server, in turn', done.stdout)
        self.assertIn('EAL: ', done.stderr)

    def test_a_signal_ends_it_with_its_report(self):
        for workload in ('io', 'srmp-echo', 'srmp-stream', 'quic-stream', 'h3-get'):
            for which in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(workload=workload, signal=which):
                    with subprocess.Popen([MILLRACE, *ONE, '--', 'loopback', '--workload', workload, '--json', self.out],
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
                        self.assertIn('running until', running.stdout.readline())
                        time.sleep(0.2)
                        running.send_signal(which)
                        out, err = running.communicate(timeout=TIMEOUT_S)
                    self.assertEqual(running.returncode, 0, out + err)
                    self.check_sound(self.result())

    @unittest.skipUnless(os.geteuid() == 0, 'runs as nobody already' if os.geteuid() else '')
    def test_needs_no_rights(self):
        with tempfile.TemporaryDirectory(prefix='millrace-nobody-') as home:
            os.chmod(home, 0o777)
            os.chown(home, 65534, 65534)
            environment = {**os.environ, 'XDG_RUNTIME_DIR': home, 'HOME': home}
            done = run(*ONE, '--', 'loopback', *SHORT, user=65534, group=65534, extra_groups=[], env=environment)
        if 'Permission denied' in done.stderr and 'millrace' not in done.stderr:
            self.skipTest('the build directory cannot be read by others')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('every packet is accounted for', done.stdout)


class Refusals(unittest.TestCase):
    def check_refused(self, words, *parts):
        done = run('--', 'loopback', *words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(done.stdout, '')

    def test_help_needs_no_environment_and_lists_what_there_is(self):
        done = run('--', 'loopback', '--help')
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ('--workload', '--transport', '--size', '--mtu', '--connections', '--streams', '--duration',
                       '--requests', '--loss', '--reorder', '--delay', '--rate', '--json', '--stats-period', '--idle'):
            self.assertIn(option, done.stdout)
        for later in ('http1-json', 'ws-echo'):
            self.assertNotIn(later, done.stdout)

    def test_workloads_and_transports_of_later_are_refused_by_name(self):
        for workload in ('http1-json', 'http1-stream', 'ws-echo'):
            self.check_refused(['--workload', workload], f"'{workload}' is not there yet")
        self.check_refused(['--transport', 'tcp'], 'not there yet')
        self.check_refused(['--transport', 'nonsense'], "'nonsense' is none of udp, quic")
        self.check_refused(['--workload', 'srmp-stream', '--transport', 'quic'], 'over QUIC none is lost')
        self.check_refused(['--workload', 'nonsense'], "'nonsense' is none of")

    def test_options_that_mean_nothing_to_a_workload_are_refused(self):
        self.check_refused(['--workload', 'io', '--loss', '1'], '--loss means nothing to --workload io')
        self.check_refused(['--workload', 'srmp-stream', '--rate', '1k'], '--rate means nothing')
        self.check_refused(['--item', '100'], '--item means nothing')
        self.check_refused([*QUIC, '--fill'], '--fill is of datagrams')
        self.check_refused(['--window', '3'], '--window is of streams')

    def test_what_cannot_be_is_refused_before_anything_starts(self):
        self.check_refused(['--loss', '101'], '--loss')
        self.check_refused(['--delay', '-1'], '--delay')
        self.check_refused(['--streams', '256'], '--streams')
        self.check_refused(['--connections', '4096', '--streams', '255'], 'in flight at once')
        self.check_refused(['--workload', 'srmp-stream', '--size', '900M'], 'in flight at once')
        self.check_refused(['--workload', 'srmp-stream', '--item', '1444'], '--item', 'at most 1443')
        self.check_refused(['--method', 'Echo', '--size', '1'], 'size')
        self.check_refused(['--timeout', '0'], '--timeout')
        self.check_refused([*QUIC, '--mtu', '1200'], '--mtu')
        self.check_refused([*QUIC, '--streams', '255', '--connections', '4096'], 'more than 65536')
        self.check_refused(['--json', '/nonexistent/x.json'], '/nonexistent/x.json')


if __name__ == '__main__':
    unittest.main()
