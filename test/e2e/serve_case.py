"""What the end-to-end tests of `serve` share: a link, a configuration, a running server, and questions to it."""
import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import netns  # noqa: E402
import srmp  # noqa: E402

SRMP_PORT, ECHO_PORT, CLOSED_PORT = 5500, 7, 9
SECOND_IP4, SECOND_IP6 = '198.18.0.3', '2001:db8:18::3'
FIXED_IP4, FIXED_MAC = '198.18.0.9', bytes.fromhex('020000000009')  # a static neighbour

CONFIG = f'''
srmp-port = {SRMP_PORT}
echo-port = {ECHO_PORT}

[[interface]]
port = 0
address = ["{netns.BOX_IP4}/{netns.PREFIX4}", "{SECOND_IP4}/{netns.PREFIX4}",
           "{netns.BOX_IP6}/{netns.PREFIX6}", "{SECOND_IP6}/{netns.PREFIX6}"]
%s

[[interface.neighbour]]
address = "{FIXED_IP4}"
mac = "{netns.mac_text(FIXED_MAC)}"
'''


class ServeCase(unittest.TestCase):
    """A server for the tests of one class."""
    kind = 'veth'
    programs = ()
    interface_keys = ''     # more lines of [[interface]]
    tables = ''             # more tables of the configuration
    eal = ()                # more EAL arguments
    environment = {}        # variables of the profile
    options = ()            # more options of serve
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        reason = netns.missing(cls.kind, cls.programs)
        if reason:
            raise unittest.SkipTest(reason)
        cls.link = netns.Link(cls.kind)
        cls.addClassCleanup(cls.link.close)
        cls.server = cls.start_server()
        cls.addClassCleanup(cls.server.kill)
        cls.addClassCleanup(cls.check_end)
        cls.server.wait_ready()
        cls.find_box()

    @classmethod
    def start_server(cls):
        config = cls.link.path('serve.toml')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(CONFIG % cls.interface_keys + cls.tables)
        return cls.link.millrace(netns.PROFILES[cls.kind], *cls.eal, '--', 'serve', '--config', config, *cls.options,
                                 environment=cls.environment)

    @classmethod
    def find_box(cls):
        """The server's MAC, as the kernel's ARP found it."""
        cls.link.kernel.run('ping', '-n', '-c', '1', '-W', '5', netns.BOX_IP4)
        found = cls.link.kernel.run('ip', '-json', 'neighbour', 'show', 'to', netns.BOX_IP4).stdout
        cls.box_mac = bytes.fromhex(json.loads(found)[0]['lladdr'].replace(':', ''))
        cls.box_link_local = f'{netns.link_local(cls.box_mac)}%{cls.link.kernel_iface}'

    def tearDown(self):
        if self.server.process.poll() is not None:
            self.fail(f'the server is gone, status {self.server.process.returncode}\n{self.server.said()}')

    # --- asking ---

    def sockaddr(self, address, port):
        return self.link.kernel.inside(lambda: socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0][4])

    def udp(self, address, port, timeout=10):
        """A connected socket: the kernel hands over only what comes from the very address that was called."""
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        sock = self.link.kernel.socket(family, socket.SOCK_DGRAM, timeout=timeout)
        self.addCleanup(sock.close)
        sock.connect(self.sockaddr(address, port))
        return sock

    def client(self, address=netns.BOX_IP4, timeout=10):
        sock = self.udp(address, SRMP_PORT, timeout)
        return srmp.Client(sock, sock.getpeername())

    def check_answers(self, address=netns.BOX_IP4):
        """It is there, by a call."""
        self.assertEqual(self.client(address).call('Echo', b'still there'), (0, b'still there'))

    def ping(self, address, *options, count=3):
        # One at a time: of several, ping waits for the last only as long as the others took, which a busy machine exceeds.
        for _ in range(count):
            done = self.link.kernel.run('ping', '-n', '-c', '1', '-W', '10', *options, address, check=False)
            known = self.link.kernel.run('ip', 'neighbour').stdout
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + known)
            self.assertRegex(done.stdout, r'\b1 received\b', known)
            self.assertNotRegex(done.stdout, 'DUP|wrong data|Unreachable|corrupted', done.stdout)

    # --- the end ---

    @classmethod
    def check_end(cls):
        """After the last test, whatever it found: the server ends well, too."""
        if cls.server.process.poll() is None:
            cls.stop_server()

    @classmethod
    def stop_server(cls):
        """Stops it and answers its result, after a look at what must hold for every run."""
        status = cls.server.stop()
        if status != 0:
            raise AssertionError(f'exit status {status}\n{cls.server.said()}')
        result = cls.server.result()
        check_accounts(result, cls.server.said())
        return result


def check_accounts(result, said):
    """No packet missing, none leaked, no heap call on the data path."""
    broken = []
    account = result['conservation']
    if not account['holds'] or \
            account['rx'] + account['originated'] != sum(account[key] for key in ('tx', 'delivered', 'held', 'dropped')):
        broken.append(f'packets are missing: {account}')
    if account['held'] != 0:
        broken.append(f'packets are still held: {account}')
    if result.get('heap_calls', {'data_path': 0})['data_path'] != 0:
        broken.append(f'heap calls: {result["heap_calls"]}')
    broken += [f'not given back: {pool}' for pool in result['mempools'] if pool['in_use'] != 0]
    if broken:
        raise AssertionError('\n'.join([*broken, said]))
