"""`serve` is told to stop while requests pour in: what it took in is answered, what it counts as sent arrives, nothing is
answered twice, and it ends by itself.

Needs root; skips with the reason without.
"""
import os
import signal
import socket
import struct
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_case import SRMP_PORT, ServeCase, netns, srmp  # noqa: E402

CALLS_A_DATAGRAM = 20
RUN_S = 1.0
SO_RCVBUFFORCE = 33
RECEIVE_BUFFER = 256 << 20  # of the asker's socket: it loses nothing
WINDOW = 256                # datagrams on their way: fewer than the packet socket's ring has places


class Asker:
    """Numbered calls on one socket, as many as the window lets out, until it is told to stop; every reply is noted."""

    def __init__(self, sock):
        self.sock = sock
        self.sent = 0
        self.answers = []  # the number in each reply, in order of arrival
        self.wrong = []
        self.stopping = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._ask, self._listen)]
        for thread in self._threads:
            thread.start()

    def _ask(self):
        while not self.stopping.is_set():
            if self.sent - len(self.answers) > WINDOW * CALLS_A_DATAGRAM:
                time.sleep(0.0002)
                continue
            numbers = range(self.sent, self.sent + CALLS_A_DATAGRAM)
            self.sent += CALLS_A_DATAGRAM
            try:
                self.sock.send(b''.join(srmp.frame(number & 0xFF, srmp.call('Echo', struct.pack('<Q', number)))
                                        for number in numbers))
            except OSError:  # nobody there any more
                return

    def _listen(self):
        quiet = 0
        while quiet < 5:
            try:
                datagram = self.sock.recv(65535)
            except TimeoutError:
                quiet += self.stopping.is_set()
                continue
            except OSError:
                return
            for what, _, seq, payload in srmp.frames(datagram):
                name, code, data = srmp.read_reply(what, payload)
                number, = struct.unpack('<Q', data)
                if (what, name, code, seq) != (srmp.REPLY, 'Echo', 0, number & 0xFF):
                    self.wrong.append((what, name, code, seq, number))
                self.answers.append(number)

    def finish(self):
        self.stopping.set()
        for thread in self._threads:
            thread.join()


class StopUnderLoad(ServeCase):
    programs = ('ping',)

    def lost_at_sockets(self):
        """Datagrams that no socket's buffer had room for, of the kernel's namespace."""
        def read():
            with open('/proc/thread-self/net/snmp', encoding='ascii') as file:
                rows = [line.split() for line in file if line.startswith('Udp:')]
            return dict(zip(rows[0][1:], map(int, rows[1][1:])))
        return self.link.kernel.inside(read)['RcvbufErrors']

    def asker(self):
        sock = self.link.kernel.socket(timeout=0.1)
        self.addCleanup(sock.close)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        sock.connect((netns.BOX_IP4, SRMP_PORT))
        return Asker(sock)

    def test_nothing_that_was_acknowledged_is_lost(self):
        askers = [self.asker() for _ in range(2)]
        time.sleep(RUN_S)
        self.server.signal(signal.SIGTERM)  # they go on asking
        status = self.server.wait()
        time.sleep(0.1)
        for asker in askers:
            asker.finish()
        self.assertEqual(status, 0, self.server.said())
        result = self.server.result()
        answered = 0
        for asker in askers:
            self.assertEqual(asker.wrong, [])
            self.assertEqual(len(set(asker.answers)), len(asker.answers), 'a request was answered twice')
            self.assertLess(max(asker.answers), asker.sent)
            self.assertGreater(asker.sent - len(asker.answers), 0, 'they had stopped asking before the server did')
            answered += len(asker.answers)
        self.assertGreater(answered, 1000)
        # The cable and the sockets lose nothing, so both ends must count the same.
        self.assertEqual(self.lost_at_sockets(), 0)
        self.assertEqual(netns.received(self.link.kernel, self.link.kernel_iface), result['conservation']['tx'],
                         self.server.said())
        self.check_messages(result, answered)
        self.stop_server()  # the accounts

    def check_messages(self, result, answered):
        """Every call that was taken in was answered, and every answer has arrived."""
        counted = result['rate']['messages_per_s'] * result['duration_s']
        self.assertAlmostEqual(counted, answered, delta=max(2, counted * 1e-5), msg=self.server.said())

    def tearDown(self):
        pass


if __name__ == '__main__':
    netns.skip_unless_possible(('veth',), ('ping',))
    netns.end_by_exception_on_sigterm()
    unittest.main()
