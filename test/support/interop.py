"""QUIC between millrace and peers on libngtcp2 (test/peers), over a cable in namespaces: who talks to whom, about what.

A Pair is a client and a server at the two ends of a veth; a cell is one thing they do, such as a transfer with lost
datagrams. check(pair, cell) answers an Outcome. scripts/interop prints all of them, test/e2e/quic_test.py runs those that
matter most. Standard library only; needs what netns.py needs, and the programs of test/peers.
"""
import collections
import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import time

import netns

PEERS = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(netns.SOURCE, 'build')), 'test', 'peers')
CLIENT, SERVER = os.path.join(PEERS, 'quic_client'), os.path.join(PEERS, 'quic_server')
PORT = 443
NAT, NAT_PORT, NAT_EVERY = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'nat.py'), 4443, 100
SECOND_IP4, SECOND_IP6 = '198.18.0.4', '2001:db8:18::4'  # of the kernel's end, to migrate to
REVISITS = 4
CLIENT_S = 30                                            # for a client, on a busy machine
FILES = {'empty': 0, 'one': 1, 'small': 1200, 'block': 65536, 'over': 65537, 'large': 1_000_003}
LEFT_VERSION = 0xFF00001B                                # draft 27: load has keys for it, the peers no longer do
UNKNOWN_VERSION = 0x1A2A3A4A                             # RFC 9000 15: reserved to provoke Version Negotiation
JUMBO_PAYLOAD, SMALL_MTU_PAYLOAD = 8952, 1232            # less IPv6 and UDP


class Failed(Exception):
    """What was asked for did not happen; the text says what did."""


class Unsupported(Exception):
    """One of the two cannot do this; the text says which and why."""


Outcome = collections.namedtuple('Outcome', 'result note seconds')  # result: ok, failed, none


def pattern():
    """The block that bodies of /bytes/N repeat."""
    state, block = 0x6D696C6C72616365, bytearray()
    for _ in range(65536):
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        block.append(state >> 56)
    return bytes(block)


def pattern_digest(size, _block=pattern()):
    digest = hashlib.sha256()
    for _ in range(size // len(_block)):
        digest.update(_block)
    digest.update(_block[:size % len(_block)])
    return digest.hexdigest()


def missing():
    """What keeps the cells from running here, or None."""
    if not os.path.exists(CLIENT) or not os.path.exists(SERVER):
        return 'the QUIC peers are not built: libngtcp2-dev, libngtcp2-crypto-gnutls-dev (scripts/install-packages --with-tests)'
    return netns.missing('veth')


def role_help(role):
    """What the built program says of a role's options; empty when there is no such role."""
    done = subprocess.run([netns.MILLRACE, '--', role, '--help'], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout if done.returncode == 0 else ''


class Cable(netns.Link):
    """A veth whose kernel end has second addresses; with `both`, the kernel's stack is at the other end, too."""

    def __init__(self, both=False, mtu=1500):
        self._both = both
        super().__init__('veth')
        if mtu != 1500:
            self.set_mtu(mtu)

    def _lay_cable(self):
        super()._lay_cable()
        if self._both:
            self.box.sysctl({f'net/ipv6/conf/{self.box_iface}/disable_ipv6': 0})
            self.box.run('ip', 'address', 'add', f'{netns.BOX_IP4}/{netns.PREFIX4}', 'dev', self.box_iface)
            self.box.run('ip', '-6', 'address', 'add', f'{netns.BOX_IP6}/{netns.PREFIX6}', 'dev', self.box_iface, 'nodad')
        self.kernel.run('ip', 'address', 'add', f'{SECOND_IP4}/{netns.PREFIX4}', 'dev', self.kernel_iface)
        self.kernel.run('ip', '-6', 'address', 'add', f'{SECOND_IP6}/{netns.PREFIX6}', 'dev', self.kernel_iface, 'nodad')

    def files(self):
        """A folder with FILES, and the digest of each."""
        root = os.path.join(self.folder, 'www')
        os.makedirs(root, exist_ok=True)
        digests = {}
        for name, size in FILES.items():
            content = os.urandom(size)
            with open(os.path.join(root, name), 'wb') as file:
                file.write(content)
            digests['/' + name] = hashlib.sha256(content).hexdigest()
        return root, digests


class PeerServer:
    """test/peers/quic_server in a namespace. stop() answers what it counted."""

    def __init__(self, link, space, addresses, options):
        self.words = [SERVER, '--listen', *addresses, '--port', str(PORT), *options]
        self._log = open(link.path('peer-server.err'), 'w+', encoding='utf-8', errors='replace')
        self.process = space.start(*self.words, stdout=subprocess.PIPE, stderr=self._log, text=True)
        if not self.process.stdout.readline().startswith('ready'):
            why = self._said()
            self.kill()
            raise Failed(f'{" ".join(self.words)} does not start: {why}')

    def _said(self):
        self._log.seek(0)
        return self._log.read().strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            said, _ = self.process.communicate(timeout=netns.STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("the peer's server does not end") from None
        if self.process.returncode != 0:
            raise Failed(f"the peer's server ended with status {self.process.returncode}: {self._said()}")
        return json.loads(said.splitlines()[-1])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self._log.close()


def run_peer_client(space, address, paths=(), options=(), timeout=CLIENT_S):
    """The client's JSON, with 'digests' by path; Failed when it says that something went wrong."""
    words = [CLIENT, address, str(PORT), *paths, '--stats', '--timeout', str(timeout), *options]
    done = space.run(*words, check=False, timeout=timeout + 10)
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        raise Failed((done.stderr.strip().splitlines() or [f'client: status {done.returncode}'])[-1])
    facts = json.loads(lines[-1])
    facts['digests'] = {}
    for line in lines[:-1]:
        _, digest, _, path = line.split(maxsplit=3)
        facts['digests'][path] = digest
    return facts


def expect(facts, **wanted):
    for key, value in wanted.items():
        good = value(facts[key]) if callable(value) else facts[key] == value
        if not good:
            raise Failed(f'{key} is {facts[key]}')


def expect_pattern(facts, size):
    """All that was fetched of /bytes/N is that pattern."""
    if facts['digests'].get(f'/bytes/{size}') != pattern_digest(size):
        raise Failed(f'/bytes/{size} arrived changed')


# --- pairs ---

class Pair:
    """A client and a server. A subclass says how each is started; `facts` of a server are those of quic_server, or None."""
    name = ''
    kernel_both = False

    def __init__(self):
        self._ends = contextlib.ExitStack()
        self.link = None
        self._mtu = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ends.close()

    def cable(self, mtu=1500):
        """The link, laid anew when another MTU is wanted."""
        if self._mtu != mtu:
            self.finish()
            self._ends.close()
            self._ends = contextlib.ExitStack()
            self.link = self._ends.enter_context(Cable(self.kernel_both, mtu))
            self._mtu = mtu
        return self.link

    def finish(self):
        """Ends what runs on; Failed when it does not end well."""

    def absent(self):
        """Why this pair cannot be had, or None."""
        return None

    def needs(self, *words):
        """Unsupported unless millrace's end has all of these."""

    def said(self):
        """What a server of ours has printed, for whoever looks into a failure."""
        return ''


class PeerToPeer(Pair):
    """Both are libngtcp2: shows that the peers and the cells are right."""
    name = 'ngtcp2 -> ngtcp2'
    kernel_both = True
    server_ip4, server_ip6 = netns.BOX_IP4, netns.BOX_IP6

    @contextlib.contextmanager
    def serve(self, mtu=1500, options=(), **_):
        link = self.cable(mtu)
        server = PeerServer(link, link.box, [netns.BOX_IP4, netns.BOX_IP6], options)
        try:
            yield server
        finally:
            server.kill()

    def root(self):
        return self.cable().files()

    def fetch(self, address, paths=(), options=()):
        return run_peer_client(self.link.kernel, address, paths, options)


class PeerToMillrace(PeerToPeer):
    """Their client, `millrace serve`."""
    name = 'ngtcp2 -> millrace'
    kernel_both = False

    def __init__(self):
        super().__init__()
        self._help = role_help('serve')
        self._server = None
        self._key = None
        self._files = None

    def absent(self):
        return None if '--quic-port' in self._help else 'serve speaks no QUIC in this build'

    def needs(self, *words):
        protocols = re.search(r'--quic-port.*\n.*', self._help).group()  # its text may stand on the next line
        for word in words:
            if word not in protocols:
                raise Unsupported(f'serve does not speak {word} over QUIC')

    def said(self):
        return self._server.said() if self._server is not None else ''

    def root(self):
        """One set of files for as long as the cable lies: a running server has them."""
        self.cable(1500)
        if self._files is None:
            self._files = self.link.files()
        return self._files

    @contextlib.contextmanager
    def serve(self, mtu=1500, retry='automatic', **_):
        """One that runs already is taken when it is the same; it ends with finish()."""
        if self._key != (mtu, retry):
            self.finish()
            link = self.cable(mtu)
            options = ['--root', self.root()[0]] if mtu == 1500 else []
            environment = {'MILLRACE_FRAMESZ': '16384', 'MILLRACE_BLOCKSZ': '65536'} if mtu > 1500 else {}
            self._server = self._ends.enter_context(link.millrace(
                '@af_packet', '--', 'serve', '--quic-port', str(PORT), '--retry', retry, *options, environment=environment))
            self._server.wait_ready()
            self._key = (mtu, retry)
        yield None
        if self._server.process.poll() is not None:
            raise Failed(f'serve is gone, status {self._server.process.returncode}: {self._last_words()}')

    def _last_words(self):
        return ' / '.join(self._server.errors[-2:] or self._server.lines[-2:])

    def finish(self):
        server, self._server, self._key, self._files = self._server, None, None, None
        if server is None:
            return
        try:
            status = server.stop()
            if status != 0:
                raise Failed(f'serve ended with status {status}: {" / ".join(server.errors[-2:])}')
            check_accounts(server.result())
        except AssertionError as reason:
            raise Failed(str(reason).splitlines()[0]) from reason
        finally:
            server.kill()


class MillraceToPeer(Pair):
    """`millrace load`, their server."""
    name = 'millrace -> ngtcp2'
    server_ip4, server_ip6 = netns.KERNEL_IP4, netns.KERNEL_IP6

    def __init__(self):
        super().__init__()
        self._help = role_help('load')

    def absent(self):
        return None if 'hq://' in self._help else 'load speaks no QUIC in this build'

    def needs(self, *words):
        for word in words:
            if word not in self._help:
                raise Unsupported(f'load has no {word}')

    @contextlib.contextmanager
    def serve(self, mtu=1500, options=(), **_):
        link = self.cable(mtu)
        server = PeerServer(link, link.kernel, [netns.KERNEL_IP4, netns.KERNEL_IP6], options)
        try:
            yield server
        finally:
            server.kill()

    def load(self, target, *options, address=netns.KERNEL_IP4, port=PORT, timeout=CLIENT_S):
        """Runs to the end and answers the result's object; Failed when it failed or counted an error."""
        jumbo = self._mtu > 1500
        environment = {'MILLRACE_FRAMESZ': '16384', 'MILLRACE_BLOCKSZ': '65536'} if jumbo else {}
        host = f'[{address}]' if ':' in address else address
        own = f'{netns.BOX_IP6}/{netns.PREFIX6}' if ':' in address else f'{netns.BOX_IP4}/{netns.PREFIX4}'
        mtu = ['--mtu', str(self._mtu)] if self._mtu != 1500 else []
        scheme, path = target
        with self.link.millrace('@af_packet', '--', 'load', '--address', own, '--target', f'{scheme}://{host}:{port}{path}',
                                *mtu, *options, environment=environment) as run:
            try:
                status = run.wait(timeout)
            except AssertionError as late:
                raise Failed(f'load does not end within {timeout} s') from late
            if status != 0:
                raise Failed(f'load: {(run.errors or ["status " + str(status)])[-1]}')
            result = run.result()
        check_accounts(result)
        # rx_missed: the cable was full, as it is when the machine is busy; QUIC sends again.
        troubles = {kind: n for kind, n in result.get('errors', {}).items() if n and kind != 'rx_missed'}
        if troubles:
            raise Failed(f'load counted {troubles}')
        return result


def check_accounts(result):
    """No packet missing, none leaked, no heap call on the data path."""
    account = result['conservation']
    if not account['holds'] or account['held'] != 0:
        raise Failed(f'packets are missing: {account}')
    if result.get('heap_calls', {'data_path': 0})['data_path'] != 0:
        raise Failed(f'heap calls: {result["heap_calls"]}')
    for pool in result['mempools']:
        if pool['in_use'] != 0:
            raise Failed(f'not given back: {pool}')


# --- cells ---
#
# A cell is two functions that take a Pair: for a client of libngtcp2 with either server, and for `load` with the server of
# libngtcp2. Each answers at least the bytes and the seconds of what was transferred, or raises Failed or Unsupported. What the
# server of libngtcp2 counted is looked at, too; of `serve` only that it goes on, and ends well.

class Cell:
    def __init__(self, name, theirs, ours):
        self.name, self.theirs, self.ours = name, theirs, ours


def _peer(size=1000, client=(), server=(), retry='automatic', mtu=1500, ip6=False, facts=None, counted=None):
    """A cell of their client: one file of the pattern, and what both must say of it."""
    def run(pair):
        with pair.serve(mtu=mtu, retry=retry, options=server) as running:
            got = pair.fetch(pair.server_ip6 if ip6 else pair.server_ip4, [f'/bytes/{size}'], client)
            expect(got, ok=True, handshake=True, alpn='hq-interop', **(facts or {}))
            expect_pattern(got, size)
            if running is not None:
                expect(running.stop(), failed=0, **(counted or {}))
        return got
    return run


def _again(*client, server=(), facts):
    """Connections after the first resume what was given to the one before. A server may refuse early data of any of them: a
    hello that a busy machine held up looks like a replay (RFC 8446 8.3). So one of several is enough."""
    def run(pair):
        with pair.serve(options=server):
            words = ['--session', pair.link.path('session'), *client]
            expect(pair.fetch(pair.server_ip4, ['/bytes/1000'], words), ticket=True, resumed=False)
            for left in reversed(range(REVISITS)):
                got = pair.fetch(pair.server_ip4, ['/bytes/1001'], words)
                expect_pattern(got, 1001)
                if left == 0 or all(got[key] == value for key, value in facts.items()):
                    break
            expect(got, ok=True, **facts)
        return got
    return run


def _many_streams(pair):
    root, digests = pair.root()
    with pair.serve(options=['--root', root]):
        got = pair.fetch(pair.server_ip4, [*digests, '/bytes/300000'], ['--repeat', '5', '--streams', '10'])
        expect(got, ok=True, requests=5 * (len(digests) + 1))
        if got['digests'] != {**digests, '/bytes/300000': pattern_digest(300000)}:
            raise Failed('a file arrived changed')
    return got


def _srmp_peer(pair):
    pair.needs('srmp')
    with pair.serve():
        got = pair.fetch(pair.server_ip4, (), ['--alpn', 'srmp', '--streams', '3', '--calls', '500'])
        expect(got, ok=True, alpn='srmp', calls=3 * 502)
    return got


def _echo(pair):
    if pair.kernel_both:
        raise Unsupported('only serve speaks echo')
    pair.needs('echo')
    with pair.serve():
        sizes = 0, 1, 1_000_003, 5_000_000
        got = pair.fetch(pair.server_ip4, [f'/bytes/{size}' for size in sizes], ['--alpn', 'echo', '--repeat', '2'])
        expect(got, ok=True, alpn='echo', requests=2 * len(sizes))
        for size in sizes:
            expect_pattern(got, size)
    return got


def _migration(pair):
    return _peer(10_000_000, ['--migrate', SECOND_IP4], facts={'migrated': True, 'paths_validated': lambda n: n > 0},
                 counted={'address_changes': lambda n: n >= 1})(pair)


def _jumbo(pair):
    got = _peer(10_000_000, ['--max-udp-payload', str(JUMBO_PAYLOAD)], ['--max-udp-payload', str(JUMBO_PAYLOAD)], mtu=9000)(pair)
    if got['bytes'] / got['datagrams_received'] < 4000:
        raise Failed(f'{got["bytes"] // got["datagrams_received"]} bytes a datagram: it stays with small ones')
    return got


def _load(options=(), size=1000, requests=1, server=(), mtu=1500, ip6=False, needs=(), counted=None, scheme='hq', path=None):
    """A cell of `load` against their server, which says what went on."""
    def run(pair):
        pair.needs(scheme + '://', *needs)
        with pair.serve(mtu=mtu, options=server) as running:
            address = pair.server_ip6 if ip6 else pair.server_ip4
            result = pair.load((scheme, path or f'/bytes/{size}'), '--requests', str(requests), *options, address=address)
            facts = running.stop()
            expect(facts, handshakes=lambda n: n >= 1, failed=0, not_found=0)
            if scheme == 'hq':
                expect(facts, requests=lambda n: n >= requests)
            expect(facts, **(counted or {}))
            facts['bytes_a_datagram'] = facts['bytes_sent'] // max(1, facts['datagrams_sent'])
        return {'seconds': result['duration_s'], 'bytes': facts['bytes_sent'], 'facts': facts}
    return run


def _load_jumbo(pair):
    got = _load(['--connections', '1', '--streams', '1'], 10_000_000, server=['--max-udp-payload', str(JUMBO_PAYLOAD)], mtu=9000)(pair)
    expect(got['facts'], bytes_a_datagram=lambda n: n > 4000)
    return got


@contextlib.contextmanager
def behind_nat(pair):
    """The port at which a NAT passes on to the server, every now and then from another port, and nobody tells the client."""
    nat = pair.link.kernel.start('/usr/bin/python3', NAT, netns.KERNEL_IP4, str(NAT_PORT), pair.server_ip4, str(PORT), str(NAT_EVERY),
                                 stdout=subprocess.PIPE, text=True)
    try:
        nat.stdout.readline()
        yield NAT_PORT
        nat.terminate()
        ports = int(nat.communicate(timeout=10)[0])
    finally:
        if nat.poll() is None:
            nat.kill()
            nat.wait()
    if ports < 3:
        raise Failed(f'the NAT used {ports} ports: nothing was rebound')


def _load_behind_nat(pair):
    with pair.serve() as running:
        with behind_nat(pair) as port:
            result = pair.load(('hq', f'/bytes/{MB10}'), '--requests', '1', *ONE, port=port)
        expect(running.stop(), handshakes=1, failed=0, bytes_sent=lambda n: n >= MB10, address_changes=lambda n: n >= 1)
    return {'seconds': result['duration_s'], 'bytes': MB10}


def _cannot(why):
    def run(_):
        raise Unsupported(why)
    return run


MB10 = 10_000_000
MB60 = 60_000_000  # long enough for three PTOs: no key update is allowed before (RFC 9001 6.5)
ONE = ('--connections', '1', '--streams', '1')
LOSS = ('--loss', '5')
CELLS = [
    Cell('handshake', _peer(counted={'handshakes': 1}), _load(ONE)),
    Cell('transfer 10 MB', _peer(MB10), _load(ONE, MB10, counted={'bytes_sent': MB10})),
    Cell('multi-stream', _many_streams, _load(['--connections', '1', '--streams', '10'], 100_000, 50)),
    Cell('retry', _peer(server=['--retry'], retry='always', facts={'retry': True}, counted={'retries': 1}),
         _load(ONE, server=['--retry'], counted={'retries': lambda n: n >= 1})),
    Cell('resumption', _again(facts={'resumed': True}),
         _load([*ONE, '--requests-each', '1', '--resume'], requests=4, needs=['--resume', '--requests-each'], counted={'resumed': lambda n: n >= 1})),
    Cell('0-RTT', _again('--early-data', server=['--early-data'], facts={'resumed': True, 'early_data': True}),
         _load([*ONE, '--requests-each', '1', '--resume', '--early-data'], requests=4, server=['--early-data'], needs=['--resume', '--early-data', '--requests-each'],
               counted={'early_data_accepted': lambda n: n >= 1, 'early_stream_bytes': lambda n: n > 0})),
    Cell('ChaCha20', _peer(100_000, ['--chacha20'], facts={'cipher': 'CHACHA20-POLY1305'}),
         _load(ONE, 100_000, server=['--ciphers', 'CHACHA20-POLY1305'],
               counted={'ciphers': lambda c: list(c) == ['CHACHA20-POLY1305']})),
    Cell('AES-256', _peer(100_000, ['--aes256'], facts={'cipher': 'AES-256-GCM'}),
         _load(ONE, 100_000, server=['--ciphers', 'AES-256-GCM'], counted={'ciphers': lambda c: list(c) == ['AES-256-GCM']})),
    Cell('key update', _peer(MB60, ['--key-update', '1000000'], facts={'key_updates': lambda n: n >= 1},
                             counted={'key_updates': lambda n: n >= 1}),
         _load([*ONE, '--key-update', '1000000'], MB60, needs=['--key-update'], counted={'key_updates': lambda n: n >= 1})),
    Cell('rebinding', _peer(MB10, ['--rebind', '1000000'], facts={'rebound': True},
                            counted={'address_changes': lambda n: n >= 1}),
         _load_behind_nat),
    Cell('migration', _migration,
         _load([*ONE, '--migrate-every', '0.1'], MB10, 10, needs=['--migrate-every'],
               counted={'address_changes': lambda n: n >= 1})),
    Cell('5 % loss each way', _peer(2_000_000, [*LOSS, '--seed', '11']), _load(ONE, 2_000_000, server=[*LOSS, '--seed', '12'])),
    Cell('IPv6', _peer(1_000_000, ip6=True), _load(ONE, 1_000_000, ip6=True)),
    Cell('version negotiation', _peer(client=['--version', f'{UNKNOWN_VERSION:x}'],
                                      facts={'versions_offered': lambda text: '0x00000001' in text.split()}),
         _load([*ONE, '--quic-version', f'0x{LEFT_VERSION:08x}'], needs=['--quic-version'],
               counted={'version_negotiations': lambda n: n >= 1})),
    Cell('SRMP', _srmp_peer,
         _load(['--connections', '2', '--streams', '8'], requests=1000, scheme='srmp+quic', path='/Echo',
               counted={'srmp_frames': lambda n: n >= 1000})),
    Cell('stream echo', _echo, _cannot('only serve speaks echo')),
    Cell('MTU 1280', _peer(1_000_000, ['--max-udp-payload', str(SMALL_MTU_PAYLOAD)],
                           ['--max-udp-payload', str(SMALL_MTU_PAYLOAD)], mtu=1280, ip6=True),
         _load(ONE, 1_000_000, server=['--max-udp-payload', str(SMALL_MTU_PAYLOAD)], mtu=1280, ip6=True)),
    Cell('MTU 9000', _jumbo, _load_jumbo),
]
PAIRS = [PeerToMillrace, MillraceToPeer, PeerToPeer]


def check(pair, cell):
    """Runs one cell of a pair."""
    began = time.monotonic()
    try:
        got = cell.ours(pair) if isinstance(pair, MillraceToPeer) else cell.theirs(pair)
        result, note = 'ok', ''
        if got['bytes'] >= 1_000_000 and got['seconds'] > 0:
            note = f'{got["bytes"] * 8e-6 / got["seconds"]:.0f} Mbit/s'
    except Unsupported as reason:
        result, note = 'none', str(reason)
    except (Failed, AssertionError, KeyError, OSError, ValueError, subprocess.SubprocessError) as reason:
        result, note = 'failed', f'{"" if isinstance(reason, Failed) else type(reason).__name__ + ": "}{reason}'.splitlines()[0]
    return Outcome(result, note, time.monotonic() - began)
