"""scripts/demo-veth: it shows what it promises, and leaves nothing behind, however it ends.

Needs root; skips with the reason without.
"""
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'support'))
import netns  # noqa: E402

DEMO = os.path.join(netns.SOURCE, 'scripts', 'demo-veth')
BUILD = os.path.dirname(os.path.dirname(netns.MILLRACE))
NOBODY = 65534
LIMIT_S = 90


class Demo(unittest.TestCase):
    def start(self, *before):
        running = subprocess.Popen([*before, DEMO], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   stdin=subprocess.DEVNULL, env={**os.environ, 'MILLRACE_BUILD': BUILD})
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        return running

    def check_nothing_left(self, pid):
        shown = subprocess.run(['ip', 'netns', 'list'], capture_output=True, text=True, check=True).stdout
        self.assertNotIn(f'millrace-demo-{pid}', shown)

    def test_it_shows_pings_and_calls(self):
        running = self.start()
        said, _ = running.communicate(timeout=LIMIT_S)
        self.assertEqual(running.returncode, 0, said)
        self.assertIn('\nready', said)
        self.assertEqual(said.count('3 received'), 2, said)
        self.assertIn('2 received', said)
        self.assertEqual(said.count('String[] Api/All()'), 2, said)
        self.assertEqual(said.count('"State":"hello"'), 2, said)
        self.assertIn('error 404', said)
        self.check_nothing_left(running.pid)

    def test_stopped_in_the_middle_it_cleans_up(self):
        running = self.start()
        for line in running.stdout:
            if line.startswith('ready'):
                break
        running.send_signal(signal.SIGTERM)
        running.stdout.read()
        self.assertEqual(running.wait(LIMIT_S), 143)
        self.check_nothing_left(running.pid)

    def test_without_root_it_says_what_to_type(self):
        running = self.start('setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups')
        said, _ = running.communicate(timeout=LIMIT_S)
        if 'demo-veth' not in said and running.returncode in (126, 127):
            self.skipTest('nobody may not read the source tree here')
        self.assertEqual(running.returncode, 1, said)
        self.assertIn('sudo scripts/demo-veth', said)

    def test_it_takes_no_arguments(self):
        done = subprocess.run([DEMO, 'please'], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ''))
        done = subprocess.run([DEMO, '--help'], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn('sudo scripts/demo-veth', done.stdout)


if __name__ == '__main__':
    netns.skip_unless_possible(('veth',), ('ping', 'sysctl', 'setpriv'))
    netns.end_by_exception_on_sigterm()
    unittest.main()
