"""scripts/check_style finds each thing it is for in a made-up tree, and nothing in a good one."""
import unittest

from made_up_tree import MadeUpTree

SEP = '/'  # put in where a sample is made, so that this file itself names no path of a machine
HEADER = '// base/bytes.hpp - views.\n#pragma once\n\n#include <span>\n'
GOOD = {
    'lib/base/bytes.hpp': HEADER,
    'lib/base/bytes.cpp': '#include "base/bytes.hpp"\n',
    'lib/base/long_table.cpp': '\n' * 800 + 'int x;\n',
    'test/base/bytes_test.cpp': '\n' * 800 + 'int x;\n',
    'docs/page.md': 'reads /usr/share and /proc/meminfo, \u2014 or a path such as lib' + SEP + 'work/x\n',
    'test/captures/x.pcap': b'\0\1/home/me\n',
}


class CheckStyle(unittest.TestCase):
    def findings(self, changed):
        with MadeUpTree({**GOOD, **changed}) as tree:
            status, lines = tree.run('check_style')
        self.assertEqual(status, 1, lines)
        return '\n'.join(lines)

    def test_is_content_with_a_good_tree(self):
        with MadeUpTree(GOOD) as tree:
            status, lines = tree.run('check_style')
        self.assertEqual(status, 0, lines)

    def test_finds_bytes_that_are_not_ascii(self):
        self.assertIn('bytes.cpp:2: not ASCII: U+2026', self.findings({'lib/base/bytes.cpp': 'int a;\n// \u2026\n'}))

    def test_finds_tabs_blanks_and_missing_newlines(self):
        said = self.findings({'lib/base/bytes.cpp': '\tint a; \nint b;'})
        self.assertIn('a tab', said)
        self.assertIn("blanks at the line's end", said)
        self.assertIn('ends with one newline', said)

    def test_finds_files_over_their_limit(self):
        self.assertIn('501 lines, the limit is 500', self.findings({'lib/base/bytes.cpp': 'int a;\n' * 501}))
        self.assertIn('304 lines, the limit is 300', self.findings({'lib/base/bytes.hpp': HEADER + 'int a;\n' * 300}))

    def test_finds_a_header_without_its_opening(self):
        self.assertIn('opens with', self.findings({'lib/base/bytes.hpp': '#pragma once\n'}))
        self.assertIn('opens with', self.findings({'lib/base/bytes.hpp': HEADER.replace('bytes', 'other')}))
        self.assertIn('#pragma once comes before', self.findings({'lib/base/bytes.hpp': '// base/bytes.hpp - x\n#include <span>\n'
                                                                  '#pragma once\n'}))

    def test_finds_a_path_of_one_machine(self):
        for text in ('see {}home/jo/project', 'in {}work/tree', '`{}root/x`', '"{}Users/jo"'):
            self.assertIn('a path of one machine', self.findings({'docs/page.md': text.format(SEP) + '\n'}))

    def test_finds_conflict_markers(self):
        self.assertIn('a conflict marker', self.findings({'docs/page.md': '<' * 7 + ' HEAD\n'}))


if __name__ == '__main__':
    unittest.main()
