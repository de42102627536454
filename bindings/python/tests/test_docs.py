"""The examples of the documentation run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("agents")
pytest.importorskip("langgraph.graph")

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("page", ["docs/python.md", "bindings/python/README.md"])
def test_the_examples_run(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    # The blocks of a page are one program, as a reader types them.
    ran = subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
