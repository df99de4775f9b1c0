"""A kernel interface as a port, by the profiles af_packet (veth) and tap: frames of the kernel's reach `fwd`, and what
`fwd` sends reaches the kernel. Also what the other tests of network namespaces build upon: that nothing stays behind.

Needs root; skips with the reason without.
"""
import os
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import netns  # noqa: E402

STRANGER = bytes.fromhex('020000000009')
FRAMES = 50

# A process that is to be killed: it makes a link, starts millrace there and tells its number.
VICTIM = '''
import sys, time
sys.path.insert(0, {support!r})
import netns
netns.end_by_exception_on_sigterm()
with netns.Link() as link, link.millrace('@af_packet', '--', 'fwd', '--mode', 'rxonly') as running:
    running.wait_line('running until')
    print(running.process.pid, link.folder, flush=True)
    time.sleep(60)
'''


def receive(sock, accept, count, seconds=10):
    """Up to `count` frames that accept() takes."""
    found = []
    until = time.monotonic() + seconds
    sock.settimeout(0.2)
    while len(found) < count and time.monotonic() < until:
        try:
            frame, where = sock.recvfrom(65535)
        except TimeoutError:
            continue
        if where[2] != 4 and accept(frame):  # 4: PACKET_OUTGOING, our own
            found.append(frame)
    return found


class Links(unittest.TestCase):
    def link(self, kind):
        reason = netns.missing(kind)
        if reason:
            self.skipTest(reason)
        made = netns.Link(kind)
        self.addCleanup(made.close)
        return made

    def check_accounts(self, result):
        self.assertTrue(result['conservation']['holds'], result['conservation'])
        self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)
        self.assertEqual([pool['in_use'] for pool in result['mempools']], [0])

    def check_swap(self, kind):
        link = self.link(kind)
        with link.millrace(netns.PROFILES[kind], '--', 'fwd', '--mode', 'macswap') as fwd:
            fwd.wait_line('running until')
            if kind == 'tap':
                link.plug()
            ours = link.kernel_mac()
            with link.kernel.raw(link.kernel_iface) as sock:
                bodies = [bytes([n]) * (46 + 29 * n) for n in range(FRAMES)]  # the last fills a frame of MTU 1500
                for body in bodies:
                    netns.send_frame(sock, netns.ethernet(STRANGER, ours, netns.EXPERIMENT, body))
                back = receive(sock, lambda frame: frame[12:14] == netns.EXPERIMENT.to_bytes(2, 'big'), FRAMES)
            self.assertEqual(back, [netns.ethernet(ours, STRANGER, netns.EXPERIMENT, body) for body in bodies])
            self.assertEqual(fwd.stop(), 0, fwd.said())
        self.check_accounts(fwd.result())
        self.assertGreaterEqual(fwd.result()['rx']['packets'], FRAMES)

    def test_what_macswap_sends_comes_back_over_veth(self):
        self.check_swap('veth')

    def test_what_macswap_sends_comes_back_over_tap(self):
        self.check_swap('tap')

    def test_a_jumbo_frame_passes_whole_where_ring_frames_are_large(self):
        link = self.link('veth')
        link.set_mtu(9000)
        with link.millrace('@af_packet', '--', 'fwd', '--mode', 'macswap',
                           environment={'MILLRACE_FRAMESZ': '16384', 'MILLRACE_BLOCKSZ': '65536'}) as fwd:
            fwd.wait_line('running until')
            ours = link.kernel_mac()
            body = bytes(range(250)) * 36
            with link.kernel.raw(link.kernel_iface) as sock:
                sock.send(netns.ethernet(STRANGER, ours, netns.EXPERIMENT, body))
                back = receive(sock, lambda frame: len(frame) > 9000, 1)
            self.assertEqual(back, [netns.ethernet(ours, STRANGER, netns.EXPERIMENT, body)])
            self.assertEqual(fwd.stop(), 0, fwd.said())
        self.check_accounts(fwd.result())

    def test_fragments_reach_the_port_as_they_are(self):
        # The driver would have the kernel put them together, and what is larger than a ring frame would arrive cut.
        link = self.link('veth')
        whole = netns.udp(netns.KERNEL_IP4, 40000, netns.BOX_IP4, 7, bytes(range(250)) * 12)
        parts = [netns.ipv4(netns.KERNEL_IP4, netns.BOX_IP4, whole[at:at + 1480], 17, 7,
                            (0x2000 if at + 1480 < len(whole) else 0) | at // 8) for at in range(0, len(whole), 1480)]
        with link.millrace('@af_packet', '--', 'fwd', '--mode', 'macswap') as fwd:
            fwd.wait_line('running until')
            ours = link.kernel_mac()
            with link.kernel.raw(link.kernel_iface) as sock:
                for part in parts:
                    netns.send_frame(sock, netns.ethernet(STRANGER, ours, 0x0800, part))
                back = receive(sock, lambda frame: frame[6:12] == STRANGER, len(parts))
            self.assertEqual(back, [netns.ethernet(ours, STRANGER, 0x0800, part) for part in parts])
            self.assertEqual(fwd.stop(), 0, fwd.said())

    def test_what_finds_the_ring_full_is_counted(self):
        link = self.link('veth')
        with link.millrace('@af_packet', '--', 'fwd', '--mode', 'rxonly', environment={'MILLRACE_FRAMECNT': '2'}) as fwd:
            fwd.wait_line('running until')
            before = netns.received(link.box, link.box_iface)
            with link.kernel.raw(link.kernel_iface) as sock:
                frame = netns.ethernet(STRANGER, link.kernel_mac(), netns.EXPERIMENT, bytes(100))
                for _ in range(2000):
                    netns.send_frame(sock, frame)
            arrived = netns.received(link.box, link.box_iface) - before
            self.assertEqual(fwd.stop(), 0, fwd.said())
        result = fwd.result()
        seen = result['conservation']['rx'] + result['errors'].get('rx_missed', 0)
        self.assertIn(seen - arrived, range(10), result)  # a few of the kernel's own came before
        self.check_accounts(result)

    def test_the_mtu_of_a_port_is_that_of_its_interface(self):
        link = self.link('veth')
        for mtu, told in ((1400, 1400), (9000, 1962)):  # a ring frame of 2048 bytes holds no more
            link.set_mtu(mtu)
            with link.millrace('@af_packet', '--', 'fwd', '--verbose') as fwd:
                fwd.wait_line('running until')
                self.assertIn(f', MTU {told}, ', '\n'.join(fwd.lines))
                self.assertEqual(fwd.stop(), 0, fwd.said())

    def test_an_interface_of_another_namespace_is_refused_by_name(self):
        link = self.link('veth')
        with link.millrace('@af_packet', '--', 'fwd', environment={'MILLRACE_IFACE': link.kernel_iface}) as fwd:
            self.assertEqual(fwd.wait(), 2, fwd.said())
            self.assertIn(link.kernel_iface, '\n'.join(fwd.errors))

    def check_that_nothing_stays(self, number):
        self.link('veth').close()  # or skip
        support = os.path.dirname(os.path.abspath(netns.__file__))
        with subprocess.Popen([sys.executable, '-B', '-c', VICTIM.format(support=support)], stdout=subprocess.PIPE,
                              text=True) as victim:
            pid, folder = victim.stdout.readline().split()
            victim.send_signal(number)
            victim.wait(20)
        until = time.monotonic() + 20
        while os.path.exists(f'/proc/{pid}') and time.monotonic() < until:
            time.sleep(0.02)
        self.assertFalse(os.path.exists(f'/proc/{pid}'), 'millrace outlives the test')
        return folder

    def test_a_test_that_is_told_to_stop_leaves_nothing(self):
        self.assertFalse(os.path.exists(self.check_that_nothing_stays(signal.SIGTERM)))

    def test_a_test_that_is_killed_takes_its_processes_along(self):
        folder = self.check_that_nothing_stays(signal.SIGKILL)
        if os.path.isdir(folder):  # files alone survive that
            subprocess.run(['rm', '-r', '--', folder], check=True)


if __name__ == '__main__':
    netns.skip_unless_possible(('veth', 'tap'))
    netns.end_by_exception_on_sigterm()
    unittest.main()
