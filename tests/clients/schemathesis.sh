#!/usr/bin/env bash
# Sends generated requests to every operation of the OpenAPI document, and checks each answer against the document: no
# internal error, no status, media type or body that it does not describe. tests/clients/schemathesis.sh LOOM SCHEMATHESIS
# [SECONDS]. The stream of events is left out, because it has no end.
set -euo pipefail
program=$(realpath "$1") schemathesis=$(realpath "$2") seconds=${3:-60}
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -r "$folder"' EXIT
cd "$folder"
export HOME=$folder LOOM_DB=$folder/loom.db OLLAMA_HOST=http://127.0.0.1:9 LLAMACPP_BASE_URL=http://127.0.0.1:9/v1 \
    LMSTUDIO_BASE_URL=http://127.0.0.1:9/v1 LOOM_CONFIG=$folder/config.yaml
echo "model: scripted:words" >config.yaml
"$program" new "The harbour was empty." >/dev/null
token=$("$program" serve token new judge --scope admin)
"$program" --json serve --listen 127.0.0.1:0 --requests-per-second 100000 --streams 20000 >serve.json &
server=$!
until [ -s serve.json ]; do sleep 0.1; done
url=$(sed 's/.*"address":"\([^"]*\)".*/\1/' serve.json)
"$program" serve openapi >openapi.json
# A model or orchestrator that is not set up, or a file that is locked, is a documented 502 or 503; a 500 never is.
cat >schemathesis.toml <<'TOML'
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 502, 503]
TOML
judge() {
    "$schemathesis" run openapi.json --url "$url" --header "Authorization: Bearer $token" --workers 2 --seed 1 \
        --phases examples,coverage,fuzzing --request-timeout 20 --warnings off \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance "$@"
}
judge --max-time "$seconds" --exclude-path /api/v1/events --exclude-path '/api/v1/agents/{name}'
"$program" verify
# Last, because the owner may be renamed or removed, for whom the requests act.
judge --max-time 10 --include-path '/api/v1/agents/{name}'
# The server is alive.
kill "$server"
wait "$server"
