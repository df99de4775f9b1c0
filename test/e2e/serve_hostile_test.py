"""`serve` among liars and floods: each bad frame is dropped for its own reason, which the final figures name, and calls
are answered all the while. Frames are made by hand and sent through a packet socket at the kernel's end of a veth pair.

Needs root; skips with the reason without.
"""
import collections
import os
import random
import struct
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_case import (CLOSED_PORT, ECHO_PORT, FIXED_IP4, FIXED_MAC, SECOND_IP4, SRMP_PORT, ServeCase,  # noqa: E402
                        netns, srmp)

IP4, IP6, ARP = 0x0800, 0x86DD, 0x0806
BOX4, BOX6, KERNEL4, KERNEL6 = netns.BOX_IP4, netns.BOX_IP6, netns.KERNEL_IP4, netns.KERNEL_IP6
EVIL_MAC = bytes.fromhex('02000000e011')
BROADCAST = b'\xff' * 6
ZERO_MAC = bytes(6)
PORT = 20000  # below those the kernel gives to sockets that ask for none
FLOOD = 20_000
# What the kernel's own talk of itself (listener reports, questions about others) may add to.
NOISE = {'l2_not_for_us', 'ndp_not_for_us', 'ip_not_for_us', 'arp_not_for_us'}


class Hostile(ServeCase):
    programs = ('ping',)

    def setUp(self):
        self.kernel_mac = self.link.kernel_mac()
        self.raw = self.link.kernel.raw(self.link.kernel_iface)
        self.addCleanup(self.raw.close)

    # --- saying ---

    def say(self, payload, ethertype=IP4, source=None, destination=None, vlan=None):
        netns.send_frame(self.raw, netns.ethernet(destination or self.box_mac, source or self.kernel_mac, ethertype, payload,
                                                  vlan))

    def udp4(self, payload=b'x', source=KERNEL4, destination=BOX4, port=ECHO_PORT, ip=None, **how):
        return netns.ipv4(source, destination, netns.udp(source, PORT, destination, port, payload, **how), **(ip or {}))

    def udp6(self, payload=b'x', source=KERNEL6, destination=BOX6, port=ECHO_PORT, **how):
        return netns.ipv6(source, destination, netns.udp(source, PORT, destination, port, payload, **how))

    def icmp4(self, kind, code=0, rest=bytes(4), wrong=0):
        message = struct.pack('!BBH', kind, code, 0) + rest
        return netns.ipv4(KERNEL4, BOX4, message[:2] + struct.pack('!H', netns.checksum(message) ^ wrong) + message[4:], 1)

    def icmp6(self, message, hop_limit=255, source=KERNEL6, destination=BOX6):
        good = netns.pseudo_checksum(source, destination, 58, message)
        return netns.ipv6(source, destination, message[:2] + struct.pack('!H', good) + message[4:], 58, hop_limit)

    def fragments(self, *parts, ident):
        """(offset, bytes, more) each, of a datagram of UDP's protocol number."""
        return [netns.ipv4(KERNEL4, BOX4, data, 17, ident, (0x2000 if more else 0) | offset // 8)
                for offset, data, more in parts]

    def reply_to(self, say, accept, seconds=10):
        """say(), then (VLAN or None, frame) of the first frame from the server that accept() takes. The kernel takes a
        tag out of the frame and tells it beside it."""
        solpacket, auxdata, valid, outgoing = 263, 8, 0x10, 4
        with self.link.kernel.raw(self.link.kernel_iface, timeout=0.2) as sock:  # nothing old waits in it
            sock.setsockopt(solpacket, auxdata, 1)
            say()
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                try:
                    frame, beside, _, where = sock.recvmsg(65535, 256)
                except TimeoutError:
                    continue
                if where[2] == outgoing or frame[6:12] != self.box_mac or not accept(frame):
                    continue
                vlan = None
                for level, kind, data in beside:
                    if (level, kind) == (solpacket, auxdata):
                        status, _, _, _, _, tci, _ = struct.unpack('=IIIHHHH', data[:20])
                        vlan = tci & 0xFFF if status & valid else None
                return vlan, frame
        return self.fail('no answer')


class Lies(Hostile):
    """One test, for its sums are those of one run."""

    def lies(self):
        """(reason, frames) with the reason that each of the frames is to be dropped for."""
        own = self.box_mac
        short = struct.pack('!HHHH', PORT, ECHO_PORT, 7, 0)
        yield 'ip_bad_checksum', [self.udp4(ip={'bad_checksum': True})] * 3
        yield 'ip_bad_total_length', [self.udp4(ip={'total_length': 1400})] * 2
        yield 'ip_bad_version', [b'\x65' + self.udp4()[1:]]
        yield 'ip_bad_header_length', [b'\x44' + self.udp4()[1:]]
        yield 'ip_martian_source', [self.udp4(source=source) for source in
                                    ('127.0.0.1', '224.0.0.1', '255.255.255.255', '198.18.0.255', '0.0.0.0', '240.0.0.1')]
        yield 'ip_spoofed_source', [self.udp4(source=source) for source in (BOX4, SECOND_IP4)]
        yield 'ip_martian_destination', [self.udp4(destination='127.0.0.1')]
        yield 'ip_not_for_us', [self.udp4(destination='198.18.0.50')] * 2
        yield 'ip_unknown_protocol', [netns.ipv4(KERNEL4, BOX4, b'what is this', 99)] * 2
        yield 'udp_truncated', [netns.ipv4(KERNEL4, BOX4, short[:4])]
        yield 'udp_bad_length', [netns.ipv4(KERNEL4, BOX4, short), self.udp4(length=0), self.udp4(length=10)]
        yield 'udp_bad_checksum', [self.udp4(check='wrong')] * 5
        yield 'no_service', [self.udp4(port=CLOSED_PORT)] * 3
        yield 'icmp_bad_checksum', [self.icmp4(8, wrong=0x1111)] * 3
        yield 'icmp_malformed', [netns.ipv4(KERNEL4, BOX4, b'\x08\x00', 1)]
        yield 'icmp_unwanted', [self.icmp4(0), self.icmp4(13, rest=bytes(16))]

        def over_ip6(*packets):
            return [(packet, {'ethertype': IP6}) for packet in packets]
        yield 'udp_bad_checksum', over_ip6(*[self.udp6(check='wrong')] * 4)
        yield 'udp_zero_checksum', over_ip6(*[self.udp6(check=0)] * 3)
        yield 'ip_martian_source', over_ip6(self.udp6(source='::1'), self.udp6(source='ff02::1'))
        yield 'ip_spoofed_source', over_ip6(self.udp6(source=BOX6))
        yield 'ip_bad_version', over_ip6(b'\x45' + self.udp6()[1:])
        yield 'no_service', over_ip6(self.udp6(port=CLOSED_PORT))
        solicitation = bytes([135, 0, 0, 0]) + bytes(4) + netns.address_bytes(BOX6)
        advertisement = (bytes([136, 0, 0, 0, 0x20, 0, 0, 0]) + netns.address_bytes('2001:db8:18::66') + b'\x02\x01' +
                         EVIL_MAC)
        yield 'ndp_hop_limit', over_ip6(self.icmp6(solicitation, hop_limit=64))
        yield 'ndp_ignored', over_ip6(self.icmp6(bytes([134]) + bytes(15), source=netns.link_local(self.kernel_mac)))
        yield 'neighbour_unsolicited', over_ip6(self.icmp6(advertisement))

        def link(packet, ethertype=IP4, **how):
            return [(packet, {'ethertype': ethertype, **how})]
        yield 'l2_bad_source', (link(self.udp4(), source=own) + link(self.udp4(), source=ZERO_MAC) +
                                link(self.udp4(), source=b'\x01' + EVIL_MAC[1:]))
        yield 'l2_not_for_us', link(self.udp4(), destination=EVIL_MAC)
        yield 'l2_wrong_vlan', link(self.udp4(), vlan=5) * 2
        yield 'l2_unknown_ethertype', link(b'hello', netns.EXPERIMENT) * 2
        yield 'ip_broadcast', link(self.udp4(), destination=BROADCAST)
        good = netns.arp(1, self.kernel_mac, KERNEL4, ZERO_MAC, BOX4)
        yield 'arp_malformed', link(b'\x00\x06' + good[2:], ARP)
        yield 'arp_spoofed', (link(netns.arp(2, EVIL_MAC, BOX4, self.box_mac, SECOND_IP4), ARP, source=EVIL_MAC) +
                              link(netns.arp(1, EVIL_MAC, KERNEL4, ZERO_MAC, BOX4), ARP) +
                              link(netns.arp(1, EVIL_MAC, '10.0.0.1', ZERO_MAC, BOX4), ARP, source=EVIL_MAC))
        yield 'neighbour_unsolicited', link(netns.arp(2, EVIL_MAC, '198.18.0.66', self.box_mac, BOX4), ARP,
                                            source=EVIL_MAC) * 4
        yield 'neighbour_fixed', (link(netns.arp(2, EVIL_MAC, FIXED_IP4, self.box_mac, BOX4), ARP, source=EVIL_MAC) * 3 +
                                  link(netns.arp(1, EVIL_MAC, FIXED_IP4, ZERO_MAC, FIXED_IP4), ARP, source=EVIL_MAC,
                                       destination=BROADCAST) +
                                  link(netns.arp(1, EVIL_MAC, FIXED_IP4, ZERO_MAC, BOX4), ARP, source=EVIL_MAC,
                                       destination=BROADCAST) * 2)

    def tell_lies(self):
        expected = collections.Counter()
        for reason, frames in self.lies():
            expected[reason] += len(frames)
            for frame in frames:
                packet, how = frame if isinstance(frame, tuple) else (frame, {})
                self.say(packet, **how)
            self.check_answers()
        return expected

    def tell_fragments(self, expected):
        head = netns.udp(KERNEL4, PORT, BOX4, ECHO_PORT, bytes(64))
        # One that overlaps spoils its datagram: what comes later is refused (RFC 5722, and so for IPv4).
        for packet in self.fragments((0, head[:32], True), (24, head[24:48], True), (48, head[48:], False), ident=1):
            self.say(packet)
        expected['ip_fragment_overlap'] += 1
        expected['ip_fragment_refused'] += 1
        self.say(self.fragments((0, head[:32], True), ident=2)[0])
        self.say(self.fragments((0, head[:32], True), ident=2)[0])
        expected['ip_fragment_duplicate'] += 1
        self.say(self.fragments((0, head[:13], True), ident=3)[0])        # not a multiple of eight
        self.say(self.fragments((65528, head[:32], False), ident=4)[0])   # ends beyond 65535
        expected['ip_fragment_malformed'] += 2
        for ident in range(100, 150):                                     # never completed
            self.say(self.fragments((8, head[8:32], True), ident=ident)[0])
        self.check_answers()

    def check_unusual_but_right(self):
        """What is rare and allowed is answered."""
        with self.link.kernel.socket(timeout=10) as sock:
            sock.bind((KERNEL4, PORT))

            def answer():
                return sock.recvfrom(2000)
            self.say(self.udp4(b'no checksum', check=0))  # RFC 768: none
            self.assertEqual(answer(), (b'no checksum', (BOX4, ECHO_PORT)))
            # A UDP length that ends before the packet does: the rest is surplus (RFC 9868).
            part = netns.udp(KERNEL4, PORT, BOX4, ECHO_PORT, b'abc')
            self.say(netns.ipv4(KERNEL4, BOX4, part + b'surplus'))
            self.assertEqual(answer(), (b'abc', (BOX4, ECHO_PORT)))
            self.say(self.udp4(b'priority'), vlan=0)      # a tag of VLAN 0 is priority alone
            self.assertEqual(answer(), (b'priority', (BOX4, ECHO_PORT)))
            whole = netns.udp(KERNEL4, PORT, BOX4, ECHO_PORT, bytes(range(90)))
            for packet in reversed(self.fragments((0, whole[:40], True), (40, whole[40:64], True), (64, whole[64:], False),
                                                  ident=77)):
                self.say(packet)                          # in any order
            self.assertEqual(answer(), (bytes(range(90)), (BOX4, ECHO_PORT)))

    def check_the_static_neighbour(self):
        """After claims that it moved: what is for it goes to its own MAC."""
        _, reply = self.reply_to(lambda: self.say(self.udp4(b'from the fixed one', source=FIXED_IP4), source=FIXED_MAC),
                                 lambda frame: frame[12:14] == b'\x08\x00' and b'from the fixed one' in frame)
        self.assertEqual(reply[:6], FIXED_MAC)

    def tell_srmp_lies(self, expected):
        client = self.client()
        for _ in range(3):
            client.sock.send(b'\x01\x01\x04\x00A')
        expected['srmp_truncated'] += 3
        for _ in range(2):
            client.sock.send(b'\x01\x01\xff\xff\xff\xff\xff\xff')
        expected['srmp_malformed'] += 2
        for _ in range(20):
            client.sock.send(b'')
        self.check_answers()

    def test_every_lie_is_counted_for_what_it_is(self):
        expected = self.tell_lies()
        self.tell_fragments(expected)
        self.tell_srmp_lies(expected)
        self.check_unusual_but_right()
        self.check_the_static_neighbour()
        self.ping(BOX4)
        self.ping(BOX6)
        result = self.stop_server()
        drops = result['drops']
        for reason, times in expected.items():
            with self.subTest(reason=reason):
                check = self.assertGreaterEqual if reason in NOISE else self.assertEqual
                check(drops.get(reason, 0), times, drops)
        self.assertEqual(set(drops) - set(expected) - NOISE, set(), drops)

    def tearDown(self):
        pass  # the test itself has stopped the server


class Floods(Hostile):
    """Sent as fast as Python can. A packet socket's ring holds 512 frames, so calls may be lost on the way in: a caller
    asks again, as over UDP it must."""

    def answered_meanwhile(self, flood):
        """flood() runs while calls are made; the number of those that were answered."""
        done = threading.Event()
        answered = 0
        failed = []

        def run():
            try:
                flood()
            except OSError as reason:
                failed.append(reason)
            finally:
                done.set()
        thread = threading.Thread(target=run, daemon=True)
        client = self.client(timeout=0.1)
        thread.start()
        while not done.is_set():
            try:
                answered += client.call('Echo', b'during') == (0, b'during')
            except TimeoutError:
                pass
        thread.join()
        self.assertEqual(failed, [])
        self.check_answers()
        return answered

    def send_all(self, frames):
        for frame in frames:
            netns.send_frame(self.raw, frame)

    def test_calls_are_answered_during_floods(self):
        rng = random.Random(4)
        asking = []
        for number in range(2000):
            mac = b'\x02\x00' + rng.randbytes(4)
            asking.append(netns.ethernet(BROADCAST, mac, ARP,
                                         netns.arp(1, mac, f'198.18.0.{number % 200 + 10}', ZERO_MAC, BOX4)))
        claiming = []
        for number in range(2000):
            mac = b'\x02\x00' + rng.randbytes(4)
            claiming.append(netns.ethernet(self.box_mac, mac, ARP,
                                           netns.arp(2, mac, f'198.18.0.{number % 200 + 10}', self.box_mac, BOX4)))
        solicit = bytes([135, 0, 0, 0]) + bytes(4) + netns.address_bytes(BOX6) + b'\x01\x01'
        solicited = [netns.ethernet(self.box_mac, EVIL_MAC, IP6,
                                    self.icmp6(solicit + EVIL_MAC, source=f'2001:db8:18::{number + 0x100:x}'))
                     for number in range(2000)]
        pings = [netns.ethernet(self.box_mac, self.kernel_mac, IP4, self.icmp4(8, rest=struct.pack('!I', number)))
                 for number in range(2000)]
        closed = [netns.ethernet(self.box_mac, self.kernel_mac, IP4, self.udp4(port=CLOSED_PORT))] * 2000
        calls = [netns.ethernet(self.box_mac, self.kernel_mac, IP4,
                                self.udp4(srmp.frame(1, srmp.call('Api/All')) * 60, port=SRMP_PORT))] * 2000
        halves = [netns.ethernet(self.box_mac, self.kernel_mac, IP4,
                                 netns.ipv4(KERNEL4, BOX4, bytes(1400), 17, number, 0x2000)) for number in range(2000)]
        for name, frames in (('ARP questions', asking), ('ARP claims', claiming), ('solicitations', solicited),
                             ('pings', pings), ('a closed port', closed), ('SRMP calls', calls),
                             ('halves of datagrams', halves)):
            with self.subTest(flood=name):
                times = 2 if frames is calls else FLOOD // len(frames)
                answered = self.answered_meanwhile(lambda f=frames * times: self.send_all(f))
                self.assertGreater(answered, 0)
        self.ping(BOX4)
        result = self.stop_server()
        drops = result['drops']
        # Limits were hit, and say so.
        self.assertGreater(drops.get('neighbour_unsolicited', 0), 0, drops)
        self.assertGreater(drops.get('no_service', 0), 0, drops)
        self.assertGreater(result['rx']['packets'], FLOOD, result)
        # What came along the cable was received, or is known to have found the ring full: nothing is lost unseen. (A few
        # frames of the kernel's own came before there was a ring.)
        arrived = netns.received(self.link.box, self.link.box_iface)
        seen = result['conservation']['rx'] + result['errors'].get('rx_missed', 0)
        self.assertIn(arrived - seen, range(30), result)

    def tearDown(self):
        pass


class SmallPool(Hostile):
    """With hardly more packets than one burst: the pool is empty in the middle of it, time and again."""
    tables = '[pool]\npackets = 40\ncache = 0\n'

    def test_an_empty_pool_is_survived(self):
        halves = [netns.ethernet(self.box_mac, self.kernel_mac, IP4, packet) for number in range(8) for packet in
                  self.fragments((0, bytes(1400), True), (1400, bytes(1400), False), ident=number)]
        calls = [netns.ethernet(self.box_mac, self.kernel_mac, IP4,
                                self.udp4(srmp.frame(1, srmp.call('Echo', bytes(n))), port=SRMP_PORT)) for n in range(100)]
        pings = [netns.ethernet(self.box_mac, self.kernel_mac, IP4, self.icmp4(8, rest=bytes(1200)))] * 100
        for _ in range(20):
            for frame in (*calls, *halves, *pings):
                netns.send_frame(self.raw, frame)
        until = time.monotonic() + 10
        client = self.client(timeout=0.2)
        answered = False
        while not answered and time.monotonic() < until:
            try:
                answered = client.call('Echo', b'after') == (0, b'after')
            except TimeoutError:
                pass
        self.assertTrue(answered)
        self.ping(BOX4, '-s', '3000')
        result = self.stop_server()
        pool, = result['mempools']
        self.assertEqual(pool['size'], 40)
        self.assertGreater(pool['refused'] + result['drops'].get('mempool_empty', 0) + result['errors'].get('rx_no_mbuf', 0),
                           0, result)

    def tearDown(self):
        pass


class Tagged(Hostile):
    """An interface with a VLAN. Where the kernel has no VLANs, its part is played by hand."""
    interface_keys = 'vlan = 5'
    VLAN = 5

    @classmethod
    def find_box(cls):
        cls.box_mac = cls.link.box.mac(cls.link.box_iface)

    def ask(self, payload, ethertype, accept, **how):
        vlan, frame = self.reply_to(lambda: self.say(payload, ethertype, vlan=self.VLAN, **how), accept)
        self.assertEqual(vlan, self.VLAN)
        return frame

    def test_it_is_there_in_its_vlan_and_nowhere_else(self):
        question = netns.arp(1, self.kernel_mac, KERNEL4, ZERO_MAC, BOX4)
        reply = self.ask(question, ARP, lambda frame: frame[12:14] == b'\x08\x06' and frame[20:22] == b'\x00\x02',
                         destination=BROADCAST)
        self.assertEqual(reply[22:28], self.box_mac)
        reply = self.ask(self.icmp4(8, rest=b'\x12\x34\x00\x01'), IP4, lambda frame: frame[23:24] == b'\x01')
        self.assertEqual(reply[34], 0)  # echo reply
        call = srmp.frame(9, srmp.call('Echo', b'tagged'))
        reply = self.ask(self.udp4(call, port=SRMP_PORT), IP4, lambda frame: frame[23:24] == b'\x11')
        (what, _, seq, payload), = srmp.frames(reply[42:42 + struct.unpack('!H', reply[38:40])[0] - 8])
        self.assertEqual((what, seq, srmp.read_reply(what, payload)), (srmp.REPLY, 9, ('Echo', 0, b'tagged')))
        reply = self.ask(self.udp6(b'six'), IP6, lambda frame: frame[12:14] == b'\x86\xdd' and frame[20] == 58)
        self.assertEqual(reply[54], 135)  # it asks who that is: nobody has told it over IPv6
        for vlan in (None, 6, 0):
            self.say(question, ARP, vlan=vlan, destination=BROADCAST)

    @classmethod
    def check_end(cls):
        drops = cls.stop_server()['drops']
        if drops.get('l2_wrong_vlan', 0) < 3:  # none, another and that of priority
            raise AssertionError(f'frames of other VLANs are not counted: {drops}')

    def test_the_kernels_vlan_interface_talks_to_it(self):
        made = self.link.kernel.run('ip', 'link', 'add', 'link', self.link.kernel_iface, 'name', 'tagged0', 'type', 'vlan',
                                    'id', str(self.VLAN), check=False)
        if made.returncode != 0:
            self.skipTest(f'this kernel has no VLAN interfaces: {made.stderr.strip()}')
        self.link.kernel.run('ip', 'address', 'flush', 'dev', self.link.kernel_iface)
        for address in (f'{KERNEL4}/{netns.PREFIX4}', f'{KERNEL6}/{netns.PREFIX6}'):
            self.link.kernel.run('ip', 'address', 'add', address, 'dev', 'tagged0', *(['nodad'] if ':' in address else []))
        self.link.kernel.run('ip', 'link', 'set', 'tagged0', 'up')
        self.ping(BOX4)
        self.ping(BOX6)
        self.check_answers()


if __name__ == '__main__':
    netns.skip_unless_possible(('veth',), ('ping',))
    netns.end_by_exception_on_sigterm()
    unittest.main()
