"""`millrace -- inspect` with secrets: what it decrypts of the corpus, held against tshark; key logs good and bad.

Needs neither root nor hugepages. Cases of the corpus skip where it is absent, those of tshark where that is not installed.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MILLRACE = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(SOURCE, 'build')), 'app', 'millrace')
CORPUS = os.path.join(os.environ.get('MILLRACE_CORPUS') or os.environ.get('MILLRACE_CORPUS_DEFAULT') or
                      os.path.join(SOURCE, '..', 'shared', 'corpus'), 'pcap', 'quic')
CAPTURES = os.path.join(SOURCE, 'test', 'captures')
TIMEOUT_S = 120
RANDOM = ''.join(f'{byte:02x}' for byte in range(32))

# Captures with secrets, whether their keys lie beside them, and how many packets they open: all there are.
OPENED = {
    'illustrated-quic-capture.pcap': (True, 12),
    'ja4-chrome-cloudflare-quic-with-secrets.pcapng': (False, 35),
    'ndpi-quic-v2.pcapng': (False, 24),
    'ndpi-doq.pcapng': (False, 17),
    'pcap2qlog-ack_range.pcapng': (True, 385),
    'pcap2qlog-multi_stream.pcap': (True, 48),
    'pcap2qlog-ngtcp2_test.pcapng': (True, 381),
}
# draft-15 counts packets otherwise, and no one reads it any more.
NOTHING = {'pcap2qlog-local-ngtcp2-pcap-encrypted.pcap': True, 'pcap2qlog-local-ngtcp2-pcapng-injected.pcapng': False}

FRAMES = ['padding', 'ping', 'ack', 'ack', 'reset_stream', 'stop_sending', 'crypto', 'new_token'] + ['stream'] * 8 + [
    'max_data', 'max_stream_data', 'max_streams', 'max_streams', 'data_blocked', 'stream_data_blocked',
    'streams_blocked', 'streams_blocked', 'new_connection_id', 'retire_connection_id', 'path_challenge',
    'path_response', 'connection_close', 'connection_close', 'handshake_done']


def run(*arguments):
    return subprocess.run([MILLRACE, '--', 'inspect', *arguments], capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)


def inspect(*arguments):
    done = run(*arguments, '--json', '-')
    if done.returncode:
        raise AssertionError(f'exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}')
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')], done.stderr


def of_corpus(name, with_keys):
    path = os.path.join(CORPUS, name)
    return [path, '--keylog', path + '.keys'] if with_keys else [path]


def tshark_frames(name, with_keys):
    """Frames by type for each UDP source, as tshark reads them in two passes."""
    path = os.path.join(CORPUS, name)
    keys = ['-o', f'tls.keylog_file:{path}.keys'] if with_keys else []
    done = subprocess.run(['tshark', '-2', '-r', path, *keys, '-Y', 'quic && !icmpv6', '-T', 'fields', '-E',
                           'separator=|', '-e', 'ip.src', '-e', 'ipv6.src', '-e', 'udp.srcport', '-e',
                           'quic.frame_type'], capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    counts = collections.defaultdict(collections.Counter)
    for line in done.stdout.splitlines():
        v4, v6, port, types = line.split('|')
        for kind in filter(None, types.split(',')):
            number = int(kind, 0)
            counts[f'{v4}:{port}' if v4 else f'[{v6}]:{port}'][
                FRAMES[number] if number < len(FRAMES) else 'extension'] += 1
    return counts


class Corpus(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if not os.path.isdir(CORPUS):
            self.skipTest('the shared corpus is absent (set MILLRACE_CORPUS)')

    def only_quic(self, name, with_keys):
        objects, _ = inspect(*of_corpus(name, with_keys))
        found = [o for o in objects if o['proto'] == 'quic']
        self.assertEqual(len(found), 1)
        return found[0]

    def test_every_packet_of_every_capture_with_secrets_opens(self):
        for name, (with_keys, opened) in OPENED.items():
            with self.subTest(capture=name):
                one = self.only_quic(name, with_keys)
                told = one['decrypted']
                self.assertNotIn('unopened', told)
                self.assertNotIn('bad_frames', told)
                self.assertNotIn('limits', told)
                self.assertEqual(told['packets'], opened)
                kinds = {kind: told['client']['packets'].get(kind, 0) + told['server']['packets'].get(kind, 0)
                         for kind in ('initial', 'zero_rtt', 'handshake', 'one_rtt')}
                self.assertEqual(kinds, {kind: one['packets'][kind] for kind in kinds})

    def test_secrets_of_a_version_nobody_reads_open_nothing(self):
        for name, with_keys in NOTHING.items():
            with self.subTest(capture=name):
                self.assertNotIn('decrypted', self.only_quic(name, with_keys))

    def test_frames_are_those_that_tshark_sees(self):
        if shutil.which('tshark') is None:
            self.skipTest('tshark is not installed')
        for name, (with_keys, _) in OPENED.items():
            with self.subTest(capture=name):
                one = self.only_quic(name, with_keys)
                expected = tshark_frames(name, with_keys)
                for side, address in (('client', one['src']), ('server', one['dst'])):
                    self.assertEqual(one['decrypted'][side]['frames'], dict(expected[address]), side)

    def test_illustrated_connection_is_told_as_its_author_tells_it(self):
        told = self.only_quic('illustrated-quic-capture.pcap', True)['decrypted']
        self.assertEqual((told['cipher_suite'], told['alpn']), ('0x1301', 'ping/1.0'))
        self.assertEqual(told['client']['frames'], {'ack': 4, 'crypto': 2, 'stream': 1})
        self.assertEqual(told['server']['frames'],
                         {'ack': 3, 'crypto': 3, 'stream': 1, 'connection_close': 1, 'handshake_done': 1})
        self.assertEqual(told['stream_list'], [{'id': 0, 'client': {'bytes': 4, 'ended': True},     # "ping"
                                                'server': {'bytes': 4, 'ended': True}}])            # "pong"
        self.assertEqual(told['server']['close'],
                         {'from_application': False, 'code': 0, 'frame_type': 0, 'reason': 'graceful shutdown'})
        self.assertEqual(told['server']['handshake'], {'server_hello': 1, 'encrypted_extensions': 1, 'certificate': 1,
                                                       'certificate_verify': 1, 'finished': 1})

    def test_http3_requests_are_counted(self):
        expected = {'ja4-chrome-cloudflare-quic-with-secrets.pcapng': 1, 'ndpi-quic-v2.pcapng': 3,
                    'pcap2qlog-multi_stream.pcap': 4, 'pcap2qlog-ack_range.pcapng': 1}
        for name, requests in expected.items():
            with self.subTest(capture=name):
                told = self.only_quic(name, OPENED[name][0])['decrypted']
                self.assertEqual(told['client']['h3']['frames']['headers']['count'], requests)
                self.assertEqual(told['server']['h3']['streams']['control'], 1)
                self.assertEqual(told['server']['h3']['frames']['settings']['count'], 1)

    def test_summary_has_the_sums_of_the_objects(self):
        for name, (with_keys, _) in OPENED.items():
            with self.subTest(capture=name), tempfile.NamedTemporaryFile('r', suffix='.json') as summary:
                objects, _ = inspect(*of_corpus(name, with_keys), '--summary', summary.name)
                figures = json.loads(summary.read())['key_log']
                told = [one['decrypted'] for one in objects if 'decrypted' in one]
                self.assertEqual(figures['packets_opened'], sum(one['packets'] for one in told))
                self.assertEqual(figures['connections_decrypted'], len(told))

    def test_wrong_secrets_are_told_from_right_ones(self):
        capture = os.path.join(CORPUS, 'illustrated-quic-capture.pcap')
        with open(capture + '.keys', encoding='ascii') as file, \
                tempfile.NamedTemporaryFile('w', suffix='.keys') as wrong:
            wrong.write(''.join(f'{line.rsplit(" ", 1)[0]} {"5a" * 32}\n' for line in file if line.strip()))
            wrong.flush()
            objects, told = inspect(capture, '--keylog', wrong.name)
        self.assertIn('0 connections decrypted, 1 whose secrets opened nothing', told)
        self.assertIn('Initials, which need no secrets', told)
        one = objects[0]['decrypted']
        self.assertEqual(one['packets'] + sum(one['unopened'].values()), 12)

    def test_key_log_of_another_run_opens_nothing_and_harms_nothing(self):
        plain, _ = inspect(os.path.join(CORPUS, 'pcap2qlog-multi_stream.pcap'))
        other, told = inspect(os.path.join(CORPUS, 'pcap2qlog-multi_stream.pcap'), '--keylog',
                              os.path.join(CORPUS, 'illustrated-quic-capture.pcap.keys'))
        self.assertEqual(plain, other)
        self.assertIn('0 connections decrypted', told)

    def test_truncated_key_logs_open_less_and_less(self):
        with open(os.path.join(CORPUS, 'illustrated-quic-capture.pcap.keys'), encoding='ascii') as file:
            lines = file.read().splitlines(keepends=True)
        with tempfile.NamedTemporaryFile('w', suffix='.keys') as cut:
            for count in range(1, len(lines) + 1):
                cut.seek(0)
                cut.truncate()
                cut.write(''.join(lines[:count])[:-20])  # the last line is cut
                cut.flush()
                objects, told = inspect(os.path.join(CORPUS, 'illustrated-quic-capture.pcap'), '--keylog', cut.name)
                one = objects[0].get('decrypted', {'packets': 0})
                self.assertLess(one['packets'], 12)
                self.assertIn('1 malformed line', told) if 'EXPORTER' not in lines[count - 1] else None


class KeyLogs(unittest.TestCase):
    capture = os.path.join(CAPTURES, 'quic-v1.pcap')

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, 'wb') as file:
                file.write(content)
        return path

    def test_what_is_no_key_log_file_is_named_with_status_2(self):
        os.mkfifo(self.path('fifo'))
        os.mkdir(self.path('folder'))
        unusable = [self.path('missing'), self.path('fifo'), self.path('folder'), self.path('empty', b''), '/dev/null']
        for path in unusable:
            with self.subTest(path=path):
                done = run(self.capture, '--keylog', path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn('--keylog ' + path, done.stderr)
                self.assertEqual(done.stdout, '')

    def test_key_log_without_capture_is_refused(self):
        done = run('--live', '--keylog', self.path('some', b'\n'))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('--keylog', done.stderr)

    def test_lines_are_counted_by_what_they_are(self):
        text = (f'CLIENT_RANDOM {RANDOM} {"ab" * 48}\n' * 3 + f'CLIENT_TRAFFIC_SECRET_0 {RANDOM} {"cd" * 32}\n' +
                f'EXPORTER_SECRET {RANDOM} {"ef" * 32}\n' + 'rubbish\n\n# comment\n')
        _, told = inspect(self.capture, '--keylog', self.path('mixed', text.encode()))
        for part in ('1 secret of 1 handshake', '3 lines of TLS 1.2', '1 other', '1 malformed'):
            self.assertIn(part, told)

    def test_binary_and_endless_lines_are_counted_and_survived(self):
        plain, _ = inspect(self.capture)
        for name, content in (('binary', os.urandom(1 << 20)), ('zeros', bytes(1 << 22)),
                              ('one line', b'CLIENT_TRAFFIC_SECRET_0 ' + b'a' * (8 << 20)),
                              ('newlines', b'\n' * (1 << 20))):
            with self.subTest(content=name):
                objects, _ = inspect(self.capture, '--keylog', self.path(name, content))
                self.assertEqual(objects, plain)

    def test_enormous_key_log_takes_bounded_memory(self):
        path = self.path('enormous')
        with open(path, 'wb') as file:
            for block in range(200):
                file.write(b''.join(b'CLIENT_TRAFFIC_SECRET_0 %064x %s\n' % (block * 1000 + n, b'5a' * 32)
                                    for n in range(1000)))
        objects, told = inspect(self.capture, '--keylog', path)
        self.assertIn('200000 secrets of 200000 handshakes', told)
        self.assertTrue(objects)

    def test_mark_in_front_of_utf_8_costs_no_secret(self):
        text = f'CLIENT_TRAFFIC_SECRET_0 {RANDOM} {"cd" * 32}\n'
        _, told = inspect(self.capture, '--keylog', self.path('marked', b'\xef\xbb\xbf' + text.encode()))
        self.assertIn('1 secret of 1 handshake', told)
        self.assertNotIn('skipped', told)

    def test_log_without_secrets_is_named(self):
        path = self.path('none', f'CLIENT_RANDOM {RANDOM} {"ab" * 48}\n'.encode())
        done = run(self.capture, '--keylog', path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f'--keylog {path}: no line has a secret of QUIC', done.stderr)
        self.assertIn('  try: ', done.stderr)

    def test_stdin_and_second_key_log_are_refused_in_words(self):
        one = self.path('one', f'CLIENT_TRAFFIC_SECRET_0 {RANDOM} {"cd" * 32}\n'.encode())
        for arguments, words in ((['--keylog', '-'], 'not read from stdin'),
                                 (['--keylog', one, '--keylog', one], 'was given 2 times')):
            done = run(self.capture, *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)

    def test_options_of_live_analysis_are_refused_beside_a_capture(self):
        for arguments in (['--duration', '1'], ['--idle-exit', '1'], ['--stats-period', '1'], ['--idle', 'poll']):
            done = run(self.capture, *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f'{arguments[0]} means nothing to a capture', done.stderr)

    def test_summary_has_stdout_for_itself_and_the_figures_of_the_key_log(self):
        path = self.path('log', f'CLIENT_TRAFFIC_SECRET_0 {RANDOM} {"cd" * 32}\nrubbish\n'.encode())
        done = run(self.capture, '--keylog', path, '--summary', '-')
        self.assertEqual(done.returncode, 0, done.stderr)
        figures = json.loads(done.stdout)['key_log']
        self.assertEqual((figures['secrets'], figures['malformed'], figures['skipped']), (1, 1, 0))
        self.assertEqual((figures['packets_opened'], figures['packets_unopened']), (0, 0))
        self.assertIn('conservation', done.stderr)

    def test_key_log_is_never_written_over(self):
        path = self.path('keys', f'CLIENT_TRAFFIC_SECRET_0 {RANDOM} {"cd" * 32}\n'.encode())
        size = os.path.getsize(path)
        for option in ('--json', '--summary'):
            done = run(self.capture, '--keylog', path, option, path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(os.path.getsize(path), size)


if __name__ == '__main__':
    if not os.path.exists(MILLRACE):
        print(f'{MILLRACE} is not built')
        sys.exit(77)
    unittest.main()
