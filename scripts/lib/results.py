"""Adds up what a test run left behind: GoogleTest's XML and meson's testlog.json.

One case is a <testcase> of the XML, or a whole test that writes no XML (a script, a fuzzer). meson's own totals are not
used: it counts binaries, and a binary whose cases were all skipped as OK. What must never happen is a case that
vanishes: a binary that crashes, hangs or is killed before it writes its XML counts as one failure, and so does one that
says it is content but ran nothing.
"""
import json
import os
import xml.etree.ElementTree as element_tree
from dataclasses import dataclass, field

SKIP = 77  # exit status of a test that cannot run here


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # (case, first line of the reason)
    skips: list = field(default_factory=list)     # the same

    def add_pass(self, count=1):
        self.passed += count

    def add_failure(self, case, why):
        self.failed += 1
        self.failures.append((case, first_line(why)))

    def add_skip(self, case, why):
        self.skipped += 1
        self.skips.append((case, first_line(why)))

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.skips += other.skips

    @property
    def total(self):
        return self.passed + self.failed + self.skipped

    def line(self):
        """The closing line of scripts/test."""
        text = f'{self.passed} passed, {self.failed} failed'
        return text + (f', {self.skipped} skipped' if self.skipped else '')


def first_line(text):
    """Of a message: its first line that says something."""
    for line in (text or '').splitlines():
        if line.strip():
            return line.strip()
    return 'no reason given'


def read_gtest_xml(path, label):
    """The cases of one GoogleTest report. Raises ParseError when the file is cut short."""
    tally = Tally()
    root = element_tree.parse(path).getroot()
    for case in root.iter('testcase'):
        if case.get('status') == 'notrun':  # disabled, or filtered away
            continue
        name = f"{label}: {case.get('classname')}.{case.get('name')}"
        failure = case.find('failure')
        skipped = case.find('skipped')
        if failure is not None:
            tally.add_failure(name, failure.get('message') or failure.text)
        elif skipped is not None or case.get('result') == 'skipped':
            # GoogleTest puts file:line in front of what the test said.
            said = (skipped.get('message') or skipped.text or '') if skipped is not None else ''
            lines = [line for line in said.splitlines() if line.strip()]
            tally.add_skip(name, lines[1] if len(lines) > 1 and ':' in lines[0] else said)
        else:
            tally.add_pass()
    # A failure outside any case, as of a global environment's SetUp.
    stray = int(root.get('failures', '0')) - tally.failed
    for _ in range(max(stray, 0)):
        tally.add_failure(f'{label}: outside any case', 'see the log')
    return tally


def read_testlog(path):
    """The entries of meson-logs/testlog.json: one object a line."""
    with open(path, encoding='utf-8', errors='replace') as log:
        return [json.loads(line) for line in log if line.strip()]


def is_gtest(entry):
    """Whether a testlog entry is a binary of ours that owes an XML report."""
    asked = entry.get('env', {}).get('GTEST_OUTPUT', '')
    return asked.startswith('xml:')


def xml_path(entry):
    return entry['env']['GTEST_OUTPUT'][len('xml:'):]


def why_of(entry):
    """Of a test that failed as a whole: how it ended, and the last line it wrote."""
    code = entry.get('returncode')
    ended = entry['result'].lower()
    if isinstance(code, int) and code < 0:
        ended += f', signal {-code}'
    elif code not in (None, 0):
        ended += f', exit status {code}'
    said = [line for line in (entry.get('stderr') or entry.get('stdout') or '').splitlines() if line.strip()]
    return f'{ended}: {said[-1].strip()}' if said else ended


def add_up(entries, prefix='', filtered=False):
    """The tally of a whole run. `prefix` names the build in each case; `filtered`: a binary may have run no case."""
    total = Tally()
    for entry in entries:
        label = prefix + entry['name']
        result = entry['result']
        good = result in ('OK', 'EXPECTEDFAIL')
        if not is_gtest(entry):
            if good:
                total.add_pass()
            elif result == 'SKIP':
                total.add_skip(label, (entry.get('stdout') or '') + '\n' + (entry.get('stderr') or ''))
            else:
                total.add_failure(label, why_of(entry))
            continue
        try:
            tally = read_gtest_xml(xml_path(entry), label)
        except FileNotFoundError:
            if result == 'SKIP':
                total.add_skip(label, (entry.get('stdout') or '') + '\n' + (entry.get('stderr') or ''))
            else:
                total.add_failure(label, 'left no report; ' + why_of(entry))
            continue
        except element_tree.ParseError as error:
            total.add_failure(label, f'report cut short ({error}); ' + why_of(entry))
            continue
        if not good and result != 'SKIP' and tally.failed == 0:
            tally.add_failure(label, 'every case passed, then: ' + why_of(entry))
        if good and tally.total == 0 and not filtered:
            tally.add_failure(label, 'ran no case at all')
        total.add(tally)
    return total


def forget(build):
    """Removes what an earlier run left, so that none of it is counted again."""
    reports = os.path.join(build, 'test-results')
    if os.path.isdir(reports):
        for name in os.listdir(reports):
            if name.endswith('.xml'):
                os.unlink(os.path.join(reports, name))
    log = os.path.join(build, 'meson-logs', 'testlog.json')
    if os.path.exists(log):
        os.unlink(log)
