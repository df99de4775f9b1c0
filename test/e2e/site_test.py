"""Static directories of `serve` over HTTP/3, fetched by ngtcp2's gtlsclient over a veth, and replaced by SIGHUP.

What it gets is compared byte by byte. Needs root; skips with the reason where namespaces cannot be made or the client is not there.
"""
import json
import os
import shutil
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_case import ServeCase, netns  # noqa: E402
import http3  # noqa: E402

PORT = 443
LARGE = 3_000_000


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(content)


class OverVeth(ServeCase):
    options = ('--verbose',)

    @classmethod
    def setUpClass(cls):
        reason = http3.missing()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUpClass()

    @classmethod
    def start_server(cls):
        cls.root, cls.docs = cls.link.path('www'), cls.link.path('docs')
        cls.large = os.urandom(LARGE)
        write(os.path.join(cls.root, 'large.bin'), cls.large)
        write(os.path.join(cls.root, 'app.js'), b'console.log(1)')
        write(os.path.join(cls.root, 'index.html'), b'never seen: the status page is there')
        write(os.path.join(cls.root, '.secret'), b'hidden')
        os.symlink('/etc/passwd', os.path.join(cls.root, 'passwd'))
        write(os.path.join(cls.docs, 'index.html'), b'<p>the docs</p>')
        cls.tables = f'[[http.directory]]\npath = "/docs"\nroot = "{cls.docs}"\n'
        cls.options = ('--verbose', '--root', cls.root)
        return super().start_server()

    def get(self, path, *options):
        """(what gtlsclient said, the body)."""
        folder = self.link.path('download')
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        done = self.link.kernel.run(http3.GTLSCLIENT, '--exit-on-all-streams-close', '--timeout=20s', '--no-quic-dump', '--no-http-dump',
                                    f'--download={folder}', *options, netns.BOX_IP4, str(PORT), f'https://localhost{path}', check=False,
                                    timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:] + self.server.said())
        body = b''
        name = os.path.join(folder, os.path.basename(path) or 'index.html')
        if os.path.exists(name):
            with open(name, 'rb') as file:
                body = file.read()
        return done.stdout + done.stderr, body

    def stats(self):
        return json.loads(self.get('/stats')[1])['site']

    def reload(self):
        before = len([line for line in self.server.lines + self.server.errors if 'reload' in line])
        self.server.signal(signal.SIGHUP)
        for _ in range(500):
            said = [line for line in self.server.lines + self.server.errors if 'reload' in line]
            if len(said) > before:
                return said
            time.sleep(0.02)
        self.fail('nothing was said of the reload\n' + self.server.said())

    def test_files_arrive_as_they_lie_on_disk(self):
        self.assertEqual(self.get('/large.bin')[1], self.large)
        said, body = self.get('/app.js')
        self.assertEqual(body, b'console.log(1)')
        self.assertIn('text/javascript; charset=utf-8', said)
        self.assertIn('"0a286891c11c056e1ab5bfc25bf5d6b2"', said)
        self.assertEqual(self.get('/docs/index.html')[1], b'<p>the docs</p>')
        self.assertEqual(self.get('/docs/')[1], b'<p>the docs</p>')

    def test_nothing_else_is_served(self):
        for path in ('/.secret', '/passwd', '/nothing', '/docs/app.js'):
            with self.subTest(path=path):
                said, body = self.get(path)
                self.assertIn('[:status: 404]', said)
                self.assertEqual(body, b'')
        said, _ = self.get('/docs')
        self.assertIn('[:status: 301]', said)
        self.assertIn('[location: /docs/]', said)
        self.assertNotIn(b'never seen', self.get('/')[1])
        # Before a directory at the end of a path is looked at, ".." is resolved; above the root there is nothing.
        self.assertIn('[:status: 400]', self.get('/%2e%2e/%2e%2e/etc/passwd')[0])

    def test_what_is_served_and_what_not_is_told(self):
        said = self.server.said()
        self.assertIn(f"files: / from '{self.root}', /docs from '{self.docs}'; ", said)
        self.assertIn('not served: hidden: 1', said)
        self.assertIn(f"the first is '{self.root}/passwd'", said)

    def test_sighup_replaces_all_of_it(self):
        reloads, failures = self.stats()['reloads'], self.stats()['reload_failures']
        other = os.urandom(LARGE + 1)
        write(os.path.join(self.root, 'changing.bin'), b'one')
        self.assertIn('[:status: 404]', self.get('/changing.bin')[0])
        self.assertIn('reloaded files: ', self.reload()[-1])
        self.assertEqual(self.get('/changing.bin')[1], b'one')
        write(os.path.join(self.root, 'changing.bin'), other)
        self.assertEqual(self.get('/changing.bin')[1], b'one')
        self.reload()
        self.assertEqual(self.get('/changing.bin')[1], other)
        # One that cannot be changes nothing.
        os.rename(self.docs, self.docs + '.away')
        try:
            said = self.reload()
            self.assertTrue(any(f"warning: reload: '{self.docs}' cannot be served: " in line for line in said), said)
        finally:
            os.rename(self.docs + '.away', self.docs)
        self.assertEqual(self.get('/docs/index.html')[1], b'<p>the docs</p>')
        now = self.stats()
        self.assertEqual((now['reloads'] - reloads, now['reload_failures'] - failures), (2, 1))
        self.assertEqual(now['trees'], 1)

    def test_files_are_replaced_while_they_are_fetched(self):
        """Whoever asks gets the one or the other, whole."""
        versions = [bytes([65 + i]) * LARGE for i in range(3)]
        path = os.path.join(self.root, 'moving.bin')
        write(path, versions[0])
        self.reload()
        for version in versions:
            write(path + '.new', version)
            os.rename(path + '.new', path)
            self.server.signal(signal.SIGHUP)
            body = self.get('/moving.bin')[1]
            self.assertIn(body, versions)
        self.reload()
        self.assertEqual(self.get('/moving.bin')[1], versions[-1])


del ServeCase

if __name__ == '__main__':
    unittest.main()
