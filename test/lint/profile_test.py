"""The profiler's parts: names, stacks, the picture, and the sampler inside a process."""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as element_tree

SOURCE = os.environ.get('MILLRACE_SOURCE') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
SAMPLER = os.environ.get('MILLRACE_SAMPLER')
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'scripts', 'lib'))
import flame    # noqa: E402
import symbols  # noqa: E402

BURN = 'import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: sum(range(1000))'


class Names(unittest.TestCase):
    def test_are_short_and_keep_the_function(self):
        for long, short in (
                ('millrace::net::wire::decode_fast(std::span<unsigned char const, 18ul>, millrace::net::wire::decoded&)',
                 'net::wire::decode_fast'),
                ('millrace::base::(anonymous namespace)::walk<int>(int)', 'base::walk'),
                ('void millrace::buf::run<std::vector<int>>(std::vector<int>)', 'buf::run'),
                ('main', 'main')):
            self.assertEqual(symbols.short(long), short)

    def test_an_address_outside_every_mapping_is_unknown(self):
        maps = symbols.Maps(['00400000-00401000 r-xp 00000000 00:00 0  /no/such/file'])
        self.assertEqual(maps.name(0x500000), '[unknown]')
        self.assertEqual(maps.name(0x400010), '[file]')


class Pictures(unittest.TestCase):
    LINES = flame.collapse([(['main', 'parse'], 3), (['main', 'parse', 'read <x>'], 1), (['main', 'parse'], 2)])

    def test_stacks_that_are_the_same_are_one_line(self):
        self.assertEqual(self.LINES, ['main;parse 5', 'main;parse;read_<x> 1'])

    def test_frames_without_names_that_follow_one_another_are_one(self):
        self.assertEqual(flame.collapse([(['[unknown]', '[unknown]', 'parse', '[unknown]'], 1), (['a', 'a'], 1)]),
                         ['[unknown];parse;[unknown] 1', 'a;a 1'])

    def test_what_is_too_narrow_to_be_drawn_adds_no_height(self):
        deep = flame.collapse([(['main'], 1_000_000), (['main', *(f'f{i}' for i in range(50))], 1)])
        self.assertEqual(element_tree.fromstring(flame.svg(deep, 'deep')).get('height'),
                         element_tree.fromstring(flame.svg(['main 1'], 'flat')).get('height'))

    def test_self_time_belongs_to_the_top_of_the_stack(self):
        self.assertEqual(flame.self_times(self.LINES), [('parse', 5), ('read_<x>', 1)])

    def test_the_graph_is_well_formed_and_its_boxes_are_as_wide_as_their_share(self):
        root = element_tree.fromstring(flame.svg(self.LINES, 'a & b'))
        space = '{http://www.w3.org/2000/svg}'
        widths = {g.find(space + 'title').text.split(':')[0]: float(g.find(space + 'rect').get('width'))
                  for g in root.findall(space + 'g')}
        self.assertAlmostEqual(widths['parse'] + 0.5, flame.WIDTH - 2 * flame.MARGIN, places=1)
        self.assertAlmostEqual((widths['read_<x>'] + 0.5) * 6, widths['parse'] + 0.5, places=1)

    def test_nothing_sampled_is_still_a_picture(self):
        element_tree.fromstring(flame.svg([], 'empty'))


@unittest.skipUnless(SAMPLER and os.path.exists(SAMPLER), 'the sampler is built with the benchmarks only')
class Sampler(unittest.TestCase):
    def sample(self, **more):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, 'samples')
            environment = dict(os.environ, LD_PRELOAD=SAMPLER, MILLRACE_SAMPLER_OUT=out, **more)
            done = subprocess.run([sys.executable, '-c', BURN], env=environment, timeout=60, check=False)
            with open(out, encoding='utf-8') as file:
                return done.returncode, file.read()

    def test_samples_a_program_to_its_end(self):
        status, text = self.sample()
        self.assertEqual(status, 0)
        first, _, rest = text.partition('\n')
        samples, _, maps = rest.partition('maps\n')
        self.assertEqual(first, 'lost 0')
        self.assertGreater(len(samples.splitlines()), 5)
        lookup = symbols.Maps(maps.splitlines())
        names = {lookup.name(int(line.split()[0], 16)) for line in samples.splitlines()}
        self.assertTrue(any(name != '[unknown]' for name in names), names)

    def test_ends_the_program_when_its_time_is_up(self):
        status, text = self.sample(MILLRACE_SAMPLER_MS='100')
        self.assertEqual(status, 0)
        self.assertIn('maps\n', text)


if __name__ == '__main__':
    unittest.main()
