#!/usr/bin/env bash
# wheel.sh PROGRAM FOLDER: builds the Python wheel with this program, installs it in a new virtual environment in FOLDER,
# runs the main job of the program and the server for MCP clients from there, and then the tests of the module.
set -euo pipefail
program=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/../.."
python3 -m venv "$folder/build" && "$folder/build/bin/pip" install -q "maturin>=1.16,<2"
PATH=$folder/build/bin:$PATH bindings/python/wheel.sh "$program" "$folder/wheels" --quiet
[ "$(ls "$folder"/wheels/*.whl | wc -l)" = 1 ]

python3 -m venv "$folder/clean" && "$folder/clean/bin/pip" install -q "$folder"/wheels/*.whl
mkdir "$folder/home"
loom() { (cd "$folder/home" && env -i HOME="$folder/home" PATH=/usr/bin:/bin LOOM_DB="$folder/home/trees.db" "$folder/clean/bin/$@"); }
loom loom new "Tell me a story about a lighthouse." >/dev/null
loom loom continue --model scripted:words >/dev/null
loom loom tree | grep -q "Nobody had said"
loom loomtree tree | grep -q "Nobody had said"
loom python -m loomtree tree | grep -q "Nobody had said"
request='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
echo "$request" | loom loomtree mcp 2>/dev/null | grep -q '"serverInfo"'
loom python -c 'import loomtree; assert loomtree.open("trees.db").trees()[0].branches == 3'
echo "wheel: $(du -h "$folder"/wheels/*.whl | cut -f1), the program and the module run in a new environment"

"$folder/clean/bin/pip" install -q pytest mypy "openai-agents>=0.24,<0.25" "langgraph>=1.2,<2" "langgraph-checkpoint-conformance==0.0.2" \
    "langgraph-checkpoint-sqlite>=3.1,<4"
cd bindings/python
"$folder/clean/bin/python" -m mypy.stubtest loomtree._loomtree
"$folder/clean/bin/python" -m pytest -q -p no:cacheprovider tests
