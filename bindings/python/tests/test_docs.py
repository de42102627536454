"""The examples of the documentation run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

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


@pytest.mark.parametrize("name", ["commands", "screen"])
def test_recordings_are_svg_without_scripts(name: str) -> None:
    root = ElementTree.parse(ROOT / "docs" / "pictures" / f"terminal-{name}.svg").getroot()
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "style", "rect", "g", "text"}
    frames = [element for element in root if element.tag.endswith("}g")]
    assert len(frames) > 5
    assert not any(name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib)
