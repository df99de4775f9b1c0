"""`serve` is told to stop while a body is on its way over HTTP/3: the body arrives whole, then the program ends.

RFC 9114 5.2: GOAWAY first, the requests that have begun are answered, and the connection ends without an error. The client is
ngtcp2's gtlsclient, over a veth. Needs root; skips with the reason where namespaces cannot be made or the client is not there.
"""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_case import ServeCase, check_accounts, netns  # noqa: E402
import http3  # noqa: E402

BODY = 200_000_000


class StopCase(ServeCase):
    """A client that has got the beginning of a body."""

    @classmethod
    def setUpClass(cls):
        if cls is StopCase:
            raise unittest.SkipTest('what the cases below share')
        reason = http3.missing()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUpClass()

    def tearDown(self):
        pass  # the server is meant to be gone

    def begin(self):
        """The client's process, the file that it writes."""
        folder = self.link.path('download')
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        name = os.path.join(folder, str(BODY))
        client = self.link.kernel.start(http3.GTLSCLIENT, '--exit-on-all-streams-close', '--timeout=60s', '--quiet', '--no-quic-dump',
                                        '--no-http-dump', f'--download={folder}', netns.BOX_IP4, '443', f'https://localhost/bytes/{BODY}')
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        for _ in range(2000):
            if os.path.exists(name) and os.path.getsize(name) > 1_000_000:
                break
            time.sleep(0.005)
        self.assertLess(os.path.getsize(name), BODY, 'it was there before the stop: a longer body is needed')
        return client, name

    def stop(self):
        status = self.server.stop(timeout=110)
        self.assertEqual(status, 0, self.server.said())
        result = self.server.result()
        check_accounts(result, self.server.said())
        return result


class BodyOnItsWay(StopCase):
    tables = '[loop]\nstop-patience = 100\n'

    def test_it_arrives_whole(self):
        client, name = self.begin()
        result = self.stop()
        try:
            client.wait(60)
        except subprocess.TimeoutExpired:
            self.fail('the client waits for more\n' + self.server.said())
        self.assertEqual(os.path.getsize(name), BODY, self.server.said())
        self.assertNotIn('h3_aborted', result['errors'])


class ReaderThatStands(StopCase):
    tables = '[loop]\nstop-patience = 1\n'

    def test_it_does_not_keep_the_program(self):
        client, name = self.begin()
        client.send_signal(signal.SIGSTOP)
        self.stop()  # by itself, and with every packet accounted for
        self.assertLess(os.path.getsize(name), BODY)


if __name__ == '__main__':
    unittest.main()
