"""`serve` and the kernel's stack on one link, veth and tap: ping, ARP, IPv6, fragments both ways, UDP echo, SRMP calls,
what a closed port answers, and a capture of it all in which tshark finds nothing wrong.

Needs root; skips with the reason without.
"""
import errno
import json
import os
import random
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_case import (CLOSED_PORT, ECHO_PORT, SECOND_IP4, SECOND_IP6, SRMP_PORT, ServeCase, netns,  # noqa: E402
                        srmp)

ADDRESSES = (netns.BOX_IP4, SECOND_IP4, netns.BOX_IP6, SECOND_IP6)
BOTH = (netns.BOX_IP4, netns.BOX_IP6)
# Around what fits one packet of MTU 1500 (1472 over IPv4, 1452 over IPv6) and two, and up to what UDP carries.
SIZES = (0, 1, 2, 17, 18, 19, 512, 1451, 1452, 1453, 1471, 1472, 1473, 2930, 4000, 8000, 20000, 65487, 65507, 65527)
RPC_NAMES = ('Api/Info', 'Api/All', 'Echo')


def pattern(size):
    return random.Random(size).randbytes(size)


class Questions:
    """The tests; the classes below say over which link."""

    # --- ICMP, ARP, neighbour discovery ---

    def test_the_kernel_pings_it(self):
        for address in BOTH:
            self.ping(address, count=5)
        self.ping(self.box_link_local)

    def test_pings_as_large_as_a_packet_and_in_fragments_come_back_whole(self):
        for size in (0, 1472, 1473, 4000, 20000):
            self.ping(netns.BOX_IP4, '-s', str(size), count=2)
        for size in (0, 1452, 1453, 4000, 20000):
            self.ping(netns.BOX_IP6, '-s', str(size), count=2)
        self.ping(netns.BOX_IP4, '-M', 'do', '-s', '1472', count=1)

    def test_arping_hears_it_from_one_mac(self):
        for address in (netns.BOX_IP4, SECOND_IP4):
            done = self.link.kernel.run('arping', '-c', '1', '-w', '10', '-I', self.link.kernel_iface, address)
            self.assertIn('Received 1 response', done.stdout)
            self.assertIn(netns.mac_text(self.box_mac).upper(), done.stdout.upper())

    def test_it_defends_its_addresses_against_who_would_take_them(self):
        # RFC 5227: the prober asks from no address, and an answer (status 1) means that it is taken.
        done = self.link.kernel.run('arping', '-D', '-c', '1', '-w', '10', '-I', self.link.kernel_iface, netns.BOX_IP4,
                                    check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('Received 1 response', done.stdout)

    def test_an_address_that_is_nobodys_stays_silent(self):
        done = self.link.kernel.run('arping', '-c', '1', '-w', '1', '-I', self.link.kernel_iface, '198.18.0.77', check=False)
        self.assertIn('Received 0 response', done.stdout)

    # --- UDP ---

    def test_udp_echo_of_every_size_both_ways(self):
        for address in BOTH:
            sock = self.udp(address, ECHO_PORT)
            for size in SIZES:
                if size > 65507 and ':' not in address:
                    continue  # over IPv4 the length of the packet has its header in it
                with self.subTest(address=address, size=size):
                    sent = pattern(size)
                    sock.send(sent)
                    self.assertEqual(sock.recv(70000), sent)

    def test_replies_come_from_the_address_that_was_called(self):
        for address in (*ADDRESSES, self.box_link_local):
            with self.subTest(address=address):
                sock = self.udp(address, ECHO_PORT)  # connected: the kernel takes no other source
                sock.send(b'who is there')
                self.assertEqual(sock.recv(100), b'who is there')
                code, data = self.client(address).call('Api/Info')
                self.assertEqual(code, 0)
                self.assertEqual(json.loads(data)['Local'].rpartition(':')[0].strip('[]'), address.partition('%')[0])

    def test_a_closed_port_refuses(self):
        for address in ADDRESSES:
            with self.subTest(address=address):
                sock = self.udp(address, CLOSED_PORT)
                sock.send(b'anybody')
                with self.assertRaises(ConnectionRefusedError) as refused:
                    sock.recv(100)
                self.assertEqual(refused.exception.errno, errno.ECONNREFUSED)

    # --- SRMP ---

    def test_api_info_says_who_calls_whom(self):
        for address in BOTH:
            client = self.client(address)
            code, data = client.call('Api/Info', {'state': 'abcd', 'state2': 1234})
            self.assertEqual(code, 0)
            info = json.loads(data)
            host, port = client.sock.getsockname()[:2]
            bracketed = '[%s]:%d' if ':' in address else '%s:%d'
            self.assertEqual(info['Local'], bracketed % (address, SRMP_PORT))
            self.assertEqual(info['Remote'], bracketed % (host, port))
            self.assertEqual(info['State'], 'abcd')
            self.assertTrue(info['Name'])

    def test_api_all_names_every_method(self):
        code, data = self.client().call('Api/All')
        self.assertEqual(code, 0)
        signatures = json.loads(data)
        for name in RPC_NAMES:
            self.assertTrue([s for s in signatures if f' {name}(' in s], signatures)

    def test_echo_gives_back_json_text_and_bytes(self):
        client = self.client()
        document = {'text': 'gr\u00fc\u00df dich', 'numbers': [1, -2, 3.5, None], 'nested': {'deep': [[True]]}}
        code, data = client.call('Echo', document)
        self.assertEqual((code, json.loads(data)), (0, document))
        for body in (b'x', b'plain text', bytes(range(256)), pattern(1200)):
            self.assertEqual(client.call('Echo', body), (0, body))
        self.assertEqual(client.call('Echo'), (0, None))
        self.assertEqual(client.call('eCHO', b'case'), (0, b'case'))  # names ignore it

    def test_a_call_in_fragments_is_answered_in_fragments(self):
        for address in BOTH:
            body = pattern(8000)
            self.assertEqual(self.client(address).call('Echo', body), (0, body))

    def test_an_unknown_method_is_404(self):
        code, data = self.client().call('No/Such')
        self.assertEqual(code, 404)
        self.assertIn('No/Such', data.decode())

    def test_calls_in_one_datagram_are_answered_in_few(self):
        client = self.client()
        calls = [srmp.frame(seq, srmp.call('Echo', b'%d' % seq)) for seq in range(1, 61)]
        client.sock.send(b''.join(calls))
        answers = []
        datagrams = 0
        while len(answers) < len(calls):
            answers += client.receive()
            datagrams += 1
        self.assertEqual([(what, seq, srmp.read_reply(what, payload)) for what, _, seq, payload in answers],
                         [(srmp.REPLY, seq, ('Echo', 0, b'%d' % seq)) for seq in range(1, 61)])
        self.assertEqual(datagrams, 1)  # sixty replies of 15 bytes fit one

    def test_one_way_messages_are_not_answered(self):
        client = self.client()
        client.sock.send(srmp.frame(7, srmp.call('Echo', b'quiet'), srmp.ONE_WAY) +
                         srmp.frame(8, srmp.call('No/Such'), srmp.ONE_WAY) + srmp.frame(9, srmp.call('Echo', b'loud')))
        self.assertEqual([(seq, srmp.read_reply(what, payload)[2]) for what, _, seq, payload in client.receive()],
                         [(9, b'loud')])
        client.sock.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            client.sock.recv(100)

    def test_the_kind_of_data_and_the_sequence_come_back(self):
        client = self.client()
        for kind, seq in ((0, 0), (1, 255), (3, 128), (63, 1)):
            client.sock.send(srmp.frame(seq, srmp.call('Echo', b'k'), kind=kind))
            (what, got_kind, got_seq, _), = client.receive()
            self.assertEqual((what, got_kind, got_seq), (srmp.REPLY, kind, seq))

    def test_bytes_that_are_no_srmp_do_not_end_the_conversation(self):
        client = self.client()
        good = srmp.frame(5, srmp.call('Echo', b'before'))
        for bad in (b'\x01', b'\x01\x01\x04\x00A', b'\x01\x01\xff\xff\xff\xff\xff\xff', b'\x01\x01\xff\xff\x05\x00',
                    srmp.frame(1, b''), srmp.frame(1, b'\x00'), srmp.frame(1, b'\x80\x80\x80\x80\x80\x01'),
                    srmp.frame(1, b'\x09A/B'), b'GET / HTTP/1.1\r\n\r\n', pattern(1400)):
            with self.subTest(bad=bad[:16]):
                client.sock.send(good + bad)  # what stood before it is answered
                answers = client.receive()
                self.assertEqual([srmp.read_reply(what, payload)[2] for what, _, seq, payload in answers if seq == 5],
                                 [b'before'])
        # Whatever chance made of the random bytes is answered before this.
        while client.sock.send(srmp.frame(6, srmp.call('Echo', b'after'))):
            if any(payload.endswith(b'after') for _, _, seq, payload in client.receive() if seq == 6):
                break

    def test_an_empty_datagram_is_no_call(self):
        client = self.client()
        client.sock.send(b'')
        self.assertEqual(client.call('Echo', b'hello again'), (0, b'hello again'))

    def test_many_callers_at_once_get_each_their_own(self):
        found = []

        def talk(number):
            client = self.client(ADDRESSES[number % len(ADDRESSES)])
            found.append(all(client.call('Echo', b'%d %d' % (number, n)) == (0, b'%d %d' % (number, n))
                             for n in range(50)))
        threads = [threading.Thread(target=talk, args=(number,), daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 8)

    # --- as another program sees it ---

    def test_tshark_finds_nothing_wrong_in_what_it_says(self):
        with self.link.capture() as capture:
            for address in BOTH:
                self.ping(address, '-s', '100', count=2)
                self.ping(address, '-s', '4000', count=1)
                client = self.client(address)
                for size in (1, 2, 1000, 4001):
                    self.assertEqual(client.call('Echo', pattern(size)), (0, pattern(size)))
                client.call('Api/All')
                client.call('No/Such')
                echo = self.udp(address, ECHO_PORT)
                for size in (0, 1, 333, 1452, 8000):
                    echo.send(pattern(size))
                    self.assertEqual(len(echo.recv(70000)), size)
                closed = self.udp(address, CLOSED_PORT)
                closed.send(b'anybody')
                self.assertRaises(ConnectionRefusedError, closed.recv, 100)
            self.link.kernel.run('arping', '-c', '1', '-w', '10', '-I', self.link.kernel_iface, netns.BOX_IP4)
            path = capture.stop()
            self.assertEqual(capture.lost(), 0)
        ours = f'eth.src == {netns.mac_text(self.box_mac)}'
        fields = ('frame.protocols', 'ip.checksum.status', 'udp.checksum.status', 'icmp.checksum.status',
                  'icmpv6.checksum.status', '_ws.malformed', '_ws.expert.severity')
        packets = netns.tshark(path, ours, fields)
        self.assertGreater(len(packets), 40)
        for packet in packets:
            self.assertEqual(packet[5], '', packet)
            for status in packet[1:5]:
                self.assertNotIn('0', status.split(','), packet)  # 0: bad
        good = {name: sum(packet[place].split(',')[0] == '1' for packet in packets)
                for name, place in (('ip', 1), ('udp', 2), ('icmp', 3), ('icmpv6', 4))}
        # They were verified indeed: 11 datagrams of UDP, 3 echoes and an error in each family.
        self.assertGreaterEqual(good['ip'], 20, good)
        self.assertGreaterEqual(good['udp'], 22, good)
        self.assertGreaterEqual(good['icmp'], 4, good)
        self.assertGreaterEqual(good['icmpv6'], 4, good)
        wrong = netns.tshark(path, f'{ours} && (_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || '
                             'icmp.checksum.status == 0 || icmpv6.checksum.status == 0 || _ws.expert.severity == error)')
        self.assertEqual(wrong, [])


class OverVeth(Questions, ServeCase):
    kind = 'veth'


class OverTap(Questions, ServeCase):
    kind = 'tap'


class OverTwoQueues(ServeCase):
    """Two loops share the interface, each with a queue: whichever a question comes to, it is answered."""
    eal = ('--lcores', '(0-2)@(0-%d)' % (max(os.sched_getaffinity(0)),))
    environment = {'MILLRACE_QUEUES': '2'}
    CALLERS = 24  # as many 5-tuples: hardly all on one queue

    def test_every_caller_is_answered_on_whichever_queue(self):
        for address in BOTH:
            self.ping(address)
            for number in range(self.CALLERS):
                self.assertEqual(self.client(address).call('Echo', b'%d' % number), (0, b'%d' % number))
            sock = self.udp(address, ECHO_PORT)
            sock.send(pattern(5000))
            self.assertEqual(sock.recv(70000), pattern(5000))

    @classmethod
    def check_end(cls):
        result = cls.stop_server()
        if len(result['lcores']) != 2 or not all(lcore['mpps'] > 0 for lcore in result['lcores']):
            raise AssertionError(f'not both loops had something to do: {result["lcores"]}')


if __name__ == '__main__':
    netns.skip_unless_possible(('veth', 'tap'), ('ping', 'arping', 'tcpdump', 'tshark'))
    netns.end_by_exception_on_sigterm()
    unittest.main()
