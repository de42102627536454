"""Records the program in a terminal as animated SVG files: docs/pictures/terminal-*.svg.

    pip install pyte && python docs/record.py target/release/loom

Each frame is the screen of the running program as a terminal emulator shows it. A browser plays the frames in a loop, and shows the last one to
readers who prefer less motion. The files have no script.
"""

from __future__ import annotations

import os
import pty
import select
import sys
import tempfile
import time
from html import escape
from pathlib import Path

import pyte

COLUMNS, ROWS = 96, 24
CELL = (8.4, 17)  # width and height of a character, in pixels
MARGIN = 14
PICTURES = Path(__file__).parent / "pictures"
COLOURS = {
    "default": "#d8dee9", "black": "#4c566a", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "yellow": "#e5c07b",
    "blue": "#61afef", "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d8dee9",
}  # fmt: skip
BACKGROUND = "#1e222a"


def colour(name: str, default: str) -> str:
    name = name.removeprefix("bright")
    if name == "default":
        return default
    return COLOURS.get(name, f"#{name}" if len(name) == 6 else default)


class Terminal:
    """A program in a pseudo-terminal, and the frames that were recorded of it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.frames: list[tuple[list[str], float]] = []
        child, self.file = pty.fork()
        if child == 0:
            os.execve(command[0], command, environment)
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, quiet: float, most: float = 15.0) -> None:
        """Reads what the program writes until it is quiet."""
        end = time.monotonic() + most
        while time.monotonic() < end and select.select([self.file], [], [], quiet)[0]:
            try:
                data = os.read(self.file, 65536)
            except OSError:
                return
            if not data:
                return
            # The questions that a program asks a terminal are not answered: it goes on without.
            self.stream.feed(data)

    def type(self, keys: str, seconds: float, quiet: float = 0.6) -> None:
        """Types keys, waits for the screen and records it for so many seconds."""
        os.write(self.file, keys.encode())
        self.read(quiet)
        self.record(seconds)

    def record(self, seconds: float) -> None:
        self.frames.append((draw(self.screen), seconds))


def draw(screen: pyte.Screen) -> list[str]:
    """Returns the lines of a screen as SVG text, and the backgrounds below it."""
    parts: list[str] = []
    for row in range(ROWS):
        line, y = screen.buffer[row], MARGIN + row * CELL[1]
        column = 0
        while column < COLUMNS:
            cell, start, text = line[column], column, ""
            while column < COLUMNS and style(line[column]) == style(cell):
                text += line[column].data
                column += 1
            front, back = colour(cell.fg, COLOURS["default"]), colour(cell.bg, BACKGROUND)
            if cell.reverse:
                front, back = back, front
            x, width = MARGIN + start * CELL[0], (column - start) * CELL[0]
            if back != BACKGROUND:
                parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{CELL[1]}" fill="{back}"/>')
            if text.strip():
                weight = ' font-weight="bold"' if cell.bold else ""
                parts.append(
                    f'<text x="{x:.1f}" y="{y + 13}" fill="{front}"{weight} textLength="{width:.1f}"'
                    f' xml:space="preserve">{escape(text)}</text>'
                )
    return parts


def style(cell: pyte.screens.Char) -> tuple[str, str, bool, bool]:
    return cell.fg, cell.bg, cell.bold, cell.reverse


def write(name: str, title: str, frames: list[tuple[list[str], float]]) -> None:
    width, height = 2 * MARGIN + COLUMNS * CELL[0], 2 * MARGIN + ROWS * CELL[1]
    total = sum(seconds for _, seconds in frames)
    rules, groups, begin = [], [], 0.0
    for at, (parts, seconds) in enumerate(frames):
        start, end = begin / total * 100, (begin + seconds) / total * 100
        before = f"0%,{start - 0.01:.2f}%{{opacity:0}}" if at else ""
        after = f"{end:.2f}%,100%{{opacity:0}}" if at < len(frames) - 1 else ""
        until = end - 0.01 if at < len(frames) - 1 else 100
        rules.append(f"@keyframes f{at}{{{before}{start:.2f}%,{until:.2f}%{{opacity:1}}{after}}}")
        shown = "" if at == len(frames) - 1 else " o"
        groups.append(f'<g class="f{shown}" style="animation-name:f{at}">{"".join(parts)}</g>')
        begin += seconds
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><style>text{{font:14px ui-monospace,Menlo,Consolas,monospace}}"
        f".o{{opacity:0}}@media (prefers-reduced-motion:no-preference){{.f{{animation:{total:.1f}s step-end infinite}}{''.join(rules)}}}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>{"".join(groups)}</svg>\n'
    )
    (PICTURES / f"terminal-{name}.svg").write_text(text, encoding="utf-8")
    print(f"terminal-{name}.svg  {len(frames)} frames, {len(text) / 1000:.0f} kB")


def commands(environment: dict[str, str]) -> None:
    shell = Terminal(["/bin/sh"], environment | {"PS1": "$ "})
    shell.read(0.5)
    lines = [
        'loom new "Tell me a story about a lighthouse, in few words."', "loom continue --model scripted:words",
        "loom tree", "loom recall rain", "loom undo",
    ]  # fmt: skip
    for line in lines:
        shell.type(line, 1.0)
        shell.type("\r", 3.0, quiet=1.5)
    write("commands", "New tree, three continuations, the tree, a search and an undo", shell.frames)


def screens(loom: str, environment: dict[str, str]) -> None:
    Terminal([loom, "demo", "--model", "scripted:words"], environment).read(3.0, 30)
    tui = Terminal([loom], environment)
    tui.read(1.5)
    tui.record(2.0)
    for keys, seconds in (("j", 0.7), ("j", 0.7), ("j", 1.2), (" ", 3.0), ("l", 1.0), ("l", 1.5), ("?", 3.0), ("\x1b", 1.0)):
        tui.type(keys, seconds, quiet=2.0 if keys == " " else 0.6)
    write("screen", "Walking in a tree and growing three continuations in the terminal interface", tui.frames)


def main() -> None:
    loom = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LOOM_MODEL": "scripted:words",
            "PATH": f"{os.path.dirname(loom)}:/usr/bin:/bin",
        }  # fmt: skip
        commands(environment | {"LOOM_DB": f"{home}/commands.db"})
        screens(loom, environment | {"LOOM_DB": f"{home}/screens.db"})


if __name__ == "__main__":
    main()
