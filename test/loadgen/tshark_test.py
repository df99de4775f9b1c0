"""Generated frames as another program sees them: tshark finds nothing malformed, no bad checksum, every SNI, all flows.

    tshark_test.py WRITE_FRAMES
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWS = 32
STEPS = 16
GOOD, ERROR = '1', str(0x00800000)  # as tshark numbers a checksum's status and a severity
CHECKS = ['-o', 'ip.check_checksum:TRUE', '-o', 'udp.check_checksum:TRUE', '-o', 'tcp.check_checksum:TRUE']
BAD = ('_ws.malformed or _ws.expert.severity == "Error" or ip.checksum.status == "Bad" or '
       'udp.checksum.status == "Bad" or tcp.checksum.status == "Bad"')
WRITE_FRAMES = sys.argv.pop(1) if len(sys.argv) > 1 else ''


def tshark(capture, *arguments):
    """The lines tshark prints, each split at its tabs."""
    done = subprocess.run(['tshark', '-n', '-r', capture, *CHECKS, *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, 'LC_ALL': 'C'})
    return [line.split('\t') for line in done.stdout.splitlines()]


class Frames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='millrace-frames-')
        self.addCleanup(folder.cleanup)
        self.capture = os.path.join(folder.name, 'frames.pcap')

    def write(self, size, *kinds):
        subprocess.run([WRITE_FRAMES, self.capture, str(size), str(FLOWS), *kinds], check=True)

    def test_nothing_is_malformed_and_no_checksum_is_bad(self):
        for size in (0, 91, 1261, 1262, 9000):
            with self.subTest(size=size):
                self.write(size)
                seen = tshark(self.capture, '-T', 'fields', '-e', 'frame.len', '-e', 'udp.checksum.status', '-e',
                              'tcp.checksum.status', '-e', 'ip.checksum.status', '-e', '_ws.malformed', '-e',
                              '_ws.expert.severity')
                self.assertEqual(len(seen), FLOWS * STEPS)
                for length, udp, tcp, ip, malformed, severities in seen:
                    self.assertEqual(int(length), size or int(length))
                    self.assertEqual(udp + tcp, GOOD)  # one of the two is there, and right
                    self.assertIn(ip, (GOOD, ''))      # IPv6 has none
                    self.assertEqual(malformed, '')
                    self.assertNotIn(ERROR, severities.split(','))

    def test_these_checks_would_find_a_changed_byte(self):
        self.write(1514, 'tcp')
        with open(self.capture, 'r+b') as file:
            file.seek(24 + 16 + 1000)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))
        self.assertEqual(len(tshark(self.capture, '-Y', BAD)), 1)

    def test_every_initial_opens_and_names_its_flow(self):
        self.write(1262, 'quic')
        names = tshark(self.capture, '-Y', 'tls.handshake.extensions_server_name', '-T', 'fields', '-e',
                       'tls.handshake.extensions_server_name', '-e', 'tls.handshake.extensions_alpn_str')
        self.assertEqual(sorted(map(tuple, names)), sorted((f'flow-{i}.millrace.test', 'h3') for i in range(FLOWS)))
        versions = {line[0] for line in tshark(self.capture, '-Y', 'quic.header_form == 1', '-T', 'fields', '-e',
                                               'quic.version')}
        self.assertEqual(versions, {'0x00000001', '0x6b3343cf'})
        short = tshark(self.capture, '-Y', 'quic.short')
        self.assertEqual(len(short), FLOWS * (STEPS - 3))

    def test_tcp_life_is_seen_whole(self):
        self.write(0, 'tcp')
        flags = tshark(self.capture, '-Y', 'tcp.flags.syn == 1 and tcp.flags.ack == 0')
        self.assertEqual(len(flags), FLOWS)
        lost = 'tcp.analysis.lost_segment or tcp.analysis.retransmission or tcp.analysis.out_of_order'
        self.assertEqual(tshark(self.capture, '-Y', lost), [])
        self.assertEqual(len(tshark(self.capture, '-Y', 'tcp.flags.fin == 1')), 2 * FLOWS)

    def test_there_are_as_many_flows_as_asked(self):
        self.write(128)
        streams = {tuple(line) for line in tshark(self.capture, '-T', 'fields', '-e', 'udp.stream', '-e', 'tcp.stream')}
        self.assertEqual(len(streams), FLOWS)


if __name__ == '__main__':
    if shutil.which('tshark') is None:
        print('tshark is not installed')
        sys.exit(77)
    unittest.main()
