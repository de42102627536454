"""Checks that the settings of releases agree: targets, names, versions, and the files of the crate.

    python tests/packages/release.py

It reads the manifest, dist-workspace.toml, the release workflow and the Python package, and lists the crate's files.
"""

import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_FILE_BYTES = 1_000_000
MAX_CRATE_BYTES = 10_000_000


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def main() -> None:
    manifest, dist = tomllib.loads(read("Cargo.toml")), tomllib.loads(read("dist-workspace.toml"))["dist"]
    workflow = read(".github/workflows/release.yml")
    package = manifest["package"]

    targets = re.findall(r"target: ([a-z0-9_-]+),", workflow)
    assert targets == dist["targets"], f"the workflow builds {targets}"
    binstall = package["metadata"]["binstall"]
    assert binstall["pkg-url"].endswith("/{ name }-{ target }.tar.xz") and binstall["pkg-fmt"] == "txz"
    assert dist["unix-archive"] == dist["windows-archive"] == ".tar.xz"
    assert "name=loomtree-$2" in read("tests/packages/archive.sh")

    python = tomllib.loads(read("bindings/python/Cargo.toml"))["package"]
    for field in ("version", "license", "rust-version"):
        assert python[field] == package[field], f"{field} of the Python package differs"
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert read(licence) == read(f"bindings/python/{licence}"), f"the Python package has another {licence}"

    listed = subprocess.run(
        ["cargo", "package", "--list", "--allow-dirty", "--offline"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    files = [path for name in listed if (path := ROOT / name).is_file()]
    large = [f"{path.relative_to(ROOT)}: {path.stat().st_size}" for path in files if path.stat().st_size > MAX_FILE_BYTES]
    assert not large, f"large files in the crate: {large}"
    total = sum(path.stat().st_size for path in files)
    assert total < MAX_CRATE_BYTES, f"the crate has {total} bytes"
    assert not any(re.match(r"(bindings|tests|target|fuzz|\.ci)/", name) for name in listed), "the crate holds more than it needs"
    # What the compiler includes is in the crate; files of tests are not.
    for source in files:
        if source.suffix == ".rs" and source.name != "tests.rs":
            text = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
            for name in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', text):
                included = (source.parent / name).resolve()
                assert included in files, f"{source.relative_to(ROOT)} includes {name}, which is not in the crate"
    print(f"release: {len(targets)} targets, {len(files)} files in the crate, {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
