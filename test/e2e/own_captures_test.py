"""`millrace -- inspect` reads the project's own captures as tshark did (test/captures/expected.json).

One case a capture, so that a failure names it. Needs neither corpus nor root nor hugepages.
"""
import json
import os
import subprocess
import sys
import unittest

SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MILLRACE = os.path.join(os.environ.get('MILLRACE_BUILD', os.path.join(SOURCE, 'build')), 'app', 'millrace')
CAPTURES = os.path.join(SOURCE, 'test', 'captures')
TIMEOUT_S = 60


def inspect(*arguments):
    """The objects that inspect writes, one a connection or 5-tuple."""
    done = subprocess.run([MILLRACE, '--', 'inspect', *arguments, '--json', '-'], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise AssertionError(f'exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}')
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]


def only_nonzero(counts):
    return {kind: count for kind, count in counts.items() if count}


def without_guesses(flow):
    """What tshark says of a flow, less what it cannot know: RFC 9000 15 reserves 0x?a?a?a?a, so such a packet has no
    type, no keys and no ClientHello. tshark reads it as draft-29."""
    if not all(int(version, 16) & 0x0F0F0F0F == 0x0A0A0A0A for version in flow['versions']):
        return flow
    packets = dict(flow['packets'])
    packets['unknown_long'] = packets.pop('initial')
    return {**flow, 'packets': packets, 'sni': None, 'alpn': None}


class OwnCaptures(unittest.TestCase):
    maxDiff = None

    def check_quic(self, name, flows):
        found = [o for o in inspect(os.path.join(CAPTURES, name)) if o.get('proto') == 'quic']
        self.assertEqual(sorted((o['src'], o['dst']) for o in found), sorted((f['src'], f['dst']) for f in flows))
        for flow in map(without_guesses, flows):
            with self.subTest(src=flow['src']):
                one = next(o for o in found if (o['src'], o['dst']) == (flow['src'], flow['dst']))
                for key in ('dcid', 'scid', 'sni', 'alpn'):
                    self.assertEqual(one.get(key), flow[key], key)
                self.assertEqual(one.get('versions', [one.get('version')]), flow['versions'])
                self.assertEqual(only_nonzero(one['packets']), flow['packets'])
                self.assertTrue(one['role_known'])

    def check_srmp(self, name, flows):
        found = [o for o in inspect(os.path.join(CAPTURES, name)) if o.get('proto') == 'srmp']
        self.assertEqual(len(found), len(flows))
        for one, flow in zip(found, flows):
            self.assertEqual((one['src'], one['dst']), (flow['src'], flow['dst']))


def add_cases():
    with open(os.path.join(CAPTURES, 'expected.json'), encoding='utf-8') as file:
        expected = json.load(file)['captures']
    for name, kinds in expected.items():
        for kind, flows in kinds.items():
            def case(self, name=name, kind=kind, flows=flows):
                getattr(self, 'check_' + kind)(name, flows)
            setattr(OwnCaptures, 'test_' + name.replace('-', '_').replace('.', '_'), case)


if __name__ == '__main__':
    if not os.path.exists(MILLRACE):
        print(f'{MILLRACE} is not built')
        sys.exit(77)
    add_cases()
    unittest.main()
