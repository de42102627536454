"""Runs the program `loom` that the package contains: `python -m loomtree`, and the command `loomtree`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig


def program() -> str | None:
    """Returns the path of the program `loom` of this installation, else of the search path."""
    name = "loom" + (sysconfig.get_config_var("EXE") or "")
    schemes = [sysconfig.get_path("scripts"), os.path.dirname(sys.argv[0]), sysconfig.get_path("scripts", f"{os.name}_user")]
    for folder in filter(None, schemes):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return shutil.which("loom")


def main() -> int:
    """Replaces this process by the program, where the system can do so."""
    path = program()
    if path is None:
        print("loomtree: this installation has no program; `cargo install loomtree` builds it", file=sys.stderr)
        return 1
    arguments = [path, *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.run(arguments).returncode
    os.execv(path, arguments)


if __name__ == "__main__":
    sys.exit(main())
