"""What the roles write with --json is what docs/json promises: each output against its schema.

Needs neither corpus nor root nor hugepages; with the corpus, inspect's lines for every capture of it are held, too.
"""
import glob
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MILLRACE = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(SOURCE, 'build')), 'app', 'millrace')
CORPUS = os.environ.get('MILLRACE_CORPUS', os.environ.get('MILLRACE_CORPUS_DEFAULT', ''))
TIMEOUT_S = 120
CAPTURES_A_RUN = 8

loader = importlib.machinery.SourceFileLoader('validate_json', os.path.join(SOURCE, 'scripts', 'validate_json'))
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))


def captures(folder):
    return sorted(path for path in glob.glob(os.path.join(folder, '**', '*'), recursive=True)
                  if path.endswith(('.pcap', '.pcapng', '.cap')))


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='millrace-json-')
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, 'out.json')

    def run_role(self, *words):
        """What the role wrote into --json FILE."""
        done = subprocess.run([MILLRACE, *words, '--json', self.out], capture_output=True, text=True, timeout=TIMEOUT_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        with open(self.out, encoding='utf-8') as file:
            return file.read()

    def check(self, schema, text):
        validator = validate_json.load_validator(schema)
        self.assertEqual(list(validate_json.findings(validator, text, validate_json.LINES[schema])), [])

    def check_inspect(self, paths):
        for start in range(0, len(paths), CAPTURES_A_RUN):
            part = paths[start:start + CAPTURES_A_RUN]
            with self.subTest(captures=[os.path.basename(path) for path in part]):
                text = self.run_role('--', 'inspect', *part)
                self.assertTrue(text)
                self.check('inspect', text)

    def test_inspect_of_our_captures(self):
        self.check_inspect(captures(os.path.join(SOURCE, 'test', 'captures')))

    def test_inspect_of_the_corpus(self):
        paths = captures(os.path.join(CORPUS, 'pcap', 'quic'))
        if not paths:
            self.skipTest('the shared corpus is absent (set MILLRACE_CORPUS)')
        self.check_inspect(paths)

    def test_fwd_in_every_mode(self):
        for mode in ('io', 'mac', 'macswap', 'rxonly', 'txonly', 'flowgen', 'parse'):
            with self.subTest(mode=mode):
                # Rings are empty: a mode that sends nothing of its own is given packets first.
                text = self.run_role('@loopback', '--', 'fwd', '--mode', mode, '--duration', '0.3', '--tx-first', '2')
                self.check('result', text)
                result = json.loads(text)
                self.assertEqual((result['role'], result['workload']['mode']), ('fwd', mode))
                self.assertTrue(result['conservation']['holds'], result['conservation'])
                self.assertEqual(result.get('heap_calls', {'data_path': 0})['data_path'], 0)
                self.assertGreater(result['conservation']['originated'], 0)

    def test_an_unwritable_file_is_refused_before_the_run(self):
        done = subprocess.run([MILLRACE, '@loopback', '--', 'fwd', '--duration', '60', '--json', '/nonexistent/out.json'],
                              capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('/nonexistent/out.json', done.stderr)


if __name__ == '__main__':
    if not os.path.exists(MILLRACE):
        print(f'{MILLRACE} is not built')
        sys.exit(77)
    try:
        loader.exec_module(validate_json)
        import jsonschema  # noqa: F401
    except ImportError:
        print('python3-jsonschema is not installed')
        sys.exit(77)
    unittest.main()
