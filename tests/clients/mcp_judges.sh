#!/usr/bin/env bash
# Judges `loom mcp` by the Inspector and by the conformance suite of the protocol: tests/clients/mcp_judges.sh PROGRAM.
# Needs npm and a network; FOLDER (default: target/mcp-judges) keeps the packages.
set -euo pipefail
program=$(realpath "$1")
folder=${2:-target/mcp-judges}
mkdir -p "$folder"
cd "$folder"
# Both need a newer Node than many systems have.
[ -e node_modules/.bin/conformance ] || npm install --silent --no-audit --no-fund \
    node@22 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
bin=$PWD/node_modules/.bin
export PATH=$bin:$PATH
rm -f judge.db* serve.json
"$program" --db judge.db new "The harbour was empty." >/dev/null

for era in legacy modern; do
    inspect() { mcp-inspector --cli "$program" mcp --db "$PWD/judge.db" --format json --protocol-era "$era" "$@"; }
    inspect --method tools/list --strict | grep -q conversation_recall
    inspect --method tools/call --tool-name conversation_recall --tool-arg action=search --tool-arg query=harbour |
        grep -q "The harbour was empty"
    for method in resources/list resources/templates/list prompts/list; do inspect --method "$method" >/dev/null; done
    echo "inspector: $era"
done

"$program" --db judge.db --json serve --listen 127.0.0.1:0 >serve.json &
server=$!
trap 'kill $server' EXIT
until [ -s serve.json ]; do sleep 0.1; done
url=$(sed 's/.*"address":"\([^"]*\)".*/\1/' serve.json)/mcp
# The other scenarios call tools of a reference server, such as `test_simple_text`, or test extensions that the server does
# not announce: tasks, skills, sampling, logging, sessions of the transport.
judge() {
    local revision=$1
    shift
    for scenario in "$@"; do
        conformance server --url "$url" --scenario "$scenario" --spec-version "$revision" >scenario.log 2>&1 ||
            { cat scenario.log; exit 1; }
        grep -q " 0 failed" scenario.log || { cat scenario.log; exit 1; }
        echo "conformance: $revision $scenario: $(grep -o 'Passed: .*' scenario.log)"
    done
}
judge 2025-11-25 server-initialize ping completion-complete tools-list resources-list prompts-list dns-rebinding-protection
judge 2026-07-28 completion-complete tools-list resources-list prompts-list sep-2164-resource-not-found \
    dns-rebinding-protection caching http-header-validation input-required-result-unsupported-methods
