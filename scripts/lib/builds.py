"""Build directories for the scripts: configure, compile, ask meson what there is.

A function that can fail answers why, in one line, after showing the end of the log; None or an empty value is success.
"""
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = ['-Dbuildtype=release', '-Db_sanitize=none']
# One build for all that checks: another compiler, both sanitizers, fuzzers. -O1 and line tables alone: half the time to
# compile of -O2 -g, and as good a report. Assertions stay on. b_lundef: the sanitizers' symbols come with main programs.
CHECKED = ['-Dbuildtype=debugoptimized', '-Doptimization=1', '-Dcpp_args=-g1', '-Db_sanitize=address,undefined',
           '-Db_lundef=false', '-Dfuzz=enabled', '-Dbench=disabled', '-Dwerror=true']
COMPILE_TIMEOUT_S = 1800


def jobs():
    return len(os.sched_getaffinity(0))


def free_hugepages():
    try:
        with open('/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages', encoding='ascii') as file:
            return int(file.read())
    except OSError:
        return 0


def corpus():
    """The folder of shared captures, or None: $MILLRACE_CORPUS, else beside the project."""
    for path in (os.environ.get('MILLRACE_CORPUS'), os.path.join(ROOT, '..', 'shared', 'corpus')):
        if path and os.path.isdir(path):
            return os.path.realpath(path)
    return None


def option(build, name):
    """The value of a meson option in a configured directory."""
    for entry in introspect(build, 'buildoptions'):
        if entry['name'] == name:
            return entry['value']
    return None


def introspect(build, what):
    out = subprocess.run(['meson', 'introspect', '--' + what, build], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def is_configured(build):
    return os.path.exists(os.path.join(build, 'build.ninja'))


def release_directory():
    """build/, unless somebody uses that for a debug or sanitizer build, which is theirs to keep."""
    build = os.path.join(ROOT, 'build')
    if is_configured(build) and (option(build, 'buildtype') != 'release' or option(build, 'b_sanitize') != 'none'):
        return os.path.join(ROOT, 'build-release')
    return build


def _run_logged(command, log, environment=None):
    """Runs with its output in `log`; True when it succeeded."""
    with open(log, 'ab') as out:
        try:
            done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment, check=False,
                                  timeout=COMPILE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _show_end(log, lines=60):
    with open(log, encoding='utf-8', errors='replace') as file:
        text = file.read().splitlines()
    errors = [i for i, line in enumerate(text) if ' error: ' in line or line.startswith('FAILED') or 'ERROR:' in line]
    start = max(0, errors[0] - 2) if errors else max(0, len(text) - lines)
    print('\n'.join(text[start:start + lines]), file=sys.stderr)
    print(f'(all of it: {os.path.relpath(log, ROOT)})', file=sys.stderr)


def configure(build, options, compiler=None):
    os.makedirs(build, exist_ok=True)
    log = os.path.join(build, 'scripts.log')
    open(log, 'wb').close()
    environment = dict(os.environ)
    if compiler:
        environment['CXX'] = compiler
    command = ['meson', 'setup', build] + options
    if is_configured(build):
        command.insert(2, '--reconfigure')
    if _run_logged(command, log, environment):
        return None
    if is_configured(build) and '--reconfigure' in command:
        # A directory of an older tree, or one cut off in the middle: begin again rather than ask people to.
        command[2] = '--wipe'
        with open(log, 'rb') as file:
            said = file.read()
        if _run_logged(command, log, environment):
            return None
        with open(log, 'ab') as file:  # wiping took the log along
            file.write(said)
    _show_end(log)
    return f'meson setup failed in {os.path.relpath(build, ROOT)}'


def checked_directory():
    return os.path.join(ROOT, 'build-checked')


def configure_checked(build):
    return configure(build, CHECKED, compiler='clang++-19')


def compile_targets(build, targets=()):
    """`targets`: paths inside the build directory; all of them when none is named."""
    started = time.monotonic()
    log = os.path.join(build, 'scripts.log')
    if _run_logged(['ninja', '-C', build, '-j', str(jobs())] + list(targets), log):
        print(f'built in {time.monotonic() - started:.0f} s', flush=True)
        return None
    _show_end(log)
    return f'ninja failed in {os.path.relpath(build, ROOT)}'


def tests_of(build, suites):
    wanted = set(suites)
    return [t for t in introspect(build, 'tests') if wanted & {s.split(':')[-1] for s in t['suite']}]


def test_targets(build, suites):
    """Files that the tests of these suites run, as ninja names them."""
    files = {t['id']: t['filename'] for t in introspect(build, 'targets')}
    wanted = set()
    for test in tests_of(build, suites):
        for target in test['depends']:
            wanted.update(files.get(target, []))
    return sorted(os.path.relpath(path, build) for path in wanted)
