"""`load hq://...` against our own `serve`, each at one end of a veth: two processes, two stacks, the kernel between them
a cable only. (Skips without the rights to make namespaces. Peers that are none of ours: test/peers.)
"""
import importlib.machinery
import importlib.util
import os
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import netns  # noqa: E402

SERVER4, CLIENT4 = '198.18.0.1', '198.18.0.2'
SERVER6, CLIENT6 = '2001:db8:18::1', '2001:db8:18::2'
loader = importlib.machinery.SourceFileLoader('validate_json', os.path.join(netns.SOURCE, 'scripts', 'validate_json'))
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))
loader.exec_module(validate_json)


class Quic(unittest.TestCase):
    def setUp(self):
        self.link = netns.Link('veth')
        self.addCleanup(self.link.close)
        self.link.kernel.sysctl({f'net/ipv6/conf/{self.link.kernel_iface}/disable_ipv6': 1})
        self.link.kernel.run('ip', 'address', 'flush', 'dev', self.link.kernel_iface)

    def serve(self, *words):
        end = types.SimpleNamespace(box=self.link.kernel, folder=self.link.folder, path=self.link.path, kind='veth',
                                    box_iface=self.link.kernel_iface)
        server = netns.Millrace(end, ['@af_packet', '-l', '0', '--', 'serve', *words], {})
        self.addCleanup(server.kill)
        return server, server.wait_ready()

    def check_result(self, run):
        result = run.result()
        with open(run.json_path, encoding='utf-8') as file:
            text = file.read()
        findings = validate_json.findings(validate_json.load_validator('result'), text, validate_json.LINES['result'])
        self.assertEqual(list(findings), [])
        self.assertTrue(result['conservation']['holds'], result['conservation'])
        self.assertEqual([pool['in_use'] for pool in result['mempools']], [0])
        self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)
        result['errors'].pop('rx_missed', None)  # the cable was full: QUIC sends again
        return result

    def load(self, target, *words, status=0, address=f'{CLIENT4}/24'):
        with self.link.millrace('@af_packet', '-l', '0', '--', 'load', target, '--address', address, *words) as run:
            self.assertEqual(run.wait(90), status, run.said())
            return self.check_result(run), run

    def stop(self, server):
        self.assertEqual(server.stop(), 0, server.said())
        return self.check_result(server)

    def test_bodies_come_whole(self):
        server, _ = self.serve()
        result, run = self.load(f'hq://{SERVER4}/bytes/1000000', '--requests', '20', '--connections', '2', '--streams',
                                '3', '--verbose')
        self.assertEqual(result['errors'], {}, run.said())
        self.assertIn('20 begun, 20 whole', run.said())
        self.assertIn('certificate is not checked', run.said())
        self.assertEqual(result['handshakes'], {'begun': 2, 'completed': 2, 'resumed': 0, 'early_data': 0})
        self.assertGreater(result['rate']['goodput_gbps'], 0)
        self.assertGreater(result['latency_ns']['p50'], 0)
        if 'heap_calls' in result:
            self.assertGreater(result['heap_calls']['handshake'], 0)
        self.stop(server)

    def test_handshakes_resume_with_early_data(self):
        server, _ = self.serve()
        result, run = self.load(f'hq://{SERVER4}/bytes/1000', '--requests', '40', '--requests-each', '1', '--early-data')
        self.assertIn('40 begun, 40 whole', run.said())
        self.assertGreaterEqual(result['handshakes']['completed'], 40)
        self.assertGreaterEqual(result['handshakes']['early_data'], 30, run.said())
        self.assertGreater(result['rate']['handshakes_per_s'], 0)
        self.stop(server)

    def test_every_choice_is_taken(self):
        root = self.link.path('root')
        os.mkdir(root)
        with open(os.path.join(root, 'page.html'), 'wb') as file:
            file.write(b'0123456789' * 1000)
        server, ready = self.serve('--root', root)
        pin = next(word for word in ready.split() if word.startswith('spki-pin='))[len('spki-pin='):]
        for words in (['--pin', pin], ['--quic-version', 'v2'], ['--quic-version', '0xff00001d'], ['--ciphers', 'chacha20'],
                      ['--ciphers', 'aes256,aes128'], ['--congestion', 'bbr'], ['--congestion', 'new-reno'],
                      ['--max-datagram', '1300'], ['--server-name', 'localhost'], ['--key-update', '50000']):
            with self.subTest(words=words):
                result, run = self.load(f'hq://{SERVER4}:443/bytes/200000', '--requests', '3', *words)
                self.assertIn('3 begun, 3 whole', run.said())
                self.assertEqual(result['errors'], {}, run.said())
        result, run = self.load(f'hq://{SERVER4}/page.html', '--requests', '2')
        self.assertIn('2 begun, 2 whole', run.said())
        self.stop(server)

    def test_over_ipv6_from_port_to_port_with_a_key_log(self):
        server, _ = self.serve()
        keys = self.link.path('keys.log')
        result, run = self.load(f'hq://[{SERVER6}]:443/bytes/100000', '--duration', '2', '--migrate-every', '0.2',
                                '--keylog', keys, address=f'{CLIENT6}/64')
        self.assertRegex(run.said(), r'[1-9][0-9]* moves')
        self.assertEqual(result['errors'], {}, run.said())
        with open(keys, encoding='ascii') as file:
            self.assertIn('CLIENT_TRAFFIC_SECRET_0', file.read())
        self.stop(server)

    def test_srmp_goes_on_streams(self):
        server, ready = self.serve()
        self.assertIn(' alpn=h3,hq-interop,srmp,echo ', ready)
        pin = next(word for word in ready.split() if word.startswith('spki-pin='))[len('spki-pin='):]
        asked = 0
        for path, words in (('/Echo', ['--connections', '3', '--streams', '5', '--window', '20', '--pin', pin]),
                            ('/Echo', ['--size', '30000']), ('/Api/All', ['--quic-version', 'v2']),
                            ('/Echo', ['--rate', '500', '--ciphers', 'chacha20', '--congestion', 'bbr'])):
            with self.subTest(path=path, words=words):
                result, run = self.load(f'srmp+quic://{SERVER4}{path}', '--requests', '600', '--timeout', '20', *words)
                self.assertIn('600 sent, 600 answered', run.said())
                self.assertEqual(result['errors'], {}, run.said())
                self.assertEqual(result['handshakes']['begun'], result['handshakes']['completed'])
                self.assertEqual(result['handshakes']['early_data'], 0)
                self.assertGreater(result['latency_ns']['p50'], 0)
                self.assertGreater(result['rate']['requests_per_s'], 0)
                asked += 600
        bodies, _ = self.load(f'hq://{SERVER4}/bytes/1000', '--requests', '5')
        self.assertEqual(bodies['errors'], {})
        done = self.stop(server)
        self.assertEqual(done['messages'], {'srmp_quic': asked, 'hq': 5})
        self.assertIn(f'srmp_quic {asked}', server.said())

    def test_srmp_over_quic_can_be_turned_off(self):
        path = self.link.path('serve.toml')
        with open(path, 'w', encoding='ascii') as file:
            file.write('[quic]\nsrmp = false\n')
        server, ready = self.serve('--config', path)
        self.assertIn(' alpn=h3,hq-interop,echo ', ready)
        _, run = self.load(f'srmp+quic://{SERVER4}/Echo', '--patience', '2', status=1)
        self.assertIn('TLS alert 120', run.errors[-1])  # no_application_protocol
        self.stop(server)

    def test_what_cannot_be_is_named(self):
        _, run = self.load(f'hq://{SERVER4}/bytes/1', '--patience', '3.6', status=1)
        self.assertIn('nobody answers ARP', run.errors[-1])
        server, _ = self.serve()
        _, run = self.load(f'hq://{SERVER4}/bytes/1', '--pin', 'A' * 43 + '=', '--patience', '1', status=1)
        self.assertIn('TLS alert', run.errors[-1])
        result, run = self.load(f'hq://{SERVER4}/nothing', '--requests', '3', status=1)
        self.assertIn('no whole body', run.errors[-1])
        self.assertEqual(result['errors']['failed_requests'], 3)
        _, run = self.load(f'hq://{SERVER4}:444/bytes/1', '--patience', '0.5', status=1)
        self.assertIn('no QUIC reply', run.errors[-1])
        self.stop(server)


if __name__ == '__main__':
    netns.end_by_exception_on_sigterm()
    netns.skip_unless_possible()
    unittest.main()
