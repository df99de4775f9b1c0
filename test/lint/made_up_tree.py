"""A tree for one test: files by name, in a folder that goes away."""
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ.get('MILLRACE_SOURCE',
                        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class MadeUpTree:
    def __init__(self, files):
        self._folder = tempfile.TemporaryDirectory(prefix='millrace-lint-')
        self.root = self._folder.name
        for name, text in files.items():
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def run(self, script, *arguments):
        """(exit status, lines on stdout) of scripts/SCRIPT over this tree."""
        done = subprocess.run([sys.executable, '-B', os.path.join(SOURCE, 'scripts', script), '--root', self.root,
                               *arguments], capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout + done.stderr).splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()
