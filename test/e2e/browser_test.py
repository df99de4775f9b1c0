"""Chromium over HTTP/3 against `serve`, over a veth in namespaces: the status page, large bodies both ways, many at a time.

    browser_test.py [--pictures DIR]   keeps pictures of the page, light and dark, there (scripts/demo-browser does so)

Needs root and Chromium; skips with the reason where either is missing.
"""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import chromium  # noqa: E402
import interop   # noqa: E402
import netns     # noqa: E402

PICTURES = None
MB = 1_000_000
# A body's size, and the sum of its bytes, which every byte has a part in.
DOWNLOAD = '''(async () => {
  const answer = await fetch('/bytes/%d'), reader = answer.body.getReader();
  let size = 0, sum = 0;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return [answer.status, size, sum];
    size += value.length;
    for (const byte of value) sum = (sum + byte) %% 4294967296;
  }
})()'''
MANY = '''(async () => {
  const all = await Promise.all(Array.from({length: 200}, async (_, i) => {
    const answer = await fetch('/bytes/' + (1000 + i), {cache: 'no-store'});
    return (await answer.arrayBuffer()).byteLength === 1000 + i && answer.ok;
  }));
  return all.filter(ok => ok).length;
})()'''
UPLOAD = '''(async () => {
  const sent = new Uint8Array(%d);
  for (let i = 0; i < sent.length; i++) sent[i] = i * 31 + (i >> 8);
  const answer = await fetch('%s', {method: 'POST', body: sent});
  const back = await answer.arrayBuffer();
  if (answer.headers.get('content-type') === 'application/json') {
    const told = JSON.parse(new TextDecoder().decode(back));
    return [answer.status, told.bytes, told.sum === sent.reduce((sum, byte) => (sum + byte) %% 4294967296, 0)];
  }
  return [answer.status, back.byteLength, new Uint8Array(back).every((byte, i) => byte === sent[i])];
})()'''

# Sends messages of all sizes, text and binary, reads them back, closes; what came back, and how it ended.
WEBSOCKET = '''new Promise((told, failed) => {
  const socket = new WebSocket('wss://%s/ws'), sizes = [0, 1, 125, 126, 1024, 65535, 65536, 1000000];
  const sent = sizes.map(n => new Uint8Array(n).map((_, i) => i * 31 + (i >> 8)));
  let back = 0, right = 0;
  socket.binaryType = 'arraybuffer';
  socket.onerror = () => failed(new Error('the socket failed'));
  socket.onopen = () => { socket.send('h\u00e4llo \u20ac'); for (const body of sent) socket.send(body); };
  socket.onmessage = ({data}) => {
    if (back === 0) right += data === 'h\u00e4llo \u20ac';
    else {
      const got = new Uint8Array(data), body = sent[back - 1];
      right += got.length === body.length && got.every((byte, i) => byte === body[i]);
    }
    if (++back === sent.length + 1) socket.close(%s);
  };
  socket.onclose = e => told([right, back, socket.extensions, socket.protocol, e.wasClean, e.code]);
})'''


def pattern_sum(size):
    block = interop.pattern()
    return (sum(block) * (size // len(block)) + sum(block[:size % len(block)])) % (1 << 32)


class Chromium(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = netns.missing('veth') or (None if chromium.CHROMIUM else 'there is no Chromium (scripts/install-packages --with-tests)')
        if reason:
            raise unittest.SkipTest(reason)
        cls.link = interop.Cable()
        cls.addClassCleanup(cls.link.__exit__, None, None, None)
        cls.server = cls.link.millrace('@af_packet', '--', 'serve')
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.server.wait_ready()
        cls.pin = re.search(r'spki-pin=(\S+)', ' '.join(cls.server.lines)).group(1)

    def browser(self, **how):
        return chromium.Browser(self.link.kernel, netns.BOX_IP4, 443, self.pin, **how)

    def test_the_status_page_is_alive(self):
        for dark in (False, True):
            with self.subTest(dark=dark), self.browser(dark=dark) as browser:
                browser.open('/')
                self.assertEqual(browser.run("performance.getEntriesByType('navigation')[0].nextHopProtocol"), 'h3')
                # Two looks a second apart: figures, and lines drawn from their difference.
                browser.run("new Promise(told => { const look = () => document.querySelectorAll('#rxline path').length ? told() "
                            ": setTimeout(look, 50); look(); })", timeout=20)
                browser.run("fetch('/bytes/20000000').then(r => r.arrayBuffer()).then(() => new Promise(r => setTimeout(r, 2500)))")
                self.assertEqual(browser.run("document.getElementById('state').textContent"), 'live')
                self.assertRegex(browser.run("document.getElementById('about').textContent"), r'^\d+\.\d+\.\d+, up 00:0')
                self.assertGreater(browser.run("document.querySelectorAll('#lcores tr').length"), 1)
                self.assertEqual(browser.run("getComputedStyle(document.body).backgroundColor"),
                                 'rgb(14, 20, 27)' if dark else 'rgb(246, 247, 249)')
                if PICTURES:
                    browser.picture(os.path.join(PICTURES, f'status-{"dark" if dark else "light"}.png'))

    def test_large_bodies_come_whole(self):
        with self.browser() as browser:
            browser.open('/')
            self.assertEqual(browser.run(DOWNLOAD % (100 * MB), timeout=120), [200, 100 * MB, pattern_sum(100 * MB)])

    def test_two_hundred_requests_at_a_time(self):
        with self.browser() as browser:
            browser.open('/')
            self.assertEqual(browser.run(MANY), 200)

    def test_large_uploads_come_whole(self):
        """The browser reads an answer when it has sent all: what comes back meanwhile has to fit its window."""
        with self.browser() as browser:
            browser.open('/')
            self.assertEqual(browser.run(UPLOAD % (50 * MB, '/discard'), timeout=120), [200, 50 * MB, True])
            self.assertEqual(browser.run(UPLOAD % (2 * MB, '/echo'), timeout=60), [200, 2 * MB, True])

    def test_websockets_over_http3(self):
        """On the connection that the page came over: there is no TCP here that a WebSocket could fall back to."""
        with self.browser() as browser:
            browser.open('/')
            for close, code in (('1000, "done"', 1000), ('4321', 4321), ('', 1005)):
                self.assertEqual(browser.run(WEBSOCKET % (chromium.NAME, close)), [9, 9, '', '', True, code])
            stats = browser.run("fetch('/stats').then(r => r.json())")
            self.assertEqual(stats['websocket'], {'sessions': 3, 'texts': 3, 'binaries': 24, 'sent': 27, 'closed': 3,
                                                  **({'paused': stats['websocket']['paused']} if 'paused' in stats['websocket'] else {})})
            with self.assertRaises(chromium.BrowserFailed):
                browser.run(f"new Promise((told, failed) => {{ const s = new WebSocket('wss://{chromium.NAME}/nowhere');"
                            "s.onopen = () => told(1); s.onerror = () => failed(new Error('refused')); })")

    def test_what_is_not_there_says_so(self):
        with self.browser() as browser:
            browser.open('/')
            self.assertEqual(browser.run("fetch('/nowhere').then(r => r.status)"), 404)
            self.assertEqual(browser.run("fetch('/json', {method: 'POST', body: '{'}).then(r => r.json())"), {'error': 'malformed', 'at': 1})

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        assert status == 0, status
        interop.check_accounts(cls.server.result())


if __name__ == '__main__':
    if '--pictures' in sys.argv:
        at = sys.argv.index('--pictures')
        PICTURES = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    unittest.main()
