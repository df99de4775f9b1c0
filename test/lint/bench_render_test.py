"""Tables and plots of a made-up report, to the byte; and the pages that are kept, against the report that is kept."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as element_tree

SOURCE = os.environ.get('MILLRACE_SOURCE') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
DOCS = os.path.join(SOURCE, 'docs', 'perf')
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'scripts', 'lib'))
import bench_render  # noqa: E402
import bench_report  # noqa: E402
import svg_plot      # noqa: E402

PUBLISHED = {
    'sources': {'S9': {'title': 'a made-up report', 'short': 'S9', 'machine': 'an abacus'}},
    'tables': [
        {'id': 'pipes', 'title': 'Pipes', 'source': 'S9', 'text': 'Nothing moves.', 'plot': 'lines', 'rows': [
            {'what': 'append', 'ours': 'pipe/{}', 'target': 15, 'figures': [
                {'at': '64', 'label': '64 B', 'published': 85.4, 'best': 40},
                {'at': '4096', 'label': '4 KiB', 'published': 1500.0}]},
            {'what': 'in bulk of 32', 'ours': 'bulk', 'per': 32, 'target': 1, 'figures': [{'published': 2.1}]},
            {'what': 'shaken', 'note': 'no shaker yet', 'figures': [{'published': 5}]},
            {'what': 'stirred', 'ours': 'stir', 'figures': [{'published': 5}]}]},
        {'id': 'growth', 'title': 'Growth', 'source': 'S9', 'unit': 'GiB/s', 'rows': [
            {'what': 'chain', 'ours': 'chain/{}', 'heap': 96, 'figures': [
                {'at': '1024', 'label': '1 KiB', 'bytes': 1073741824, 'published': 2.5, 'target': 30}]}]},
    ],
}
TIMES = {'pipe/64': 10.0, 'pipe__limit_memcpy/64': 2.0, 'pipe__limit_load/64': 0.5, 'pipe/4096': 1250.0, 'bulk': 64.0,
         'chain/1024': 1e8, 'chain__limit_memcpy/1024': 5e7}
GOLDEN = '''## Pipes

Published: a made-up report; an abacus.
Nothing moves.

| row | case | published | best case | millrace | times better | raw limit beside it | time / limit | target |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| append | 64 B | 85.4 ns | 40 ns | 10 ns | 8.5 / 4 | memcpy 2 ns; load 0.5 ns | 5.00; 20.00 | 15 ns: met |
| append | 4 KiB | 1.5 us |  | 1.25 us | 1.2 |  |  | 15 ns: missed |
| in bulk of 32 |  | 2.1 ns |  | 2 ns | 1.1 |  |  | 1 ns: missed |
| shaken |  | 5 ns |  | not measured: no shaker yet |  |  |  |  |
| stirred |  | 5 ns |  | not in this report |  |  |  |  |

![Pipes](pipes.svg)

## Growth

Published: a made-up report; an abacus.

| row | case | published | millrace | times better | raw limit beside it | time / limit | heap, theirs / ours | target |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| chain | 1 KiB | 2.5 GiB/s | 10 GiB/s | 4 | memcpy 20 GiB/s | 2.00 | 96 B / 0 calls | 30 GiB/s: missed |
'''


def report_of(times, repetitions=3):
    return {'context': {'machine': {'id': 'x', 'cpu': 'made up', 'cores': 2}}, 'benchmarks': [
        {'name': name, 'run_name': name, 'room': 'buf', 'run_type': 'iteration', 'cpu_time': time, 'time_unit': 'ns',
         **({'heap_calls': 0.0} if name.startswith('chain/') else {})}
        for name, time in times.items() for _ in range(repetitions)]}


class Render(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.report = self.write('r.json', report_of(TIMES))
        self.write('published.json', PUBLISHED)

    def write(self, name, document):
        path = os.path.join(self.folder.name, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        return path

    def pages(self):
        return bench_render.pages(bench_report.load(self.report), PUBLISHED)

    def command(self, *options):
        done = subprocess.run([sys.executable, '-B', os.path.join(SOURCE, 'scripts', 'bench-render'), *options,
                               '--docs', self.folder.name], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_tables_hold_each_published_figure_beside_ours_and_the_limit(self):
        page = self.pages()['results.md']
        self.assertIn(GOLDEN, page)
        self.assertIn('| `pipe/64` | 10 ns | 0.0 % | memcpy 2 ns; load 0.5 ns | 5.00; 20.00 | 10 % |', page)
        self.assertNotIn('__limit', page)

    def test_the_same_report_gives_the_same_bytes(self):
        self.assertEqual(self.pages(), self.pages())

    def test_plots_are_well_formed_and_name_their_units(self):
        made = self.pages()
        self.assertEqual(sorted(made), ['growth.svg', 'pipes.svg', 'results.md'])
        for name in ('growth.svg', 'pipes.svg'):
            element_tree.fromstring(made[name])
            self.assertIn('prefers-color-scheme: dark', made[name])
            self.assertIn('logarithmic', made[name])
        self.assertIn('>10 ns<', made['pipes.svg'])

    def test_check_fails_only_when_pages_are_stale(self):
        self.assertEqual(self.command(self.report, '--check')[0], 1)
        self.assertEqual(self.command(self.report)[0], 0)
        self.assertEqual(self.command(self.report, '--check')[0], 0)
        self.write('pipes.svg', '<svg/>')
        status, said = self.command(self.report, '--check')
        self.assertEqual(status, 1)
        self.assertIn('pipes.svg', said)

    def test_unusable_files_are_named(self):
        for bad in ('', '{}', '{"sources": {}, "tables": [{"id": "x", "source": "S1"}]}'):
            self.write('published.json', bad)
            status, said = self.command(self.report)
            self.assertEqual(status, 2, said)
            self.assertIn('published.json', said)


class Axis(unittest.TestCase):
    def test_runs_from_round_to_round_value_around_all(self):
        for low, high in ((0.3, 0.31), (1, 1000), (7, 70), (1e-3, 1e6), (20, 20)):
            axis = svg_plot.LogAxis([low, high], 0, 100)
            self.assertLessEqual(axis.ticks[0], low * 1.001)
            self.assertGreaterEqual(axis.ticks[-1], high)
            self.assertTrue(0 <= axis.at(low) + 1e-6 and axis.at(high) <= 100.001)
            self.assertGreaterEqual(sum(labelled for _, labelled in axis.labelled()), 1)


class Kept(unittest.TestCase):
    """docs/perf as it is in the tree."""
    def test_published_figures_hold_together(self):
        document = bench_render.load_published(DOCS)
        ids = [table['id'] for table in document['tables']]
        self.assertEqual(len(ids), len(set(ids)))
        for table in document['tables']:
            for figure in bench_render.figures_of(table, {}):
                self.assertTrue(figure.name or figure.note, f'{table["id"]}: {figure.what} has neither a case nor a reason')

    @unittest.skipUnless(os.path.exists(os.path.join(DOCS, 'baseline.json')), 'there is no docs/perf/baseline.json')
    def test_pages_are_those_of_the_baseline(self):
        done = subprocess.run([sys.executable, '-B', os.path.join(SOURCE, 'scripts', 'bench-render'),
                               os.path.join(DOCS, 'baseline.json'), '--check'], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr +
                         'run scripts/bench-render docs/perf/baseline.json')

    def test_links_lead_somewhere(self):
        for name in sorted(os.listdir(DOCS)):
            if not name.endswith('.md'):
                continue
            with open(os.path.join(DOCS, name), encoding='utf-8') as file:
                text = file.read()
            for target in re.findall(r'\]\(([^)#]+)[^)]*\)', text):
                if '://' not in target:
                    self.assertTrue(os.path.exists(os.path.join(DOCS, target)), f'{name}: {target} is not there')


if __name__ == '__main__':
    unittest.main()
