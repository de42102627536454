"""Starts `loom serve` in a temporary home, for the scripts of this folder."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager


@contextmanager
def serving(*arguments):
    """Runs the server of the program named by the first argument of the script. Yields its URL."""
    with tempfile.TemporaryDirectory() as home:
        names = {"HOME": home, "PATH": os.environ["PATH"], "LOOM_DB": f"{home}/loom.db"}
        command = [os.path.abspath(sys.argv[1]), "--json", "serve", "--listen", "127.0.0.1:0", *arguments]
        with subprocess.Popen(command, env=names, cwd=home, stdout=subprocess.PIPE) as server:
            try:
                yield json.loads(server.stdout.readline())["address"]
            finally:
                server.kill()


def get(url):
    """Reads JSON from a URL."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)
