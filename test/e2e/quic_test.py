"""QUIC against programs that are none of ours: a client and a server on libngtcp2 (test/peers), over a veth in namespaces.

The cells are those of scripts/interop, less what takes long; test/support/interop.py has them. Needs root; skips with the
reason where namespaces cannot be made, the peers are not built, or this build does not have the role.
"""
import json
import os
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import interop  # noqa: E402
import netns    # noqa: E402


def cell_test(cell):
    def test(self):
        found = interop.check(self.pair, cell)
        if found.result == 'none':
            self.skipTest(found.note)
        self.assertEqual(found.result, 'ok', f'{found.note}\n{self.pair.said()}')
    test.__name__ = 'test_' + ''.join(c if c.isalnum() else '_' for c in cell.name)
    return test


def with_cells(*names):
    """A test for each cell; they run in this order, so that one server serves many."""
    def decorate(of):
        cells = {cell.name: cell for cell in interop.CELLS}
        for number, name in enumerate(names):
            test = cell_test(cells[name])
            test.__name__ = test.__name__.replace('test_', f'test_{number:02}_', 1)
            setattr(of, test.__name__, test)
        return of
    return decorate


def secrets_of(key_log):
    with open(key_log, encoding='ascii') as file:
        return {tuple(line.split()) for line in file if line[0] != '#'}


class PairCase(unittest.TestCase):
    kind = None
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        reason = interop.missing()
        if reason:
            raise unittest.SkipTest(reason)
        cls.pair = cls.kind()
        reason = cls.pair.absent()
        if reason:
            raise unittest.SkipTest(reason)
        cls.addClassCleanup(cls.pair.__exit__, None, None, None)
        cls.addClassCleanup(cls.pair.finish)  # and it ends well


@with_cells('handshake', 'transfer 10 MB', 'multi-stream', 'retry', '0-RTT', 'key update', 'migration', '5 % loss each way',
            'version negotiation', 'SRMP')
class Peers(PairCase):
    """The two with one another: what they say of millrace is worth something."""
    kind = interop.PeerToPeer


@with_cells('handshake', 'transfer 10 MB', 'multi-stream', 'resumption', '0-RTT', 'ChaCha20', 'AES-256', 'key update', 'rebinding',
            'migration', '5 % loss each way', 'IPv6', 'version negotiation', 'SRMP', 'stream echo', 'retry', 'MTU 9000')
class OurServer(PairCase):
    kind = interop.PeerToMillrace


@with_cells('handshake', 'transfer 10 MB', 'multi-stream', 'retry', 'resumption', '0-RTT', 'ChaCha20', 'key update', 'rebinding', 'migration',
            '5 % loss each way', 'IPv6', 'version negotiation', 'SRMP', 'MTU 9000')
class OurClient(PairCase):
    kind = interop.MillraceToPeer


class OurServerFromFiles(PairCase):
    """`serve` with a certificate from files, an RSA key, and a key log."""
    kind = interop.PeerToMillrace

    def test_an_rsa_certificate_and_the_same_secrets_in_both_key_logs(self):
        link = self.pair.cable()
        key, certificate = link.path('key.pem'), link.path('cert.pem')
        made = subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=peer.example',
                               '-keyout', key, '-out', certificate], capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        logs = link.path('theirs.keys'), link.path('ours.keys')
        with link.millrace('@af_packet', '--', 'serve', '--cert', certificate, '--key', key, '--keylog', logs[1]) as server:
            server.wait_ready()
            try:
                got = interop.run_peer_client(link.kernel, netns.BOX_IP4, ['/bytes/5000'], ['--keylog', logs[0]])
            except interop.Failed as reason:
                self.fail(f'{reason}\n{server.said()}')
            self.assertEqual(server.stop(), 0, server.said())
        self.assertEqual(got['digests'], {'/bytes/5000': interop.pattern_digest(5000)})
        theirs, ours = (secrets_of(name) for name in logs)
        wanted = {'CLIENT_HANDSHAKE_TRAFFIC_SECRET', 'SERVER_HANDSHAKE_TRAFFIC_SECRET', 'CLIENT_TRAFFIC_SECRET_0',
                  'SERVER_TRAFFIC_SECRET_0'}
        self.assertLessEqual(wanted, {label for label, _, _ in theirs})
        self.assertEqual({line for line in ours if line[0] in wanted}, {line for line in theirs if line[0] in wanted})


    def test_qlog_of_each_connection(self):
        link = self.pair.cable()
        directory = link.path('qlog')
        os.mkdir(directory)
        with link.millrace('@af_packet', '--', 'serve', '--qlog', directory) as server:
            server.wait_ready()
            for _ in range(2):
                try:
                    interop.run_peer_client(link.kernel, netns.BOX_IP4, ['/bytes/50000'], [])
                except interop.Failed as reason:
                    self.fail(f'{reason}\n{server.said()}')
            self.assertEqual(server.stop(), 0, server.said())
        names = sorted(os.listdir(directory))
        self.assertEqual([name.endswith('_server.sqlog') for name in names], [True, True], names)
        for name in names:
            with open(os.path.join(directory, name), encoding='ascii') as file:
                events = [json.loads(text) for text in file.read().split('\x1e') if text]
            self.assertEqual(events[0]['trace']['common_fields']['ODCID'] + '_server.sqlog', name)
            self.assertLess(abs(events[0]['trace']['common_fields']['reference_time'] / 1000 - time.time()), 300)
            kinds = [event['name'] for event in events[1:]]
            self.assertEqual(kinds[0], 'connectivity:connection_started')
            self.assertEqual(kinds[-1], 'connectivity:connection_closed')
            sent = [event['data'] for event in events[1:] if event['name'] == 'transport:packet_sent']
            self.assertGreaterEqual(sum(packet['raw']['length'] for packet in sent), 50_000)
            self.assertIn({'frame_type': 'handshake_done'}, [frame for packet in sent for frame in packet['frames']])

    def test_a_qlog_directory_that_is_none_is_an_error_at_once(self):
        link = self.pair.cable()
        with link.millrace('@af_packet', '--', 'serve', '--qlog', link.path('not-there')) as server:
            self.assertEqual(server.wait(), 2, server.said())
            self.assertIn('not-there', server.said())


del PairCase  # not a test of its own

if __name__ == '__main__':
    why = interop.missing()
    if why:
        print(f'skipped: {why}')
        sys.exit(netns.SKIPPED)
    netns.skip_unless_possible()
    netns.end_by_exception_on_sigterm()
    done = unittest.main(exit=False).result
    # A role that is not in this build: nothing ran, which is a skip.
    sys.exit(netns.SKIPPED if done.wasSuccessful() and done.testsRun == 0 else not done.wasSuccessful())
