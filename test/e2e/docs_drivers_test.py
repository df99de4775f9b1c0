"""docs/drivers.md is true: the commands of its sections on veth and tap, typed as they stand there, work.

They run in a network and mount namespace of their own with an empty /run/netns, so that the names `box` and `peer` are
nobody else's. Needs root; skips with the reason without.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import netns  # noqa: E402

PAGE = os.path.join(netns.SOURCE, 'docs', 'drivers.md')
SERVER = re.compile(r'-- serve\b')
LIMIT_S = 90

# What a reader does: the server in one terminal, until it says `ready`; the rest in another; Ctrl-C; cleaning up.
FIRST_TERMINAL = '''
({command}) > server.log 2>&1 &
for i in $(seq 300); do grep -q '^ready' server.log && break; sleep 0.1; done
grep '^ready' server.log || {{ cat server.log; exit 1; }}
'''
STOP = '''
for pid in $(ip netns pids box); do kill -INT $pid; done
wait
cat server.log
'''


def sections():
    """{heading: [command]} of the indented blocks; a command of several lines is one."""
    found = {}
    heading = None
    with open(PAGE, encoding='utf-8') as file:
        for line in file:
            if line.startswith('## '):
                heading = line[3:].strip()
                found[heading] = []
            elif line.startswith('    ') and heading is not None:
                text = line[4:].rstrip('\n')
                if found[heading] and found[heading][-1].count("'") % 2:
                    found[heading][-1] += '\n' + text
                else:
                    found[heading].append(text)
    return found


class Page(unittest.TestCase):
    def type_in(self, commands):
        script = ['set -e', 'mount -t tmpfs tmpfs /run/netns', 'mount -t tmpfs tmpfs /run/dpdk 2> /dev/null || true',
                  'cd "$1"']
        stopped = False
        for command in commands:
            if SERVER.search(command):
                script.append(FIRST_TERMINAL.format(command=command))
            elif command.startswith('ip netns delete') and not stopped:
                stopped = True
                script += [STOP, command]
            else:
                script.append(command)
        if not stopped:
            script.append(STOP)
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix='millrace-docs-'))
        os.makedirs(os.path.join(folder, 'build'))
        os.symlink(os.path.dirname(netns.MILLRACE), os.path.join(folder, 'build', 'app'))
        os.makedirs('/run/netns', exist_ok=True)
        # A process namespace, too: whatever ends the shell ends what it has started.
        alone = ['unshare', '--net', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child',
                 '--mount-proc']
        done = subprocess.run([*alone, '--', 'bash', '-c', '\n'.join(script), 'bash', folder], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, 'RUNTIME_DIRECTORY': folder})
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, '\n'.join(script) + '\n' + said)
        return said

    def test_a_veth_pair_from_nothing(self):
        said = self.type_in(sections()['From nothing to answers: a veth pair'])
        self.assertEqual(said.count('3 received'), 3, said)
        self.assertIn('Received 1 response', said)
        self.assertIn('String[] Api/All()', said)
        self.assertIn('balance', said)

    def test_a_tap(self):
        said = self.type_in(sections()['A new interface: tap'])
        self.assertEqual(said.count('3 received'), 2, said)
        self.assertIn('balance', said)


if __name__ == '__main__':
    netns.skip_unless_possible(('veth', 'tap'), ('ping', 'arping', 'sysctl', 'python3'))
    netns.end_by_exception_on_sigterm()
    unittest.main()
