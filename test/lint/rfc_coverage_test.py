"""scripts/rfc_coverage finds a requirement that nothing answers for, and what a page names but is not there."""
import unittest

from made_up_tree import MadeUpTree

HEAD = '# RFC 9999\n\n| section | level | requirement | where | shown by |\n|---|---|---|---|---|\n'
TREE = {
    'lib/quic/x.cpp': '// RFC 9999 5.1: three, as others do\n// RFC 9999 6.1, 7: both\n',
    'test/quic/x_test.cpp': 'TEST(x, refuses_four) {}\nTEST_F(y, works) {}\n',
}


class RfcCoverage(unittest.TestCase):
    def run_over(self, *rows):
        with MadeUpTree({**TREE, 'docs/rfc/9999.md': HEAD + '\n'.join(rows) + '\n'}) as tree:
            status, lines = tree.run('rfc_coverage')
        return status, '\n'.join(lines)

    def test_is_content_with_tests_reasons_and_plans(self):
        status, said = self.run_over(
            '| 5.1 | MUST | be three | `lib/quic/x.cpp` | `x.refuses_four`, `y.works` |',
            '| 5.2 | MUST NOT | be four | | planned |',
            '| 5.3 | MUST | dance | | not applicable: it is the other side that dances |',
            '| 5.4 | MUST | sing | | deviation: singing leaks a connection ID |',
            '| 6.1 | SHOULD | hum \\| whistle | `lib/quic/x.cpp` | |',
            '| 7.2 | MUST | rest | `lib/quic/x.cpp` | `test/quic/x_test.cpp` |')
        self.assertEqual(status, 0, said)
        self.assertIn('RFC 9999: 2 tested, 1 planned, 1 deviation, 1 not applicable, 1 open', said)

    def test_finds_a_must_that_nothing_answers_for(self):
        status, said = self.run_over('| 5.1 | MUST | be three | `lib/quic/x.cpp` | |')
        self.assertEqual(status, 1)
        self.assertIn('docs/rfc/9999.md:5: a MUST with neither test', said)

    def test_finds_a_test_or_file_that_is_not_there(self):
        _, said = self.run_over('| 5.1 | MUST | be three | `lib/quic/x.cpp` | `x.refuses_five` |',
                                '| 5.1 | MUST | be three | `lib/quic/y.cpp` | `test/quic/none_test.cpp` |')
        self.assertIn('there is no test x.refuses_five', said)
        self.assertIn('lib/quic/y.cpp does not exist', said)
        self.assertIn('test/quic/none_test.cpp does not exist', said)

    def test_finds_a_file_that_does_not_cite_the_section(self):
        status, said = self.run_over('| 8.1 | MUST | be three | `lib/quic/x.cpp` | `x.refuses_four` |')
        self.assertEqual(status, 1)
        self.assertIn('carries no comment "RFC 9999 8.1"', said)

    def test_finds_a_reason_that_is_none(self):
        status, said = self.run_over('| 5.1 | MUST | be three | | deviation: |')
        self.assertEqual(status, 1)
        self.assertIn('needs its reason', said)

    def test_finds_rows_that_are_malformed(self):
        _, said = self.run_over('| 5.1 | MUST | be three |', '| 5.1 | OUGHT | be three | | planned |')
        self.assertIn('3 cells', said)
        self.assertIn("level 'OUGHT'", said)


if __name__ == '__main__':
    unittest.main()
