"""The command line of `load`, without a network: a port of rings that leads to itself, where nobody answers.

What it does against a peer is in test/e2e/load_link_test.py.
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
PORT = ['--vdev=net_ring0', '-l', '0']
TIMEOUT_S = 120

loader = importlib.machinery.SourceFileLoader('validate_json', os.path.join(SOURCE, 'scripts', 'validate_json'))
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))
loader.exec_module(validate_json)


def run(*words):
    return subprocess.run([MILLRACE, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def last_line(done):
    return done.stderr.strip().splitlines()[-1]


class CommandLine(unittest.TestCase):
    def check_refused(self, words, *parts):
        done = run(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(done.stdout, '')

    def test_help_needs_no_environment(self):
        done = run('--', 'load', '--help')
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ('--target', '--address', '--gateway', '--connections', '--streams', '--rate', '--requests',
                       '--duration', '--size', '--fill', '--window', '--requests-each', '--resume', '--early-data', '--ciphers',
                       '--quic-version', '--key-update', '--ca', '--pin', '--insecure', '--server-name', '--keylog',
                       '--max-datagram', '--congestion', '--migrate-every', '--json', '--stats-period', '--idle', '--verbose'):
            self.assertIn(option, done.stdout)
        self.assertIn('whoever answers is', done.stdout)
        self.assertIn('srmp+quic://', done.stdout)

    def test_schemes_of_later_are_refused_by_name(self):
        for scheme in ('srmp+tcp', 'http', 'ws'):
            self.check_refused(['--', 'load', f'{scheme}://198.18.0.1:80/x'], f"'{scheme}' is not there yet")

    def test_what_cannot_be_is_refused_before_anything_starts(self):
        self.check_refused([*PORT, '--', 'load'], 'target')
        self.check_refused([*PORT, '--', 'load', 'srmp+udp://nowhere:5500'], "'nowhere' is no IP address")
        self.check_refused([*PORT, '--', 'load', 'srmp+udp://198.18.0.1', '--gateway', '10.1.1.1'], '10.1.1.1')
        self.check_refused([*PORT, '--', 'load', 'srmp+udp://198.18.0.1', '--streams', '300'], '--streams')

    def test_options_that_a_target_has_no_use_for_are_refused(self):
        self.check_refused([*PORT, '--', 'load', 'srmp+udp://198.18.0.1', '--resume'], '--resume means nothing')
        self.check_refused([*PORT, '--', 'load', 'hq://198.18.0.1/x', '--rate', '5'], '--rate means nothing')
        self.check_refused([*PORT, '--', 'load', 'srmp+quic://198.18.0.1', '--early-data'], '--early-data means nothing')
        self.check_refused([*PORT, '--', 'load', 'srmp+udp://198.18.0.1', '--window', '5'], '--window means nothing')
        self.check_refused([*PORT, '--', 'load', 'hq://198.18.0.1/x', '--pin', 'short'], "--pin 'short'", 'base64')
        self.check_refused([*PORT, '--', 'load', 'hq://198.18.0.1/x', '--ca', '/nowhere/ca.pem'], '/nowhere/ca.pem')

    def test_without_a_port_it_says_how_to_get_one(self):
        self.check_refused(['--', 'load', 'srmp+udp://198.18.0.1'], 'there is no port', '@af_packet')


class NobodyAnswers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='millrace-load-')
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, 'out.json')

    def result(self):
        with open(self.out, encoding='utf-8') as file:
            text = file.read()
        validator = validate_json.load_validator('result')
        self.assertEqual(list(validate_json.findings(validator, text, validate_json.LINES['result'])), [])
        return json.loads(text)

    def check(self, target, patience, *parts, rate='messages_per_s', words=()):
        done = run(*PORT, '--', 'load', target, '--patience', str(patience), *words, '--json', self.out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, last_line(done))
        result = self.result()
        self.assertEqual(result['role'], 'load')
        self.assertTrue(result['conservation']['holds'], result['conservation'])
        self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)
        self.assertNotIn('latency_ns', result)
        self.assertEqual(result['rate'][rate], 0)
        self.assertEqual([pool['in_use'] for pool in result['mempools']], [0])
        return result

    def test_arp_that_nobody_answers_is_named(self):
        result = self.check('srmp+udp://198.18.0.1:5500', 3.6, 'no reply from 198.18.0.1:5500', 'ARP')
        self.assertGreater(result['errors']['unreachable'], 0)
        self.assertGreater(result['drops']['neighbour_unreachable'], 0)

    def test_an_impatient_run_names_it_too(self):
        result = self.check('srmp+udp://198.18.0.1:5500', 0.3, 'no reply from 198.18.0.1:5500', 'ARP')
        self.assertGreater(result['errors']['unreachable'], 0)

    def test_neighbour_discovery_that_nobody_answers_is_named(self):
        result = self.check('srmp+udp://[2001:db8:18::1]:5500', 4.6, 'no reply from [2001:db8:18::1]:5500', 'ND')
        self.assertGreater(result['errors']['unreachable'], 0)

    def test_a_quic_server_that_is_not_there_is_named(self):
        result = self.check('hq://198.18.0.1/bytes/1000', 3.6, 'no reply from 198.18.0.1:443', 'ARP',
                            rate='handshakes_per_s', words=('--connections', '3'))
        self.assertEqual(result['handshakes'], {'begun': 3, 'completed': 0, 'resumed': 0, 'early_data': 0})
        self.assertEqual(result['workload']['insecure'], True)

    def test_srmp_over_quic_that_is_not_there_is_named(self):
        result = self.check('srmp+quic://198.18.0.1/Echo', 3.6, 'no reply from 198.18.0.1:443', 'ARP',
                            words=('--connections', '2', '--streams', '3'))
        self.assertEqual(result['handshakes'], {'begun': 2, 'completed': 0, 'resumed': 0, 'early_data': 0})
        self.assertEqual([result['workload'][key] for key in ('connections', 'streams', 'window', 'method', 'insecure')],
                         [2, 3, 32, 'Echo', True])

    def test_a_signal_ends_it_in_good_order(self):
        with subprocess.Popen([MILLRACE, *PORT, '--', 'load', 'srmp+udp://198.18.0.1', '--patience', '60',
                               '--stats-period', '0.1', '--json', self.out], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            self.assertIn('answered', running.stdout.readline())
            running.send_signal(signal.SIGINT)
            begun = time.monotonic()
            _, errors = running.communicate(timeout=TIMEOUT_S)
            self.assertEqual(running.returncode, 0, errors)
            self.assertLess(time.monotonic() - begun, 30)
        self.assertTrue(self.result()['conservation']['holds'])

    def test_json_may_have_stdout_to_itself(self):
        done = run(*PORT, '--', 'load', 'srmp+udp://198.18.0.1', '--patience', '0.2', '--json', '-')
        self.assertEqual(json.loads(done.stdout)['workload']['target'], '198.18.0.1:5500')
        self.assertIn('messages', done.stderr)


if __name__ == '__main__':
    unittest.main()
