"""HTTP/3 between millrace and ngtcp2's own programs, gtlsclient and gtlsserver, over a cable in namespaces: the cells.

The pairs and cells are of the kind that interop.py has; scripts/interop --http3 prints all of them, test/e2e/h3_test.py runs those
that matter most. What a client gets is compared by its SHA-256; what our server did is read from its own /stats, over HTTP/3.
"""
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import time

import interop
import netns
from interop import Cell, Failed, MB10, MB60, ONE, PORT, expect

GTLSCLIENT, GTLSSERVER = shutil.which('gtlsclient'), shutil.which('gtlsserver') or '/usr/sbin/gtlsserver'
CHACHA20 = 'NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305'
SIZES = (1000, 100_000, 1_000_000, 2_000_000, MB10, MB60)  # of the files that gtlsserver has


def missing():
    """What keeps the cells from running here, or None."""
    if not GTLSCLIENT or not os.path.exists(GTLSSERVER):
        return 'there is no gtlsclient, no gtlsserver: ngtcp2-client, ngtcp2-server (scripts/install-packages --with-tests)'
    return netns.missing('veth')


class GtlsToMillrace(interop.PeerToMillrace):
    """gtlsclient, `millrace serve`."""
    name = 'gtlsclient -> millrace'

    def get(self, path, *options, address=None, port=PORT, post=None):
        """What the server answers: the body, as bytes."""
        folder = self.link.path('download')
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        words = [GTLSCLIENT, '--exit-on-all-streams-close', '-q', '--timeout=20s', '--handshake-timeout=10s', f'--download={folder}', *options]
        if post is not None:
            name = self.link.path('post')
            with open(name, 'wb') as file:
                file.write(post)
            words += [f'--data={name}', '--http-method=POST']
        done = self.link.kernel.run(*words, address or self.server_ip4, str(port), f'https://localhost{path}', check=False,
                                    timeout=interop.CLIENT_S + 10)
        if done.returncode != 0:
            raise Failed(f'gtlsclient: status {done.returncode}: {(done.stderr.strip().splitlines() or [""])[-1]}')
        try:
            with open(os.path.join(folder, os.path.basename(path)), 'rb') as file:
                return file.read()
        except FileNotFoundError:
            raise Failed(f'gtlsclient has got no {path}') from None

    def stats(self):
        return json.loads(self.get('/stats'))


class MillraceToGtls(interop.MillraceToPeer):
    """`millrace load`, gtlsserver."""
    name = 'millrace -> gtlsserver'

    def __init__(self):
        super().__init__()
        self._root = self._key = self._cert = None

    def absent(self):
        return None if 'h3://' in self._help else 'load speaks no HTTP/3 in this build'

    def _files(self, link):
        if self._root is None or not os.path.exists(self._root):
            self._root, self._key, self._cert = (link.path(name) for name in ('htdocs', 'key.pem', 'cert.pem'))
            root = self._root
            os.makedirs(os.path.join(root, 'bytes'))
            for size in SIZES:
                with open(os.path.join(root, 'bytes', str(size)), 'wb') as file:
                    block = interop.pattern()
                    for _ in range(size // len(block)):
                        file.write(block)
                    file.write(block[:size % len(block)])
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
                            '-subj', '/CN=localhost', '-keyout', self._key, '-out', self._cert],
                           check=True, capture_output=True)
        return self._root

    @contextlib.contextmanager
    def serve(self, mtu=1500, options=(), ip6=False, **_):
        link = self.cable(mtu)
        root = self._files(link)
        log = open(link.path('gtlsserver.err'), 'w+', encoding='utf-8', errors='replace')
        server = link.kernel.start(GTLSSERVER, '-q', '-d', root, *options, self.server_ip6 if ip6 else self.server_ip4, str(PORT),
                                   self._key, self._cert, stdout=log, stderr=log)
        try:
            time.sleep(0.3)  # it does not say when it listens; load asks again until it does
            if server.poll() is not None:
                log.seek(0)
                raise Failed(f'gtlsserver does not start: {log.read()[-200:]}')
            yield server
        finally:
            server.kill()
            server.wait()
            log.close()


def _get(size=1000, options=(), retry='automatic', ip6=False, rises=()):
    """A cell of gtlsclient: one body of the pattern; `rises` are counters of the server's that must have grown."""
    def run(pair):
        with pair.serve(retry=retry):
            before = pair.stats() if rises else None
            began = time.monotonic()
            body = pair.get(f'/bytes/{size}', *options, address=pair.server_ip6 if ip6 else None)
            seconds = time.monotonic() - began
            if hashlib.sha256(body).hexdigest() != interop.pattern_digest(size):
                raise Failed(f'/bytes/{size} arrived changed: {len(body)} bytes')
            after = pair.stats() if rises else None
            for group, name in rises:
                if after[group].get(name, 0) <= before[group].get(name, 0):
                    raise Failed(f'{name} did not rise')
        return {'bytes': size, 'seconds': seconds}
    return run


def _many(pair):
    with pair.serve():
        before = pair.stats()['http3']['requests']
        body = pair.get('/bytes/100000', '--nstreams=50')
        if hashlib.sha256(body).hexdigest() != interop.pattern_digest(100_000):
            raise Failed('/bytes/100000 arrived changed')
        if pair.stats()['http3']['requests'] - before != 51:
            raise Failed('not as many requests as streams')
    return {'bytes': 0, 'seconds': 0}


def _post(pair):
    with pair.serve():
        for size in (0, 1, 65_537, 3_000_000):
            sent = os.urandom(size)
            if size and pair.get('/echo', post=sent) != sent:
                raise Failed(f'{size} bytes came back changed')
        if json.loads(pair.get('/discard', post=bytes([1, 2, 3]) * 100_000)) != {'bytes': 300_000, 'sum': 600_000}:
            raise Failed('what was discarded was not counted')
        if json.loads(pair.get('/json', post=b'{"a":[1,2,3]}')).get('numbers') != 3:
            raise Failed('a document was not counted')
        if 'error' not in json.loads(pair.get('/json', post=b'{"a":')):
            raise Failed('half a document was taken')
    return {'bytes': 0, 'seconds': 0}


def _again(*rises):
    def run(pair):
        with pair.serve():
            files = [f'--{kind}-file={pair.link.path("gtls-" + kind)}' for kind in ('session', 'tp', 'token')]
            pair.get('/bytes/1000', *files)
            before = pair.stats()
            for left in reversed(range(interop.REVISITS)):  # early data may be refused where the machine is busy (RFC 8446 8.3)
                pair.get('/bytes/1000', *files)
                after = pair.stats()
                if all(after[group].get(name, 0) > before[group].get(name, 0) for group, name in rises):
                    break
                if left == 0:
                    raise Failed(f'{", ".join(name for _, name in rises)}: none rose')
        return {'bytes': 0, 'seconds': 0}
    return run


def _load(options=(), size=1000, requests=1, server=(), ip6=False, check=None):
    """A cell of `load`: it checks every byte count and the pattern itself."""
    def run(pair):
        with pair.serve(options=server, ip6=ip6):
            result = pair.load(('h3', f'/bytes/{size}'), '--requests', str(requests), *options,
                               address=pair.server_ip6 if ip6 else pair.server_ip4)
            if check is not None and not check(result):
                raise Failed(f'load says {result["workload"]}')
        return {'bytes': size * requests, 'seconds': result['duration_s']}
    return run


def _load_post(pair):
    """A body longer than a window, with each request; gtlsserver reads it and answers with the file."""
    name = pair.link.path('post')
    with open(name, 'wb') as file:
        file.write(os.urandom(3_000_000))
    with pair.serve():
        result = pair.load(('h3', '/bytes/1000'), '--requests', '4', '--data', name)
    return {'bytes': 4 * 3_001_000, 'seconds': result['duration_s']}


def _get_behind_nat(pair):
    with pair.serve():
        before = pair.stats()['quic']['migrations']
        began = time.monotonic()
        with interop.behind_nat(pair) as port:
            body = pair.get(f'/bytes/{MB10}', address=netns.KERNEL_IP4, port=port)
        seconds = time.monotonic() - began
        if hashlib.sha256(body).hexdigest() != interop.pattern_digest(MB10):
            raise Failed(f'/bytes/{MB10} arrived changed')
        if pair.stats()['quic']['migrations'] <= before:
            raise Failed('the server followed to no other port')
    return {'bytes': MB10, 'seconds': seconds}


def _behind_nat(pair):
    with pair.serve():
        with interop.behind_nat(pair) as port:
            result = pair.load(('h3', f'/bytes/{MB10}'), '--requests', '1', *ONE, port=port)
    return {'bytes': MB10, 'seconds': result['duration_s']}


MOVED = (('quic', 'migrations'),)
CELLS = [
    Cell('handshake', _get(), _load(ONE)),
    Cell('transfer 10 MB', _get(MB10), _load(ONE, MB10)),
    Cell('many requests', _many, _load(['--connections', '4', '--streams', '16'], 100_000, 200)),
    Cell('POST', _post, _load_post),
    Cell('retry', _get(retry='always'), _load(ONE, server=['-V'])),
    Cell('resumption', _again(('quic', 'resumed')), _load([*ONE, '--requests-each', '1', '--resume'], requests=4)),
    Cell('0-RTT', _again(('quic', 'early_data_accepted'), ('http3', 'early_requests')),
         _load([*ONE, '--requests-each', '1', '--resume', '--early-data'], requests=4)),
    Cell('ChaCha20', _get(100_000, [f'--ciphers={CHACHA20}']), _load(ONE, 100_000, server=[f'--ciphers={CHACHA20}'])),
    Cell('key update', _get(MB60, ['--key-update=100ms'], rises=(('quic', 'key_updates'),)), _load([*ONE, '--key-update', '1000000'], MB60)),
    Cell('rebinding', _get_behind_nat, _behind_nat),
    Cell('migration', _get(MB10, ['--change-local-addr=10ms'], rises=MOVED), _load([*ONE, '--migrate-every', '0.1'], MB10, 10)),
    Cell('5 % loss each way', _get(2_000_000, ['--tx-loss=0.05', '--rx-loss=0.05']),
         _load(ONE, 2_000_000, server=['--tx-loss=0.05', '--rx-loss=0.05'])),
    Cell('IPv6', _get(1_000_000, ip6=True), _load(ONE, 1_000_000, ip6=True)),
]
PAIRS = [GtlsToMillrace, MillraceToGtls]
check = interop.check
Outcome = interop.Outcome
