"""The project's files, as the checks see them: what git tracks or would track, else what lies there."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ('app', 'lib', 'drivers-config', 'test', 'bench', 'scripts', 'docs', '.ci')
SOURCE_ENDINGS = ('.hpp', '.cpp')


def files(root):
    """Paths relative to `root`, sorted; folders of builds and caches left out."""
    # -c -o --exclude-standard: new files too, so that a check speaks before the commit, not after.
    done = subprocess.run(['git', '-C', root, 'ls-files', '-z', '-c', '-o', '--exclude-standard'], capture_output=True,
                          check=False)
    top = subprocess.run(['git', '-C', root, 'rev-parse', '--show-toplevel'], capture_output=True, text=True, check=False)
    if done.returncode == 0 and os.path.realpath(top.stdout.strip() or '/') == os.path.realpath(root):
        names = [name.decode() for name in done.stdout.split(b'\0') if name]
        return sorted(name for name in set(names) if os.path.isfile(os.path.join(root, name)))
    found = []
    for parent, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith('build') and f not in ('.git', '__pycache__')]
        found += [os.path.relpath(os.path.join(parent, name), root) for name in names]
    return sorted(found)


def sources(root):
    return [name for name in files(root) if name.endswith(SOURCE_ENDINGS)]
