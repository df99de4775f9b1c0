"""The command line of `serve`, and its life on ports without a network: rings that lead to themselves, null devices.

What it answers to the kernel is in test/e2e.
"""
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MILLRACE = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(SOURCE, 'build')), 'app', 'millrace')
TIMEOUT_S = 120

loader = importlib.machinery.SourceFileLoader('validate_json', os.path.join(SOURCE, 'scripts', 'validate_json'))
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))
loader.exec_module(validate_json)


def run(*words):
    return subprocess.run([MILLRACE, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='millrace-serve-')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(folder.name, 'out.json')

    def file(self, text, name='a.toml'):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def check_refused(self, words, *parts):
        done = run(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(done.stdout, '')

    def result(self):
        with open(self.out, encoding='utf-8') as file:
            text = file.read()
        validator = validate_json.load_validator('result')
        self.assertEqual(list(validate_json.findings(validator, text, validate_json.LINES['result'])), [])
        return json.loads(text)

    def check_sound(self, result):
        self.assertEqual(result['role'], 'serve')
        self.assertTrue(result['conservation']['holds'], result['conservation'])
        self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)
        self.assertEqual([pool['in_use'] for pool in result['mempools']], [0])
        self.assertIn('messages_per_s', result['rate'])


class Configuration(Files):
    def test_help_needs_no_environment(self):
        done = run('--', 'serve', '--help')
        self.assertEqual(done.returncode, 0, done.stderr)
        for option in ('--config', '--check', '--print-config', '--address', '--gateway', '--srmp-port', '--echo-port',
                       '--duration', '--json', '--stats-period', '--idle', '--verbose'):
            self.assertIn(option, done.stdout)

    def test_what_is_printed_is_a_file_that_means_the_same(self):
        for words in ([], ['--address', '10.0.0.1/8', '--gateway', '10.0.0.2', '--echo-port', '7', '--idle', 'poll',
                           '--duration', '2.5', '--stats-period', '1', '--srmp-port', '0']):
            printed = run('--', 'serve', '--print-config', *words)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            path = self.file(printed.stdout)
            again = run('--', 'serve', '--print-config', '--config', path)
            self.assertEqual((again.returncode, again.stdout), (0, printed.stdout), again.stderr)

    def test_options_stand_above_the_file(self):
        path = self.file('srmp-port = 6000\necho-port = 7\nidle = "poll"\nduration = 9\n'
                         '[[interface]]\nport = "net_tap0"\naddress = "10.0.0.1/8"\ngateway = "10.0.0.2"\n'
                         'route = [{ to = "11.0.0.0/8", via = "10.0.0.3" }]\n')
        printed = run('--', 'serve', '--print-config', '--config', path, '--srmp-port', '7000', '--address',
                      '172.16.0.1/12', '--address', '10.0.0.9/8', '--gateway', '172.16.0.2').stdout
        for line in ('srmp-port = 7000 ', 'echo-port = 7 ', 'idle = "poll" ', 'duration = 9 ', 'port = "net_tap0" ',
                     'address = ["172.16.0.1/12", "10.0.0.9/8"]', 'gateway = ["172.16.0.2"]', 'via = "10.0.0.3"'):
            self.assertIn('\n' + line, '\n' + printed)

    def test_check_answers_without_a_port(self):
        done = run('--', 'serve', '--check', '--config', self.file('echo-port = 7\n'))
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('a.toml: sound', done.stdout)
        self.assertEqual(run('--', 'serve', '--check').returncode, 0)

    def test_bad_files_are_refused_with_file_line_and_column(self):
        for text, place, what in [('srmp_port = 1\n', '1:1', "did you mean 'srmp-port'?"),
                                  ('\n[limits]\nneighbours = 0\n', '3:14', 'a number from 1 to'),
                                  ('address = "10.0.0.1/8"\ngateway = "11.0.0.1"\n', '2:11', 'cannot be reached'),
                                  ('echo-port = 5500\n', '1:13', "UDP port 5500 is SRMP's already"),
                                  ('http3-port = 443\n', '1:1', 'there is no key'),
                                  ('a = [1,\n', '1:', '')]:
            with self.subTest(text=text):
                path = self.file(text)
                self.check_refused(['--', 'serve', '--check', '--config', path], f'millrace: {path}:{place}', what)
                self.check_refused(['@loopback', '--', 'serve', '--config', path], f'millrace: {path}:{place}', what)

    def test_options_that_contradict_name_themselves(self):
        self.check_refused(['--', 'serve', '--check', '--gateway', '10.0.0.1'], '--gateway 10.0.0.1: ')
        self.check_refused(['--', 'serve', '--check', '--address', '10.0.0.0/8'], '--address 10.0.0.0/8: ')
        self.check_refused(['--', 'serve', '--check', '--address', '10.0.0.1'], '--address', "'10.0.0.1'")
        self.check_refused(['--', 'serve', '--check', '--echo-port', '5500'], '--echo-port 5500: ')
        self.check_refused(['--', 'serve', '--check', '--srmp-port', '65536'], '--srmp-port')
        path = self.file('srmp-port = 7\n')
        self.check_refused(['--', 'serve', '--check', '--config', path, '--echo-port', '7'], '--echo-port 7: ',
                           f'{path}:1:13')

    def test_files_that_are_none(self):
        self.check_refused(['--', 'serve', '--config', '/nonexistent.toml'], '/nonexistent.toml', 'No such file')
        self.check_refused(['--', 'serve', '--config', self.folder], self.folder, 'a directory')

    def test_the_result_may_not_overwrite_the_configuration(self):
        path = self.file('duration = 1\n')
        self.check_refused(['@loopback', '--', 'serve', '--config', path, '--json', path], '--json')

    def test_without_a_port_it_says_how_to_get_one(self):
        self.check_refused(['--', 'serve'], 'there is no port', '@af_packet')
        self.check_refused(['--', 'serve', '--config', self.file('')], 'there is no port')


class Life(Files):
    def start(self, *words):
        running = subprocess.Popen([MILLRACE, *words, '--json', self.out], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.stderr.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def read_until_ready(self, running):
        lines = []
        for line in running.stdout:
            lines.append(line.rstrip('\n'))
            if line.startswith('ready '):
                return lines
        self.fail('it ended without being ready: ' + '\n'.join(lines) + running.stderr.read())

    def stop(self, running, number=signal.SIGTERM):
        running.send_signal(number)
        out = running.stdout.read()
        self.assertEqual(running.wait(TIMEOUT_S), 0, running.stderr.read())
        self.assertIn('every packet is accounted for', out)
        return out

    def test_says_when_it_is_ready_and_stops_at_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            running = self.start('@loopback', '--', 'serve', '--echo-port', '7')
            self.assertRegex(self.read_until_ready(running)[-1],
                             '^ready 198.18.0.1/24 2001:db8:18::1/64 srmp-port=5500 echo-port=7 quic-port=443 '
                             'alpn=h3,hq-interop,srmp,echo spki-pin=[A-Za-z0-9+/]{43}=$')
            self.stop(running, number)
            result = self.result()
            self.check_sound(result)
            self.assertEqual(result['workload']['ports'], ['net_ring0'])
            self.assertEqual(result['workload']['quic_protocols'], 'h3,hq-interop,srmp,echo')
            self.assertEqual(result['messages'], {})
            self.assertGreater(result['tx']['packets'], 0)  # announcements and probes, which come back

    def test_one_lcore_does_everything(self):
        running = self.start('--vdev=net_ring0', '-l', '0', '--', 'serve')
        self.read_until_ready(running)
        self.stop(running)
        result = self.result()
        self.check_sound(result)
        self.assertEqual([lcore['id'] for lcore in result['lcores']], [0])

    def test_several_ports_and_lcores(self):
        path = self.file('[[interface]]\nport = "net_null0"\naddress = "10.0.0.1/8"\n'
                         '[[interface]]\nport = "net_ring0"\naddress = "fd00::1/64"\n')
        running = self.start('--vdev=net_ring0', '--vdev=net_null0', '--lcores', '(0-2)@0', '--', 'serve', '--config',
                             path, '--verbose', '--stats-period', '0.2')
        lines = self.read_until_ready(running)
        self.assertTrue(lines[-1].startswith('ready 10.0.0.1/8 fd00::1/64 srmp-port=5500 quic-port=443'), lines[-1])
        self.assertTrue(any('messages/s' in line for line in lines), lines)
        self.assertTrue(any(line.startswith("pool 'packets': ") for line in lines), lines)
        self.stop(running)
        result = self.result()
        self.check_sound(result)
        self.assertEqual(result['workload']['ports'], ['net_null0', 'net_ring0'])
        self.assertEqual([lcore['id'] for lcore in result['lcores']], [1, 2])
        self.assertEqual(result['conservation']['rx'], result['rx']['packets'] + result['conservation']['held'])
        self.assertGreater(result['drops']['l2_bad_source'], 0)  # null devices deliver zeroes

    def test_a_duration_ends_it(self):
        done = run('@loopback', '--', 'serve', '--address', '10.0.0.1/8', '--duration', '0.3', '--json', self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('ready 10.0.0.1/8 srmp-port=5500 quic-port=443', done.stdout)
        self.check_sound(self.result())

    def test_json_may_have_stdout_to_itself(self):
        done = run('@loopback', '--', 'serve', '--address', '10.0.0.1/8', '--duration', '0.3', '--json', '-')
        self.assertEqual(json.loads(done.stdout)['workload']['address'], ['10.0.0.1/8'])
        self.assertIn('ready 10.0.0.1/8', done.stderr)

    def test_a_pool_that_runs_empty_is_survived(self):
        path = self.file('[pool]\npackets = 1200\ncache = 0\n')
        running = self.start('--vdev=net_null0', '-l', '0', '--', 'serve', '--config', path)
        self.read_until_ready(running)
        self.stop(running)
        self.check_sound(self.result())

    def test_ports_and_lcores_that_are_not_there_are_named_at_their_place(self):
        path = self.file('[[interface]]\nport = "net_tap9"\n')
        self.check_refused(['@loopback', '--', 'serve', '--config', path], f'{path}:2:8: there is no port net_tap9',
                           'net_ring0')
        path = self.file('lcores = [77]\n')
        self.check_refused(['@loopback', '--', 'serve', '--config', path], f'{path}:1:11: lcore 77')


if __name__ == '__main__':
    unittest.main()
