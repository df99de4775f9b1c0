"""WebSocket over HTTP/3 (RFC 9220) with a client that is none of ours: libngtcp2 and libnghttp3 (test/peers), over a veth in
namespaces. Chromium's is in browser_test.py.

Needs root; skips with the reason where namespaces cannot be made or the peer is not built.
"""
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import interop  # noqa: E402
import netns    # noqa: E402

CLIENT = os.path.join(interop.PEERS, 'websocket_client')
MESSAGES, PINGS = 18, 18  # of a session: nine sizes, whole and in three fragments with pings between


class WebSocket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = netns.missing('veth') or (None if os.path.exists(CLIENT) else 'the peer is not built: libngtcp2-dev, libnghttp3-dev '
                                           '(scripts/install-packages --with-tests)')
        if reason:
            raise unittest.SkipTest(reason)
        cls.link = interop.Cable()
        cls.addClassCleanup(cls.link.__exit__, None, None, None)
        cls.server = cls.link.millrace('@af_packet', '--', 'serve')
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.server.wait_ready()

    def talk(self, *options):
        done = self.link.kernel.run(CLIENT, netns.BOX_IP4, '443', *options, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, f'{done.stdout}{done.stderr}')
        return json.loads(done.stdout)

    def test_messages_of_all_sizes_come_back(self):
        told = self.talk()
        self.assertEqual((told['status'], told['messages'], told['pongs'], told['close']), (200, MESSAGES, PINGS, 1000))

    def test_sessions_share_a_connection(self):
        # Each is in the middle of a megabyte at some time: what all of them gather stays below its bound.
        told = self.talk('--sessions', '3')
        self.assertEqual((told['sessions'], told['messages'], told['pongs']), (3, 3 * MESSAGES, 3 * PINGS))

    def test_nothing_is_lost_with_datagrams(self):
        told = self.talk('--loss', '2', '--timeout', '50')
        self.assertGreater(told['lost'], 0)
        self.assertEqual((told['messages'], told['close']), (MESSAGES, 1000))

    def test_what_breaks_a_rule_is_closed_with_its_code(self):
        for says, code in (('unmasked', 1002), ('rsv1', 1002), ('not-utf8', 1007), ('too-big', 1009)):
            with self.subTest(says=says):
                told = self.talk('--says', says)
                self.assertEqual((told['status'], told['close']), (200, code))

    def test_openings_that_are_refused(self):
        for options, status in ((['--protocol', 'connect-udp'], 501), (['--version', '8'], 400), (['/nowhere'], 404), (['/stats'], 405)):
            with self.subTest(options=options):
                self.assertEqual(self.talk(*options)['status'], status)

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        assert status == 0, status
        result = cls.server.result()
        interop.check_accounts(result)
        assert result['errors'].get('ws_failed_protocol') == 2, result['errors']
        assert result['errors'].get('ws_failed_text') == 1, result['errors']
        assert result['errors'].get('ws_failed_too_big') == 1, result['errors']


if __name__ == '__main__':
    unittest.main()
