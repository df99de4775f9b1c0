"""The schemas of docs/json accept what the real writers write, and refuse whatever departs from it.

    json_schema_test.py TEST_RESULT_JSON

TEST_RESULT_JSON is the test binary that leaves samples of the result writer in $MILLRACE_BUILD/json-samples.
"""
import copy
import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SCRIPT = os.path.join(SOURCE, 'scripts', 'validate_json')
WRITER = sys.argv.pop(1) if len(sys.argv) > 1 else ''

loader = importlib.machinery.SourceFileLoader('validate_json', SCRIPT)
validate_json = importlib.util.module_from_spec(importlib.util.spec_from_loader('validate_json', loader))
loader.exec_module(validate_json)

OPTIONAL = {('build', 'cpu'), ('build', 'ipsec_mb_arch'), ('build', 'dpdk'), ('rate', 'mpps'), ('rate', 'gbps'),
            ('rate', 'messages_per_s'), ('rate', 'requests_per_s'), ('rate', 'goodput_gbps'),
            ('rate', 'handshakes_per_s'), ('latency_ns',), ('handshakes',), ('key_log',), ('classes',), ('messages',), ('heap_calls',), ('lcores', 0, 'cpu_percent')}
OPEN = {'workload', 'errors', 'drops', 'cycles_per_packet', 'classes', 'messages'}  # objects whose keys are the role's



def page():
    with open(os.path.join(SOURCE, 'docs', 'json.md'), encoding='utf-8') as file:
        return file.read()


def paths(value, at=()):
    """Every place in a document, the document itself first."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, at + (key,))


def place(document, path):
    for key in path:
        document = document[key]
    return document


class Schemas(unittest.TestCase):
    def findings(self, schema, text):
        lines = validate_json.LINES[schema]
        return list(validate_json.findings(validate_json.load_validator(schema), text, lines))

    def accept(self, schema, document):
        self.assertEqual(self.findings(schema, json.dumps(document)), [])

    def refuse(self, schema, document, why):
        self.assertNotEqual(self.findings(schema, json.dumps(document)), [], why)


class Result(Schemas):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='millrace-json-')
        cls.addClassCleanup(cls.folder.cleanup)
        env = {**os.environ, 'MILLRACE_BUILD': cls.folder.name}
        env.pop('GTEST_OUTPUT', None)  # its report belongs to its own test
        subprocess.run([WRITER, '--gtest_filter=*writes_one_line_into_its_file'], check=True, env=env,
                       stdout=subprocess.DEVNULL)
        cls.samples = sorted(glob.glob(os.path.join(cls.folder.name, 'json-samples', '*.json')))
        with open(os.path.join(cls.folder.name, 'json-samples', 'result-full.json'), encoding='utf-8') as file:
            cls.full = json.load(file)

    def changed(self, path, value):
        document = copy.deepcopy(self.full)
        place(document, path[:-1])[path[-1]] = value
        return document

    def test_accepts_what_the_writer_writes(self):
        self.assertEqual(len(self.samples), 3)
        done = subprocess.run([sys.executable, '-B', SCRIPT, 'result', *self.samples], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)

    def test_the_full_sample_has_every_key_of_the_schema(self):
        with open(os.path.join(SOURCE, 'docs', 'json', 'result.schema.json'), encoding='utf-8') as file:
            schema = json.load(file)
        self.assertEqual(set(self.full), set(schema['properties']))
        for key, part in schema['properties'].items():
            if 'properties' in part:
                self.assertEqual(set(self.full[key]), set(part['properties']), key)

    def test_every_key_has_its_row_on_the_page(self):
        for path in paths(self.full):
            inner = isinstance(place(self.full, path), (dict, list)) and not OPEN & set(path)
            if path and not inner and not OPEN & set(path[:-1]):
                self.assertTrue(re.search(rf'`[\w.\[\]]*\b{path[-1]}`', page()), path)

    def test_the_examples_on_the_page_are_valid(self):
        examples = re.findall(r'```json\n(.*?)```', page(), re.DOTALL)
        for schema, example in zip(('result', 'inspect'), examples, strict=True):
            self.accept(schema, json.loads(example))

    def test_refuses_a_document_without_a_key(self):
        for path in paths(self.full):
            if not path or isinstance(path[-1], int) or OPEN & set(path[:-1]) or path in OPTIONAL:
                continue
            document = copy.deepcopy(self.full)
            del place(document, path[:-1])[path[-1]]
            self.refuse('result', document, f'without {path}')

    def test_accepts_a_document_without_what_may_be_absent(self):
        document = copy.deepcopy(self.full)
        for path in OPTIONAL:
            del place(document, path[:-1])[path[-1]]
            self.accept('result', document)

    def test_refuses_a_key_nobody_knows(self):
        for path in paths(self.full):
            if isinstance(place(self.full, path), dict) and not OPEN & set(path):
                self.refuse('result', self.changed(path + ('extra',), 1), f'{path} with another key')

    def test_refuses_values_of_another_type(self):
        for path in paths(self.full):
            if not path or 'workload' in path:
                continue
            value = place(self.full, path)
            other = 7 if isinstance(value, (str, bool, dict, list)) else 'text'
            self.refuse('result', self.changed(path, other), f'{path} as {other!r}')
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self.refuse('result', self.changed(path, -1), f'{path} below zero')

    def test_refuses_what_the_writer_never_says(self):
        for path, value in [(('role',), 'forward'), (('drops', 'quic_junk'), 0), (('errors', 'timeout'), 0),
                            (('drops', 'Bad Name'), 1), (('lcores', 0, 'busy_percent'), 100.5), (('version',), 'x'),
                            (('build', 'ipsec_mb_arch'), ''), (('workload', 'nested'), {'a': 1}),
                            (('rx', 'packets'), 1.5)]:
            self.refuse('result', self.changed(path, value), f'{path} as {value!r}')

    def test_refuses_what_is_not_one_json_document(self):
        text = json.dumps(self.full)
        self.assertEqual(self.findings('result', text), [])
        for broken in ('', '{}', '[]', text + text, text[:-1], text.replace('5.000001', 'NaN'),
                       text.replace('"role": "fwd"', '"role": "fwd", "role": "fwd"')):
            self.assertNotEqual(self.findings('result', broken), [], broken[:60])

    def test_the_script_names_file_line_and_place(self):
        done = subprocess.run([sys.executable, '-B', SCRIPT, 'result', '-'], input='{"role":1}', capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("-: role: 1 is not one of ['fwd'", done.stdout)


class Inspect(Schemas):
    """The lines of inspect; what the role itself writes is held against the schema by test/e2e."""

    connection = {'proto': 'quic', 'src': '198.18.0.1:443', 'dst': '[2001:db8::1]:50000', 'role_known': True,
                  'versions': ['0x00000001'], 'frames': 2, 'bytes': 9, 'first_ts': 1.5, 'last_ts': 2,
                  'packets': {'initial': 1, 'zero_rtt': 0, 'handshake': 0, 'retry': 0, 'version_negotiation': 0,
                              'one_rtt': 0}}
    flow = {'proto': 'tcp', 'src': '198.18.0.1:443', 'dst': '[::ffff:1.2.3.4]:1', 'role_known': False, 'frames': 2,
            'bytes': 9, 'first_ts': 1.5, 'last_ts': 2}

    def test_accepts_the_least_that_is_said(self):
        self.accept('inspect', self.connection)
        self.accept('inspect', self.flow)

    def test_judges_every_line_and_names_it(self):
        good, bad = json.dumps(self.flow), json.dumps({**self.flow, 'bytes': -1})
        self.assertEqual(self.findings('inspect', f'{good}\n{good}\n'), [])
        self.assertEqual([line for line, _ in self.findings('inspect', f'{good}\n{bad}\n{good}\n\n')], [2, 4])

    def test_refuses_a_line_without_a_key_or_with_one_too_many(self):
        for whole in (self.connection, self.flow):
            for key in whole:
                self.refuse('inspect', {k: v for k, v in whole.items() if k != key}, f'without {key}')
            self.refuse('inspect', {**whole, 'extra': 1}, 'with another key')

    def test_refuses_invented_or_misspelt_values(self):
        for key, value in [('src', '198.18.0.1'), ('src', '2001:db8::1:443'), ('src', ''), ('dst', '[2001:DB8::1]:1'),
                           ('version', '1'), ('version', '0x1'), ('versions', ['0x00000001', '0x00000001']),
                           ('dcid', '0g'), ('dcid', 'abc'), ('dcid', '00' * 21), ('sni', ''), ('sni', None),
                           ('alpn', 'h3'), ('ja4', 'q13d0310h3'), ('proto', 'http'), ('role_known', 'yes'),
                           ('packets', {}), ('packets', {**self.connection['packets'], 'initial': -1}),
                           ('first_ts', '1'), ('retry_verified', False), ('version_name', 'v1'), ('messages', 1),
                           ('cipher_suites', ['0x1301'])]:
            self.refuse('inspect', {**self.connection, key: value}, f'{key} as {value!r}')
        self.refuse('inspect', {**self.flow, 'sni': 'a.test'}, 'a flow with a server name')


if __name__ == '__main__':
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print('python3-jsonschema is not installed')
        sys.exit(77)
    unittest.main()
