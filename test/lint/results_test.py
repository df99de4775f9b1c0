"""scripts/lib/results.py adds up made-up reports without losing or inventing a case."""
import os
import sys
import tempfile
import unittest

SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(SOURCE, 'scripts', 'lib'))
import results  # noqa: E402

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" time="0" name="AllTests">
  <testsuite name="frame" tests="5" failures="1" disabled="1" skipped="1" errors="0">
    <testcase name="one" status="run" result="completed" classname="frame" />
    <testcase name="two" status="run" result="completed" classname="frame">
      <failure message="a.cpp:1&#x0A;Expected 1" type=""><![CDATA[a.cpp:1
Expected 1]]></failure>
      <failure message="a.cpp:2&#x0A;Expected 2" type=""></failure>
    </testcase>
    <testcase name="three" status="run" result="skipped" classname="frame">
      <skipped message="corpus.hpp:30&#x0A;the corpus is absent"><![CDATA[corpus.hpp:30
the corpus is absent]]></skipped>
    </testcase>
    <testcase name="four" status="notrun" result="suppressed" classname="frame" />
    <testcase name="five" status="run" result="completed" classname="frame"><properties></properties></testcase>
  </testsuite>
</testsuites>
"""
GOOD = '<testsuites failures="0"><testsuite><testcase name="a" status="run" result="completed" classname="s"/></testsuite></testsuites>'
EMPTY = '<testsuites tests="0" failures="0"></testsuites>'


class AddUp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix='millrace-lint-')
        self.addCleanup(self.folder.cleanup)

    def gtest(self, name, result, report=None, **more):
        path = os.path.join(self.folder.name, name + '.xml')
        if report is not None:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(report)
        return {'name': name, 'result': result, 'env': {'GTEST_OUTPUT': 'xml:' + path}, **more}

    @staticmethod
    def script(name, result, **more):
        return {'name': name, 'result': result, 'env': {}, **more}

    def counts(self, entries, **more):
        tally = results.add_up(entries, **more)
        return tally.passed, tally.failed, tally.skipped

    def test_counts_cases_and_leaves_out_disabled_ones(self):
        self.assertEqual(self.counts([self.gtest('x', 'FAIL', REPORT, returncode=1)]), (2, 1, 1))

    def test_counts_a_script_as_one_case(self):
        entries = [self.script('a', 'OK'), self.script('b', 'FAIL', returncode=1), self.script('c', 'SKIP'),
                   self.script('d', 'TIMEOUT'), self.script('e', 'ERROR'), self.script('f', 'EXPECTEDFAIL'),
                   self.script('g', 'UNEXPECTEDPASS')]
        self.assertEqual(self.counts(entries), (2, 4, 1))

    def test_counts_a_crash_without_a_report_as_a_failure(self):
        tally = results.add_up([self.gtest('x', 'FAIL', returncode=-11, stderr='boom\n')])
        self.assertEqual((tally.passed, tally.failed), (0, 1))
        self.assertIn('signal 11', tally.failures[0][1])
        self.assertIn('boom', tally.failures[0][1])

    def test_counts_a_time_out_without_a_report_as_a_failure(self):
        self.assertEqual(self.counts([self.gtest('x', 'TIMEOUT')]), (0, 1, 0))

    def test_counts_a_binary_that_says_it_is_content_but_left_no_report_as_a_failure(self):
        self.assertEqual(self.counts([self.gtest('x', 'OK', returncode=0)]), (0, 1, 0))

    def test_counts_a_report_cut_short_as_a_failure(self):
        self.assertEqual(self.counts([self.gtest('x', 'FAIL', REPORT[:200], returncode=-9)]), (0, 1, 0))

    def test_counts_a_failure_after_the_last_case(self):
        self.assertEqual(self.counts([self.gtest('x', 'FAIL', GOOD, returncode=23)]), (1, 1, 0))

    def test_counts_a_failure_outside_any_case(self):
        report = GOOD.replace('failures="0"', 'failures="1"')
        self.assertEqual(self.counts([self.gtest('x', 'FAIL', report, returncode=1)]), (1, 1, 0))

    def test_counts_a_binary_that_ran_nothing_as_a_failure_unless_cases_were_filtered(self):
        self.assertEqual(self.counts([self.gtest('x', 'OK', EMPTY)]), (0, 1, 0))
        self.assertEqual(self.counts([self.gtest('x', 'OK', EMPTY)], filtered=True), (0, 0, 0))

    def test_counts_a_binary_that_could_not_run_as_one_skip(self):
        tally = results.add_up([self.gtest('x', 'SKIP', stdout='no hugepages here\n', returncode=77)])
        self.assertEqual((tally.passed, tally.failed, tally.skipped), (0, 0, 1))
        self.assertEqual(tally.skips[0], ('x', 'no hugepages here'))

    def test_names_what_a_skipped_case_said(self):
        tally = results.add_up([self.gtest('x', 'FAIL', REPORT, returncode=1)], prefix='asan: ')
        self.assertEqual(tally.skips, [('asan: x: frame.three', 'the corpus is absent')])

    def test_writes_the_closing_line(self):
        self.assertEqual(results.Tally(passed=3, failed=1).line(), '3 passed, 1 failed')
        self.assertEqual(results.Tally(passed=3, failed=0, skipped=2).line(), '3 passed, 0 failed, 2 skipped')

    def test_forgets_what_an_earlier_run_left(self):
        reports = os.path.join(self.folder.name, 'test-results')
        os.makedirs(reports)
        os.makedirs(os.path.join(self.folder.name, 'meson-logs'))
        log = os.path.join(self.folder.name, 'meson-logs', 'testlog.json')
        for path in (os.path.join(reports, 'old.xml'), log):
            with open(path, 'w', encoding='utf-8') as file:
                file.write('old')
        results.forget(self.folder.name)
        self.assertEqual(os.listdir(reports), [])
        self.assertFalse(os.path.exists(log))


if __name__ == '__main__':
    unittest.main()
