"""A headless Chromium in a namespace, which speaks HTTP/3 to one address, and is told what to do through its debugging pipe.

    with Browser(space, '198.18.0.1', 443, pin) as browser:
        browser.open('/')
        browser.run('fetch("/stats").then(r => r.text())')

run() evaluates JavaScript in the page and answers its value, a promise's when it is kept. Standard library only.
"""
import base64
import json
import os
import select
import shutil
import tempfile
import time

CHROMIUM = shutil.which('chromium')
NAME = 'h3.example'


class BrowserFailed(Exception):
    """The browser, or what it was told, did not do; the text says why."""


class Browser:
    def __init__(self, space, address, port, pin, width=1200, height=1300, dark=False):
        self._origin = f'https://{NAME}' + (f':{port}' if port != 443 else '')
        self._folder = tempfile.mkdtemp(prefix='millrace-chromium-')
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        words = [CHROMIUM, '--remote-debugging-pipe', f'--origin-to-force-quic-on={NAME}:{port}',
                 f'--host-resolver-rules=MAP {NAME} {address}', f'--ignore-certificate-errors-spki-list={pin}',
                 f'--user-data-dir={self._folder}', '--headless=new', '--no-sandbox', '--disable-gpu',
                 '--enable-features=EnableWebsocketsOverHttp3',  # off by default as yet
                 '--disable-background-networking', '--disable-dev-shm-usage', f'--window-size={width},{height}',
                 *(['--blink-settings=preferredColorScheme=0'] if dark else []), 'about:blank']
        # The protocol's pipes are 3 and 4 of the browser's.
        self._log = open(os.path.join(self._folder, 'log'), 'w+', encoding='utf-8', errors='replace')
        self._process = space.start('bash', '-c', f'exec "$@" 3<&{to_browser} 4>&{from_browser}', 'bash', *words,
                                    pass_fds=(to_browser, from_browser), stdout=self._log, stderr=self._log)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._next, self._session = b'', 0, None

    def __enter__(self):
        try:
            target = self.call('Target.createTarget', url='about:blank')['targetId']
            self._session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
            return self
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for fd in (self._read, self._write):
            os.close(fd)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _message(self, until):
        while b'\0' not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, until - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b''
            if not part:
                self._log.seek(0)
                raise BrowserFailed(f'{"it ended" if ready else "no answer in time"}: {self._log.read()[-300:]}')
            self._buffer += part
        text, self._buffer = self._buffer.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, timeout=60, **params):
        """One command of the DevTools protocol; answers its result."""
        self._next += 1
        asked = {'id': self._next, 'method': method, 'params': params}
        if self._session:
            asked['sessionId'] = self._session
        os.write(self._write, json.dumps(asked).encode() + b'\0')
        until = time.monotonic() + timeout
        while True:
            message = self._message(until)
            if message.get('id') == self._next:
                if 'error' in message:
                    raise BrowserFailed(f'{method}: {message["error"]["message"]}')
                return message['result']

    def open(self, path, timeout=30):
        """Loads the page, whole."""
        failed = self.call('Page.navigate', url=self._origin + path).get('errorText')
        if failed:
            raise BrowserFailed(f'{path}: {failed}')
        until = time.monotonic() + timeout
        while self.run('document.readyState') != 'complete':
            if time.monotonic() > until:
                raise BrowserFailed(f'{path} does not load')
            time.sleep(0.05)

    def run(self, script, timeout=60):
        done = self.call('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True, timeout=timeout)
        if 'exceptionDetails' in done:
            about = done['exceptionDetails']
            raise BrowserFailed(about.get('exception', {}).get('description', about['text']))
        return done['result'].get('value')

    def picture(self, path):
        """A PNG of the window."""
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))
