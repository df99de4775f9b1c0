"""`load` against peers that are none of ours: sockets of the kernel, answered by a few lines of Python.

The peer is at the kernel's end of a veth (namespaces, so it needs root; skips with the reason without): it answers
rightly, wrongly, twice, late or not at all, and `load` has to tell these apart.
"""
import importlib.machinery
import importlib.util
import os
import signal
import socket
import sys
import threading
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import netns  # noqa: E402
import srmp   # noqa: E402

PORT = 5500
loader = importlib.machinery.SourceFileLoader('validate_json', os.path.join(netns.SOURCE, 'scripts', 'validate_json'))
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))
loader.exec_module(validate_json)


class Peer(threading.Thread):
    """Answers datagrams on a socket of the kernel's end: answer(number, datagram) is a list of datagrams to send back.
    Numbers count datagrams from 0; the first is load's knock."""

    def __init__(self, link, answer, family=socket.AF_INET):
        super().__init__(daemon=True)
        self.sock = link.kernel.socket(family, timeout=0.1)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.sock.bind(('', PORT))
        self.answer = answer
        self.heard = 0
        self.callers = set()
        self._ended = threading.Event()
        self.start()

    def run(self):
        while not self._ended.is_set():
            try:
                datagram, caller = self.sock.recvfrom(65535)
            except TimeoutError:
                continue
            self.callers.add(caller[1])
            for reply in self.answer(self.heard, datagram):
                self.sock.sendto(reply, caller)
            self.heard += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()
        self.sock.close()


def replies(datagram):
    """Every frame as the reply that an echo gives."""
    return b''.join(srmp.frame(seq, payload, srmp.REPLY, kind) for what, kind, seq, payload in srmp.frames(datagram)
                    if what == srmp.REQUEST)


def echo(_, datagram):
    return [replies(datagram)]


class Load(netns.LinkCase):
    target = f'srmp+udp://{netns.KERNEL_IP4}:{PORT}'
    ours = ('--address', f'{netns.BOX_IP4}/{netns.PREFIX4}')

    def load(self, *words, target=None, status=0):
        """(result, running) of a run that has ended. Nothing is late on a busy machine unless the test says so."""
        words = words if '--timeout' in words else (*words, '--timeout', '20')
        with self.link.millrace('@af_packet', '-l', '0', '--', 'load', target or self.target, *self.ours, *words) as run:
            self.assertEqual(run.wait(60), status, run.said())
            result = run.result()
            with open(run.json_path, encoding='utf-8') as file:
                text = file.read()
        findings = validate_json.findings(validate_json.load_validator('result'), text, validate_json.LINES['result'])
        self.assertEqual(list(findings), [])
        self.assertTrue(result['conservation']['holds'], result['conservation'])
        self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)
        self.assertEqual([pool['in_use'] for pool in result['mempools']], [0])
        return result, run

    def test_every_request_is_answered(self):
        with Peer(self.link, echo) as peer:
            result, run = self.load('--requests', '5000', '--connections', '5', '--streams', '8')
        self.assertEqual(result['errors'], {}, run.said())
        self.assertGreaterEqual(peer.heard, 5001)
        self.assertEqual(len(peer.callers), 5)
        self.assertIn('5000 sent, 5000 answered', '\n'.join(run.lines))
        latency = result['latency_ns']
        self.assertLessEqual(latency['p50'], latency['p90'])
        self.assertLessEqual(latency['p999'], latency['max'])
        self.assertGreater(latency['p50'], 0)
        self.assertGreater(result['rate']['messages_per_s'], 0)

    def test_lcores_find_ports_whose_replies_come_to_them(self):
        """Two queues of one interface: the kernel spreads replies over them by a hash of its own."""
        vdev = f'--vdev=net_af_packet0,iface={self.link.box_iface},qpairs=2'
        with Peer(self.link, echo) as peer:
            with self.link.millrace(vdev, '--lcores', '0@0,1@0,2@0', '--', 'load', self.target, *self.ours,
                                    '--connections', '6', '--duration', '2', '--streams', '2') as run:
                self.assertEqual(run.wait(60), 0, run.said())
                result = run.result()
        self.assertEqual(len(result['lcores']), 2, run.said())
        self.assertEqual(set(result['errors']) - {'timeout'}, set(), run.said())
        self.assertNotIn('unheard', run.said())
        self.assertGreater(len(peer.callers), 6)  # some tried another port
        self.assertTrue(all(lcore['mpps'] > 0 for lcore in result['lcores']), result['lcores'])
        self.assertTrue(result['conservation']['holds'], result['conservation'])

    def test_over_ipv6(self):
        with Peer(self.link, echo, socket.AF_INET6):
            words = ('--requests', '1000')
            with self.link.millrace('@af_packet', '-l', '0', '--', 'load', f'srmp+udp://[{netns.KERNEL_IP6}]:{PORT}',
                                    '--address', f'{netns.BOX_IP6}/{netns.PREFIX6}', *words) as run:
                self.assertEqual(run.wait(60), 0, run.said())
                self.assertIn('1000 sent, 1000 answered', run.said())

    def test_filled_datagrams_carry_many_messages(self):
        with Peer(self.link, echo) as peer:
            result, _ = self.load('--requests', '9200', '--connections', '2', '--streams', '230', '--fill')
        self.assertEqual(result['errors'], {})
        self.assertLess(peer.heard, 9200 / 46 + 20)

    def test_fragments_are_put_together_by_the_kernel(self):
        sizes = []
        with Peer(self.link, lambda n, d: sizes.append(len(d)) or []):
            result, run = self.load('--requests', '50', '--rate', '1k', '--size', '5000', '--one-way')
            self.assertEqual(result['errors'], {}, run.said())
            for _ in range(50):
                if len(sizes) > 50:
                    break
                threading.Event().wait(0.1)
        self.assertEqual(sizes[-50:], [5004] * 50)

    def test_a_rate_is_kept(self):
        with Peer(self.link, echo):
            result, run = self.load('--rate', '1k', '--duration', '1', '--streams', '255')
        self.assertEqual(result['errors'], {}, run.said())
        self.assertEqual(result['workload']['rate'], 1000)
        sent = int(next(line for line in run.lines if 'sent,' in line).split()[1])
        self.assertTrue(700 <= sent <= 1001, run.said())  # never more; less where others had the CPU at the end

    def test_calls_of_echo_carry_json(self):
        arguments = []

        def called(_, datagram):
            for _, _, _, payload in srmp.frames(datagram):
                name, _, data = srmp.read_reply(srmp.REPLY, payload)
                arguments.append((name, data))
            return echo(0, datagram)
        with Peer(self.link, called):
            result, _ = self.load('--requests', '100', '--size', '40', target=self.target + '/Echo')
        self.assertEqual(result['errors'], {})
        self.assertGreater(result['rate']['requests_per_s'], 0)
        self.assertEqual({name for name, _ in arguments}, {'Echo'})
        self.assertEqual({len(data) for _, data in arguments}, {40})
        self.assertEqual(len({data for _, data in arguments}), 101, 'each is another one')

    def test_replies_that_stay_out_are_time_outs(self):
        with Peer(self.link, lambda n, d: [] if n % 10 == 5 else echo(n, d)):
            result, run = self.load('--requests', '500', '--timeout', '2')
        self.assertEqual(set(result['errors']), {'timeout'}, run.said())
        self.assertTrue(40 <= result['errors']['timeout'] <= 60, run.said())

    def test_wrong_replies_are_mismatches(self):
        def spoil(n, datagram):
            reply = bytearray(replies(datagram))
            if n % 10 == 5:
                reply[-1] ^= 1
            return [bytes(reply)]
        with Peer(self.link, spoil):
            result, run = self.load('--requests', '500')
        self.assertEqual(set(result['errors']), {'mismatch'}, run.said())
        self.assertTrue(40 <= result['errors']['mismatch'] <= 60, run.said())

    def test_doubled_replies_are_unmatched(self):
        with Peer(self.link, lambda n, d: echo(n, d) * (2 if n % 10 == 5 else 1)):
            result, run = self.load('--requests', '500')
        self.assertEqual(set(result['errors']), {'unmatched'}, run.said())

    def test_error_replies_alone_fail_the_run(self):
        def refuse(_, datagram):
            return [b''.join(srmp.frame(seq, b'no', srmp.ERROR) for _, _, seq, _ in srmp.frames(datagram))]
        with Peer(self.link, refuse):
            result, run = self.load('--requests', '50', status=1)
        self.assertEqual(result['errors'], {'error_reply': 50})
        self.assertIn('no right reply', run.errors[-1])

    def test_a_closed_port_is_named(self):
        result, run = self.load('--patience', '1', status=1)
        self.assertGreater(result['errors']['icmp_error'], 0)
        self.assertIn('ICMP', run.errors[-1])

    def test_an_address_that_nobody_has_is_named(self):
        _, run = self.load('--patience', '3.6', status=1, target='srmp+udp://198.18.0.99:5500')
        self.assertIn('ARP', run.errors[-1])

    def test_one_way_messages_arrive(self):
        with Peer(self.link, lambda n, d: []) as peer:
            result, run = self.load('--requests', '200', '--rate', '2k', '--one-way')
            self.assertEqual(result['errors'], {}, run.said())
            for _ in range(50):
                if peer.heard >= 201:
                    break
                threading.Event().wait(0.1)
        self.assertGreaterEqual(peer.heard, 201)

    def against_serve(self, *words, config=''):
        """The result of `load` at the kernel's end, whose stack has not its address, against `serve` at ours."""
        path = self.link.path('serve.toml')
        with open(path, 'w', encoding='ascii') as file:
            file.write(config)
        other = types.SimpleNamespace(path=self.link.path, folder=self.link.folder, box=self.link.kernel, kind='veth',
                                      box_iface=self.link.kernel_iface)
        with self.link.millrace('@af_packet', '-l', '0', '--', 'serve', '--config', path) as server:
            server.wait_ready()
            with netns.Millrace(other, ('@af_packet', '-l', '0', '--', 'load', *words, '--requests', '5000'), {}) as run:
                self.assertEqual(run.wait(60), 0, run.said() + server.said())
                result = run.result()
            self.assertEqual(server.stop(), 0, server.said())
        self.assertIn('5000 sent, 5000 answered', run.said())
        self.assertEqual(result['errors'], {}, run.said())
        self.assertTrue(result['conservation']['holds'], result['conservation'])

    def test_serve_answers_every_call(self):
        self.against_serve(f'srmp+udp://{netns.BOX_IP4}/Echo', '--address', '198.18.0.5/24')
        self.against_serve(f'srmp+udp://[{netns.BOX_IP6}]/Api/All', '--address', '2001:db8:18::5/64', '--fill',
                           '--streams', '8')

    def test_serve_echoes_every_frame(self):
        self.against_serve(f'srmp+udp://{netns.BOX_IP4}', '--address', '198.18.0.5/24', '--fill',
                           config='[srmp]\nanswer = "echo"\n')

    def test_a_signal_waits_for_what_is_in_flight(self):
        with Peer(self.link, echo):
            with self.link.millrace('@af_packet', '-l', '0', '--', 'load', self.target, *self.ours, '--duration', '0',
                                    '--stats-period', '0.2') as run:
                run.wait_line('  ')  # of a period
                threading.Event().wait(0.5)
                run.signal(signal.SIGINT)
                self.assertEqual(run.wait(), 0, run.said())
                self.assertNotIn('in flight', run.lines[-1])
                self.assertEqual(run.result()['errors'], {}, run.said())


if __name__ == '__main__':
    netns.skip_unless_possible()
    netns.end_by_exception_on_sigterm()
    unittest.main()
